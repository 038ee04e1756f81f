"""What the plugins say of selectors that Kubernetes cannot read, in kube-scheduler's words."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.framework import interface, profile, runtime
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.node_affinity import node_affinity
from policysched.plugins.pod_topology_spread import pod_topology_spread
from tests import builders

pod = builders.make_pod("p")
EMPTY = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
NO_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
no_values = builders.label_selector(builders.expression("a", "In"))
unknown = builders.label_selector(builders.expression("a", "Like", "b"))


def _prefers(*expressions: objects.SelectorRequirement, weight: int = 1) -> builders.PodBuilder:
    return pod.prefers_nodes(weight, builders.node_term(*expressions))


def _message(builder: builders.PodBuilder) -> str:
    cluster = builders.make_cache([builders.make_node(n).labels(zone=n) for n in ("a", "b")])
    plugins: tuple[interface.Plugin, ...] = (
        node_affinity.NodeAffinity(),
        pod_topology_spread.PodTopologySpread(cluster.cache.owners),
        inter_pod_affinity.InterPodAffinity(),
    )
    weights = {p.name: 1 for p in plugins}
    framework = runtime.Framework(profile.Profile("test", plugins, weights), None)
    return framework.schedule_pod(cluster.info(builder), cluster.cache.snapshot()).message


PRE_SCORE = 'running PreScore plugin "NodeAffinity": '
CASES = [
    pytest.param(
        _prefers(builders.expression("a", "Gt", "many")),
        f'{PRE_SCORE}[0].matchExpressions[0].values[0]: Invalid value: "many": {NO_INTEGER}',
        id="preferred nodes: no number",
    ),
    pytest.param(
        _prefers(builders.expression("a", "Lt", "9223372036854775808")),
        f"{PRE_SCORE}[0].matchExpressions[0].values[0]: Invalid value: "
        f'"9223372036854775808": {NO_INTEGER}',
        id="preferred nodes: too large a number",
    ),
    pytest.param(
        _prefers(builders.expression("b", "Exists"), builders.expression("a", "In", "x", "no!")),
        f'{PRE_SCORE}[0].matchExpressions[1].values[1][a]: Invalid value: "no!": {NO_LABEL_VALUE}',
        id="preferred nodes: no label value",
    ),
    pytest.param(
        _prefers(builders.expression("a", "Gt"), builders.expression("b", "Exists", "c")),
        f"{PRE_SCORE}[[0].matchExpressions[0].values: Invalid value: null: for 'Gt', 'Lt' "
        "operators, exactly one value is required, [0].matchExpressions[1].values: Invalid value: "
        '["c"]: values set must be empty for exists and does not exist]',
        id="preferred nodes: two errors",
    ),
    pytest.param(
        _prefers(builders.expression("a", "Gt", "many"), weight=0),
        "",
        id="preferred nodes: without weight",
    ),
    pytest.param(
        pod.requires_nodes(builders.node_term(builders.expression("a", "NotIn"))),
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
        id="required nodes: match nothing",
    ),
    pytest.param(
        pod.requires_pods(builders.pod_term("zone", no_values)),
        f"0/2 nodes are available: parsing pod: requiredAffinityTerms: {EMPTY}.",
        id="required pods",
    ),
    pytest.param(
        pod.requires_pods(builders.pod_term("zone", no_values)).avoids_pods(
            1, builders.pod_term("zone", {}, namespace_selector=unknown)
        ),
        f"0/2 nodes are available: parsing pod: [requiredAffinityTerms: {EMPTY}, "
        'preferredAntiAffinityTerms: "Like" is not a valid label selector operator].',
        id="pods of two kinds",
    ),
    pytest.param(
        pod.spread("zone", selector=no_values),
        'running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod\'s '
        f"hard topology spread constraints: {EMPTY}",
        id="hard spread",
    ),
    pytest.param(
        pod.spread("zone", selector=unknown, when_unsatisfiable="ScheduleAnyway"),
        'running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod\'s '
        'soft topology spread constraints: "Like" is not a valid label selector operator',
        id="soft spread",
    ),
    pytest.param(
        pod.spread("zone", selector=builders.label_selector(app="no label")),
        'running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod\'s '
        "hard topology spread constraints: values[0][app]: Invalid value: "
        f'"no label": {NO_LABEL_VALUE}',
        id="hard spread: matchLabels",
    ),
]


@pytest.mark.parametrize("builder, message", CASES)
def test_unreadable_selectors(builder: builders.PodBuilder, message: str) -> None:
    """A pod whose selectors cannot be read is rejected, or ends in an error."""
    assert _message(builder) == message


@pytest.mark.parametrize(
    "second, fits",
    [
        pytest.param(builders.label_selector(app="web"), False, id="all can be read"),
        pytest.param(no_values, True, id="one cannot"),
    ],
)
def test_placed_pods_with_an_unreadable_term_repel_nobody(
    second: objects.LabelSelector, fits: bool
) -> None:
    """One term that cannot be read takes the others of its kind with it."""
    terms = [
        builders.pod_term("zone", selector) for selector in (builders.label_selector(), second)
    ]
    placed = builders.make_pod("placed").node("a").rejects_pods(*terms)
    cluster = builders.make_cache([builders.make_node("a").labels(zone="a")], [placed])
    plugin = inter_pod_affinity.InterPodAffinity()
    framework = runtime.Framework(profile.Profile("test", (plugin,), {}), None)
    result = framework.schedule_pod(cluster.info(pod), cluster.cache.snapshot())
    assert (result.node_name == "a") == fits
