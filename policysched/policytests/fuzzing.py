"""Implements `test --fuzz`, which checks properties of policies on generated clusters.

finite      every score of a rule is a number from 0 to 100, and every total is finite
order       the order of nodes and pods in the input does not affect decisions
two ways    `explain`, which collects every rejection, finds the same nodes as the fast path
canonical   `fmt` is idempotent, and the formatted text has the same meaning
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import yaml

from policysched import clock as clocks
from policysched import errors
from policysched.inputs import policy_sources
from policysched.lang import source
from policysched.lang.formatting import formatter
from policysched.lang.interchange import tree_json, tree_text
from policysched.lang.parsing import parser
from policysched.policytests import evaluation, fuzz_clusters, suite_inputs
from policysched.policytests import suite as suites
from policysched.profiles import policies

Document: TypeAlias = dict[str, Any]
_NOW = datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC)
_WHOLE = 100.0
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True, slots=True)
class FuzzCounterexample:
    """A generated cluster on which a property does not hold.

    Attributes:
        path: the test file whose policies were checked.
        problem: the violated property, on one line.
        test: a test file that reproduces the problem, as YAML; "" if the text of a policy suffices.
    """

    path: str
    problem: str
    test: str = ""


def fuzz_policies(
    path: str, count: int, seed: int, tell: Callable[[], None] = lambda: None
) -> FuzzCounterexample | None:
    """Check the policies of a test file on `count` generated clusters.

    The same seed generates the same clusters. `tell` is called after each cluster.

    Raises:
        InputError: the file or its policies are invalid.
    """
    suite = suites.read_test_suite(path, is_to_be_filled=True)
    inputs = suite_inputs.SuiteInputs(suite, set())
    texts = policy_sources.read_policy_texts(inputs.policy_paths) if inputs.policy_paths else []
    policy_set = inputs.get_policy_set()
    for text in texts:
        problem = find_round_trip_problem(text)
        if problem:
            return FuzzCounterexample(path, f"{text.name}: {problem}")
    words = fuzz_clusters.build_policy_vocabulary(texts, policy_set.node_metrics)
    rng = random.Random(seed)
    for _ in range(count):
        head = _copy_suite_header(suite)
        now = clocks.parse_time(head["now"]) or _NOW
        document = {**head, **fuzz_clusters.generate_test_suite(words, rng, now)}
        for test in document["tests"]:
            test["schedulerName"] = rng.choice([each.name for each in policy_set.specs])
        problem = _find_cluster_problem(document, path, policy_set)
        if problem:
            return _minimise_counterexample(
                document, path, policy_set, _find_violated_property(problem)
            )
        tell()
    return None


def _minimise_counterexample(
    document: Document, path: str, policy_set: policies.PolicySet, kind: str
) -> FuzzCounterexample:
    """Return the smallest document found that still violates the same property."""

    def fails(smaller: Document) -> bool:
        try:
            found = _find_cluster_problem(smaller, path, policy_set)
        except errors.InputError:  # a pod needs devices of a class that no node has any more
            return False
        return _find_violated_property(found) == kind

    small = _shrink_document(document, fails)
    problem = _find_cluster_problem(small, path, policy_set)
    return FuzzCounterexample(path, problem, yaml.safe_dump(small, sort_keys=False))


def _find_violated_property(problem: str) -> str:
    """Return the property that a problem violates."""
    return problem.partition(": ")[2].partition(":")[0]


def _copy_suite_header(suite: suites.PolicyTestSuite) -> Document:
    fields = ("policies", "params", "now")
    head = {
        field: suite.get_file_field(field)
        for field in fields
        if suite.get_file_field(field) is not None
    }
    return {"now": _NOW.isoformat(), **head}


def find_round_trip_problem(text: source.SourceText) -> str:
    """Return how formatting or the JSON syntax tree changes the meaning of a text, or ""."""
    formatted = formatter.format_text(text)
    if formatted.text is None:
        return (
            f"fmt cannot format the text: {formatted.problem or formatted.diagnostics[0].message}"
        )
    canonical = source.SourceText(text.name, formatted.text)
    if formatter.format_text(canonical).text != formatted.text:
        return "fmt changes its own output"
    if parser.parse_policy_text(canonical).file != parser.parse_policy_text(text).file:
        return "fmt changes the meaning"
    try:
        again = tree_text.decode_policy_text(tree_text.encode_policy_text(text).document).text
    except tree_json.InvalidSyntaxTreeError as error:
        return f"the JSON syntax tree is refused at {error.path}: {error}"
    return "" if again == formatted.text else "the JSON syntax tree has a different meaning"


# ---------------------------------------------------------------------------- what must hold


def _find_cluster_problem(document: Document, path: str, policy_set: policies.PolicySet) -> str:
    """Return the first violated property on a cluster, or ""."""
    backwards = {
        **document,
        "nodes": dict(reversed(document["nodes"].items())),
        "pods": dict(reversed(document["pods"].items())),
    }
    here, there = (
        _GeneratedCluster(document, path, policy_set),
        _GeneratedCluster(backwards, path, policy_set),
    )
    for number, test in enumerate(document["tests"]):
        one, other = here.evaluate_case(number), there.evaluate_case(number)
        problem = next(_find_decision_problems(one, other), "")
        if problem:
            return f"pod {test['pod']}: {problem}"
    return ""


class _GeneratedCluster:
    """A generated cluster, parsed as a test file."""

    def __init__(self, document: Document, path: str, policy_set: policies.PolicySet) -> None:
        self._suite = suites.parse_test_suite(
            yaml.safe_dump(document, sort_keys=False), path, is_to_be_filled=True
        )
        self._inputs = suite_inputs.SuiteInputs(self._suite, set(), known=policy_set)

    def evaluate_case(self, number: int) -> evaluation.CaseOutcome | str:
        """Return the outcome of a test, or the message of an error."""
        try:
            subject = self._inputs.make_decision_inputs(self._suite.cases[number])
            return evaluation.evaluate_case(
                subject, self._suite.path, lambda _: None, are_replicas=True
            )
        except errors.InputError as error:
            return str(error)


def _find_decision_problems(
    one: evaluation.CaseOutcome | str, other: evaluation.CaseOutcome | str
) -> Iterator[str]:
    """Yield the properties violated by two decisions on the same input in different orders."""
    if isinstance(one, str) or isinstance(other, str):
        if one != other:
            yield f"order: {one} | {other}"
        return
    yield from _find_number_problems(one.decision)
    yield from _find_order_problems(one.decision, other.decision)
    yield from _find_explain_differences(one)
    yield from _find_preemption_problems(one.decision)


def _find_number_problems(decision: evaluation.ExplainedDecision) -> Iterator[str]:
    for rule, points in decision.points.items():
        for node, value in points.items():
            if not -_ROUNDING <= value <= _WHOLE + _ROUNDING:  # this includes NaN
                yield f"finite: {rule} gives {node} {value} points"
    for node, scored in decision.report["scores"].items():
        if not all(math.isfinite(value) for value in scored.values()):
            yield f"finite: {node} has {scored}"


def _find_order_problems(
    one: evaluation.ExplainedDecision, other: evaluation.ExplainedDecision
) -> Iterator[str]:
    for field in ("nodes", "scores", "feasible", "message"):
        if one.report.get(field) != other.report.get(field):
            yield f"order: {field} {one.report.get(field)} | {other.report.get(field)}"
    if set(one.report.get("best", ())) != set(other.report.get("best", ())):
        yield f"order: best {one.report['best']} | {other.report['best']}"


def _find_explain_differences(outcome: evaluation.CaseOutcome) -> Iterator[str]:
    """Yield differences between `explain` and the simulated decision for the same pod."""
    report, (placed,) = outcome.decision.report, outcome.placements
    if "gated" in report or placed.victims or placed.gate is not None:
        return
    if set(placed.best) != set(report["best"]):
        yield f"two ways: best {sorted(placed.best)} | {sorted(report['best'])}"
    if placed.node is not None and placed.feasible != report["feasible"]:
        yield f"two ways: feasible {placed.feasible} | {report['feasible']}"


def _find_preemption_problems(decision: evaluation.ExplainedDecision) -> Iterator[str]:
    """Yield the victims that the pod must not evict, by a rule or by their priority."""
    facts = decision.preemption
    if facts is None:
        return
    for victim in decision.victims:
        if victim not in facts.lesser:
            yield f"preemption: evicts {victim}, which has no lower priority"
        for rule in facts.find_keeping_rules(victim):
            yield f"preemption: evicts {victim}, which {rule} keeps"


# ---------------------------------------------------------------------------- smaller examples


def _shrink_document(document: Document, fails: Callable[[Document], bool]) -> Document:
    """Remove parts that the problem does not need: tests, pods, nodes, labels, values."""
    found, is_smaller = document, True
    while is_smaller:
        is_smaller = False
        for smaller in _generate_smaller_documents(found):
            if fails(smaller):
                found, is_smaller = smaller, True
                break
    return found


def _generate_smaller_documents(document: Document) -> Iterator[Document]:
    """Yield documents with one part fewer: tests first, then pods, nodes and fields."""
    tests = document["tests"]
    if len(tests) > 1:
        yield from ({**document, "tests": [each]} for each in tests)
    needed = {each["pod"] for each in tests}
    for name in document["pods"]:
        if name not in needed:
            yield {**document, "pods": _drop_document_field(document["pods"], name)}
    homes = {each.get("node") for each in document["pods"].values()}
    for name in document["nodes"]:
        if name not in homes and len(document["nodes"]) > 1:
            metrics = {
                key: _drop_document_field(each, name) for key, each in document["metrics"].items()
            }
            yield {
                **document,
                "nodes": _drop_document_field(document["nodes"], name),
                "metrics": metrics,
            }
    for kind in ("nodes", "pods"):
        for name, fields in document[kind].items():
            for field in (each for each in fields if each not in ("node", "namespace")):
                bare = {**document[kind], name: _drop_document_field(fields, field)}
                yield {**document, kind: bare}


def _drop_document_field(fields: Document, name: str) -> Document:
    return {key: value for key, value in fields.items() if key != name}
