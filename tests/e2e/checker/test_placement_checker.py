"""The checker finds every kind of wrong placement, and nothing in right ones."""

from __future__ import annotations

import fractions
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.checker import cluster_state, placement_checker, pod_requests, quantities
from tests.e2e.scenes import shipped_policies
from tests.realcluster import manifests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ZONE, HOST = manifests.ZONE, manifests.HOSTNAME
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _node(name: str = "n1", *, spec: Mapping[str, Any] | None = None, **options: Any) -> Any:
    made = manifests.node(name, **options)
    made["spec"] |= spec or {}
    return made


def _zoned(*zones: str) -> list[Any]:
    return [_node(f"n{number}", labels={ZONE: zone}) for number, zone in enumerate(zones, 1)]


def _pod(name: str = "p", node: str | None = "n1", namespace: str = "ns", **options: Any) -> Any:
    made = manifests.pod(name, **options)
    made["metadata"]["namespace"] = namespace
    if node:
        made["spec"]["nodeName"] = node
    return made


def _ported(name: str, port: int = 80, address: str = "", protocol: str = "TCP") -> Any:
    made = _pod(name)
    claimed = {"hostPort": port, "containerPort": 80, "protocol": protocol, "hostIP": address}
    made["spec"]["containers"][0]["ports"] = [claimed]
    return made


def _node_affinity(*expressions: Mapping[str, Any], kind: str = "matchExpressions") -> Any:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{kind: expressions}]}}}}


def _expression(operator: str, *values: str, key: str = "size") -> Any:
    return {"key": key, "operator": operator, "values": list(values)}


def _term(kind: str, app: str, key: str = ZONE, **more: Any) -> Any:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    return {"affinity": {kind: {REQUIRED: [term]}}}


def _spread(**more: Any) -> Any:
    constraint = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def _app(name: str, node: str, spec: Any = None, *, app: str = "a", **options: Any) -> Any:
    return _pod(name, node, labels={"app": app}, spec=spec, **options)


APART, TOGETHER, EVEN = _term("podAntiAffinity", "a"), _term("podAffinity", "a"), _spread()
NO_ZONE = [_node("n1")]
GPU_NODE = _node(resources={"nvidia.com/gpu": "4"}, labels={"gpu-memory-gb": "16"})
GPU_TAINTED = _node(
    resources={"nvidia.com/gpu": "4"},
    labels={"gpu-memory-gb": "80"},
    taints=[("nvidia.com/gpu", "present", "NoSchedule")],
)
SSD = {"disktype": "ssd"}
WEB: dict[str, Any] = {"labels": {"tier": "web"}, "scheduler_name": "web", "namespace": "prod"}
TAINTED = _node(taints=[("team", "a", "NoSchedule")])
CORDONED = _node(spec={"unschedulable": True})
TOLERATES_ALL = {"tolerations": [{"operator": "Exists"}]}


def _tolerates(**toleration: str) -> Any:
    return {"tolerations": [toleration]}


