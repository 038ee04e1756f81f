"""Renders findings in formats for users, editors and continuous integration."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TextIO

from policysched import errors
from policysched.cli.render import output

if TYPE_CHECKING:
    import argparse

    from policysched.lint import linter

FULL = "full"
CONCISE = "concise"
JSON = "json"
FORMATS = (FULL, CONCISE, JSON, "github", "gitlab", "sarif", "junit", "rdjson")
FOR_PEOPLE = (FULL, CONCISE)
_HELP = (
    "format of findings: full (the default), concise, json, github (annotations for GitHub "
    "Actions), gitlab (code quality), sarif (code scanning), junit or rdjson (reviewdog)"
)


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Add `--format`, and `-o`, which every command has."""
    parser.add_argument("--format", choices=FORMATS, metavar="FORMAT", help=_HELP)
    output.add_output_option(parser)


def choose_finding_format(args: argparse.Namespace) -> str:
    """Return the format: `-o json` means `--format json`, `-o human` means the default.

    Raises:
        UsageError: the options contradict each other.
    """
    asked: str | None = args.format
    if args.output is None:
        return asked or FULL
    by_output = JSON if args.output == output.JSON else FULL
    is_human = args.output != output.JSON and asked in FOR_PEOPLE
    if asked is not None and asked != by_output and not is_human:
        raise errors.UsageError(f"-o {args.output} and --format {asked} contradict each other")
    return asked or by_output


def render_finding_report(report: linter.LintResult, form: str) -> str:
    """Render a report in one of `FORMATS`."""
    name = "json_" if form == JSON else form
    module = importlib.import_module(f"policysched.lint.formats.{name}")
    if hasattr(module, "as_json"):
        return output.encode_json(module.as_json(report))
    text: str = module.render(report)
    return text


def write_finding_report(rendered: str, form: str, stream: TextIO | None = None) -> None:
    """Print the result of `render_finding_report`."""
    if form in FOR_PEOPLE:
        output.write_findings(rendered, stream)
    else:
        output.write_text(rendered, stream)
