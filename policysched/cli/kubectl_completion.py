"""`kubectl_complete-policysched`: the completion of `kubectl policysched`.

kubectl runs this program with the words after `policysched`; the last word is incomplete. The
program prints one candidate per line and finally a colon with a number, the ShellCompDirective of
cobra, which is kubectl's command line library. The number determines how the shell continues.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from policysched import errors
from policysched.cli import completion_scripts, main
from policysched.cli.commands import completion

_ANY_FILE = 0
_NOTHING_ELSE = 4
_FILES_ENDING_SO = 8
_FOLDERS = 16


def run() -> NoReturn:
    """Print the candidates for the command line of the process."""
    print("\n".join(generate_completions(sys.argv[1:])))
    sys.exit(errors.EXIT_OK)


def generate_completions(words: Sequence[str]) -> Iterator[str]:
    """Yield the candidates for the last word, and then the directive."""
    *before, begun = words or [""]
    names = [word for word in before if not word.startswith("-")][:1]
    by_path = {
        each.path: each
        for each in completion.list_command_completions(main.build_command_parsers(names))
    }
    path: tuple[str, ...] = ()
    for word in before:
        path = (*path, word) if (*path, word) in by_path else path
    command = by_path[path]
    value = _find_option_values(command, before[-1] if before else "")
    if value is not None:
        yield from _format_completions(value, begun)
    elif begun.startswith("-"):
        options = completion_scripts.list_option_names(command)
        yield from _format_completions(
            completion_scripts.CompletionValues(words=tuple(options)), begun
        )
    else:
        yield from _format_completions(command.values, begun)


def _find_option_values(
    command: completion_scripts.CompletionCommand, name: str
) -> completion_scripts.CompletionValues | None:
    """Return the values of an option; None if it does not exist or takes no value."""
    return next((option.values for option in command.options if name in option.names), None)


def _format_completions(values: completion_scripts.CompletionValues, begun: str) -> Iterator[str]:
    yield from (word for word in values.words if word.startswith(begun))
    if values.suffixes == ("",):
        yield f":{_ANY_FILE}"
    elif values.suffixes:
        yield from values.suffixes
        yield f":{_FILES_ENDING_SO}"
    else:
        yield f":{_FOLDERS if values.has_folders else _NOTHING_ELSE}"
