from __future__ import annotations

import pytest

from policysched.plugins import defaults
from tests import builders
from tests.policies import shipped

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
GPU_MILLI = "alibabacloud.com/gpu-milli"


def _node(name: str, zone: str = "a", **labels: str) -> builders.NodeBuilder:
    return (
        builders.make_node(name)
        .labels({ZONE: zone, "disktype": "ssd"}, **labels)
        .capacity(cpu="10", memory="10Gi")
    )


def _pod(name: str = "new", namespace: str = "default") -> builders.PodBuilder:
    return builders.make_pod(name, namespace).requests(cpu="1", memory="1Gi")


# --- default.policy ------------------------------------------------------------------------------


def test_default_lists_every_default_plugin_with_its_weight() -> None:
    """The file is the table of defaults: same plugins, same order, same weights."""
    profile = shipped.framework("policysched", shipped.FOLDER / "default.policy").profile
    built_in = [p.name for p in profile.plugins if p.name != "Policy"]
    assert built_in == [p.name for p in defaults.DEFAULT_PLUGINS]
    scored = {name: weight for name, weight in profile.weights.items() if weight}
    assert scored.items() <= defaults.DEFAULT_WEIGHTS.items()


def test_default_scores_like_no_policy_at_all() -> None:
    """Spelling the profile out changes no verdict and no point."""
    nodes = [
        _node("n1", "a").taint("slow", effect="PreferNoSchedule"),
        _node("n2", "b").image("app:1", size_bytes=300_000_000),
        _node("n3", "c").taint("dedicated", "db"),
        _node("n4", "c").unschedulable(),
    ]
    placed = [_pod("p1").labels(app="web").node("n1"), _pod("p2").node("n2")]
    pod = _pod().image("app:1").spread(ZONE, selector={"app": "web"})
    spelt = shipped.decide("policysched", pod, nodes, placed)
    implied = shipped.explain(shipped.framework_of_no_policy(), pod, nodes, placed)
    assert spelt.report == implied.report
    assert len(spelt.feasible) == 2


# --- web-tier.policy -----------------------------------------------------------------------------


def _web(name: str = "new") -> builders.PodBuilder:
    return _pod(name, "prod").labels({"tier": "web", "pod-template-hash": "1"})


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(_pod("a", "dev").labels(tier="web"), id="other-namespace"),
        pytest.param(_pod("a", "prod").labels(tier="batch"), id="other-tier"),
    ],
)
def test_web_tier_leaves_other_pods_alone(pod: builders.PodBuilder) -> None:
    """Only pods of the tier in `prod` are held to its rules."""
    nodes = [_node("slow", disktype="hdd"), _node("gpu", **{"gpu-memory-gb": "80"})]
    assert shipped.decide("web", pod, nodes).feasible == ["gpu", "slow"]


def test_web_tier_wants_fast_disks_without_gpus() -> None:
    """Slow, unlabelled and GPU nodes are rejected by `fast-disk`."""
    bare = builders.make_node("bare").labels({ZONE: "a"}).capacity(cpu="10", memory="10Gi")
    nodes = [
        _node("ok"),
        _node("slow", disktype="hdd"),
        bare,
        _node("gpu", **{"gpu-memory-gb": "80"}),
    ]
    answer = shipped.decide("web", _web(), nodes)
    assert answer.feasible == ["ok"]
    for name in ("slow", "bare", "gpu"):
        assert answer.rejected_by(name) == ["web-tier/fast-disk"]


def test_web_tier_keeps_zones_even() -> None:
    """A zone that is one pod ahead takes no further one."""
    nodes = [_node("a1", "a"), _node("b1", "b"), _node("c1", "c")]
    placed = [_web("w1").node("a1"), _web("w2").node("b1")]
    answer = shipped.decide("web", _web(), nodes, placed)
    assert answer.feasible == ["c1"]
    assert answer.rejected_by("a1") == ["web-tier/even-zones"]


def test_web_tier_keeps_replicas_apart_where_it_can() -> None:
    """A node with a sibling loses to one without, and a stranger there does no harm."""
    nodes = [_node("a1"), _node("a2")]
    placed = [_web("w1").node("a1"), _pod("other", "prod").node("a2")]
    answer = shipped.decide("web", _web(), nodes, placed)
    assert answer.points("web-tier/apart") == {"a1": 0, "a2": 1000}
    assert answer.best == ["a2"]


