"""Compares the expectations of a test case with its outcome."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from policysched import units
from policysched.lang.checked import checked
from policysched.policytests import evaluation, name_resolution, number_tolerance, suite_inputs
from policysched.policytests import suite as suites

Value: TypeAlias = Any
"""Any value that YAML can contain."""
MISSING = "_"
"""The raw number of a rule that has no value for a node, as in metrics."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectationMismatch:
    """An expectation that is not met.

    Attributes:
        path: the path of the value within `expect`.
        expected, actual: the expected and the actual value, as text for messages.
        replacement: the value for `path` that would match the outcome; see also `REMOVE`.
    """

    path: tuple[str, ...]
    expected: str
    actual: str
    replacement: Value


class ExpectationComparer:
    """Compares the expectations of one case with its outcome."""

    def __init__(
        self,
        case: suites.PolicyTestCase,
        outcome: evaluation.CaseOutcome,
        inputs: suite_inputs.SuiteInputs,
        known: name_resolution.NameResolver,
    ) -> None:
        """Prepare the comparison of `case` with `outcome`."""
        self._case = case
        self._expect = case.expect
        self._outcome = outcome
        self._inputs = inputs
        self._names = known
        self._decision = outcome.decision
        self._report = self._decision.report

    def find_mismatches(self) -> Iterator[ExpectationMismatch]:
        """Yield the expectations that are not met, in the order of the file.

        A case without expectations gets one mismatch, which contains the actual result.
        """
        if not self._expect:
            found = {"node": self._get_actual_node(), "feasible": self._list_feasible_nodes()}
            yield ExpectationMismatch((), "nothing", format_yaml_on_one_line(found), found)
        for field, written in self._expect.items():
            compare = _COMPARISONS.get(field)
            if compare is not None:
                yield from compare(self, written)

    # --- nodes -----------------------------------------------------------------------------------

    def _list_best_nodes(self) -> list[str]:
        best: list[str] = [] if "gated" in self._report else self._report["best"]
        return best

    def _get_actual_node(self) -> Value:
        best = self._list_best_nodes()
        return best if len(best) > 1 else next(iter(best), None)

    def _list_feasible_nodes(self) -> list[str]:
        return [name for name, verdict in self._report["nodes"].items() if verdict["ok"]]

    def compare_node(self, written: Value) -> Iterator[ExpectationMismatch]:
        """Compare the chosen node; if several nodes have equal points, all must be expected."""
        best = self._list_best_nodes()
        expected = [written] if isinstance(written, str) else written or []
        if set(best) <= set(expected) and bool(best) == bool(expected):
            return
        actual = format_yaml_on_one_line(self._get_actual_node()) + (
            " (equal points)" if len(best) > 1 else ""
        )
        yield ExpectationMismatch(
            ("node",), format_yaml_on_one_line(written), actual, self._get_actual_node()
        )

    def compare_feasible(self, written: list[str]) -> Iterator[ExpectationMismatch]:
        """Compare the set of feasible nodes."""
        actual = self._list_feasible_nodes()
        if set(written) != set(actual):
            yield ExpectationMismatch(
                ("feasible",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(actual),
                actual,
            )

    def compare_rejected(self, written: Mapping[str, Value]) -> Iterator[ExpectationMismatch]:
        """Compare the rules that reject nodes; `exact` forbids all other rejections."""
        is_exact = self._expect.get("exact", False)
        for node, said in written.items():
            rejecting = self._list_rejecting_rules(node)
            listed = [said] if isinstance(said, str) else said
            expected = {
                self._names.resolve_rule(each) for each in listed if each != name_resolution.ANY
            }
            is_any = name_resolution.ANY in listed
            is_met = expected <= set(rejecting) and bool(rejecting)
            if is_exact and not is_any:
                is_met = is_met and expected == set(rejecting)
            if not is_met:
                path = ("rejected", node)
                actual = (
                    format_yaml_on_one_line(self._shorten_names(rejecting))
                    if rejecting
                    else "accepts the pod"
                )
                corrected = self._format_rejection(rejecting) if rejecting else REMOVE
                yield ExpectationMismatch(path, format_yaml_on_one_line(said), actual, corrected)
        unexpected = [
            n for n in self._report["nodes"] if n not in written and self._list_rejecting_rules(n)
        ]
        if is_exact and unexpected:
            every = {n: self._list_rejecting_rules(n) for n in self._report["nodes"]}
            corrected = {n: self._format_rejection(rules) for n, rules in every.items() if rules}
            yield ExpectationMismatch(
                ("rejected",),
                format_yaml_on_one_line(dict(written)),
                format_yaml_on_one_line(corrected),
                corrected,
            )

    def _list_rejecting_rules(self, node: str) -> list[str]:
        """Return the full names of the rules and plugins that reject a node."""
        verdict = self._report["nodes"][node]
        found = [
            f"{each['policy']}/{each['rule']}" if each["rule"] else each["plugin"]
            for each in verdict["all"]
        ]
        return list(dict.fromkeys(found))

    def _shorten_names(self, rules: list[str]) -> list[str]:
        return [self._names.shorten_rule(rule) for rule in rules]

    def _format_rejection(self, rejecting: list[str]) -> Value:
        short = self._shorten_names(rejecting)
        return short[0] if len(short) == 1 else short

    # --- points ----------------------------------------------------------------------------------

    def compare_scores(self, written: Mapping[str, Value]) -> Iterator[ExpectationMismatch]:
        """Compare the total points of nodes."""
        for node, said in written.items():
            scored = self._report["scores"].get(node)
            total = None if scored is None else float(scored["total"])
            yield from self._compare_number(("scores", node), said, total, "is rejected")

    def compare_rules(
        self, written: Mapping[str, Mapping[str, Value]]
    ) -> Iterator[ExpectationMismatch]:
        """Compare the points and the raw numbers of single rules."""
        for rule, nodes in written.items():
            name = self._names.resolve_rule(rule)
            for node, said in nodes.items():
                parts = said if isinstance(said, dict) else {"points": said}
                below: tuple[str, ...] = ("rules", rule, node)
                points = self._decision.points.get(name)
                absent = "has no effect" if points is None else "is rejected"
                if "points" in parts:
                    path = (*below, "points") if isinstance(said, dict) else below
                    actual = (points or {}).get(node)
                    yield from self._compare_number(path, parts["points"], actual, absent)
                if "raw" in parts:
                    yield from self._compare_raw((*below, "raw"), parts["raw"], name, node)

    def _compare_raw(
        self, path: tuple[str, ...], written: float | str, name: str, node: str
    ) -> Iterator[ExpectationMismatch]:
        """Compare the raw number of a rule, which is `_` if it has no value."""
        raw = self._decision.raw.get(name, {}).get(node)
        if written != MISSING:
            yield from self._compare_number(path, written, raw, "no value", self._find_unit(name))
        elif raw is not None:
            shown = number_tolerance.shorten_number(raw)
            yield ExpectationMismatch(path, MISSING, str(shown), shown)
        elif node not in self._decision.points.get(name, {}):
            yield ExpectationMismatch(path, MISSING, "has no points", REMOVE)

    def _find_unit(self, rule: str) -> units.Unit | None:
        for each in self._inputs.enforced_rules:
            if each.head.name == rule and isinstance(each, checked.ExpressionScoreRule):
                return each.value.unit
        return None

    def _compare_number(
        self,
        path: tuple[str, ...],
        written: float | str,
        actual: float | None,
        absent: str,
        unit: units.Unit | None = None,
    ) -> Iterator[ExpectationMismatch]:
        """Yield a mismatch if a number is missing or outside the expected tolerance."""
        expected = number_tolerance.parse_expected_number(written, unit)
        if expected is None:
            line = self._case.find_line("expect", *path)
            problem = f"`{written}` is not a number that the rule could compute"
            raise suites.SuiteError(self._case.suite.path, [(line, problem)])
        if actual is None:
            yield ExpectationMismatch(path, str(written), absent, REMOVE)
        elif not expected.accepts_number(actual):
            corrected = number_tolerance.rewrite_expected_number(written, actual)
            yield ExpectationMismatch(
                path, str(written), str(number_tolerance.shorten_number(actual)), corrected
            )

    # --- words -----------------------------------------------------------------------------------

    def compare_message(self, written: str) -> Iterator[ExpectationMismatch]:
        """Compare the message of the PodScheduled condition."""
        actual = self._report["message"]
        if actual != written:
            yield ExpectationMismatch(
                ("message",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(actual),
                actual,
            )

    def compare_policies(self, written: list[str]) -> Iterator[ExpectationMismatch]:
        """Compare the policies that select the pod."""
        actual = self._decision.policies
        if set(actual) != set(written):
            yield ExpectationMismatch(
                ("policies",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(actual),
                actual,
            )

    def compare_skipped(self, written: list[str]) -> Iterator[ExpectationMismatch]:
        """Compare the list of inactive rules."""
        actual = self._decision.skipped
        if set(actual) != {self._names.resolve_rule(each) for each in written}:
            short = self._shorten_names(actual)
            yield ExpectationMismatch(
                ("skipped",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(short),
                short,
            )

    # --- preemption -------------------------------------------------------------------------------

    def compare_evicts(self, written: list[str]) -> Iterator[ExpectationMismatch]:
        """Compare the pods that preemption evicts, with replicas for all copies together."""
        placements = self._outcome.placements
        actual = (
            [victim for each in placements for victim in each.victims]
            if placements
            else self._decision.victims
        )
        if {self._names.resolve_pod(each) for each in written} != set(actual):
            yield ExpectationMismatch(
                ("evicts",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(actual),
                actual,
            )

    def compare_kept(self, written: Mapping[str, Value]) -> Iterator[ExpectationMismatch]:
        """Compare the rules by which placed pods must not be evicted for the pod."""
        facts = self._decision.preemption
        for pod, said in written.items():
            keeping = facts.find_keeping_rules(self._names.resolve_pod(pod)) if facts else []
            listed = [said] if isinstance(said, str) else said
            expected = {
                self._names.resolve_rule(each) for each in listed if each != name_resolution.ANY
            }
            if keeping and expected <= set(keeping):
                continue
            actual = format_yaml_on_one_line(self._shorten_names(keeping)) if keeping else "none"
            if facts is None:
                actual = "the pod needs no preemption"
            corrected = self._format_rejection(keeping) if keeping else REMOVE
            yield ExpectationMismatch(
                ("kept", pod), format_yaml_on_one_line(said), actual, corrected
            )

    # --- replicas --------------------------------------------------------------------------------

    def _count_replicas_by_node(self) -> Counter[str]:
        return Counter(each.node for each in self._outcome.placements if each.node is not None)

    def compare_pending(self, written: bool | int) -> Iterator[ExpectationMismatch]:  # noqa: FBT001 - the value in the test
        """Compare the number of pods that stay pending, or whether any pod stays pending."""
        placements = self._outcome.placements
        actual: bool | int = sum(each.node is None for each in placements)
        if not placements:
            actual = not self._list_best_nodes()
        if isinstance(written, bool):
            actual = bool(actual)
        if actual != written:
            yield ExpectationMismatch(
                ("pending",),
                format_yaml_on_one_line(written),
                format_yaml_on_one_line(actual),
                actual,
            )

    def compare_placed(self, written: Mapping[str, int]) -> Iterator[ExpectationMismatch]:
        """Compare the number of replicas on each node."""
        homes = self._count_replicas_by_node()
        for node, count in written.items():
            if homes[node] != count:
                yield ExpectationMismatch(
                    ("placed", node), str(count), str(homes[node]), homes[node]
                )

    def compare_max_skew(self, written: Mapping[str, int]) -> Iterator[ExpectationMismatch]:
        """Compare the largest difference in replicas between values of a node label.

        Differences up to the expected number are accepted.
        """
        homes = self._count_replicas_by_node()
        for key, allowed in written.items():
            by_value: Counter[str] = Counter()
            for name, node in self._inputs.nodes.items():
                if key in node.metadata.labels:
                    by_value[node.metadata.labels[key]] += homes[name]
            skew = max(by_value.values()) - min(by_value.values())
            if skew > allowed:
                said = ", ".join(f"{value}: {count}" for value, count in by_value.items())
                yield ExpectationMismatch(("maxSkew", key), str(allowed), f"{skew} ({said})", skew)


_COMPARISONS: Mapping[str, Callable[[ExpectationComparer, Any], Iterator[ExpectationMismatch]]] = {
    "node": ExpectationComparer.compare_node,
    "feasible": ExpectationComparer.compare_feasible,
    "rejected": ExpectationComparer.compare_rejected,
    "scores": ExpectationComparer.compare_scores,
    "rules": ExpectationComparer.compare_rules,
    "message": ExpectationComparer.compare_message,
    "policies": ExpectationComparer.compare_policies,
    "skipped": ExpectationComparer.compare_skipped,
    "evicts": ExpectationComparer.compare_evicts,
    "kept": ExpectationComparer.compare_kept,
    "pending": ExpectationComparer.compare_pending,
    "placed": ExpectationComparer.compare_placed,
    "maxSkew": ExpectationComparer.compare_max_skew,
}


class _RemovalMarker:
    """The type of `REMOVE`."""


REMOVE = _RemovalMarker()
"""The replacement that removes an entry, because no value would match the outcome."""


def does_replacement_remove_entry(value: Value) -> bool:
    """Return whether a replacement removes the entry."""
    return value is REMOVE


def format_yaml_on_one_line(value: Value) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(
                f"{_format_yaml_key(k)}: {format_yaml_on_one_line(v)}" for k, v in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(format_yaml_on_one_line(each) for each in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _format_yaml_scalar(value) if isinstance(value, str) else str(value)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@±+ %")


def _format_yaml_key(name: str) -> str:
    return _format_yaml_scalar(name)


def _format_yaml_scalar(value: str) -> str:
    is_plain = bool(value) and set(value) <= _SAFE and value == value.strip()
    is_word = is_plain and value[0].isalpha() and value.lower() not in _CONSTANTS
    is_number = is_plain and "±" in value
    if is_word or is_number or ("+-" in value and is_plain):
        return value
    return "'" + value.replace("'", "''") + "'"


_CONSTANTS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
