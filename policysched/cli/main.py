"""The entry point: finds the command, imports only its module, and converts errors to exit codes.

Exit codes: 0 success, 1 findings, 2 unreadable or invalid input, 3 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import io
import keyword
import os
import sys
from typing import TYPE_CHECKING, NoReturn, Protocol, TextIO, cast

import policysched
from policysched import errors
from policysched.cli import program_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_HELP = {
    "run": "schedule pods on the cluster of a kubeconfig",
    "demo": "watch policies place pods on an embedded cluster",
    "ui": "show decisions about a cluster on a page in the browser",
    "check": "report every error in policy files",
    "lint": "report probable mistakes in policies",
    "fmt": "print policy files in canonical form",
    "migrate": "rewrite policy files to the current version of the language",
    "ast": "print the syntax tree of policy files, or the policies of a tree",
    "test": "run policy tests: small clusters with the expected effect of policies",
    "explain": "explain why a pod fits on each node or not, and show the scores of nodes",
    "simulate": "schedule the pending pods of a cluster file",
    "plan": "show the effect of a policy change on the pods of a cluster",
    "audit": "list running pods that the policies would not place where they are",
    "rollback": "restore an earlier version of the policies on a cluster",
    "rollout": "show, hold or end the rollout of a new version of the policies",
    "webhook": "refuse ConfigMaps of broken policies when they are applied",
    "lsp": "serve an editor: findings, fixes, completion, names",
    "karmada": "place workloads across the clusters of a Karmada control plane",
    "import": "convert configurations of other schedulers into policies",
    "completion": "print a script that completes commands and options in a shell",
}
_OWN_OPTIONS = ("-h", "--help", "--version", "--")
_SERVERS = ("run", "webhook")
"""Commands in which the last value of a repeated option wins: manifest overlays append flags."""
_DECIDING = frozenset(
    {"audit", "demo", "explain", "karmada", "plan", "run", "simulate", "test", "ui"}
)
"""Commands that filter and score, for which the kernels must be those of the sources."""
_NAMESPACE = frozenset({"-n", "--namespace"})
_NAMESPACE_HINT = "write the namespace in the name: `policysched explain NAMESPACE/NAME`"
_CANNOT_WRITE = (errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC)
_EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE: the shell's exit code for a closed pipe


class _Command(Protocol):
    """The interface of a module in `commands`."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options and arguments of the command to its parser."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and return the exit code."""


class _StoreOnceAction(argparse.Action):
    """Stores the value of an option; refuses a second value, which would replace the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Store the value.

        Raises:
            UsageError: the option is repeated, and the command is not a server.
        """
        given = cast("_Parser", parser).given
        is_server = parser.prog.rpartition(" ")[2] in _SERVERS
        if option_string is not None and self.dest in given and not is_server:
            parser.error(f"{option_string} is given twice; give it once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """An argument parser with errors on one line, exit code 3 and no abbreviations.

    Attributes:
        given: the `dest` of each single-value option in the words parsed so far.
    """

    def __init__(self, **settings: object) -> None:
        super().__init__(**(settings | {"allow_abbrev": False}))  # type: ignore[arg-type]  # keywords passed on to argparse
        self.given: set[str] = set()
        for action in (None, "store"):
            self.register("action", action, _StoreOnceAction)

    def parse_known_args(  # type: ignore[override]  # argparse also accepts other namespace types
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments and refuse unrecognised words.

        argparse would leave them to the outermost parser, whose name would appear in the error.
        """
        self.given.clear()
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            hint = "" if _NAMESPACE.isdisjoint(rest) else f"; {_NAMESPACE_HINT}"
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def format_help(self) -> str:
        """Return the help text, in which commands start with `program_name.get_program_name()`."""
        self.description = program_name.replace_program_name(self.description or "")
        self.epilog = program_name.replace_program_name(self.epilog or "")
        for action in self._actions:
            action.help = action.help and program_name.replace_program_name(action.help)
        return _wrap_help(super().format_help())

    def error(self, message: str) -> NoReturn:
        raise errors.UsageError(f"{message}; see `{self.prog} --help`")


