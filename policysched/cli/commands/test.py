"""`test`: run policy tests, which are small clusters with the expected effects of policies.

policysched test PATH... [--run REGEX] [--coverage --threshold N] [--update] [--watch]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from policysched import errors, int64
from policysched.cli.options import seeds
from policysched.cli.render import output, progress
from policysched.cli.reports import policytest_text

if TYPE_CHECKING:
    from policysched.policytests import running

_TEXT, _JSON, _JUNIT = "text", "json", "junit"
_WATCH_SECONDS = 0.5
_Times: TypeAlias = dict[str, int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a file of tests, or a folder (all files below it that end in _test.yaml)",
    )
    parser.add_argument(
        "--run", metavar="REGEX", type=_parse_regex, help="run only tests whose names match"
    )
    parser.add_argument(
        "--format",
        choices=(_TEXT, _JSON, _JUNIT),
        help="output format: text (the default), json or junit",
    )
    output.add_output_option(parser)
    _add_coverage_options(parser)
    parser.add_argument(
        "--update",
        action="store_true",
        help="replace the expectations of tests by the actual results",
    )
    parser.add_argument(
        "--prometheus-bin",
        metavar="PATH",
        help="promtool, or its folder, for tests with `series`; default: found on the PATH",
    )
    parser.add_argument(
        "--fuzz",
        metavar="COUNT",
        type=_parse_count,
        help="instead of running tests, try the policies of each file on COUNT generated clusters",
    )
    seeds.add_seed_option(parser, "generate the same clusters again; --fuzz prints its seed")
    parser.add_argument(
        "--watch", action="store_true", help="run again whenever an input file changes"
    )


def _add_coverage_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that report the coverage of rules."""
    parser.add_argument("--coverage", action="store_true", help="report which rules were exercised")
    parser.add_argument(
        "--threshold",
        metavar="N",
        type=_parse_percent,
        help="exit with 1 if less than N percent of the branches of rules were taken",
    )
    parser.add_argument("--lcov", metavar="FILE", help="write the coverage as an lcov tracefile")
    parser.add_argument("--cobertura", metavar="FILE", help="write the coverage as Cobertura XML")


def _parse_regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        problem = f"`{text}` is not a regular expression: {error}"
        raise argparse.ArgumentTypeError(problem) from None


def _parse_percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:  # noqa: PLR2004 - percent
        problem = f"`{text}` is not a percentage from 0 to 100"
        raise argparse.ArgumentTypeError(problem)
    return value


def _parse_count(text: str) -> int:
    count = int64.parse_unsigned_digits(text)
    if not count:
        problem = f"`{text}` is not a number of clusters"
        raise argparse.ArgumentTypeError(problem)
    return count


def run(args: argparse.Namespace) -> int:
    """Run the tests and report the results."""
    args.format = _choose_format(args)
    if args.seed is not None and args.fuzz is None:
        raise errors.UsageError("--seed needs --fuzz")
    if args.fuzz is not None:
        from policysched.cli.subcommands import policytest_fuzz  # noqa: PLC0415 - only this option needs it

        return policytest_fuzz.run(args)
    if args.watch and args.format != _TEXT:
        raise errors.UsageError("--watch needs --format text")
    if args.watch and args.update:
        raise errors.UsageError("--watch and --update are mutually exclusive")
    if args.watch:
        rerun_on_changes(lambda: _run_tests_once(args)[1], args.paths)
    return _run_tests_once(args)[0]


def _choose_format(args: argparse.Namespace) -> str:
    """Return the output format: `-o json` means `--format json`, other values of `-o` mean text.

    Raises:
        UsageError: the options contradict each other.
    """
    asked: str | None = args.format
    if args.output is None:
        return asked or _TEXT
    by_output = _JSON if args.output == output.JSON else _TEXT
    if asked not in (None, by_output):
        raise errors.UsageError(f"-o {args.output} and --format {asked} contradict each other")
    return by_output


