"""Cluster policies held to a scalar evaluation, and what they make of placements."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from policysched import clock as clocks
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.karmada import interface, objects
from policysched.karmada.plugins import registry
from policysched.karmada.policies import cluster_policies
from policysched.karmada.scheduler import triggers
from policysched.karmada.state import snapshot
from policysched.karmada.steps import algorithm, binding_decision
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.lang.diagnostics import rendering
from tests.conformance.generate import draw
from tests.karmada import cases, policy_texts
from tests.reference import cluster_policies as reference

_NOW = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.UTC)


def _program(text: str) -> checked.CheckedProgram:
    result = checker.check([source.SourceText("test.policy", text)])
    shown = [rendering.render_diagnostic(each, result.texts) for each in result.diagnostics]
    assert result.program is not None, "\n".join([text, *shown])
    return result.program


def _policies(
    text: str, values: dict[str, dict[str, float]], age_seconds: float = 0.0
) -> cluster_policies.ClusterPolicies:
    found = cluster_policies.make_cluster_policies(_program(text), None, clocks.ManualClock(_NOW))
    assert found is not None
    at_seconds = _NOW.timestamp() - age_seconds
    for metric, named in values.items():
        found.refresh_samples(
            metric, {n: metric_table.Sample(v, at_seconds) for n, v in named.items()}
        )
    return found


def _decoded(plane: dict[str, Any]) -> tuple[list[objects.Cluster], list[objects.Binding]]:
    clusters: list[objects.Cluster] = []
    bindings: list[objects.Binding] = []
    for item in plane["items"]:
        if item["kind"] == "Cluster":
            clusters.append(msgspec.convert(item, objects.Cluster, strict=False))
        else:
            bindings.append(msgspec.convert(item, objects.Binding, strict=False))
    return clusters, bindings


@pytest.mark.parametrize("seed", range(150))
def test_rules_say_what_a_scalar_evaluation_says(seed: int) -> None:
    """Filters, points and votes of generated policies on generated control planes."""
    d = draw.Draw(f"cluster policies {seed}")
    clusters, bindings = _decoded(cases.control_plane(f"policies {seed}"))
    known = snapshot.make_snapshot(clusters)
    text = policy_texts.policies(d)
    values = policy_texts.values(d, [each.metadata.name for each in known.clusters])
    policies = _policies(text, values)
    in_text = _program(text).cluster_policies
    for binding in bindings:
        if binding.spec.placement is None:
            continue
        world = reference.World(binding, known.clusters, values)
        placement = policies.complete_placement(binding, known)
        groups = [each.affinity_name for each in placement.cluster_affinities]
        request = interface.SchedulingRequest(binding, placement, groups[0] if groups else "")
        told = policies.filter(request, known)
        expected = reference.reasons(in_text, world)
        expected = _with_group(expected, in_text, world, request)
        for cluster, reason in zip(known.clusters, told, strict=True):
            allowed = expected[cluster.metadata.name]
            assert reason in (allowed or {""}), (seed, text, cluster.metadata.name, allowed)
        feasible = [i for i, reason in enumerate(told) if not reason]
        _same_points(policies, in_text, world, request, known, feasible)


def _with_group(
    expected: dict[str, set[str]],
    in_text: tuple[checked.CheckedPolicy, ...],
    world: reference.World,
    request: interface.SchedulingRequest,
) -> dict[str, set[str]]:
    own = world.binding.spec.placement
    if own is None or own.cluster_affinity is not None or own.cluster_affinities:
        return expected
    for policy in sorted(in_text, key=lambda each: each.name):
        groups = policy.clusters.groups if policy.clusters else ()
        if groups and reference.is_about(policy, world.binding):
            (group,) = (each for each in groups if each.name == request.affinity_name)
            for cluster in world.clusters:
                if not reference.cluster_matches(group.selector, cluster):
                    reason = f"cluster(s) not in clusterGroup {policy.name}/{group.name}"
                    expected[cluster.metadata.name].add(reason)
            return expected
    return expected


def _same_points(
    policies: cluster_policies.ClusterPolicies,
    in_text: tuple[checked.CheckedPolicy, ...],
    world: reference.World,
    request: interface.SchedulingRequest,
    known: snapshot.ControlPlaneSnapshot,
    feasible: list[int],
) -> None:
    left = [known.clusters[i] for i in feasible]
    if not left:
        return
    judged = policies.score_clusters(request, known, feasible)
    given = reference.points(in_text, world, left)
    names = [cluster.metadata.name for cluster in left]
    totals = [sum(each[name] for each in given.values()) for name in names]
    assert judged.points == [total // 100 for total in totals]
    scheduling = request.placement.replica_scheduling
    weights = scheduling.weight_preference if scheduling else None
    is_by_score = weights is not None and weights.dynamic_weight == "score"
    assert (judged.votes is not None) == is_by_score
    if judged.votes is not None:
        about = [p for p in in_text if reference.is_about(p, world.binding)]
        about = [p for p in about if p.clusters and p.clusters.division]
        dividing = min(about, key=lambda each: each.name)
        own = [given[rule.head.name] for rule in dividing.rules if rule.head.name in given]
        assert list(judged.votes) == [sum(each[name] for each in own) for name in names]


# --- decisions -----------------------------------------------------------------------------------

_ERRORS = "metric errors: ratio = `sum by (cluster) (x)` cluster cluster missing allow\n"
_DIVIDING = """\
clusterPolicy web {
  for resources
  replicas Divided Weighted by score
  score errors prefer low normalize linear(0%, 10%) missing score 0
}
"""
_DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


def _cluster(name: str, pods: int = 100, **spec: Any) -> dict[str, Any]:
    return {
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": spec,
        "status": {
            "apiEnablements": [
                {"groupVersion": "apps/v1", "resources": [{"name": "x", "kind": "Deployment"}]}
            ],
            "resourceSummary": {"allocatable": {"pods": str(pods), "cpu": "10"}},
        },
    }


def _binding(placement: dict[str, Any], replicas: int = 10, **spec: Any) -> objects.Binding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "d", "name": "web"}
    whole = {"resource": resource, "replicas": replicas, "placement": placement, **spec}
    item = {"kind": "ResourceBinding", "metadata": {"name": "b", "namespace": "d"}, "spec": whole}
    return msgspec.convert(item, objects.Binding, strict=False)


def _decide(
    text: str,
    values: dict[str, dict[str, float]],
    binding: objects.Binding,
    clusters: list[dict[str, Any]] | None = None,
    age_seconds: float = 0.0,
) -> str:
    """Return where a binding goes, `name:replicas` in order, or why nowhere."""
    policies = _policies(_ERRORS + text, values, age_seconds)
    plugins = registry.create_selected_plugins(registry.make_built_in_factories(), ["*"])
    items = clusters or [_cluster("m1"), _cluster("m2"), _cluster("m3")]
    known = snapshot.make_snapshot(
        [msgspec.convert(each, objects.Cluster, strict=False) for each in items]
    )
    decision = binding_decision.decide_binding(
        algorithm.BindingAlgorithm(plugins, policies=policies), binding, known
    )
    result = decision.result
    if isinstance(result, tuple):
        said = " ".join(f"{each.name}:{each.replicas}" for each in result)
        return said + (f" ({decision.observed_affinity})" if decision.observed_affinity else "")
    return f"{result.kind}: {result.text}"


@pytest.mark.parametrize(
    "values, expected",
    [
        pytest.param({"m1": 0.0, "m2": 0.05, "m3": 0.08}, "m1:6 m2:3 m3:1", id="by points"),
        pytest.param({"m1": 0.0, "m2": 0.1, "m3": 0.0}, "m1:5 m3:5", id="no points, no replicas"),
        pytest.param({"m1": 0.0, "m2": 0.05}, "m1:7 m2:3", id="missing is 0 points"),
        pytest.param({"m1": 0.2, "m2": 0.2}, "m1:4 m2:3 m3:3", id="nobody has points: room"),
        pytest.param({}, "m1:4 m2:3 m3:3", id="outage: room"),
    ],
)
def test_replicas_are_divided_by_a_metric(values: dict[str, float], expected: str) -> None:
    """10 replicas in proportion to the points of each cluster, by Webster's method."""
    assert _decide(_DIVIDING, {"errors": values}, _binding({"replicaScheduling": _DIVIDED})) == (
        expected
    )


