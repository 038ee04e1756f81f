from __future__ import annotations

import json
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched.cli.demo import page_demo
from policysched.offline import sessions
from tests import report_schemas
from tests.cli import clusters
from tests.kube.asynchronous import asynchronous
from tests.page import servers

POLICY = """\
policy p {
  for pods
  nodeAffinity required disk = ssd as fast
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""


def make_items() -> list[dict[str, Any]]:
    """Return four nodes, a placed pod and two pending ones."""
    return [
        clusters.node("a", disk="ssd", zone="x"),
        clusters.node("b", disk="ssd", zone="y"),
        clusters.node("c", disk="hdd", zone="x"),
        clusters.node("d", cpu="1", disk="ssd"),
        clusters.pod("old", on="b"),
        clusters.pod("new", cpu="2"),
        clusters.pod("huge", cpu="64"),
    ]


@pytest.fixture
def client(tmp_path: pathlib.Path) -> servers.PageClient:
    """Return a client of the four nodes with a policy."""
    return servers.PageClient(servers.make_source(make_items(), tmp_path, POLICY))


@asynchronous
async def test_the_map_has_a_column_for_each_fact(client: servers.PageClient) -> None:
    """Nodes are in the order of their names, and an absent label is -1."""
    found = await client.ask("cluster")
    assert found["names"] == ["a", "b", "c", "d"]
    assert found["labels"]["zone"] == {"values": ["x", "y"], "of": [0, 1, 0, -1]}
    assert found["resources"]["cpu"] == {
        "used": [0, 1000, 0, 0],
        "of": [4000, 4000, 4000, 1000],
    }
    assert found["pods"]["used"] == [0, 1, 0, 0]


@asynchronous
async def test_an_unchanged_map_is_not_sent_again(client: servers.PageClient) -> None:
    """A client that names the generation that it has gets nothing else."""
    generation = (await client.ask("cluster"))["generation"]
    assert await client.ask("cluster", since=str(generation)) == {"generation": generation}


@asynchronous
async def test_the_funnel_says_what_each_filter_leaves(client: servers.PageClient) -> None:
    """Filters are in the order in which they act, and rules have the line of their text."""
    found = await client.ask("explain", pod="prod/new")
    assert found["funnel"] == [
        {"by": "NodeResourcesFit", "line": None, "rejects": 1, "rejectsInAll": 1, "left": 3},
        {"by": "p/fast", "line": 3, "rejects": 1, "rejectsInAll": 1, "left": 2},
    ]
    assert found["best"] == ["a"]
    assert found["ranking"][0]["node"] == "a"
    assert [rule["weight"] for rule in found["rules"] if rule["name"] == "p/room"] == [5]


@asynchronous
async def test_rules_are_counted_without_decisions(tmp_path: pathlib.Path) -> None:
    """Equal pods count each, a disabled rule acts on the others, and a placed pod rejects none."""
    off = "policy off {\n  for pods where app = huge\n  disable p.fast\n}\n"
    items = [*make_items(), clusters.pod("equal", cpu="2")]
    items += [clusters.pod("free", cpu="2")]
    items[-1]["metadata"]["labels"]["app"] = "huge"
    found = await servers.PageClient(servers.make_source(items, tmp_path, POLICY + off)).ask(
        "rule-effects"
    )
    (counted,) = found["profiles"].values()
    assert counted["p/fast"] == {"placed": 1, "pending": 3, "rejectedNodes": 3, "rejectedPods": 3}
    assert counted["p/room"] == {"placed": 1, "pending": 4, "rejectedNodes": 0, "rejectedPods": 0}
    assert (found["decided"], found["pending"]) == (4, 4)


@asynchronous
async def test_the_funnel_counts_all_nodes_that_a_filter_rejects(
    client: servers.PageClient,
) -> None:
    """Also those that another filter has rejected before, and if that leaves it none."""
    found = await client.ask("explain", pod="prod/huge")
    assert [(each["rejects"], each["rejectsInAll"], each["left"]) for each in found["funnel"]] == [
        (4, 4, 0),
        (0, 1, 0),
    ]


@asynchronous
async def test_a_placed_pod_stays_on_its_node(client: servers.PageClient) -> None:
    """It is decided as if it had no node, and afterwards it uses its node as before."""
    before = await client.ask("cluster")
    for name in ("explain", "study", "text"):
        await client.ask(name, pod="prod/old")
    assert (await client.ask("compare", pod="prod/old", node="c"))["fits"] is False
    assert await client.ask("cluster") == before
    assert (await client.ask("explain", pod="prod/old"))["placedOn"] == "b"


@asynchronous
async def test_a_node_says_why_it_takes_no_pod(client: servers.PageClient) -> None:
    """Every rejection has its reason, not only the first."""
    found = await client.ask("compare", pod="prod/huge", node="c")
    assert [(each["plugin"], each["rule"]) for each in found["rejections"]] == [
        ("NodeResourcesFit", None),
        ("Policy", "fast"),
    ]


@asynchronous
async def test_pending_pods_have_reasons(client: servers.PageClient) -> None:
    """Each is decided alone; rejected nodes are counted by filter."""
    found = await client.ask("pending")
    assert [(row["pod"], row["fits"]) for row in found["pods"]] == [
        ("prod/new", True),
        ("prod/huge", False),
    ]
    assert found["pods"][1]["message"].startswith("0/4 nodes are available")
    assert (found["rejects"], found["rejectsInAll"], found["rejectedPods"]) == (
        {"NodeResourcesFit": 4, "p/fast": 0},
        {"NodeResourcesFit": 4, "p/fast": 1},
        {"NodeResourcesFit": 1, "p/fast": 1},
    )


@asynchronous
async def test_a_pod_without_a_profile_says_so_first(tmp_path: pathlib.Path) -> None:
    """It is not decided as if the default profile served it; pods of kube-scheduler are."""
    items = [clusters.node("a"), clusters.pod("typo", schedulerName="typo-profile")]
    client = servers.PageClient(servers.make_source([*items, clusters.pod("plain")]))
    found = await client.ask("pending")
    by_pod = {row["pod"]: row for row in found["pods"]}
    assert "no profile serves schedulerName `typo-profile`" in by_pod["prod/typo"]["message"]
    assert "the profiles are `policysched`" in by_pod["prod/typo"]["message"]
    assert "profile" not in by_pod["prod/typo"]
    assert by_pod["prod/plain"]["profile"] == "policysched"
    explained = await client.ask("explain", pod="prod/typo")
    assert explained["missingProfile"] == by_pod["prod/typo"]["message"]
    profiles = "policy p { for pods }\nprofile x { policies p }\nprofile y { policies p }\n"
    others = servers.PageClient(servers.make_source(items, tmp_path, profiles))
    page = await others.ask_page("explain", pod="prod/typo")
    assert page.status == 404
    assert "the profiles are `x`, `y`" in json.loads(page.body)["error"]


@asynchronous
async def test_a_placed_pod_says_where_it_would_go_now(tmp_path: pathlib.Path) -> None:
    """With the rule that gives the winner its largest lead, or the filter that rejects its node."""
    items = [
        clusters.node("a", cpu="8", disk="ssd"),
        clusters.node("b", cpu="2", disk="ssd"),
        clusters.node("c", disk="hdd"),
        clusters.pod("moves", on="b"),
        clusters.pod("stays", on="a"),
        clusters.pod("out", on="c"),
    ]
    client = servers.PageClient(servers.make_source(items, tmp_path, POLICY))
    found = {
        name: (await client.ask("explain", pod=f"prod/{name}"))["placement"]
        for name in ("moves", "stays", "out")
    }
    assert {name: (each["fits"], each["best"]) for name, each in found.items()} == {
        "moves": (True, False),
        "stays": (True, True),
        "out": (False, False),
    }
    assert (found["moves"]["by"], found["out"]["by"]) == ("p/room", "p/fast")
    assert 0 < found["moves"]["lead"] <= found["moves"]["totalLead"]
    assert (await client.ask("compare", pod="prod/out", node="c"))["isOnNode"] is True
    assert (await client.ask("compare", pod="prod/out", node="a"))["isOnNode"] is False


@asynchronous
async def test_a_pod_has_its_facts_and_its_owner() -> None:
    """In short, with the Deployment of a ReplicaSet; without a controller, there is no owner."""
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]},
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        ]
    }
    apart = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    pod = clusters.pod(
        "web-5d9-x",
        cpu="1500m",
        nodeSelector={"arch": "arm64"},
        tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        affinity={
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        },
    )
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9", "uid": "1"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    pod["metadata"]["labels"]["pod-template-hash"] = "5d9"
    client = servers.PageClient(
        servers.make_source([clusters.node("a"), pod, clusters.pod("alone")])
    )
    found = await client.ask("explain", pod="prod/web-5d9-x")
    assert (found["owner"], found["requests"]) == ("Deployment web", {"cpu": 1500})
    assert found["facts"] == {
        "labels": ["app=web", "pod-template-hash=5d9"],
        "nodeSelector": ["arch=arm64"],
        "affinity": [
            "node required: disk In (ssd, nvme) or gpu Exists",
            "anti-affinity to pods required: app=web, by zone",
        ],
        "topologySpreadConstraints": [],
        "tolerations": ["spot:NoSchedule"],
    }
    assert (await client.ask("explain", pod="prod/alone"))["owner"] == ""


@asynchronous
async def test_a_node_that_does_not_exist_is_an_answer() -> None:
    """A typing error in the field is no failure of a request, which a browser would log."""
    client = servers.PageClient(servers.make_source([clusters.node("a"), clusters.pod("new")]))
    found = await client.ask("compare", pod="prod/new", node="no")
    assert found == {"pod": "prod/new", "node": "no", "isUnknown": True}


@asynchronous
async def test_a_node_lists_the_largest_pods_first() -> None:
    """With what each of them requests, without resources that none of them requests."""
    items = [
        clusters.node("a"),
        clusters.pod("small", cpu="100m", on="a"),
        clusters.pod("large", cpu="2", on="a"),
    ]
    found = await servers.PageClient(servers.make_source(items)).ask("node", name="a")
    assert found["pods"] == ["prod/large", "prod/small"]
    assert found["requests"] == {"cpu": [2000, 100]}


@asynchronous
async def test_a_rule_is_listed_once_in_each_profile_in_which_it_acts(
    tmp_path: pathlib.Path,
) -> None:
    """Placed pods repel those of other profiles, so required anti-affinity acts there too."""
    policy = """\
