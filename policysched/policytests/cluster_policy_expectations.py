"""Compares the expectations of cluster policy tests with a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policysched.framework.scoring import score_table
from policysched.karmada import errors
from policysched.karmada.explaining import explanation
from policysched.policytests import evaluation, expectations, number_tolerance, suite_inputs
from policysched.policytests import suite as suites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from policysched.lang.checked import checked

FIELDS = ("division", "group", "error")
"""Expectations that only tests of cluster policies may contain."""
ANY = "any"
_PLUGINS = (
    *("ClusterEviction", "APIEnablement", "TaintToleration", "ClusterAffinity"),
    *("SpreadConstraint", "ClusterLocality"),
)


def find_expected_name_faults(
    case: suites.PolicyTestCase, policy: checked.CheckedPolicy, clusters: Iterable[str]
) -> Iterator[tuple[int, str]]:
    """Yield the line and message of every unknown rule or cluster in the expectations."""
    known, names = list(clusters), _list_expectable_names(policy)
    for path, cluster in _list_named_clusters(case):
        if cluster not in known:
            yield (
                case.find_line("expect", *path),
                suite_inputs.describe_unknown_name("cluster", cluster, known),
            )
    for path, name in _list_named_rules(case):
        if name not in names:
            line = case.find_line("expect", *path)
            yield (
                line,
                suite_inputs.describe_unknown_name("rule, clusterGroup or plugin", name, names),
            )


def _list_expectable_names(policy: checked.CheckedPolicy) -> list[str]:
    """Return the names of rules, cluster groups and plugins that expectations can contain."""
    heads = [rule.head for rule in policy.rules]
    groups = policy.clusters.groups if policy.clusters else ()
    names = [head.name for head in heads]
    short = [name.partition("/")[2] for name in names]
    return [*short, *names, *(each.name for each in groups), *_PLUGINS]


def _list_named_clusters(case: suites.PolicyTestCase) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the name of every cluster in the expectations."""
    for field in ("rejected", "scores"):
        yield from (((field, name), name) for name in case.expect.get(field, {}))
    yield from ((("feasible",), name) for name in case.expect.get("feasible", ()))
    for rule, points in case.expect.get("rules", {}).items():
        yield from ((("rules", rule, name), name) for name in points)