def test_stale_samples_are_an_outage() -> None:
    """Samples beyond maxAge count as none; room decides then."""
    values = {"errors": {"m1": 0.0, "m2": 0.09}}
    binding = _binding({"replicaScheduling": _DIVIDED})
    assert _decide(_DIVIDING, values, binding, age_seconds=3600) == "m1:4 m2:3 m3:3"


def test_an_outage_can_hold_bindings() -> None:
    """`onOutage hold`: it waits as unschedulable, and says for which metric and rule."""
    text = _DIVIDING.replace("missing score 0", "missing score 0 as low") + (
        "profile karmada { policies web onOutage hold }\n"
    )
    assert _decide(text, {}, _binding({})) == (
        "unschedulable: binding waits for metric errors, which policy web/low reads: "
        "no cluster has a valid sample"
    )


def test_no_cluster_gets_more_than_it_has_room_for() -> None:
    """What exceeds the room of the best goes to the others, in the end to those without points."""
    clusters = [_cluster("m1", pods=4), _cluster("m2", pods=3), _cluster("m3")]
    values = {"errors": {"m1": 0.0, "m2": 0.05, "m3": 0.1}}
    binding = _binding({"replicaScheduling": _DIVIDED})
    assert _decide(_DIVIDING, values, binding, clusters) == "m1:4 m2:3 m3:3"
    few = [_cluster("m1", pods=4), _cluster("m2", pods=3)]
    assert _decide(_DIVIDING, values, binding, few) == (
        "unschedulable: failed to assign replicas: failed to scale up: "
        "Clusters available replicas 7 are not enough to schedule."
    )


