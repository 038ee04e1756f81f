"""`karmada`: place workloads across clusters, as a scheduler of a Karmada control plane."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse

_HELP = {
    "run": "schedule the bindings of a control plane",
    "simulate": "show the clusters that the bindings of a control plane would get",
}
_DESCRIPTION = """\
The scheduler of a Karmada control plane, chosen by `spec.schedulerName` of a PropagationPolicy.
"""


class _Command(Protocol):
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options and arguments of the subcommand to its parser."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and return the exit code."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    parser.description = _DESCRIPTION
    commands = parser.add_subparsers(dest="karmada_command", metavar="COMMAND", required=True)
    for name, text in _HELP.items():
        _load_command(name).configure(commands.add_parser(name, help=text))


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    return _load_command(args.karmada_command).run(args)


def _load_command(name: str) -> _Command:
    return cast("_Command", importlib.import_module(f"policysched.cli.subcommands.karmada_{name}"))
