"""`policysched import`: convert the configuration of another scheduler to policies."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli.render import output, progress

if TYPE_CHECKING:
    from policysched.importing import importer, source_detection
    from policysched.importing.result import findings

_TEXT = "text"
KINDS = ("kube-scheduler-config", "command-line", "legacy-policy", "tas-policy", "workload")
_DESCRIPTION = """\
Read the configuration of another scheduler, and print the equivalent policy. FILE is YAML or JSON:
a KubeSchedulerConfiguration, a legacy Policy, a TASPolicy, pods, Deployments and the like with
affinity, a pod that runs kube-scheduler, or Lists and ConfigMaps of these. After `--`, give a
command line of kube-scheduler; the files that it names are read too. Parts that cannot be expressed
are reported on stderr and in comments of the policy.
"""
_EPILOG = (
    "exit codes: 0 success, 1 some parts cannot be expressed, 2 unreadable input, 3 invalid "
    "usage; docs/import.md has the details"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.usage = "%(prog)s [-h] [--from KIND] [--out DIR | -o FORMAT] (FILE | - | -- COMMAND…)"
    parser.add_argument("input", nargs="+", metavar="FILE", help="a file, or `-` for stdin")
    parser.add_argument(
        "--from",
        dest="kind",
        choices=KINDS,
        help="the kind of the input; default: detected from its content",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--out", metavar="DIR", help="write imported.policy and config.yaml into this folder"
    )
    form.add_argument(
        "-o",
        "--output",
        choices=(_TEXT, output.JSON),
        default=_TEXT,
        help="text (the default; the policy, with a configuration in its comments) or json",
    )


def run(args: argparse.Namespace) -> int:
    """Import the input and write the result."""
    from policysched.importing import importer  # noqa: PLC0415 - `--help` does not need Lark

    with progress.show_reading_progress("importing", args.input):
        imported = importer.convert_sources(*_read_import_sources(args))
    if args.output == output.JSON:
        output.write_text(output.encode_json(_as_json(imported)))
    else:
        for finding in imported.findings:
            output.write_report(str(finding), sys.stderr)
        if args.out is not None:
            _write_imported_files(imported, args.out)
        else:
            output.write_text_exactly(imported.text)
    return errors.EXIT_FINDINGS if imported.warning_count else errors.EXIT_OK


def _read_import_sources(
    args: argparse.Namespace,
) -> tuple[list[source_detection.DetectedSource], findings.FindingCollector, str]:
    """Return the sources to import, the collector of findings and the name of the input."""
    from policysched.importing import input_files, source_detection  # noqa: PLC0415 - `--help` does not need Lark
    from policysched.importing.result import findings  # noqa: PLC0415 - as above

    report = findings.FindingCollector()
    words: list[str] = args.input
    if len(words) > 1 or words[0].startswith("--"):
        if args.kind not in (None, source_detection.COMMAND):
            raise errors.UsageError(f"a command line is not a {args.kind}; remove --from")
        if not any(word.startswith("-") for word in words):
            raise errors.UsageError(
                "import takes one FILE; put objects that belong together into one file"
            )
        return input_files.read_command_line_sources(words, report), report, "a command line"
    (path,) = words
    text, where = input_files.read_file_or_stdin(path)
    return source_detection.detect_sources(text, where, report, args.kind), report, where


def _write_imported_files(imported: importer.ImportResult, where: str) -> None:
    """Write the files into a folder without overwriting any file.

    Raises:
        InputError: a file exists or cannot be written.
    """
    from policysched.importing import importer  # noqa: PLC0415 - `--help` does not need Lark

    folder = pathlib.Path(where)
    files = {importer.POLICY_NAME: imported.policy}
    if imported.config is not None:
        files[importer.CONFIG_NAME] = imported.config
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(content)
            output.write_text(f"wrote {folder / name}")
    except FileExistsError as error:
        problem = "already exists"
        raise errors.InputError(str(error.filename), problem, help="give another folder") from error
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise errors.InputError(str(error.filename or folder), problem) from error


def _as_json(imported: importer.ImportResult) -> dict[str, Any]:
    """Return the result in the form of schemas/import.schema.json."""
    return {
        "policy": imported.policy,
        "config": imported.config,
        "runOptions": imported.run_options,
        "findings": [
            {
                "severity": str(each.severity),
                "file": each.where,
                "line": each.line,
                "problem": each.problem,
                "help": each.help,
            }
            for each in imported.findings
        ],
    }
