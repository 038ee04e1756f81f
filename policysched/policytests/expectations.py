"""Compares what a case expects with what happened."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from policysched import units
from policysched.lang.checked import checked
from policysched.policytests import evaluation, names, tolerance, world
from policysched.policytests import suite as suites

Value: TypeAlias = Any
"""What may stand in YAML."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mismatch:
    """An expectation that is not met.

    Attributes:
        path: of the value within `expect`.
        expected, actual: for people.
        replacement: what would have to stand at `path`.
    """

    path: tuple[str, ...]
    expected: str
    actual: str
    replacement: Value


class Comparison:
    """Compares one case."""

    def __init__(
        self,
        case: suites.Case,
        outcome: evaluation.Outcome,
        inputs: world.World,
        known: names.Names,
    ) -> None:
        """Compare what `case` expects with `outcome`."""
        self._case = case
        self._expect = case.expect
        self._outcome = outcome
        self._inputs = inputs
        self._names = known
        self._decision = outcome.decision
        self._report = self._decision.report

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield every expectation that is not met, in the order of the file."""
        if not self._expect:
            found = {"node": self._node(), "feasible": self._feasible()}
            yield Mismatch((), "nothing", text(found), found)
        for field, written in self._expect.items():
            compare = _COMPARISONS.get(field)
            if compare is not None:
                yield from compare(self, written)

    # --- nodes -----------------------------------------------------------------------------------

    def _best(self) -> list[str]:
        best: list[str] = [] if "gated" in self._report else self._report["best"]
        return best

    def _node(self) -> Value:
        best = self._best()
        return best if len(best) > 1 else next(iter(best), None)

    def _feasible(self) -> list[str]:
        return [name for name, verdict in self._report["nodes"].items() if verdict["ok"]]

    def compare_node(self, written: Value) -> Iterator[Mismatch]:
        """Compare where the pod goes; of nodes with equal points each must be expected."""
        best = self._best()
        expected = [written] if isinstance(written, str) else written or []
        if set(best) <= set(expected) and bool(best) == bool(expected):
            return
        actual = text(self._node()) + (" (equal points)" if len(best) > 1 else "")
        yield Mismatch(("node",), text(written), actual, self._node())

    def compare_feasible(self, written: list[str]) -> Iterator[Mismatch]:
        """Compare which nodes take the pod."""
        actual = self._feasible()
        if set(written) != set(actual):
            yield Mismatch(("feasible",), text(written), text(actual), actual)

    def compare_rejected(self, written: Mapping[str, Value]) -> Iterator[Mismatch]:
        """Compare what rejects nodes."""
        is_exact = self._expect.get("exact", False)
        for node, said in written.items():
            rejecting = self._rejecting(node)
            listed = [said] if isinstance(said, str) else said
            expected = {self._names.rule(each) for each in listed if each != names.ANY}
            is_any = names.ANY in listed
            is_met = expected <= set(rejecting) and bool(rejecting)
            if is_exact and not is_any:
                is_met = is_met and expected == set(rejecting)
            if not is_met:
                path = ("rejected", node)
                actual = text(self._short(rejecting)) if rejecting else "takes the pod"
                corrected = self._rejection(rejecting) if rejecting else REMOVE
                yield Mismatch(path, text(said), actual, corrected)
        unexpected = [n for n in self._report["nodes"] if n not in written and self._rejecting(n)]
        if is_exact and unexpected:
            every = {n: self._rejecting(n) for n in self._report["nodes"]}
            corrected = {n: self._rejection(rules) for n, rules in every.items() if rules}
            yield Mismatch(("rejected",), text(dict(written)), text(corrected), corrected)

    def _rejecting(self, node: str) -> list[str]:
        """Return the rules and plugins that reject a node, by full name."""
        verdict = self._report["nodes"][node]
        found = [
            f"{each['policy']}/{each['rule']}" if each["rule"] else each["plugin"]
            for each in verdict["all"]
        ]
        return list(dict.fromkeys(found))

    def _short(self, rules: list[str]) -> list[str]:
        return [self._names.short(rule) for rule in rules]

    def _rejection(self, rejecting: list[str]) -> Value:
        short = self._short(rejecting)
        return short[0] if len(short) == 1 else short

    # --- points ----------------------------------------------------------------------------------

    def compare_scores(self, written: Mapping[str, Value]) -> Iterator[Mismatch]:
        """Compare total points."""
        for node, said in written.items():
            scored = self._report["scores"].get(node)
            total = None if scored is None else float(scored["total"])
            yield from self._number(("scores", node), said, total, "is rejected")

    def compare_rules(self, written: Mapping[str, Mapping[str, Value]]) -> Iterator[Mismatch]:
        """Compare points of single rules, and what they were made of."""
        for rule, nodes in written.items():
            name = self._names.rule(rule)
            for node, said in nodes.items():
                parts = said if isinstance(said, dict) else {"points": said}
                below: tuple[str, ...] = ("rules", rule, node)
                points = self._decision.points.get(name)
                absent = "has no say" if points is None else "is rejected"
                if "points" in parts:
                    path = (*below, "points") if isinstance(said, dict) else below
                    actual = (points or {}).get(node)
                    yield from self._number(path, parts["points"], actual, absent)
                if "raw" in parts:
                    raw = self._decision.raw.get(name, {}).get(node)
                    path = (*below, "raw")
                    yield from self._number(path, parts["raw"], raw, "no value", self._unit(name))

    def _unit(self, rule: str) -> units.Unit | None:
        for each in self._inputs.rules:
            if each.head.name == rule and isinstance(each, checked.ScoreRule):
                return each.value.unit
        return None

    def _number(
        self,
        path: tuple[str, ...],
        written: float | str,
        actual: float | None,
        absent: str,
        unit: units.Unit | None = None,
    ) -> Iterator[Mismatch]:
        expected = tolerance.parse(written, unit)
        if expected is None:
            line = self._case.line("expect", *path)
            problem = f"`{written}` is no number that the rule could compute"
            raise suites.SuiteError(self._case.suite.path, [(line, problem)])
        if actual is None:
            yield Mismatch(path, str(written), absent, REMOVE)
        elif not expected.accepts(actual):
            corrected = tolerance.rewritten(written, actual)
            yield Mismatch(path, str(written), str(tolerance.number(actual)), corrected)

    # --- words -----------------------------------------------------------------------------------

    def compare_message(self, written: str) -> Iterator[Mismatch]:
        """Compare the text of the PodScheduled condition."""
        actual = self._report["message"]
        if actual != written:
            yield Mismatch(("message",), text(written), text(actual), actual)

    def compare_policies(self, written: list[str]) -> Iterator[Mismatch]:
        """Compare which policies select the pod."""
        actual = self._decision.policies
        if set(actual) != set(written):
            yield Mismatch(("policies",), text(written), text(actual), actual)

    def compare_skipped(self, written: list[str]) -> Iterator[Mismatch]:
        """Compare which rules drop out."""
        actual = self._decision.skipped
        if set(actual) != {self._names.rule(each) for each in written}:
            short = self._short(actual)
            yield Mismatch(("skipped",), text(written), text(short), short)

    # --- replicas --------------------------------------------------------------------------------

    def _homes(self) -> Counter[str]:
        return Counter(each.node for each in self._outcome.placements if each.node is not None)

    def compare_pending(self, written: bool | int) -> Iterator[Mismatch]:  # noqa: FBT001 - it is what the test says
        """Compare how many pods stay pending."""
        placements = self._outcome.placements
        actual: bool | int = sum(each.node is None for each in placements)
        if not placements:
            actual = not self._best()
        if isinstance(written, bool):
            actual = bool(actual)
        if actual != written:
            yield Mismatch(("pending",), text(written), text(actual), actual)

    def compare_placed(self, written: Mapping[str, int]) -> Iterator[Mismatch]:
        """Compare how many replicas go to each node."""
        homes = self._homes()
        for node, count in written.items():
            if homes[node] != count:
                yield Mismatch(("placed", node), str(count), str(homes[node]), homes[node])

    def compare_max_skew(self, written: Mapping[str, int]) -> Iterator[Mismatch]:
        """Compare by how many replicas the values of a label of nodes differ."""
        homes = self._homes()
        for key, allowed in written.items():
            by_value: Counter[str] = Counter()
            for name, node in self._inputs.nodes.items():
                if key in node.metadata.labels:
                    by_value[node.metadata.labels[key]] += homes[name]
            skew = max(by_value.values()) - min(by_value.values())
            if skew > allowed:
                said = ", ".join(f"{value}: {count}" for value, count in by_value.items())
                yield Mismatch(("maxSkew", key), str(allowed), f"{skew} ({said})", skew)


_COMPARISONS: Mapping[str, Callable[[Comparison, Any], Iterator[Mismatch]]] = {
    "node": Comparison.compare_node,
    "feasible": Comparison.compare_feasible,
    "rejected": Comparison.compare_rejected,
    "scores": Comparison.compare_scores,
    "rules": Comparison.compare_rules,
    "message": Comparison.compare_message,
    "policies": Comparison.compare_policies,
    "skipped": Comparison.compare_skipped,
    "pending": Comparison.compare_pending,
    "placed": Comparison.compare_placed,
    "maxSkew": Comparison.compare_max_skew,
}


class _Remove:
    """Stands for nothing: the entry is wrong whatever it says."""


REMOVE = _Remove()
"""Replaces an entry that is to be left out."""


def is_removal(value: Value) -> bool:
    """Return whether a replacement is to leave the entry out."""
    return value is REMOVE


def text(value: Value) -> str:
    """Return a value as YAML has it on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(text(each) for each in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _scalar(value) if isinstance(value, str) else str(value)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@±+ %")


def _key(name: str) -> str:
    return _scalar(name)


def _scalar(value: str) -> str:
    is_plain = bool(value) and set(value) <= _SAFE and value == value.strip()
    is_word = is_plain and value[0].isalpha() and value.lower() not in _CONSTANTS
    is_number = is_plain and "±" in value
    if is_word or is_number or ("+-" in value and is_plain):
        return value
    return "'" + value.replace("'", "''") + "'"


_CONSTANTS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
