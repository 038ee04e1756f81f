"""The differences between pods and policies that docs/from-kubernetes.md names exist."""

from __future__ import annotations

from typing import Any

from tests import page_examples
from tests.importing import deciding, decisions, kubernetes_page, page_clusters

WEB = {"matchLabels": {"app": "web"}}
HOST = "kubernetes.io/hostname"


def _pod(name: str, labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    made = deciding.pod(name, labels, **spec)
    made["metadata"] |= {"namespace": "shop", "uid": name}
    return made


def _nodes(**zones: str) -> list[dict[str, Any]]:
    return [deciding.node(name, {"zone": zone} if zone else {}) for name, zone in zones.items()]


def _affinity(kind: str, strength: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {strength: list(terms)}}}


def _preferred(weight: int, labels: dict[str, str]) -> dict[str, Any]:
    """Return a preferred term about pods with these labels on the same node."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    return {"weight": weight, "podAffinityTerm": term}


def _spread(**fields: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": WEB,
    }
    return {"topologySpreadConstraints": [constraint | fields]}


def _new(cluster: list[dict[str, Any]], policy: str = "") -> decisions.Verdict:
    return decisions.explain(cluster, policy)["shop/new"]


def test_a_requirement_of_a_pod_stays() -> None:
    """With a contrary one in a policy no node is left, and the message names both."""
    nodes = [deciding.node("n1", {"disktype": "ssd"}), deciding.node("n2", {"disktype": "hdd"})]
    new = _pod("new", {"app": "web"}, nodeSelector={"disktype": "ssd"})
    verdict = _new(
        [*nodes, new], f"{decisions.HEAD} nodeAffinity required disktype = hdd as slow }}"
    )
    assert decisions.feasible(verdict) == set()
    assert "didn't match policy web/slow" in verdict["message"]
    assert "didn't match Pod's node affinity/selector" in verdict["message"]


def test_the_first_pod_of_a_set_passes() -> None:
    """By required affinity to itself."""
    rule = f"{decisions.HEAD} podAffinity required self topologyKey zone }}"
    cluster = [*_nodes(n1="a", n2=""), _pod("new", {"app": "web"})]
    assert decisions.feasible(_new(cluster, rule)) == {"n1"}


def test_required_affinity_to_itself_gives_points_only_in_a_pod() -> None:
    """By `hardPodAffinityWeight`, from the pods that are placed."""
    term = {"labelSelector": WEB, "topologyKey": "zone"}
    spec = _affinity("podAffinity", decisions.REQUIRED, term)
    plain = [*_nodes(n1="a"), _pod("old", {"app": "web"}, nodeName="n1")]
    stated = [plain[0], plain[1] | {"spec": plain[1]["spec"] | spec}]
    with_field = _new([*stated, _pod("new", {"app": "web"}, **spec)])
    rule = f"{decisions.HEAD} podAffinity required self topologyKey zone }}"
    with_rule = _new([*plain, _pod("new", {"app": "web"})], rule)
    assert decisions.feasible(with_field) == decisions.feasible(with_rule) == {"n1"}
    assert "InterPodAffinity" in with_field["scores"]["n1"]
    assert "InterPodAffinity" not in with_rule["scores"]["n1"]


def test_several_required_terms_of_affinity() -> None:
    """A pod wants pods that match all of them, a policy pods for each."""
    terms = [
        {"labelSelector": {"matchLabels": {key: "yes"}}, "topologyKey": "zone"} for key in "xy"
    ]
    placed = [_pod(key, {key: "yes"}, nodeName="n1") for key in "xy"]
    cluster = [*_nodes(n1="a"), *placed]
    spec = _affinity("podAffinity", decisions.REQUIRED, *terms)
    rules = " ".join(f"podAffinity required pods where {k} = yes topologyKey zone" for k in "xy")
    assert decisions.feasible(_new([*cluster, _pod("new", {"app": "web"}, **spec)])) == set()
    ruled = _new([*cluster, _pod("new", {"app": "web"})], f"{decisions.HEAD} {rules} }}")
    assert decisions.feasible(ruled) == {"n1"}


def test_several_preferred_terms_of_affinity() -> None:
    """A pod adds up pods before it normalises, so that another node can be best."""
    terms = [_preferred(1, {"x": "yes"}), _preferred(2, {"y": "yes"})]
    placed = [_pod(f"x{n}", {"x": "yes"}, nodeName="n1", requests={}) for n in range(4)]
    placed += [_pod(f"y{n}", {"y": "yes"}, nodeName="n2", requests={}) for n in range(1)]
    cluster = [*_nodes(n1="a", n2="a"), *placed]
    spec = _affinity("podAffinity", decisions.PREFERRED, *terms)
    rules = f"podAffinity preferred pods where x = yes topologyKey {HOST} weight 1 "
    rules += f"podAffinity preferred pods where y = yes topologyKey {HOST} weight 2"
    assert _new([*cluster, _pod("new", {"app": "web"}, **spec)])["best"] == ["n1"]
    assert _new([*cluster, _pod("new", {"app": "web"})], f"{decisions.HEAD} {rules} }}")[
        "best"
    ] == ["n2"]


def test_preferred_terms_of_placed_pods() -> None:
    """A pod adds them to its own terms, a policy normalises its rule separately."""
    placed = _pod(
        "old",
        {"app": "api"},
        nodeName="n2",
        **_affinity("podAffinity", decisions.PREFERRED, _preferred(100, {"app": "web"})),
    )
    cluster = [*_nodes(n1="a", n2="a"), placed, _pod("redis", {"app": "redis"}, nodeName="n1")]
    spec = _affinity("podAffinity", decisions.PREFERRED, _preferred(50, {"app": "redis"}))
    stated = _new([*cluster, _pod("new", {"app": "web"}, **spec)])["scores"]
    rule = f"podAffinity preferred pods where app = redis topologyKey {HOST} weight 2 as near"
    ruled = _new([*cluster, _pod("new", {"app": "web"})], f"{decisions.HEAD} {rule} }}")["scores"]
    assert [stated[node]["InterPodAffinity"] for node in ("n1", "n2")] == [0, 200]
    assert [ruled[node]["InterPodAffinity"] for node in ("n1", "n2")] == [0, 200]
    assert [ruled[node]["web/near"] for node in ("n1", "n2")] == [200, 0]


def test_a_mismatch_of_a_label_that_is_missing() -> None:
    """A pod's term counts pods without the label, a rule does not."""
    other = _pod("other", {"app": "api"}, nodeName="n1")
    term = {
        "labelSelector": {"matchLabels": {"app": "api"}},
        "topologyKey": HOST,
        "mismatchLabelKeys": ["tenant"],
    }
    spec = _affinity("podAntiAffinity", decisions.REQUIRED, term)
    new = _pod("new", {"app": "web", "tenant": "a"})
    cluster = [*_nodes(n1="a", n2="a"), other, new]
    stated = page_clusters.with_spec(cluster, spec)
    assert decisions.feasible(_new(stated)) == {"n2"}
    rule = f"podAntiAffinity required pods where app = api topologyKey {HOST}"
    ruled = _new(cluster, f"{decisions.HEAD} {rule} mismatchLabelKeys (tenant) }}")
    assert decisions.feasible(ruled) == {"n1", "n2"}