WRONG = [
    pytest.param([_node()], [_pod(node=None)], "ns/p is not bound", id="unbound"),
    pytest.param([_node()], [_pod(node="n9")], "n9, which does not exist", id="no-such-node"),
    pytest.param([_node()], [_pod(spec={"schedulingGates": [{"name": "g"}]})], "gates", id="gated"),
    pytest.param([_node()], [_pod(requests={"cpu": "8001m"})], "n1: cpu", id="cpu"),
    pytest.param(
        [_node()],
        [_pod("p", requests={"memory": "16Gi"}), _pod("q", requests={"memory": "16385Mi"})],
        "n1: memory",
        id="memory-of-two",
    ),
    pytest.param(
        [_node()], [_pod(requests={"ephemeral-storage": "1Ti"})], "ephemeral-storage", id="disk"
    ),
    pytest.param([_node()], [_pod(requests={"e.com/x": "1"})], "e.com/x", id="extended"),
    pytest.param(
        [_node(resources={"pods": "1"})], [_pod("p"), _pod("q")], "pods take 2 of 1", id="pods"
    ),
    pytest.param([_node()], [_ported("p"), _ported("q")], "host port 80/TCP", id="host-port"),
    pytest.param(
        [_node()], [_ported("p", address="10.0.0.1"), _ported("q")], "host port", id="port-any-ip"
    ),
    pytest.param(
        [_node()], [_pod(spec={"nodeSelector": {"disk": "ssd"}})], "disk=ssd", id="node-selector"
    ),
    pytest.param(
        [_node(labels={"size": "4"})],
        [_pod(spec=_node_affinity(_expression("Gt", "4")))],
        "node affinity of its spec",
        id="node-affinity",
    ),
    pytest.param(
        [_node()],
        [
            _pod(
                spec=_node_affinity(
                    _expression("In", "n2", key="metadata.name"), kind="matchFields"
                )
            )
        ],
        "node affinity",
        id="node-affinity-field",
    ),
    pytest.param([TAINTED], [_pod()], "taint team=a:NoSchedule", id="taint"),
    pytest.param(
        [_node(taints=[("x", "", "NoExecute")])],
        [_pod(spec=_tolerates(key="x", operator="Exists", effect="NoSchedule"))],
        "taint x=:NoExecute",
        id="taint-of-another-effect",
    ),
    pytest.param([CORDONED], [_pod()], "unschedulable", id="cordoned"),
    pytest.param(
        _zoned("a", "a"), [_app("p", "n1", APART), _app("q", "n2")], "repels ns/q", id="apart"
    ),
    pytest.param(
        _zoned("a", "a"), [_app("p", "n1"), _app("q", "n2", APART)], "repels ns/p", id="apart-back"
    ),
    pytest.param(
        _zoned("a", "b"),
        [_app("p", "n1", app="b"), _app("q", "n2", TOGETHER, app="c")],
        "finds no pod there",
        id="together-with-none",
    ),
    pytest.param(
        _zoned("a", "b"),
        [_app("p", "n1"), _app("q", "n2", TOGETHER, app="c")],
        "finds no pod there",
        id="together-elsewhere",
    ),
    pytest.param(
        _zoned("a", "b"),
        [_app("p", "n1", TOGETHER), _app("q", "n2", TOGETHER)],
        "only pods like itself",
        id="together-begun-twice",
    ),
    pytest.param(NO_ZONE, [_app("p", "n1", TOGETHER)], "finds no pod", id="together-no-zone"),
    pytest.param(
        _zoned("a", "b"),
        [
            _app("p", "n1", TOGETHER),
            _app("q", "n2", TOGETHER, namespace="other"),
            _app("r", "n1", TOGETHER, namespace="other"),
        ],
        "only pods like itself",
        id="together-other-namespace",
    ),
    pytest.param(
        _zoned("a", "b"), [_app("p", "n1", EVEN), _app("q", "n1", EVEN)], "maxSkew 1", id="skew"
    ),
    pytest.param(
        _zoned("a"),
        [_app("p", "n1", _spread(minDomains=2)), _app("q", "n1", _spread(minDomains=2))],
        "maxSkew 1",
        id="skew-too-few-domains",
    ),
    pytest.param(NO_ZONE, [_app("p", "n1", EVEN)], "spread counts", id="spread-no-zone"),
]