def test_web_tier_goes_near_the_cache() -> None:
    """Among zones that are even, the one with cache pods wins."""
    nodes = [_node("a1", "a"), _node("b1", "b")]
    placed = [_pod("c", "prod").labels(app="cache").node("b1")]
    answer = shipped.decide("web", _web(), nodes, placed)
    assert answer.points("web-tier/near-cache") == {"a1": 0, "b1": 500}
    assert answer.best == ["b1"]


# --- gpu-pool.policy -----------------------------------------------------------------------------


def _gpu_node(name: str, memory_gb: str = "80") -> builders.NodeBuilder:
    return _node(name, **{"gpu-memory-gb": memory_gb}).capacity({GPU: "4"}).taint(GPU, "present")


def test_gpu_pool_admits_gpu_pods_without_a_toleration() -> None:
    """The pod names neither the taint nor the pool and lands in it."""
    pod = builders.make_pod("new").requests({"cpu": "1", GPU: "1"})
    answer = shipped.decide(
        "gpu", pod, [_node("plain"), _gpu_node("big"), _gpu_node("small", "16")]
    )
    assert answer.feasible == ["big"]
    assert answer.rejected_by("small") == ["gpu-pods/big-enough"]
    assert "NodeResourcesFit" in answer.rejected_by("plain")


def test_gpu_pool_fills_one_node_before_the_next() -> None:
    """The node whose GPUs are in use wins over the empty one."""
    placed = [builders.make_pod("p").requests({"cpu": "1", GPU: "2"}).node("used")]
    pod = builders.make_pod("new").requests({"cpu": "1", GPU: "1"})
    answer = shipped.decide("gpu", pod, [_gpu_node("empty"), _gpu_node("used")], placed)
    assert answer.best == ["used"]


def test_gpu_pool_is_closed_to_pods_without_a_gpu_whatever_they_tolerate() -> None:
    """A toleration of everything passes the taint and not the rule."""
    pod = _pod().tolerates()
    answer = shipped.decide("gpu", pod, [_node("plain"), _gpu_node("big")])
    assert answer.feasible == ["plain"]
    assert answer.rejected_by("big") == ["no-gpu-pods/keep-out"]
    assert answer.report["nodes"]["big"]["reasons"] == ["node is kept for GPU pods"]


def test_gpu_pool_lets_daemons_run_on_its_nodes() -> None:
    """The device plugin needs no GPU and has to run there."""
    daemon = _pod().owner("DaemonSet", "device-plugin").tolerates()
    assert shipped.decide("gpu", daemon, [_gpu_node("big")]).feasible == ["big"]


# --- spread-vs-pack.policy -----------------------------------------------------------------------

SPREAD_OR_PACK = [
    pytest.param("spread", "spread-out/room", {"quiet": 700, "busy": 200}, "quiet", id="spread"),
    pytest.param("pack", "pack-tight/room", {"quiet": 300, "busy": 800}, "busy", id="pack"),
]


@pytest.mark.parametrize("profile, rule, points, best", SPREAD_OR_PACK)
def test_spread_and_pack_answer_the_other_way_round(
    profile: str, rule: str, points: dict[str, float], best: str
) -> None:
    """The example of the file: nodes at 20 % and 70 %, a pod of 10 %."""
    placed = [
        builders.make_pod("p1").requests(cpu="2", memory="2Gi").node("quiet"),
        builders.make_pod("p2").requests(cpu="7", memory="7Gi").node("busy"),
    ]
    answer = shipped.decide(profile, _pod(), [_node("quiet"), _node("busy")], placed)
    assert answer.points(rule) == points
    assert answer.best == [best]
    assert "NodeResourcesFit" not in answer.report["scores"]["busy"]


def test_pack_does_not_overfill() -> None:
    """The filter of NodeResourcesFit stays on: the fullest node that fits, not the fullest."""
    placed = [builders.make_pod("p").requests(cpu="9500m", memory="1Gi").node("full")]
    assert shipped.decide("pack", _pod(), [_node("full"), _node("empty")], placed).best == ["empty"]


def test_spread_keeps_replicas_on_different_nodes_and_zones() -> None:
    """Of nodes that are equally empty, one in a zone without a sibling wins."""
    mine = _pod("p").owner("ReplicaSet", "rs")
    nodes = [_node("a1", "a"), _node("a2", "a"), _node("b1", "b")]
    answer = shipped.decide("spread", _pod().owner("ReplicaSet", "rs"), nodes, [mine.node("a1")])
    assert answer.best == ["b1"]
    totals = answer.totals()
    assert totals["b1"] > totals["a2"] > totals["a1"]