def _run_tests_once(args: argparse.Namespace) -> tuple[int, set[str]]:
    """Run all tests; return the exit code and the files that were read."""
    from policysched.policytests import running  # noqa: PLC0415 - `--help` does not need NumPy

    with progress.show_progress("running tests") as bar:
        done = running.run_test_suites(
            args.paths,
            args.run,
            is_update=args.update,
            prometheus_bin=args.prometheus_bin,
            tell=lambda _: bar.advance(),
        )
    if args.update:
        written = _update_test_expectations(done)
        for path in written:
            output.print_note_to_stderr(f"updated {path}")
        if written:
            done = running.run_test_suites(args.paths, args.run, prometheus_bin=args.prometheus_bin)
    _print_test_report(done, args)
    _write_coverage_report(done, args)
    return done.get_exit_code(args.threshold), done.inputs


def _print_test_report(done: running.PolicyTestRun, args: argparse.Namespace) -> None:
    """Print the results in the chosen format, with coverage if requested."""
    with_coverage = args.coverage or args.threshold is not None
    if args.format == _JSON:
        from policysched.policytests import reporting  # noqa: PLC0415 - only this form needs it

        output.write_text(output.encode_json(reporting.as_json(done, with_coverage=with_coverage)))
    elif args.format == _JUNIT:
        from policysched.cli.reports import policytest_junit  # noqa: PLC0415 - only this form needs it

        output.set_report_width(output.WIDE)
        output.write_text(policytest_junit.render_junit_document(done))
    else:
        text = policytest_text.format_test_run(
            done, threshold=args.threshold, with_coverage=with_coverage
        )
        output.write_report(text)


def _write_coverage_report(done: running.PolicyTestRun, args: argparse.Namespace) -> None:
    from policysched.policytests import coverage_formats  # noqa: PLC0415 - as in `_run_tests_once`

    for path, make in (
        (args.lcov, coverage_formats.render_lcov),
        (args.cobertura, coverage_formats.render_cobertura),
    ):
        if path is not None:
            _write_file(path, make(done.coverage))


def _write_file(path: str, text: str) -> None:
    try:
        with pathlib.Path(path).open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise errors.InputError(path, f"cannot be written: {error.strerror}") from error


def _update_test_expectations(done: running.PolicyTestRun) -> list[str]:
    """Write the actual results into the test files; return the files that changed."""
    from policysched.cli.policy_files import rewriting  # noqa: PLC0415 - only this option needs it
    from policysched.policytests import updating  # noqa: PLC0415 - as above

    by_file: dict[str, list[running.CaseResult]] = {}
    for result in done.results:
        if result.mismatches:
            by_file.setdefault(result.case.suite.path, []).append(result)
    suites = {path: results[0].case.suite for path, results in by_file.items()}
    texts = {
        path: updating.update_expectations_text(suites[path], each)
        for path, each in by_file.items()
    }
    for path, text in texts.items():
        rewriting.replace_file_atomically(path, suites[path].text, text)
    return list(by_file)


# --- watching ------------------------------------------------------------------------------------


def rerun_on_changes(
    run_once: Callable[[], set[str]],
    paths: Iterable[str],
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Run the tests, and run them again whenever a file changes, until the user interrupts.

    Files of earlier runs are also watched, because a file can be absent briefly while it is saved.
    """
    listed = list(paths)
    inputs: set[str] = set()
    while True:
        inputs |= run_once()
        output.print_note_to_stderr("waiting for changes; press Ctrl-C to stop")
        seen = _read_modification_times(inputs, listed)
        while _read_modification_times(inputs, listed) == seen:
            wait(_WATCH_SECONDS)


def _read_modification_times(inputs: set[str], paths: list[str]) -> _Times:
    """Return the modification time of each file, including new test files."""
    from policysched.policytests import suite  # noqa: PLC0415 - as in `_run_tests_once`

    try:
        files = inputs | set(suite.discover_test_files(paths))
    except errors.InputError:
        files = inputs
    return {file: _read_modification_time(file) for file in files}


def _read_modification_time(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns  # noqa: PTH116 - called often, with paths as strings
    except OSError:
        return 0