RIGHT = [
    pytest.param([_node()], [_pod(requests={"cpu": "8", "memory": "32Gi"})], id="full-node"),
    pytest.param(
        [_node()], [_ported("p"), _ported("q", protocol="UDP"), _ported("r", 81)], id="ports"
    ),
    pytest.param(
        [_node()],
        [_ported("p", address="10.0.0.1"), _ported("q", address="10.0.0.2")],
        id="ports-of-two-addresses",
    ),
    pytest.param([TAINTED], [_pod(spec=TOLERATES_ALL)], id="tolerates-all"),
    pytest.param(
        [TAINTED], [_pod(spec=_tolerates(key="team", value="a"))], id="tolerates-by-value"
    ),
    pytest.param([CORDONED], [_pod(spec=TOLERATES_ALL)], id="tolerates-cordon"),
    pytest.param([_node(taints=[("x", "", "PreferNoSchedule")])], [_pod()], id="soft-taint"),
    pytest.param(_zoned("a", "b"), [_app("p", "n1", APART), _app("q", "n2", APART)], id="apart"),
    pytest.param(
        _zoned("a", "a"),
        [_app("p", "n1", APART), _app("q", "n2", APART, namespace="other")],
        id="apart-namespaces",
    ),
    pytest.param(
        _zoned("a", "a"), [_app("p", "n1", TOGETHER), _app("q", "n2", TOGETHER)], id="together"
    ),
    pytest.param(
        _zoned("a", "b"),
        [_app("p", "n1", EVEN), _app("q", "n2", EVEN), _app("r", "n1", EVEN)],
        id="even",
    ),
    pytest.param(
        _zoned("a", "b"),
        [
            _app(name, "n1", EVEN | _node_affinity(_expression("In", "a", key=ZONE)))
            for name in "pqr"
        ],
        id="even-among-nodes-of-the-affinity",
    ),
    pytest.param(
        [
            _node("n1", labels={ZONE: "a"}),
            _node("n2", labels={ZONE: "b"}, taints=[("t", "", "NoSchedule")]),
        ],
        [_app(name, "n1", _spread(nodeTaintsPolicy="Honor")) for name in "pqr"],
        id="even-among-nodes-without-taint",
    ),
]


@pytest.mark.parametrize("nodes, pods, expected", WRONG)
def test_finds_a_wrong_placement(nodes: list[Any], pods: list[Any], expected: str) -> None:
    """A placement that breaks one rule gives lines that name it, and no other lines."""
    found = placement_checker.violations(cluster_state.Cluster.of(nodes, pods))
    assert found
    assert [line for line in found if expected not in line] == []


@pytest.mark.parametrize("nodes, pods", RIGHT)
def test_accepts_a_right_placement(nodes: list[Any], pods: list[Any]) -> None:
    """A placement that keeps every rule gives no line."""
    assert placement_checker.violations(cluster_state.Cluster.of(nodes, pods)) == []


@pytest.mark.parametrize(
    "node, pod, expected",
    [
        pytest.param(
            _node(labels={"disktype": "hdd", ZONE: "a"}),
            _pod(**WEB),
            "affinity of policy web-tier",
            id="disk",
        ),
        pytest.param(_node(labels=SSD), _pod(**WEB), "zone spread counts", id="web-no-zone"),
        pytest.param(
            GPU_NODE,
            _pod(scheduler_name="gpu", requests={"nvidia.com/gpu": "1"}),
            "affinity of policy gpu-pods",
            id="small-gpu",
        ),
        pytest.param(
            GPU_NODE,
            _pod(scheduler_name="gpu", spec=TOLERATES_ALL),
            "policy no-gpu-pods rejects",
            id="cpu-pod-on-gpu",
        ),
    ],
)
def test_finds_what_a_shipped_policy_forbids(node: Any, pod: Any, expected: str) -> None:
    """A pod where only a policy forbids it gives a line that names the policy."""
    cluster = cluster_state.Cluster.of([node], [pod])
    assert placement_checker.violations(cluster) == []
    [line] = placement_checker.violations(cluster, shipped_policies.TWINS)
    assert expected in line


def test_a_policy_s_tolerations_count() -> None:
    """The taint of GPU nodes is no violation for a pod that the policy lets in."""
    pod = _pod(scheduler_name="gpu", requests={"nvidia.com/gpu": "1"})
    cluster = cluster_state.Cluster.of([GPU_TAINTED], [pod])
    assert placement_checker.violations(cluster) != []
    assert placement_checker.violations(cluster, shipped_policies.TWINS) == []


