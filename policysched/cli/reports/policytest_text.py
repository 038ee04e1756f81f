"""Formats the report of `test` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.render import output, styles
from policysched.cli.reports import explain_text

if TYPE_CHECKING:
    from policysched.policytests import coverage, running

_INDENT = "  "
_NO_COVERAGE = ("coverage: none, because no test ran",)


def format_test_run(
    run: running.PolicyTestRun, *, threshold: float | None, with_coverage: bool
) -> str:
    """Format the failures and their reasons, the coverage, and the number of passed tests."""
    blocks = [
        format_failed_test(result) for result in run.results if result.status in ("fail", "error")
    ]
    error = styles.mark_text_style("ERROR", styles.BAD)
    blocks += [f"{error} {file}\n{_indent(problem)}" for file, problem in run.problems.items()]
    if with_coverage:
        lines = _format_coverage(run.coverage, threshold) if run.has_run_tests else _NO_COVERAGE
        blocks.append("\n".join(lines))
    is_fine = run.get_exit_code(threshold) == errors.EXIT_OK
    blocks.append(
        styles.mark_text_style(_format_test_summary(run), styles.GOOD if is_fine else styles.BAD)
    )
    return "\n\n".join(blocks)


def format_failed_test(result: running.CaseResult) -> str:
    """Format the location and the details of a test that does not pass."""
    case = result.case
    status = styles.mark_text_style(result.status.upper(), styles.BAD)
    head = f"{status} {case.suite.path}:{case.find_line()}: {case.name}"
    return "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in format_test_details(result))])


def format_test_details(result: running.CaseResult) -> Iterator[str]:
    """Yield the differences between expected and actual results, and the pod's explanation."""
    if result.problem:
        yield from result.problem.splitlines()
    for each in result.mismatches:
        name = ".".join(each.path) or "expect"
        yield styles.mark_text_style(f"- {name}: {each.expected}", styles.BAD)
        yield styles.mark_text_style(f"+ {name}: {each.actual}", styles.GOOD)
    if result.report is not None:
        yield ""
        with output.reserve_table_indent(_INDENT):
            text = explain_text.format_pod_report(result.report)
        yield from text.splitlines()


def _format_coverage(found: coverage.PolicyCoverage, threshold: float | None) -> Iterator[str]:
    taken, every = found.branch_counts
    yield f"coverage: {found.percent:.1f} % ({taken:,} of {every:,} branches of rules)"
    for rule in found.rules:
        if rule.missing_outcomes:
            missing = ", ".join(rule.missing_outcomes)
            yield f"{_INDENT}{rule.file}:{rule.line}: {rule.name} {missing}"
    if threshold is not None and found.percent < threshold:
        yield f"{_INDENT}below the threshold of {threshold:g} %"


def _format_test_summary(run: running.PolicyTestRun) -> str:
    """Format the numbers of passed, failed, erroneous and skipped tests and of files not run."""
    if not run.results and not run.problems:
        return "no tests found; name a file of tests, or a folder with files that end in _test.yaml"
    failed, wrong, skipped = (
        run.count_results("fail"),
        run.count_results("error"),
        run.count_results("skip"),
    )
    said = [f"{run.count_results('pass'):,} passed"]
    said += [f"{failed:,} failed"] if failed else []
    said += [f"{wrong:,} in error"] if wrong else []
    said += [f"{skipped:,} skipped"] if skipped else []
    if run.problems:
        said.append(f"{output.format_count(len(run.problems), 'file')} not run")
    return ", ".join(said)


def _indent(said: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in said.splitlines())