@pytest.mark.parametrize(
    "present, replicas, spec, expected",
    [
        ({"m3": 10}, 10, {}, "m3:10"),
        ({"m3": 10}, 13, {}, "m1:2 m2:1 m3:10"),
        ({"m1": 8, "m3": 4}, 3, {}, "m1:2 m3:1"),
    ],
    ids=["complete", "scaled up", "scaled down"],
)
def test_what_is_there_moves_as_little_as_by_room(
    present: dict[str, int], replicas: int, spec: dict[str, Any], expected: str
) -> None:
    """A metric moves no complete binding; only what is missing is divided by points."""
    targets = [{"name": name, "replicas": count} for name, count in present.items()]
    binding = _binding({"replicaScheduling": _DIVIDED}, replicas, clusters=targets, **spec)
    values = {"errors": {"m1": 0.0, "m2": 0.05, "m3": 0.1}}
    assert _decide(_DIVIDING, values, binding) == expected


@pytest.mark.parametrize(
    "placement, expected",
    [
        pytest.param({}, "m1:7 m2:3", id="empty"),
        pytest.param({"replicaScheduling": _DIVIDED}, "m1:7 m2:3", id="no weights"),
        pytest.param(
            {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "m1:7 m2:3",
            id="no preference",
        ),
        pytest.param(
            {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
            "m1:10 m2:10 m3:10",
            id="duplicated",
        ),
        pytest.param(
            {
                "replicaScheduling": _DIVIDED
                | {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}
            },
            "m1:4 m2:3 m3:3",
            id="by room",
        ),
        pytest.param(
            {
                "replicaScheduling": _DIVIDED
                | {
                    "weightPreference": {
                        "staticWeightList": [
                            {"targetCluster": {"clusterNames": ["m3"]}, "weight": 1}
                        ]
                    }
                }
            },
            "m3:10",
            id="written weights",
        ),
    ],
)
def test_the_words_of_the_placement_win(placement: dict[str, Any], expected: str) -> None:
    """`replicas` fills what the placement leaves empty and nothing else."""
    values = {"errors": {"m1": 0.0, "m2": 0.05, "m3": 0.1}}
    order = sorted(_decide(_DIVIDING, values, _binding(placement)).split())
    assert " ".join(order) == expected


@pytest.mark.parametrize(
    "said, expected",
    [
        ("Duplicated", "m1:9 m2:9 m3:9"),
        ("Divided Aggregated", "m1:9"),
        ("Divided Weighted (m1: 2, m3: 1)", "m1:6 m3:3"),
        ("Divided Weighted AvailableReplicas", "m1:3 m2:3 m3:3"),
    ],
)
def test_each_division_is_karmadas(said: str, expected: str) -> None:
    """What `replicas` says is what the same words of a placement say."""
    text = f"clusterPolicy p {{ for resources replicas {said} }}"
    assert _decide(text, {}, _binding({}, 9)) == expected


def test_groups_are_tried_in_their_order() -> None:
    """The first group that has room for all is the observed affinity; reasons name groups."""
    text = """clusterPolicy web {
  for resources
  clusterGroup primary where region = eu
  clusterGroup dr where region = us
  replicas Divided Weighted AvailableReplicas
}
"""
    clusters = [_cluster("m1", 4, region="eu"), _cluster("m2", 50, region="us")]
    assert _decide(text, {}, _binding({}, 4), clusters) == "m1:4 (primary)"
    assert _decide(text, {}, _binding({}, 5), clusters) == "m2:5 (dr)"
    elsewhere = [_cluster("m1", region="asia")]
    assert _decide(text, {}, _binding({}), elsewhere) == (
        "fit: 0/1 clusters are available: 1 cluster(s) not in clusterGroup web/primary."
    )
    own = _binding({"clusterAffinity": {"clusterNames": ["m2"]}}, 4)
    assert _decide(text, {}, own, clusters) == "m2:4"


def test_reasons_name_policy_and_rule_or_are_the_message() -> None:
    """Clusters are counted by reason, after those of Karmada's filters."""
    text = """clusterPolicy web {
  for resources
  clusterAffinity required clusterName != m1 as elsewhere
  reject when errors > 5% as faulty
  reject when cluster(clusterName = m3) message "m3 is for tests"
}
"""
    assert _decide(text, {"errors": {"m2": 0.5, "m1": 0.5}}, _binding({})) == (
        "fit: 0/3 clusters are available: 1 cluster(s) didn't match policy web/elsewhere, "
        "1 cluster(s) rejected by policy web/faulty, 1 m3 is for tests."
    )


def test_reject_keeps_off_what_is_not_there_yet() -> None:
    """Present targets pass `reject`, as they pass taints; `clusterAffinity required` moves them."""
    placement = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    binding = _binding(placement, 2, clusters=[{"name": "m1", "replicas": 2}])
    rejecting = "clusterPolicy p { for resources reject when errors > 5% }"
    values = {"errors": {"m1": 0.5, "m2": 0.5}}
    assert _decide(rejecting, values, binding) == "m1:2 m3:2"
    moving = "clusterPolicy p { for resources clusterAffinity required clusterName != m1 }"
    assert sorted(_decide(moving, {}, binding).split()) == ["m2:2", "m3:2"]


@pytest.mark.parametrize(
    "selector, placed",
    [
        ('clusterName = "eu-*"', ["eu-1", "eu-2"]),
        ('clusterName != "*-1"', ["eu-2", "us-2"]),
        ('region In ("west*", south)', ["eu-1", "us-2"]),
        ('region != "*"', ["eu-2"]),
        ('provider = "*"', []),
    ],
)
def test_patterns_select_clusters_and_resources(selector: str, placed: list[str]) -> None:
    """A field that is unset matches no pattern."""
    clusters = [
        *(_cluster("eu-1", region="west-a"), _cluster("eu-2")),
        *(_cluster("us-1", region="north"), _cluster("us-2", region="south")),
    ]
    text = (
        f'clusterPolicy p {{ for resources in namespace ("d*") where resourceName = "w*" '
        f'and kind = "Dep*" clusterAffinity required {selector} }}'
    )
    placement = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    result = _decide(text, {}, _binding(placement, 1), clusters)
    found = sorted(each.partition(":")[0] for each in result.split())
    assert found == placed if placed else result.startswith("fit: 0/4")


def test_tolerations_are_united_with_those_of_the_placement() -> None:
    """Taints that either tolerates are no hindrance; without the policy they are."""
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    other = {"key": "dedicated", "value": "web", "effect": "NoSchedule"}
    clusters = [_cluster("m1", taints=[taint, other]), _cluster("m2", taints=[taint])]
    own = {"clusterTolerations": [{"key": "dedicated", "operator": "Exists"}]}
    text = "clusterPolicy p { for resources tolerate maintenance }"
    assert _decide(text, {}, _binding(own, 2), clusters) == "m1:2 m2:2"
    assert _decide(text, {}, _binding({}, 2), clusters) == "m2:2"


def test_points_choose_where_a_spread_constraint_does() -> None:
    """The clusters with the most points are chosen; weight 2 outdoes ClusterLocality."""
    text = """clusterPolicy p {
  for resources
  spreadConstraint by cluster maxGroups 1
  score errors prefer low normalize linear(0%, 10%) missing score 0 weight WEIGHT
  replicas Duplicated
}
"""
    values = {"errors": {"m1": 0.1, "m2": 0.0}}
    binding = _binding({}, 2, clusters=[{"name": "m3", "replicas": 2}])
    assert _decide(text.replace("WEIGHT", "1"), values, _binding({}, 2)) == "m2:2"
    assert _decide(text.replace("WEIGHT", "2"), values, binding) == "m2:2"


def test_windows_and_hysteresis_follow_refreshes() -> None:
    """`over` reads the samples of some time, older ones too; `until` holds what was rejected."""
    text = """clusterPolicy p {
  for resources
  reject when errors > 5% over 5m avg missing allow as mean
  reject when errors > 20% missing allow until errors < 2% as held
}
"""
    clock = clocks.ManualClock(_NOW)
    policies = cluster_policies.make_cluster_policies(_program(_ERRORS + text), None, clock)
    assert policies is not None
    assert policies.window_seconds == {"errors": 300.0}
    request = interface.SchedulingRequest(_binding({}), objects.Placement(), "")
    known = snapshot.make_snapshot([msgspec.convert(_cluster("m1"), objects.Cluster, strict=False)])

    def told(value: float) -> str:
        clock.advance(30)
        now_seconds = clock.now().timestamp()
        policies.refresh_samples("errors", {"m1": metric_table.Sample(value, now_seconds)})
        (reason,) = policies.filter(request, known)
        return reason

    assert policies.filter(request, known) == [""]
    assert told(0.0) == ""
    before = np.array([[_NOW.timestamp() - 30]])
    older = metric_windows.OlderSamples(("m1",), before, np.array([[0.4]]))
    policies.backfill_samples("errors", older)
    assert told(0.0) == "cluster(s) rejected by policy p/mean"
    clock.advance(600)
    assert told(0.0) == ""
    clock.advance(600)
    assert "p/" in told(0.3)
    clock.advance(600)
    assert told(0.04) == "cluster(s) rejected by policy p/held"
    assert told(0.01) == ""


@pytest.mark.parametrize(
    "present, replicas, expected",
    [
        ({"m1": 7, "m2": 3}, 10, None),
        ({"m1": 7, "m2": 3}, 11, triggers.ScheduleTrigger.SCALE),
        ({"m1": 7}, 10, triggers.ScheduleTrigger.SCALE),
    ],
    ids=["complete", "scaled", "lost"],
)
def test_a_complete_binding_stays_where_a_policy_divides(
    present: dict[str, int], replicas: int, expected: triggers.ScheduleTrigger | None
) -> None:
    """Divided by policy alone, it moves when replicas are missing; metrics alone move nothing."""
    targets = [{"name": name, "replicas": count} for name, count in present.items()]
    binding = _binding({}, replicas, clusters=targets)
    annotations = {triggers.APPLIED_PLACEMENT: "{}"}
    meta = msgspec.structs.replace(binding.metadata, annotations=annotations)
    binding = msgspec.structs.replace(binding, metadata=meta)
    policies = _policies(_ERRORS + _DIVIDING, {"errors": {"m1": 0.0, "m2": 0.09}})
    known = snapshot.make_snapshot([])
    assert triggers.find_schedule_trigger(binding, set()) is triggers.ScheduleTrigger.RECONCILE
    assert (
        triggers.find_schedule_trigger(binding, set(), policies.complete_placement(binding, known))
        is expected
    )


def test_rows_follow_clusters_that_change() -> None:
    """Labels, usage and clusters that come and go are seen at the next decision."""
    text = "clusterPolicy p { for resources reject when free(cpu) < 4 or cluster(bad Exists) }"
    policies = _policies(_ERRORS + text, {})
    request = interface.SchedulingRequest(_binding({}), objects.Placement(), "")

    def told(*items: dict[str, Any]) -> list[bool]:
        found = [msgspec.convert(each, objects.Cluster, strict=False) for each in items]
        return [bool(reason) for reason in policies.filter(request, snapshot.make_snapshot(found))]

    busy = _cluster("m1")
    busy["status"]["resourceSummary"]["allocated"] = {"cpu": "6500m"}
    bad = _cluster("m2")
    bad["metadata"]["labels"] = {"bad": "yes"}
    assert told(_cluster("m1"), _cluster("m2")) == [False, False]
    assert told(busy, _cluster("m2")) == [True, False]
    assert told(_cluster("m1"), bad) == [False, True]
    assert told(bad) == [True]
    assert told(_cluster("m0"), _cluster("m1"), _cluster("m2")) == [False, False, False]


@pytest.mark.parametrize(
    "during, expected",
    [("00:00-24:00", "m1:9 m2:1"), ("Mon 00:00-00:01", "m1:5 m2:5")],
    ids=["inside", "outside"],
)
def test_a_division_uses_the_weight_of_the_time(during: str, expected: str) -> None:
    """`otherwise` is a weight of the same score."""
    text = f"""
    clusterPolicy web {{
      for resources
      score cluster(clusterName = m1) weight 90 during "{during}" otherwise 10 as gold
      score cluster(clusterName = m2) weight 10 as silver
      replicas Divided Weighted by score
    }}
    """
    clusters = [_cluster("m1"), _cluster("m2")]
    binding = _binding({"replicaScheduling": _DIVIDED})
    assert _decide(text, {}, binding, clusters) == expected
    gold = text.replace("by score", "by score gold")
    assert _decide(gold, {}, binding, clusters) == "m1:10"