def _wrap_help(text: str) -> str:
    """Return a help text folded to the terminal's width; argparse does not fold long options."""
    from policysched.cli.render import terminal, wrapping  # noqa: PLC0415 - most runs show no help

    columns = terminal.get_terminal_width(sys.stdout)
    return text if columns is None else wrapping.wrap_text(text, columns)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: `sys.argv[1:]`) and return the exit code."""
    _replace_closed_streams()
    _use_utf8(sys.stdout)
    try:
        exit_code = _run_command_line(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
    except errors.PolicySchedError as error:
        _print_redacted_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return errors.EXIT_INTERRUPTED
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)
        return _EXIT_BROKEN_PIPE
    except OSError as error:
        if error.filename is not None or error.errno not in _CANNOT_WRITE:
            raise
        _redirect_to_null(sys.stdout)
        _print_redacted_error(f"cannot write the output: {error.strerror}")
        return errors.EXIT_WRONG_INPUT
    return exit_code


def _replace_closed_streams() -> None:
    """Replace streams that the caller closed; stdin and stdout raise errors, stderr discards text.

    Python sets closed streams to None, and the next files that are opened would get their
    file descriptors.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r", encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _use_utf8(stream: TextIO) -> None:
    """Write UTF-8 regardless of the locale, like kubectl: policies and JSON are UTF-8.

    File names that are not UTF-8 are written as their original bytes.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device, because the interpreter flushes it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_redacted_error(problem: object) -> None:
    """Print an error on stderr without secrets."""
    from policysched.cli.render import output  # noqa: PLC0415 - most commands end without a problem
    from policysched.observability import logs  # noqa: PLC0415 - as above

    try:
        output.print_error(logs.SECRETS.remove_secrets(str(problem)))
    except OSError:  # stderr is not writable either
        _redirect_to_null(sys.stderr)


def _run_command_line(argv: list[str]) -> int:
    """Parse the command line, importing only the named command, and run it."""
    parser, subparsers = _build_parsers()
    name = next((argument for argument in argv if not argument.startswith("-")), None)
    _refuse_options_before_command(argv, subparsers)
    if name is not None and name not in subparsers:
        raise errors.UsageError(_describe_unknown_command(name, list(subparsers)))
    command = _load_command(name) if name is not None else None
    if name is not None and command is not None:
        command.configure(subparsers[name])
    try:
        args = parser.parse_args(argv)
    except SystemExit as request:  # --help or --version has printed its text
        return int(request.code or 0)
    if command is None:
        parser.error("no command is given")
    from policysched.cli.render import output  # noqa: PLC0415 - not needed for `--help`

    output.set_report_width(getattr(args, "output", None))
    if name in _DECIDING:
        from policysched.kernels import installation  # noqa: PLC0415 - other commands call no kernel

        installation.list_interpreted_kernels()  # refuses changed sources
    return command.run(args)


def _build_parsers() -> tuple[_Parser, dict[str, _Parser]]:
    """Return the main parser and the parsers of all commands, keyed by name and without options."""
    parser = _Parser(prog=program_name.get_program_name(), description=policysched.__doc__)
    parser.add_argument(
        "--version", action="version", version=f"policysched {policysched.__version__}"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    subparsers = {
        name: commands.add_parser(name, help=help_line, description=help_line.capitalize() + ".")
        for name, help_line in _HELP.items()
    }
    return parser, subparsers


def build_command_parsers(wanted: Collection[str] = _HELP) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, keyed by name; only `wanted` commands are imported.

    The parsers of the other commands have no options.
    """
    _, subparsers = _build_parsers()
    for name, parser in subparsers.items():
        if name in wanted:
            _load_command(name).configure(parser)
    return dict(subparsers)


def _load_command(name: str) -> _Command:
    module = f"{name}_" if keyword.iskeyword(name) else name
    return cast("_Command", importlib.import_module(f"policysched.cli.commands.{module}"))


def _refuse_options_before_command(argv: Sequence[str], known: Collection[str]) -> None:
    """Refuse options before the command, where kubectl has its own options.

    Raises:
        UsageError: the first word is an option, and a later word is a command.
    """
    command = next((word for word in argv if word in known), None)
    option = argv[0].partition("=")[0] if argv else ""
    if command is None or not option.startswith("-") or option in _OWN_OPTIONS:
        return
    hint = f"write options after it: `policysched {command} …`"
    raise errors.UsageError(
        f"`{option}` is before the command `{command}`; "
        f"{_NAMESPACE_HINT if option in _NAMESPACE else hint}"
    )


def _describe_unknown_command(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = (
        f"did you mean `{nearest[0]}`?"
        if nearest
        else f"see `{program_name.get_program_name()} --help`"
    )
    return f"`{name}` is not a command; {hint}"