def test_default_constraints_stay_beside_a_rule() -> None:
    """They score the pods of a Service, until the profile has none."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    nodes = [deciding.node(f"n{zone}", {page_clusters.ZONE: zone, "zone": zone}) for zone in "ab"]
    cluster = [*nodes, service, _pod("old", {"app": "web"}, nodeName="na")]
    new = _pod("new", {"app": "web"})
    rule = f"{decisions.HEAD} topologySpread self topologyKey zone }}"
    none = "plugin PodTopologySpread args { defaultingType: List }"
    assert none in kubernetes_page.TEXT
    profile = f"{rule} profile policysched {{ policies web {none} }}"
    scored = [
        "PodTopologySpread" in verdict["scores"]["nb"]
        for verdict in (
            _new([*cluster, _pod("new", {"app": "web"}, **_spread())]),
            _new([*cluster, new], rule),
            _new([*cluster, new], profile),
        )
    ]
    assert scored == [False, True, False]


def test_node_affinity_and_spread_move_together() -> None:
    """A constraint in a pod also counts the domains that only a policy excludes."""
    nodes = [
        deciding.node(f"n{zone}", {"zone": zone, "disktype": disk})
        for zone, disk in (("a", "ssd"), ("b", "ssd"), ("c", "hdd"))
    ]
    placed = [_pod(f"old-{zone}", {"app": "web"}, nodeName=f"n{zone}") for zone in "ab"]
    disk = {"nodeSelector": {"disktype": "ssd"}}
    affinity, spread = (
        "nodeAffinity required disktype = ssd",
        "topologySpread self topologyKey zone",
    )
    found = [
        decisions.feasible(_new([*nodes, *placed, _pod("new", {"app": "web"}, **spec)], policy))
        for spec, policy in (
            (disk | _spread(), ""),
            ({}, f"{decisions.HEAD} {affinity} {spread} }}"),
            (disk, f"{decisions.HEAD} {spread} }}"),
            (_spread(), f"{decisions.HEAD} {affinity} }}"),
        )
    ]
    assert found == [{"na", "nb"}] * 3 + [set()]


def test_a_node_without_the_topology_key_of_a_preference() -> None:
    """It has the points of the fullest domain by a rule, and fewer by a field."""
    placed = [
        _pod(f"old-{n}", {"app": "web"}, nodeName=node) for n, node in enumerate(("na", "nb", "nb"))
    ]
    cluster = [*_nodes(na="a", nb="b", nc=""), *placed]
    soft = _spread(whenUnsatisfiable="ScheduleAnyway")
    stated = _new([*cluster, _pod("new", {"app": "web"}, **soft)])["scores"]
    rule = "topologySpread self topologyKey zone whenUnsatisfiable ScheduleAnyway weight 2 as even"
    ruled = _new([*cluster, _pod("new", {"app": "web"})], f"{decisions.HEAD} {rule} }}")["scores"]
    fields = [stated[node]["PodTopologySpread"] for node in ("na", "nb", "nc")]
    assert fields[0] > fields[1] > fields[2] == 0
    assert [ruled[node]["web/even"] for node in ("na", "nb", "nc")] == [200, 0, 0]


def test_a_rule_reads_the_priority_that_a_pod_has() -> None:
    """The policy of the page leaves a tenth of cpu to critical pods."""
    blocks = page_examples.read_blocks(kubernetes_page.PAGE)
    policy = next(each.body for each in blocks if "room-for-critical-pods" in each.body)
    nodes = [deciding.node("n1", cpu="1")]
    placed = _pod("old", {}, nodeName="n1", requests={"cpu": "450m"})
    common, critical = (
        _new([*nodes, placed, _pod("new", {}, priority=priority)], policy) for priority in (0, 1000)
    )
    assert (decisions.feasible(common), decisions.feasible(critical)) == (set(), {"n1"})
    assert "the last tenth of cpu is for critical pods" in common["message"]