# --- load-aware.policy ---------------------------------------------------------------------------

METRICS = ("cpu_busy", "memory_used", "disk_used", "network_traffic")


def _loads(cpu: float, memory: float, disk: float, network_share: float) -> dict[str, float]:
    return dict(zip(METRICS, (cpu, memory, disk, network_share * 1.25e9), strict=True))


def _by_metric(by_node: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {m: {node: loads[m] for node, loads in by_node.items() if m in loads} for m in METRICS}


def test_load_aware_weighs_cpu_memory_disk_and_network_3_4_3_2() -> None:
    """An idle node gets 100 points from each rule, times its weight."""
    loads = _by_metric({"idle": _loads(0, 0, 0, 0), "busy": _loads(0.9, 0.9, 0.9, 0.9)})
    answer = shipped.decide("load-aware", _pod(), [_node("idle"), _node("busy")], loads=loads)
    for rule, points in (("cpu", 300), ("memory", 400), ("disk", 300), ("network", 200)):
        assert answer.points(f"load-aware/{rule}") == {"idle": points, "busy": 0}
    assert answer.best == ["idle"]


def test_load_aware_goes_by_load_and_not_by_requests() -> None:
    """A node whose pods request much and use little wins over its opposite."""
    placed = [builders.make_pod("p").requests(cpu="8", memory="8Gi").node("booked")]
    loads = _by_metric({"booked": _loads(0.1, 0.2, 0.2, 0), "idle": _loads(0.6, 0.7, 0.2, 0)})
    nodes = [_node("booked"), _node("idle")]
    assert shipped.decide("load-aware", _pod(), nodes, placed, loads).best == ["booked"]


def test_load_aware_refuses_hot_nodes() -> None:
    """Above 90 % cpu a node takes no further pod; at 90 % it still does."""
    loads = {"cpu_busy": {"hot": 0.91, "warm": 0.9}}
    answer = shipped.decide("load-aware", _pod(), [_node("hot"), _node("warm")], loads=loads)
    assert answer.feasible == ["warm"]
    assert answer.rejected_by("hot") == ["load-aware/too-hot"]


def test_load_aware_puts_nodes_without_data_last_but_not_out() -> None:
    """A dead exporter costs its node the points, not its place."""
    loads = _by_metric({"known": _loads(0.85, 0.85, 0.85, 0.85)})
    answer = shipped.decide("load-aware", _pod(), [_node("known"), _node("silent")], loads=loads)
    assert answer.feasible == ["known", "silent"]
    assert answer.points("load-aware/memory")["silent"] == 0
    assert answer.best == ["known"]


def test_load_aware_without_any_data_still_places_pods() -> None:
    """When Prometheus is down the rules drop out for every node alike."""
    answer = shipped.decide("load-aware", _pod(), [_node("n1"), _node("n2")])
    assert answer.best == ["n1", "n2"]


# --- node-load.policy ----------------------------------------------------------------------------

NODE_METRICS = ("node_cpu", "node_memory", "node_disk_io", "node_disk_space", "node_network")
NODE_RULES = ("cpu", "memory", "disk-io", "disk-space", "network")


def _node_loads(**by_node: float) -> dict[str, dict[str, float]]:
    """Return the same share of everything on each node."""
    scales = dict.fromkeys(NODE_METRICS, 1.0) | {"node_network": 1.25e9}
    return {m: {node: load * scales[m] for node, load in by_node.items()} for m in NODE_METRICS}


def test_node_load_weighs_five_loads() -> None:
    """An idle node gets 100 points from each rule, a full one none, times 3, 4, 2, 2 and 2."""
    loads = _node_loads(idle=0.0, half=0.5)
    answer = shipped.decide("node-load", _pod(), [_node("idle"), _node("half")], loads=loads)
    for rule, weight in zip(NODE_RULES, (3, 4, 2, 2, 2), strict=True):
        points = answer.points(f"node-load/{rule}")
        assert points == {"idle": 100 * weight, "half": 50 * weight}
    assert answer.best == ["idle"]


@pytest.mark.parametrize(
    "metric, rule",
    [("node_cpu", "too-hot"), ("node_memory", "no-memory")],
    ids=["cpu", "memory"],
)
def test_node_load_refuses_nodes_over_their_limit(metric: str, rule: str) -> None:
    """Above 90 % a node takes no further pod; at 90 % it still does, and so it does unmeasured."""
    loads = {metric: {"over": 0.91, "at": 0.9}}
    nodes = [_node("over"), _node("at"), _node("silent")]
    answer = shipped.decide("node-load", _pod(), nodes, loads=loads)
    assert answer.feasible == ["at", "silent"]
    assert answer.rejected_by("over") == [f"node-load/{rule}"]


def test_node_load_falls_back_on_requests() -> None:
    """Without samples a node counts as half busy, by requests as busier; it gets no more points."""
    placed = [builders.make_pod("p").requests(cpu="5", memory="5Gi").node("silent")]
    loads = _node_loads(known=0.75)
    answer = shipped.decide("node-load", _pod(), [_node("known"), _node("silent")], placed, loads)
    assert answer.points("node-load/cpu") == {"known": 75, "silent": 75}
    assert answer.points("node-load/memory") == {"known": 100, "silent": 100}
    assert {answer.points(f"node-load/{rule}")["silent"] for rule in NODE_RULES[2:]} == {0}


def test_node_load_places_by_requests_in_an_outage() -> None:
    """Without any sample the emptier node by requests wins, and no node is refused."""
    placed = [builders.make_pod("p").requests(cpu="5", memory="5Gi").node("full")]
    answer = shipped.decide("node-load", _pod(), [_node("full"), _node("empty")], placed)
    assert answer.feasible == ["empty", "full"]
    assert answer.best == ["empty"]


# --- gpu-packing.policy --------------------------------------------------------------------------


def _mixed_node(name: str, cpu: str, devices: int) -> builders.NodeBuilder:
    gpus: dict[str, str | int | float] = {GPU_MILLI: 1000 * devices} if devices else {}
    return builders.make_node(name).capacity({"cpu": cpu, "memory": "512Gi", **gpus})


def _share(milli: int, cpu: str, name: str = "new") -> builders.PodBuilder:
    gpus: dict[str, str | int | float] = {GPU_MILLI: milli} if milli else {}
    return builders.make_pod(name).requests({"cpu": cpu, "memory": "1Gi", **gpus})


def test_gpu_packing_keeps_pods_without_gpu_where_they_strand_none() -> None:
    """With 96 cores for 8 devices a pod of 40 cores would strand devices; elsewhere it does not."""
    nodes = [_mixed_node("dense", "96", 8), _mixed_node("plain", "64", 0)]
    answer = shipped.decide("gpu-packing", _share(0, "40"), nodes)
    assert answer.points("gpu-packing/strand-none") == {"dense": 0, "plain": 1000}
    assert answer.best == ["plain"]


def test_gpu_packing_sends_pods_with_few_cores_where_cores_are_scarce() -> None:
    """A whole device with 2 cores frees a stranded one, with 20 it goes to spare cores."""
    nodes = [_mixed_node("scarce", "16", 4), _mixed_node("rich", "104", 2)]
    assert shipped.decide("gpu-packing", _share(1000, "2"), nodes).best == ["scarce"]
    assert shipped.decide("gpu-packing", _share(1000, "16"), nodes).best == ["rich"]


def test_gpu_packing_leaves_no_crumbs() -> None:
    """A share goes beside the share that it completes."""
    nodes = [_mixed_node("third", "96", 4), _mixed_node("rest", "96", 4)]
    placed = [_share(330, "1", "p1").node("third"), _share(810, "1", "p2").node("rest")]
    answer = shipped.decide("gpu-packing", _share(190, "1"), nodes, placed)
    assert answer.points("gpu-packing/no-crumbs") == {"third": 52.0, "rest": 100.0}
    assert answer.best == ["rest"]


def test_gpu_packing_fills_nodes_up() -> None:
    """Of two nodes where nothing would be stranded the fuller one wins."""
    nodes = [_mixed_node("empty", "96", 8), _mixed_node("used", "96", 8)]
    placed = [_share(1000, "8", "p").node("used")]
    assert shipped.decide("gpu-packing", _share(1000, "8"), nodes, placed).best == ["used"]


def test_gpu_packing_is_short() -> None:
    """Three rules do it."""
    text = (shipped.FOLDER / "gpu-packing.policy").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(code) <= 20
