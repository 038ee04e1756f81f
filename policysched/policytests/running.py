"""Runs files of tests."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from policysched import errors
from policysched.policytests import (
    cluster_cases,
    coverage,
    evaluation,
    expectations,
    linting,
    names,
    world,
)
from policysched.policytests import suite as suites

Status = Literal["pass", "fail", "error", "skip"]


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What became of one test.

    Attributes:
        mismatches: what it expects in vain.
        report: what `explain` says of its pod, None where it was not decided.
        problem: what makes no sense about it, or why it is skipped.
    """

    case: suites.Case
    status: Status
    mismatches: tuple[expectations.Mismatch, ...] = ()
    report: dict[str, Any] | None = None
    problem: str = ""


@dataclasses.dataclass(slots=True)
class Run:
    """What became of all tests.

    Attributes:
        problems: of files that could not be run, by file.
        inputs: every file that was read.
    """

    results: list[Result] = dataclasses.field(default_factory=list)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    coverage: coverage.Coverage = dataclasses.field(default_factory=coverage.Coverage)
    inputs: set[str] = dataclasses.field(default_factory=set)

    def count(self, status: Status) -> int:
        """Return how many tests have a status."""
        return sum(result.status == status for result in self.results)

    def exit_code(self, threshold: float | None = None) -> int:
        """Return 2 for what makes no sense, 1 for tests that fail or are missing, else 0."""
        if self.problems or self.count("error"):
            return errors.EXIT_WRONG_INPUT
        is_short = threshold is not None and self.coverage.percent < threshold
        if not self.results or self.count("fail") or is_short:
            return errors.EXIT_FINDINGS
        return errors.EXIT_OK


def run(
    paths: Iterable[str],
    pattern: re.Pattern[str] | None = None,
    *,
    is_update: bool = False,
    prometheus_bin: str | None = None,
    tell: Callable[[Result], None] = lambda _: None,
) -> Run:
    """Run the tests at `paths` whose name has `pattern` in it; see `suite.discover`.

    `tell` is told each result. With `is_update` tests may expect nothing yet. `prometheus_bin` is
    where promtool is, None for the PATH.

    Raises:
        InputError: a path does not exist.
    """
    done = Run()
    for path in suites.discover(paths):
        done.inputs.add(path)
        try:
            suite = suites.read(path, is_to_be_filled=is_update)
            inputs = world.World(suite, done.inputs, prometheus_bin)
            _run_suite(inputs, suite, done, pattern, tell)
        except errors.PolicySchedError as error:
            done.problems[path] = str(error)
    return done


def _run_suite(
    inputs: world.World,
    suite: suites.Suite,
    done: Run,
    pattern: re.Pattern[str] | None,
    tell: Callable[[Result], None],
) -> None:
    known = names.Names(inputs)
    faults = [*known.file_faults(suite), *_time_faults(suite, inputs)]
    for case in suite.cases:
        is_cluster = cluster_cases.is_one(case)
        faults += cluster_cases.faults(case, inputs) if is_cluster else known.faults(case)
    if faults:
        raise suites.SuiteError(suite.path, faults)
    done.coverage.add(inputs.all_rules)
    for case in suite.cases:
        if pattern is None or pattern.search(case.name):
            result = _run_case(case, inputs, known, done.coverage)
            done.results.append(result)
            tell(result)
    lint_case = suite.lint_case
    if lint_case is not None and (pattern is None or pattern.search(lint_case.name)):
        result = _run_lint_case(lint_case, inputs)
        done.results.append(result)
        tell(result)


def _run_lint_case(case: suites.LintCase, inputs: world.World) -> Result:
    found = tuple(linting.mismatches(case, inputs))
    return Result(case, "fail" if found else "pass", found)


def _time_faults(suite: suites.Suite, inputs: world.World) -> list[tuple[int, str]]:
    """Return the tests without a time, where a rule does not act at all times."""
    timed = [rule.head.name for rule in inputs.all_rules if rule.head.active is not None]
    if not timed:
        return []
    problem = f"`{timed[0]}` acts at some times only: say which time it is by `now`"
    return [(case.line(), problem) for case in suite.cases if case.field("now") is None]


def _run_case(
    case: suites.Case, inputs: world.World, known: names.Names, covered: coverage.Coverage
) -> Result:
    if "skip" in case.value:
        return Result(case, "skip", problem=case.value["skip"])
    try:
        if cluster_cases.is_one(case):
            missed = tuple(cluster_cases.mismatches(case, inputs, covered.observe))
            return Result(case, "fail" if missed else "pass", missed)
        subject = inputs.subject(case)
        are_replicas = "replicas" in case.value
        outcome = evaluation.evaluate(
            subject, case.suite.path, covered.observe, are_replicas=are_replicas
        )
        found = tuple(expectations.Comparison(case, outcome, inputs, known).mismatches())
    except errors.InputError as error:
        return Result(case, "error", problem=str(error))
    report = outcome.decision.report
    return Result(case, "fail" if found else "pass", found, report)