def test_a_policy_s_spread_counts() -> None:
    """Two web pods in one of two zones break the spread of the web tier."""
    nodes = [_node(f"n{n}", labels=SSD | {ZONE: zone}) for n, zone in enumerate("ab", 1)]
    cluster = cluster_state.Cluster.of(nodes, [_pod("p", **WEB), _pod("q", **WEB)])
    [line] = placement_checker.violations(cluster, shipped_policies.TWINS)
    assert "spread of policy web-tier: 2 pods" in line


def test_finds_the_place_that_a_pending_pod_could_have() -> None:
    """A place is found where every rule would hold, those of other nodes' pods included."""
    nodes = [*_zoned("a", "a", "b"), _node("n4", taints=[("team", "a", "NoSchedule")])]
    pods = [_app("p", "n1", APART), _app("q", "n1", app="b")]
    cluster = cluster_state.Cluster.of(nodes, pods)
    late = _app("late", "", APART)
    assert placement_checker.place_for(cluster, late) == "n3"
    cluster = cluster_state.Cluster.of(nodes, [*pods, _app("r", "n3")])
    assert placement_checker.place_for(cluster, late) is None
    big = _pod("big", None, requests={"cpu": "9"})
    assert placement_checker.place_for(cluster, big) is None


def test_pods_that_may_pend_and_pods_that_ended_are_left_out() -> None:
    """Only pods that should have a node are reported without one, and ended ones take nothing."""
    ended = _pod("done", requests={"cpu": "100"}) | {"status": {"phase": "Succeeded"}}
    cluster = cluster_state.Cluster.of([_node()], [_pod("late", node=None), ended])
    assert placement_checker.violations(cluster, may_pend={"ns/late"}) == []


@pytest.mark.parametrize(
    "text, value",
    [
        ("100m", fractions.Fraction(1, 10)),
        ("1.5Gi", fractions.Fraction(3 * 2**29)),
        ("128M", fractions.Fraction(128_000_000)),
        ("1e3", fractions.Fraction(1000)),
        ("1E", fractions.Fraction(10**18)),
        ("12E-1", fractions.Fraction(6, 5)),
        ("3n", fractions.Fraction(3, 10**9)),
        (".5", fractions.Fraction(1, 2)),
        (7, fractions.Fraction(7)),
    ],
)
def test_quantities_are_exact(text: str | int, value: fractions.Fraction) -> None:
    """Every form of a quantity is read without rounding."""
    assert quantities.parse(text) == value


@pytest.mark.parametrize("text", ["", "m", "1KB", "1e", "0x1"])
def test_other_texts_are_no_quantities(text: str) -> None:
    """A text that is no quantity is an error, never a number."""
    with pytest.raises(ValueError, match="is not a quantity"):
        quantities.parse(text)


def _container(cpu: str, *, sidecar: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return made | ({"restartPolicy": "Always"} if sidecar else {})


@pytest.mark.parametrize(
    "init, spec, cpu",
    [
        pytest.param([], {}, "3", id="containers-together"),
        pytest.param([_container("5")], {}, "5", id="init-alone"),
        pytest.param([_container("1", sidecar=True)], {}, "4", id="sidecar-beside"),
        pytest.param(
            [_container("1", sidecar=True), _container("5")], {}, "6", id="init-beside-sidecar"
        ),
        pytest.param(
            [_container("5"), _container("1", sidecar=True)], {}, "5", id="init-before-sidecar"
        ),
        pytest.param([], {"overhead": {"cpu": "500m"}}, "3.5", id="overhead"),
        pytest.param([], {"resources": {"requests": {"cpu": "9"}}}, "9", id="pod-level"),
    ],
)
def test_requests_of_a_pod(init: Sequence[Any], spec: Mapping[str, Any], cpu: str) -> None:
    """A pod takes what its greediest moment takes, and its overhead."""
    containers = [_container("1"), _container("2")]
    pod = {"spec": {"containers": containers, "initContainers": init, **spec}}
    assert pod_requests.requests(pod)["cpu"] == quantities.parse(cpu)