policy database {
  for pods where app = db
  podAntiAffinity required self topologyKey kubernetes.io/hostname as apart
  podAntiAffinity preferred self topologyKey zone weight 3 as wide
}
policy front { for pods where app = web score LeastAllocated(cpu: 1) weight 5 as room }
profile db { policies database }
profile web { policies front }
"""
    client = servers.PageClient(servers.make_source([clusters.node("a")], tmp_path, policy))
    profiles = (await client.ask("policies"))["profiles"]
    assert {
        each["name"]: [(rule["name"], rule["isOfProfile"]) for rule in each["rules"]]
        for each in profiles
    } == {
        "db": [("database/apart", True), ("database/wide", True)],
        "web": [("database/apart", False), ("front/room", True)],
    }


@asynchronous
async def test_a_name_is_found_by_any_part(client: servers.PageClient) -> None:
    """Names that begin with the text come first."""
    assert (await client.ask("find", text="hug"))["pods"] == ["prod/huge"]
    assert (await client.ask("find", text="FAST"))["rules"] == ["p/fast"]
    assert (await client.ask("find", text="zzz")) == {
        "pods": [],
        "nodes": [],
        "rules": [],
        "counts": {"pods": 0, "nodes": 0, "rules": 0},
    }


@asynchronous
async def test_policies_are_shown_with_their_rules(client: servers.PageClient) -> None:
    """The text is that of the file, and rules have their line in it."""
    found = await client.ask("policies")
    assert [each["text"] for each in found["files"]] == [POLICY]
    (profile,) = found["profiles"]
    assert [(rule["name"], rule["line"]) for rule in profile["rules"]] == [
        ("p/fast", 3),
        ("p/room", 4),
    ]


@asynchronous
async def test_tolerations_are_rules_of_a_profile(tmp_path: pathlib.Path) -> None:
    """They come first, because filters read what they add; search finds them."""
    policy = (
        "policy p {\n  for pods\n  reject when free(cpu) < 1 as full\n  tolerate spot as spare\n}\n"
    )
    client = servers.PageClient(servers.make_source([clusters.node("a")], tmp_path, policy))
    (profile,) = (await client.ask("policies"))["profiles"]
    assert [(rule["name"], rule["kind"], rule["line"]) for rule in profile["rules"]] == [
        ("p/spare", "tolerate", 4),
        ("p/full", "reject", 3),
    ]
    assert (await client.ask("find", text="spare"))["rules"] == ["p/spare"]


@asynchronous
async def test_the_text_is_that_of_the_command(client: servers.PageClient) -> None:
    """`as text` shows what `policysched explain` prints."""
    source = servers.make_source(make_items())
    report = servers.get_decider(source).explain_pod("prod/new")
    assert report["pod"] in (await client.ask("text", pod="prod/new"))["text"]


@pytest.mark.parametrize(
    "name, parameters, status, text",
    [
        pytest.param("explain", {}, 400, "the parameter `pod` is missing", id="missing"),
        pytest.param("explain", {"pod": "prod/no"}, 404, "no such pod", id="no pod"),
        pytest.param("node", {"name": "no"}, 404, "`no` does not exist", id="no node"),
        pytest.param("status", {"x": "1"}, 400, "the parameter `x` is unknown", id="unknown"),
        pytest.param("cluster", {"since": "-1"}, 400, "must be a whole number", id="negative"),
        pytest.param("cluster", {"since": "9" * 40}, 400, "must be a whole number", id="huge"),
        pytest.param("find", {"text": "x" * 600}, 400, "is too long", id="long"),
    ],
)
def test_a_wrong_question_gets_one_error(
    client: servers.PageClient, name: str, parameters: dict[str, str], status: int, text: str
) -> None:
    """The page shows the text of the error."""
    servers.check_error(client, name, parameters, status, text)


@pytest.mark.slow
@hypothesis.given(
    sizes=strategies.lists(strategies.integers(1, 8), min_size=1, max_size=6),
    disks=strategies.lists(strategies.sampled_from(["ssd", "hdd"]), min_size=6, max_size=6),
    placed=strategies.lists(strategies.integers(0, 5), max_size=6),
    cpu=strategies.integers(1, 9),
)
def test_the_pod_view_says_what_explain_says(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    disks: list[str],
    placed: list[int],
    cpu: int,
) -> None:
    """Verdicts, totals and best nodes of the arrays are those of `explain -o json`."""
    nodes = [
        clusters.node(f"n{number}", cpu=str(size), disk=disks[number])
        for number, size in enumerate(sizes)
    ]
    pods = [
        clusters.pod(f"p{number}", on=f"n{on % len(sizes)}") for number, on in enumerate(placed)
    ]
    source = servers.make_source(
        [*nodes, *pods, clusters.pod("new", cpu=str(cpu))], tmp_path_factory.mktemp("p"), POLICY
    )

    @asynchronous
    async def compare() -> None:
        client = servers.PageClient(source)
        names = (await client.ask("cluster"))["names"]
        found = await client.ask("explain", pod="prod/new")
        check_equal(names, found, servers.get_decider(source))

    compare()


def check_equal(names: list[str], found: dict[str, Any], decider: sessions.PodDecider) -> None:
    """Compare the arrays of the page with the report of `explain`."""
    report = decider.explain_pod("prod/new")
    for name, number, total in zip(names, found["of"], found["totals"], strict=True):
        verdict = report["nodes"][name]
        assert verdict["ok"] is (number < 0)
        if number >= 0:
            assert "; ".join(verdict["reasons"]) == found["why"][number]["reason"]
            assert total is None
        else:
            assert report["scores"][name]["total"] == total
    assert found["message"] == report["message"]
    assert (found["best"], found["feasible"]) == (report["best"], report["feasible"])
    left = found["funnel"][-1]["left"] if found["funnel"] else len(names)
    assert left == found["feasible"]


def test_the_demo_goes_on_step_by_step(tmp_path: pathlib.Path) -> None:
    """A step is an edit or a pod; at the end of the story nothing is left to happen."""
    source = page_demo.DemoSource(tmp_path)
    before = source.get_view()
    assert source.decisions is not None
    newest = source.decisions.count
    assert source.steps["next"].startswith("edit load-aware.policy")
    source.take_step("next")
    after = source.get_view()
    assert after.generation == before.generation + 1
    found = json.loads(source.decisions.encode_rows(newest))
    report_schemas.check_report(found, "page-rows")
    assert [(row[1], row[5]) for row in found["rows"]] == [("prod/report", "big-c")]
    assert "97%" in next(each.text for each in after.policies if each.name == "load-aware.policy")
    source.take_step("rest")
    assert source.steps == {}
    with pytest.raises(LookupError):
        source.take_step("next")
