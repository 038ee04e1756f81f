"""Renders completion scripts for bash, zsh and fish."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionValues:
    """The completions at one position; empty if none are known.

    Attributes:
        words: fixed words.
        suffixes: the suffixes of the files to complete; "" for any file.
        has_folders: whether folders are also completed.
    """

    words: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    has_folders: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionOption:
    """An option of a command.

    Attributes:
        names: the names, such as `-o` and `--output`.
        about: the help text.
        values: the completions of its value; None if it takes no value.
    """

    names: tuple[str, ...]
    about: str
    values: CompletionValues | None


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionCommand:
    """A command, or a form of a command such as `explain pod`.

    Attributes:
        path: the words of the command; empty for the program itself.
        values: the completions of its positional arguments.
        options: the options of the command, without those of its forms.
    """

    path: tuple[str, ...]
    values: CompletionValues
    options: tuple[CompletionOption, ...]


# ---------------------------------------------------------------------------- bash and zsh

_BASH = """\
# bash completion of policysched: source <(policysched completion bash)

_policysched_words() {{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}}

_policysched_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(
    compgen -d -- "$cur"
    for suffix in "$@"; do compgen -f -X "!*$suffix" -- "$cur"; done
  )
}}

_policysched() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path='' word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    case "$path $word" in
{steps}
    esac
  done
  case "$path $prev" in
{values}
  esac
  case "$path $cur" in
{options}
  esac
  case "$path" in
{positionals}
  esac
}}

complete -F _policysched policysched
"""
_ZSH = """\
#compdef policysched
# zsh completion of policysched: source <(policysched completion zsh)

_policysched_words() {{
  compadd -- ${{=1}}
}}

_policysched_files() {{
  local suffix
  _files -/
  for suffix in "$@"; do _files -g "*$suffix"; done
}}

_policysched() {{
  local cur=$words[CURRENT] prev=$words[CURRENT-1] path_='' word i
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    case "$path_ $word" in
{steps}
    esac
  done
  case "$path_ $prev" in
{values}
  esac
  case "$path_ $cur" in
{options}
  esac
  case "$path_" in
{positionals}
  esac
}}

compdef _policysched policysched
"""


def render_bash_script(commands: Sequence[CompletionCommand]) -> str:
    """Render the script for bash."""
    return _BASH.format(**_render_case_arms(commands, "path"))


def render_zsh_script(commands: Sequence[CompletionCommand]) -> str:
    """Render the script for zsh."""
    return _ZSH.format(**_render_case_arms(commands, "path_"))


def _render_case_arms(commands: Sequence[CompletionCommand], variable: str) -> dict[str, str]:
    """Return the arms of all `case` statements; the path of a command begins with a space."""
    paths = [each.path for each in commands if each.path]
    steps = [
        f"'{_format_command_path(p[:-1])} {p[-1]}') {variable}='{_format_command_path(p)}' ;;"
        for p in paths
    ]
    values = [
        f"{_render_case_pattern(each, option)}) {_render_completion_call(option.values)} ;;"
        for each in commands
        for option in each.options
        if option.values is not None
    ]
    options = [
        f"'{_format_command_path(each.path)} '-*) {_render_completion_call(names)} ;;"
        for each in commands
        for names in (CompletionValues(words=tuple(list_option_names(each))),)
    ]
    positionals = [
        f"'{_format_command_path(each.path)}') {_render_completion_call(each.values)} ;;"
        for each in commands
    ]
    return {
        "steps": _indent(steps, "      "),
        "values": _indent(values, "    "),
        "options": _indent(options, "    "),
        "positionals": _indent(positionals, "    "),
    }


def _render_case_pattern(command: CompletionCommand, option: CompletionOption) -> str:
    """Return the pattern that matches the words before a value of the option."""
    path = _format_command_path(command.path)
    return "|".join(_quote_for_shell(f"{path} {name}") for name in option.names)


def _format_command_path(path: Iterable[str]) -> str:
    return "".join(f" {word}" for word in path)


def list_option_names(command: CompletionCommand) -> Iterator[str]:
    """Yield the option names of a command."""
    for option in command.options:
        yield from option.names
    if not command.path:
        yield from ("--help", "--version")


def _render_completion_call(values: CompletionValues) -> str:
    if values.words:
        return f"_policysched_words {_quote_for_shell(' '.join(values.words))}; return"
    if values.suffixes or values.has_folders:
        given = "".join(f" {_quote_for_shell(each and f'.{each}')}" for each in values.suffixes)
        return f"_policysched_files{given}; return"
    return "return"


def _quote_for_shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _indent(lines: Iterable[str], indent: str) -> str:
    return "\n".join(indent + line for line in lines)


# ---------------------------------------------------------------------------- fish


def render_fish_script(commands: Sequence[CompletionCommand]) -> str:
    """Render the script for fish."""
    lines = [
        "# fish completion of policysched: policysched completion fish | source",
        "complete -c policysched -f",
    ]
    names = [each.path[0] for each in commands if len(each.path) == 1]
    unknown = f"not __fish_seen_subcommand_from {' '.join(names)}"
    lines += [f"complete -c policysched -n '{unknown}' -a {name}" for name in names]
    for each in commands:
        if each.path:
            lines += _render_fish_command(each, commands)
    return "\n".join(lines) + "\n"


def _render_fish_command(
    command: CompletionCommand, commands: Sequence[CompletionCommand]
) -> Iterator[str]:
    """Yield the `complete` lines of one command, which apply only after its words."""
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.path)
    forms = [each.path[-1] for each in commands if each.path[:-1] == command.path and each.path]
    if forms:
        seen += f"; and not __fish_seen_subcommand_from {' '.join(forms)}"
    start = f"complete -c policysched -n '{seen}'"
    for option in command.options:
        names = "".join(_render_fish_option_flag(name) for name in option.names)
        taken = "" if option.values is None else f" -r{_render_fish_values(option.values)}"
        yield f"{start}{names}{taken} -d {shlex.quote(option.about)}"
    given = _render_fish_values(command.values)
    if given:
        yield start + given


def _render_fish_option_flag(name: str) -> str:
    return f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"


def _render_fish_values(values: CompletionValues) -> str:
    if values.words:
        return f" -x -a {shlex.quote(' '.join(values.words))}"
    if values.suffixes == ("",):
        return " -F"
    if values.suffixes:
        calls = "; ".join(f"__fish_complete_suffix .{each}" for each in values.suffixes)
        return f" -x -a '({calls})'"
    return " -x -a '(__fish_complete_directories)'" if values.has_folders else ""


BY_SHELL: Mapping[str, Callable[[Sequence[CompletionCommand]], str]] = {
    "bash": render_bash_script,
    "zsh": render_zsh_script,
    "fish": render_fish_script,
}