def _list_named_rules(case: suites.PolicyTestCase) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the name of every rule, group and plugin in the expectations."""
    for cluster, said in case.expect.get("rejected", {}).items():
        listed = [said] if isinstance(said, str) else said
        yield from ((("rejected", cluster), name) for name in listed if name != ANY)
    yield from ((("rules", rule), rule) for rule in case.expect.get("rules", {}))


def find_expectation_mismatches(
    case: suites.PolicyTestCase, found: explanation.BindingExplanation, policy: str
) -> Iterator[expectations.ExpectationMismatch]:
    """Yield the expectations that a decision does not meet.

    A test without expectations gets one mismatch, which contains the whole actual result.
    """
    result = found.decision.result
    failure = result if isinstance(result, errors.PlacementFailure) else None
    targets = () if isinstance(result, errors.PlacementFailure) else result
    attempt = _find_deciding_attempt(found)
    actual: dict[str, Any] = {
        "division": {each.name: each.replicas for each in sorted(targets, key=lambda t: t.name)},
        "group": found.decision.observed_affinity,
        "error": failure.text if failure else "",
        "feasible": sorted(each.name for each in attempt.ranked) if attempt else [],
    }
    if not case.expect:
        told = {field: each for field, each in actual.items() if each and field != "feasible"}
        yield expectations.ExpectationMismatch(
            (), "nothing", expectations.format_yaml_on_one_line(told), told
        )
    for field, written in case.expect.items():
        if field in ("rejected", "scores", "rules"):
            if attempt is not None:
                yield from _COMPARING[field](written, attempt, policy)
            continue
        if _normalise_expectation(field, written) != actual[field]:
            said = expectations.format_yaml_on_one_line(actual[field])
            why = f" ({failure.text})" if failure and field != "error" else ""
            yield expectations.ExpectationMismatch(
                (field,), expectations.format_yaml_on_one_line(written), said + why, actual[field]
            )


def _normalise_expectation(field: str, written: Any) -> Any:  # noqa: ANN401 - YAML
    if field == "division":
        return {name: count for name, count in written.items() if count}
    return sorted(written) if field == "feasible" else written


def _find_deciding_attempt(
    found: explanation.BindingExplanation,
) -> explanation.ExplainedAttempt | None:
    """Return the attempt that produced the result, or the first one if all attempts failed."""
    if not found.attempts:
        return None
    is_placed = not isinstance(found.decision.result, errors.PlacementFailure)
    return found.attempts[-1 if is_placed else 0]


def _compare_rejected_clusters(
    written: Mapping[str, str | list[str]], attempt: explanation.ExplainedAttempt, policy: str
) -> Iterator[expectations.ExpectationMismatch]:
    """Yield the expected rejections that the attempt does not contain."""
    for cluster, said in written.items():
        refusing = _list_rejecting_plugins(attempt, cluster)
        listed = [said] if isinstance(said, str) else said
        wanted = {_make_full_name(name, policy, refusing) for name in listed if name != ANY}
        if refusing and wanted <= set(refusing):
            continue
        short = [name.removeprefix(f"{policy}/") for name in refusing]
        actual = expectations.format_yaml_on_one_line(short) if short else "accepts the resource"
        corrected = short[0] if len(short) == 1 else short
        yield expectations.ExpectationMismatch(
            ("rejected", cluster),
            expectations.format_yaml_on_one_line(said),
            actual,
            corrected if short else expectations.REMOVE,
        )


def _list_rejecting_plugins(attempt: explanation.ExplainedAttempt, cluster: str) -> list[str]:
    """Return the rules, groups and plugins that reject a cluster."""
    return [
        f"{each.ref.policy}/{each.ref.rule}" if each.ref else each.plugin
        for each in attempt.refusals.get(cluster, ())
    ]


def _make_full_name(name: str, policy: str, known: Iterable[str]) -> str:
    return f"{policy}/{name}" if f"{policy}/{name}" in known else name


def _compare_total_points(
    written: Mapping[str, float | str], attempt: explanation.ExplainedAttempt, _: str
) -> Iterator[expectations.ExpectationMismatch]:
    totals = {each.name: float(each.score) for each in attempt.ranked}
    for cluster, said in written.items():
        yield from _compare_expected_number(("scores", cluster), said, totals.get(cluster))


def _compare_rule_points(
    written: Mapping[str, Mapping[str, float | str]],
    attempt: explanation.ExplainedAttempt,
    policy: str,
) -> Iterator[expectations.ExpectationMismatch]:
    """Yield the expected points of rules and groups that differ from the points in the attempt."""
    given = {
        (each.by, cluster): float(score_table.points(each.hundredths))
        for cluster, points in attempt.points.items()
        for each in points
    }
    names = {name for name, _ in given}
    for rule, clusters in written.items():
        name = _make_full_name(rule, policy, names)
        for cluster, said in clusters.items():
            yield from _compare_expected_number(
                ("rules", rule, cluster), said, given.get((name, cluster))
            )


def _compare_expected_number(
    path: tuple[str, ...], written: float | str, actual: float | None
) -> Iterator[expectations.ExpectationMismatch]:
    """Yield a mismatch if a number is missing or outside the expected tolerance."""
    expected = number_tolerance.parse_expected_number(written)
    if actual is None:
        yield expectations.ExpectationMismatch(
            path, str(written), "is refused", expectations.REMOVE
        )
    elif expected is None or not expected.accepts_number(actual):
        corrected = number_tolerance.rewrite_expected_number(written, actual)
        yield expectations.ExpectationMismatch(
            path, str(written), str(number_tolerance.shorten_number(actual)), corrected
        )


_COMPARING: dict[str, Callable[..., Iterator[expectations.ExpectationMismatch]]] = {
    "rejected": _compare_rejected_clusters,
    "scores": _compare_total_points,
    "rules": _compare_rule_points,
}


# --- coverage ------------------------------------------------------------------------------------


def convert_attempts_for_coverage(
    found: explanation.BindingExplanation, facts: list[evaluation.RuleFact]
) -> Iterator[evaluation.ExplainedDecision]:
    """Yield one decision for each attempt, for coverage; all contain the same facts about rules."""
    for attempt in found.attempts:
        nodes = {
            cluster: {
                "all": [
                    {"policy": each.ref.policy, "rule": each.ref.rule}
                    for each in refusals
                    if each.ref is not None
                ]
            }
            for cluster, refusals in attempt.refusals.items()
        }
        points: dict[str, dict[str, float]] = {}
        for cluster, given in attempt.points.items():
            for each in given:
                points.setdefault(each.by, {})[cluster] = float(score_table.points(each.hundredths))
        about = [policy.name for policy in found.about]
        yield evaluation.ExplainedDecision(
            {"prefilter": None, "nodes": nodes}, about, facts, points, {}
        )
