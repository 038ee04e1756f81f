"""`policysched completion`: print a script that completes commands, options and values.

The script is generated from the parsers of all commands, so it completes exactly their options.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator

from policysched import errors
from policysched.cli import completion_scripts
from policysched.cli.render import output

_POLICIES = ("policy", "yaml", "yml", "json")
_TESTS = ("yaml", "yml")
_DESCRIPTION = """\
Print a completion script. Load it in the start-up file of the shell:
bash `source <(policysched completion bash)`, zsh `source <(policysched completion zsh)`,
fish `policysched completion fish | source`.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=sorted(completion_scripts.BY_SHELL), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from policysched.cli import main  # noqa: PLC0415 - `main` imports this module

    script = completion_scripts.BY_SHELL[args.shell](
        list_command_completions(main.build_command_parsers())
    )
    output.write_text(script.rstrip("\n"))
    return errors.EXIT_OK


def list_command_completions(
    every: dict[str, argparse.ArgumentParser],
) -> list[completion_scripts.CompletionCommand]:
    """Return the completions of the program itself, its commands and their forms."""
    found = [
        completion_scripts.CompletionCommand(
            (), completion_scripts.CompletionValues(words=tuple(every)), ()
        )
    ]
    for name, parser in every.items():
        found += _list_command_completions((name,), parser)
    return found


def _list_command_completions(
    path: tuple[str, ...], parser: argparse.ArgumentParser
) -> Iterator[completion_scripts.CompletionCommand]:
    """Yield the completions of a command and its forms."""
    options = []
    values = completion_scripts.CompletionValues()
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            values = dataclasses.replace(values, words=tuple(action.choices))
            for name, inner in action.choices.items():
                yield from _list_command_completions((*path, name), inner)
        elif action.option_strings:
            takes_value = action.nargs != 0
            given = _find_completion_values(action, path[0]) if takes_value else None
            told = _get_option_help(action)
            options.append(
                completion_scripts.CompletionOption(tuple(action.option_strings), told, given)
            )
        else:
            values = _find_completion_values(action, path[0])
    yield completion_scripts.CompletionCommand(path, values, tuple(options))


def _find_completion_values(
    action: argparse.Action, command: str
) -> completion_scripts.CompletionValues:
    """Return the completions for the value of an argument; empty if none are known."""
    if action.choices is not None:
        return completion_scripts.CompletionValues(words=tuple(map(str, action.choices)))
    kind = str(action.metavar)
    if kind in ("CODE", "CODES"):
        return completion_scripts.CompletionValues(words=_list_diagnostic_codes())
    if kind == "DIR":
        return completion_scripts.CompletionValues(has_folders=True)
    if kind == "PATH":
        suffixes = _TESTS if command == "test" else _POLICIES
        return completion_scripts.CompletionValues(suffixes=suffixes, has_folders=True)
    if kind.startswith("FILE") or kind.endswith("|FILE"):
        return completion_scripts.CompletionValues(suffixes=("",), has_folders=True)
    if kind in ("OLD", "NEW"):
        return completion_scripts.CompletionValues(suffixes=_POLICIES, has_folders=True)
    return completion_scripts.CompletionValues()


def _list_diagnostic_codes() -> tuple[str, ...]:
    from policysched.lang.diagnostics import diagnostics  # noqa: PLC0415 - not needed for `--help`

    return tuple(sorted(diagnostics.CODES | diagnostics.LINT_CODES))


def _get_option_help(action: argparse.Action) -> str:
    return " ".join(str(action.help or "").replace("%%", "%").split())
