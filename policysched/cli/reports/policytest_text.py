"""The report of `test` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.render import output, styles
from policysched.cli.reports import explain_text

if TYPE_CHECKING:
    from policysched.policytests import coverage, running

_INDENT = "  "


def text(run: running.Run, *, threshold: float | None, with_coverage: bool) -> str:
    """Return what failed and why, what was exercised, and how many tests passed."""
    blocks = [block(result) for result in run.results if result.status in ("fail", "error")]
    error = styles.styled("ERROR", styles.BAD)
    blocks += [f"{error} {file}\n{_indented(problem)}" for file, problem in run.problems.items()]
    if with_coverage:
        blocks.append("\n".join(_coverage(run.coverage, threshold)))
    is_fine = run.exit_code(threshold) == errors.EXIT_OK
    blocks.append(styles.styled(_summary(run), styles.GOOD if is_fine else styles.BAD))
    return "\n\n".join(blocks)


def block(result: running.Result) -> str:
    """Return everything about a test that does not pass."""
    case = result.case
    status = styles.styled(result.status.upper(), styles.BAD)
    head = f"{status} {case.suite.path}:{case.line()}: {case.name}"
    return "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in details(result))])


def details(result: running.Result) -> Iterator[str]:
    """Yield the difference between what is expected and what happens, and the evaluation."""
    if result.problem:
        yield from result.problem.splitlines()
    for each in result.mismatches:
        name = ".".join(each.path) or "expect"
        yield styles.styled(f"- {name}: {each.expected}", styles.BAD)
        yield styles.styled(f"+ {name}: {each.actual}", styles.GOOD)
    if result.report is not None:
        yield ""
        with output.set_in(_INDENT):
            text = explain_text.pod_text(result.report)
        yield from text.splitlines()


def _coverage(found: coverage.Coverage, threshold: float | None) -> Iterator[str]:
    taken, every = found.counts
    yield f"coverage: {found.percent:.1f} % ({taken:,} of {every:,} branches of rules)"
    for rule in found.rules:
        if rule.missing:
            yield f"{_INDENT}{rule.file}:{rule.line}: {rule.name} {', '.join(rule.missing)}"
    if threshold is not None and found.percent < threshold:
        yield f"{_INDENT}below the threshold of {threshold:g} %"


def _summary(run: running.Run) -> str:
    if not run.results and not run.problems:
        return "no tests: files of tests end in _test.yaml, or are named as they are"
    failed, wrong, skipped = run.count("fail"), run.count("error"), run.count("skip")
    said = [f"{run.count('pass'):,} passed"]
    said += [f"{failed:,} failed"] if failed else []
    said += [f"{wrong:,} in error"] if wrong else []
    said += [f"{skipped:,} skipped"] if skipped else []
    if run.problems:
        said.append(f"{output.count(len(run.problems), 'file')} not run")
    return ", ".join(said)


def _indented(said: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in said.splitlines())
