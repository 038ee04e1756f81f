"""Tests of cluster policies: how one policy distributes the replicas of a resource."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from policysched import clock as clocks
from policysched.compiler import shared_parts
from policysched.framework import cycle_state
from policysched.inputs import metrics_file
from policysched.karmada import objects
from policysched.karmada.explaining import explanation
from policysched.karmada.plugins import registry
from policysched.karmada.policies import cluster_policies
from policysched.karmada.state import snapshot
from policysched.karmada.steps import algorithm
from policysched.lang.checked import checked, checked_selector
from policysched.offline import metric_evidence
from policysched.policytests import (
    cluster_policy_expectations,
    evaluation,
    expectations,
    shorthand,
    suite_inputs,
)
from policysched.policytests import suite as suites

if TYPE_CHECKING:
    import datetime

    from policysched.karmada.policies import cluster_view

_EVERY_RESOURCE = checked_selector.PolicyPodScope(None, checked_selector.EVERYTHING)
_MUCH = 1_000_000
"""The default amount of each resource in a cluster."""

_OUTAGE = "outage"


def is_cluster_policy_case(case: suites.PolicyTestCase) -> bool:
    """Return whether a test is about a cluster policy instead of a pod."""
    return "clusterPolicy" in case.value


def find_cluster_case_faults(
    case: suites.PolicyTestCase, inputs: suite_inputs.SuiteInputs
) -> Iterator[tuple[int, str]]:
    """Yield the line and message of every unknown name in a test."""
    policy, known = _find_policy(case, inputs), [each.name for each in _list_policies(inputs)]
    if policy is None:
        name = case.value["clusterPolicy"]
        yield (
            case.find_line("clusterPolicy"),
            suite_inputs.describe_unknown_name("clusterPolicy", name, known),
        )
        return
    names = _list_cluster_names(case, policy)
    for cluster in case.expect.get("division", {}):
        if cluster not in names:
            line = case.find_line("expect", "division", cluster)
            yield line, suite_inputs.describe_unknown_name("cluster", cluster, names)
    groups = [group.name for group in policy.clusters.groups] if policy.clusters else []
    group = case.expect.get("group", "")
    if group and group not in groups:
        yield (
            case.find_line("expect", "group"),
            suite_inputs.describe_unknown_name("clusterGroup", group, groups),
        )
    yield from cluster_policy_expectations.find_expected_name_faults(case, policy, names)
    yield from _find_metric_faults(case, inputs, names)


def _find_metric_faults(
    case: suites.PolicyTestCase, inputs: suite_inputs.SuiteInputs, names: Iterable[str]
) -> Iterator[tuple[int, str]]:
    """Yield the line and message of every unknown metric or cluster in the samples of a test."""
    said = case.value.get("metrics", {})
    declared = {metric.name for metric in inputs.get_policy_set().all_metrics}
    for metric, clusters in said.items() if isinstance(said, dict) else ():
        if metric not in declared:
            yield (
                case.find_line("metrics", metric),
                suite_inputs.describe_unknown_name("metric", metric, declared),
            )
        for cluster in clusters if isinstance(clusters, dict) else ():
            if cluster not in names:
                line = case.find_line("metrics", metric, cluster)
                yield line, suite_inputs.describe_unknown_name("cluster", cluster, names)


def find_cluster_case_mismatches(
    case: suites.PolicyTestCase,
    inputs: suite_inputs.SuiteInputs,
    observe: Callable[[evaluation.ExplainedDecision], None],
) -> list[expectations.ExpectationMismatch]:
    """Return the expectations that are not met; call `observe` with each attempt of the decision.

    Raises:
        InputError: the params, metrics or clusters of the test are invalid.
    """
    policy = _find_policy(case, inputs)
    program = inputs.get_policy_set(case).program
    if policy is None or program is None:
        return []
    clusters = snapshot.make_snapshot(_make_clusters(case, policy))
    binding = _make_binding(case)
    profile = _make_single_policy_profile(program, policy, has_resource="resource" in case.value)
    now = inputs.get_case_time(case)
    policies = cluster_policies.ClusterPolicies(profile, program, clocks.ManualClock(now))
    for metric, samples in _make_case_samples(case, inputs, now).items():
        policies.refresh_samples(metric, samples)
    plugins = registry.create_selected_plugins(registry.make_built_in_factories(), ["*"])
    made = algorithm.BindingAlgorithm(plugins, policies=policies)
    found = explanation.explain_binding(made, binding, clusters)
    facts = list(_list_rule_facts(profile, policies.make_binding_view(binding, clusters), policies))
    for decision in cluster_policy_expectations.convert_attempts_for_coverage(found, facts):
        observe(decision)
    return list(cluster_policy_expectations.find_expectation_mismatches(case, found, policy.name))


def _list_rule_facts(
    profile: checked.CheckedProfile,
    seen: cluster_view.BindingView,
    policies: cluster_policies.ClusterPolicies,
) -> Iterator[evaluation.RuleFact]:
    """Yield each rule whose scope contains the resource, and whether it is active."""
    measured = metric_evidence.PodMetricEvidence(policies.rules, seen.pod.shape, seen.snap)
    lost = {
        f"{each['policy']}/{each['rule']}"
        for each in cast("Any", measured.as_json().get("rules", ()))
        if each["outage"] is not None and profile.on_outage != "hold"
    }
    parts, state = shared_parts.SharedParts(()), cycle_state.CycleState()
    rows = dataclasses.replace(profile, policies=profile.cluster_policies)
    for placed in shared_parts.placed_rules(rows):
        rule_scope = parts.rule_scope(placed)
        if rule_scope.policy.selects(seen.pod.shape, seen.snap.counts.namespaces):
            acts = rule_scope.applies_to(state, seen.pod.shape, seen.snap)
            yield evaluation.RuleFact(placed.rule, acts and placed.rule.head.name not in lost)


# --- the policy ----------------------------------------------------------------------------------


def _list_policies(
    inputs: suite_inputs.SuiteInputs, case: suites.PolicyTestCase | None = None
) -> list[checked.CheckedPolicy]:
    program = inputs.get_policy_set(case).program
    return list(program.cluster_policies) if program else []


def _find_policy(
    case: suites.PolicyTestCase, inputs: suite_inputs.SuiteInputs
) -> checked.CheckedPolicy | None:
    name = case.value["clusterPolicy"]
    return next((each for each in _list_policies(inputs, case) if each.name == name), None)


def _make_single_policy_profile(
    program: checked.CheckedProgram, policy: checked.CheckedPolicy, *, has_resource: bool
) -> checked.CheckedProfile:
    """Return a profile with this policy alone in mode `enforce`.

    If the test has no resource, the policy gets a scope that contains all resources.
    """
    home = next(
        (p for p in program.profiles if any(e.name == policy.name for e in p.cluster_policies)),
        program.profiles[0],
    )
    by_name = {each.name: each for each in home.cluster_policies}
    alone = dataclasses.replace(by_name.get(policy.name, policy), mode="enforce")
    if not has_resource:
        alone = dataclasses.replace(alone, scope=_EVERY_RESOURCE)
    known = {metric.key: metric for metric in (*program.metrics, *home.cluster_metrics)}
    metrics = tuple(each for each in known.values() if each.target == "cluster")
    return dataclasses.replace(home, cluster_policies=(alone,), cluster_metrics=metrics)


# --- clusters and resource -----------------------------------------------------------------------


def _list_cluster_names(case: suites.PolicyTestCase, policy: checked.CheckedPolicy) -> list[str]:
    """Return the clusters of the file; by default, the clusters that have weights in the policy."""
    written = case.suite.get_file_field("clusters", {})
    division = policy.clusters.division if policy.clusters else None
    weighted = [name for name, _ in division.weights] if division else []
    return list(written) or weighted


def _make_clusters(
    case: suites.PolicyTestCase, policy: checked.CheckedPolicy
) -> list[objects.Cluster]:
    """Return the clusters of a test, which offer the API of its resource and ample capacity."""
    every: Mapping[str, shorthand.Fields] = case.suite.get_file_field("clusters", {})
    asked = {"pods", *case.value.get("resource", {}).get("requests", {})}
    found = []
    for name in _list_cluster_names(case, policy):
        try:
            fields = shorthand.resolve_inherited_fields(name, every, "cluster") if every else {}
            made = shorthand.make_member_cluster(name, fields, dict.fromkeys(sorted(asked), _MUCH))
        except shorthand.ShorthandError as error:
            at = error.path if error.path[:1] == (name,) else (name, *error.path)
            line = case.suite.find_line("clusters", *at)
            raise suites.SuiteError(case.suite.path, [(line, error.problem)]) from error
        made["status"]["apiEnablements"] = [_make_api_enablements(case)]
        found.append(msgspec.convert(made, objects.Cluster, strict=False))
    return found


def _get_api_version_and_kind(case: suites.PolicyTestCase) -> tuple[str, str]:
    resource = case.value.get("resource", {})
    return resource.get("apiVersion", "apps/v1"), resource.get("kind", "Deployment")


def _make_api_enablements(case: suites.PolicyTestCase) -> dict[str, Any]:
    api_version, kind = _get_api_version_and_kind(case)
    return {"groupVersion": api_version, "resources": [{"kind": kind}]}


def _make_binding(case: suites.PolicyTestCase) -> objects.Binding:
    """Return the resource of a test as a ResourceBinding."""
    fields = case.value.get("resource", {})
    api_version, kind = _get_api_version_and_kind(case)
    try:
        requests = shorthand.format_quantities(fields.get("requests", {}), ("requests",))
    except shorthand.ShorthandError as error:
        line = case.find_line("resource", *error.path)
        raise suites.SuiteError(case.suite.path, [(line, error.problem)]) from error
    namespace, name = fields.get("namespace", "default"), fields.get("name", "resource")
    resource = {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name}
    present = fields.get("clusters", {})
    spec = {
        "resource": resource,
        "replicas": case.value.get("replicas", 1),
        "replicaRequirements": {"resourceRequest": requests},
        "placement": fields.get("placement", {}),
        "clusters": [{"name": each, "replicas": count} for each, count in present.items()],
        "schedulePriority": {"priority": fields.get("priority", 0)},
    }
    metadata = {"name": name, "namespace": namespace}
    metadata |= {key: fields.get(key, {}) for key in ("labels", "annotations")}
    made = {"kind": "ResourceBinding", "metadata": metadata, "spec": spec}
    try:
        return msgspec.convert(made, objects.Binding, strict=False)
    except msgspec.ValidationError as error:
        line = case.find_line("resource")
        raise suites.SuiteError(case.suite.path, [(line, f"is not valid: {error}")]) from error


def _make_case_samples(
    case: suites.PolicyTestCase, inputs: suite_inputs.SuiteInputs, now: datetime.datetime
) -> metrics_file.Samples:
    """Return the samples of the file, overridden by those of the test."""
    own = case.value.get("metrics", {})
    if own == _OUTAGE:
        return {}
    of_clusters = [m for m in inputs.get_policy_set(case).all_metrics if m.target == "cluster"]
    tables: dict[str, Any] = {}
    for name in {metric.name for metric in of_clusters}:
        for said in (case.suite.get_file_field("metrics", {}), own):
            if name in said:
                tables[name] = {} if said[name] == _OUTAGE else tables.get(name, {}) | said[name]
    place = f"{case.suite.path}:{case.find_line()}"
    return metrics_file.make_samples_from_tables(tables, lambda _: place, of_clusters, now)
