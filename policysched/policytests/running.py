"""Runs the tests in test files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from policysched import errors
from policysched.lang.checked import checked, checked_expr, rule_parts
from policysched.policytests import (
    cluster_policy_cases,
    coverage,
    evaluation,
    expectations,
    linting,
    name_resolution,
    suite_inputs,
)
from policysched.policytests import suite as suites

Status = Literal["pass", "fail", "error", "skip"]


@dataclasses.dataclass(frozen=True, slots=True)
class CaseResult:
    """The status of one test, with the reasons for a failure.

    Attributes:
        mismatches: the expectations that are not met.
        report: the `explain` report for its pod; None without a decision for a pod.
        problem: the error in the test, or the reason why the test is skipped.
    """

    case: suites.PolicyTestCase
    status: Status
    mismatches: tuple[expectations.ExpectationMismatch, ...] = ()
    report: dict[str, Any] | None = None
    problem: str = ""


@dataclasses.dataclass(slots=True)
class PolicyTestRun:
    """The results and the coverage of all tests in a run.

    Attributes:
        problems: file -> the reason why it could not be run.
        inputs: the paths of all input files, even if they could not be read.
    """

    results: list[CaseResult] = dataclasses.field(default_factory=list)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    coverage: coverage.PolicyCoverage = dataclasses.field(default_factory=coverage.PolicyCoverage)
    inputs: set[str] = dataclasses.field(default_factory=set)

    def count_results(self, status: Status) -> int:
        """Return the number of tests with a status."""
        return sum(result.status == status for result in self.results)

    @property
    def has_run_tests(self) -> bool:
        """Whether at least one test passed or failed; if none did, no rule was exercised."""
        return bool(self.count_results("pass") or self.count_results("fail"))

    def get_exit_code(self, threshold: float | None = None) -> int:
        """Return 2 for invalid input; 1 for failed tests, no tests or low coverage; otherwise 0."""
        if self.problems or self.count_results("error"):
            return errors.EXIT_WRONG_INPUT
        is_short = threshold is not None and self.coverage.percent < threshold
        if not self.results or self.count_results("fail") or is_short:
            return errors.EXIT_FINDINGS
        return errors.EXIT_OK


def run_test_suites(
    paths: Iterable[str],
    pattern: re.Pattern[str] | None = None,
    *,
    is_update: bool = False,
    prometheus_bin: str | None = None,
    tell: Callable[[CaseResult], None] = lambda _: None,
) -> PolicyTestRun:
    """Run the tests at `paths` whose names contain `pattern`; see `suite.discover_test_files`.

    `tell` is called with each result. With `is_update`, tests may lack expectations.
    `prometheus_bin` is the path of promtool, prometheus or their folder; None to search the PATH.

    Raises:
        InputError: a path does not exist.
    """
    done = PolicyTestRun()
    for path in suites.discover_test_files(paths):
        done.inputs.add(path)
        try:
            suite = suites.read_test_suite(path, is_to_be_filled=is_update)
            inputs = suite_inputs.SuiteInputs(suite, done.inputs, prometheus_bin)
            _run_test_suite(inputs, suite, done, pattern, tell)
        except errors.PolicySchedError as error:
            done.problems[path] = str(error)
    return done


def _run_test_suite(
    inputs: suite_inputs.SuiteInputs,
    suite: suites.PolicyTestSuite,
    done: PolicyTestRun,
    pattern: re.Pattern[str] | None,
    tell: Callable[[CaseResult], None],
) -> None:
    """Run the tests of a file, and add results and coverage to `done`."""
    known = name_resolution.NameResolver(inputs)
    faults = [*known.find_metric_name_faults(suite), *_find_time_faults(suite, inputs)]
    for case in suite.cases:
        is_cluster = cluster_policy_cases.is_cluster_policy_case(case)
        faults += (
            cluster_policy_cases.find_cluster_case_faults(case, inputs)
            if is_cluster
            else known.find_case_faults(case)
        )
    if faults:
        raise suites.SuiteError(suite.path, faults)
    done.coverage.add_rules(inputs.all_rules)
    for case in suite.cases:
        if pattern is None or pattern.search(case.name):
            result = _run_policy_case(case, inputs, known, done.coverage)
            done.results.append(result)
            tell(result)
    lint_case = suite.lint_case
    if lint_case is not None and (pattern is None or pattern.search(lint_case.name)):
        result = _run_lint_case(lint_case, inputs)
        done.results.append(result)
        tell(result)


def _run_lint_case(case: suites.LintCase, inputs: suite_inputs.SuiteInputs) -> CaseResult:
    found = tuple(linting.find_lint_mismatches(case, inputs))
    return CaseResult(case, "fail" if found else "pass", found)


def _find_time_faults(
    suite: suites.PolicyTestSuite, inputs: suite_inputs.SuiteInputs
) -> list[tuple[int, str]]:
    """Return the tests without `now` as faults, if the result of some rule depends on the time."""
    has_times = _has_times(suite)
    timed = [
        rule.head.name
        for rule in inputs.all_rules
        if rule.head.active is not None or (has_times and _reads_elapsed_time(rule))
    ]
    if not timed:
        return []
    problem = f"`{timed[0]}` depends on the time: set the time with `now`"
    return [(case.find_line(), problem) for case in suite.cases if case.get_field("now") is None]


def _has_times(suite: suites.PolicyTestSuite) -> bool:
    """Return whether times are known at which elapsed times begin."""
    pods = [case.value.get("pod") for case in suite.cases]
    listed = [
        each for field in ("nodes", "pods") for each in suite.get_file_field(field, {}).values()
    ]
    return suite.get_file_field("cluster") is not None or any(
        "created" in each or "firstTried" in each
        for each in (*pods, *listed)
        if isinstance(each, dict)
    )


def _reads_elapsed_time(rule: checked.Rule) -> bool:
    return any(
        isinstance(each, checked_expr.ElapsedTime)
        for expr in rule_parts.list_rule_expressions(rule)
        for each in checked_expr.walk_expressions(expr)
    )


def _run_policy_case(
    case: suites.PolicyTestCase,
    inputs: suite_inputs.SuiteInputs,
    known: name_resolution.NameResolver,
    covered: coverage.PolicyCoverage,
) -> CaseResult:
    """Return the result of one test of a pod or cluster policy."""
    if "skip" in case.value:
        return CaseResult(case, "skip", problem=case.value["skip"])
    try:
        if cluster_policy_cases.is_cluster_policy_case(case):
            missed = tuple(
                cluster_policy_cases.find_cluster_case_mismatches(
                    case, inputs, covered.record_decision
                )
            )
            return CaseResult(case, "fail" if missed else "pass", missed)
        subject = inputs.make_decision_inputs(case)
        are_replicas = "replicas" in case.value
        outcome = evaluation.evaluate_case(
            subject, case.suite.path, covered.record_decision, are_replicas=are_replicas
        )
        found = tuple(
            expectations.ExpectationComparer(case, outcome, inputs, known).find_mismatches()
        )
    except errors.InputError as error:
        return CaseResult(case, "error", problem=str(error))
    report = outcome.decision.report
    return CaseResult(case, "fail" if found else "pass", found, report)
