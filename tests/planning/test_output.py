from __future__ import annotations

import pathlib
from typing import Any

import pytest

from policysched.cli.reports import plan_markdown, plan_words
from tests.cli import clusters
from tests.planning import plans

_HOSTILE = 'message "@team `x` | <img src=x> [a](http://b) ``y``" as bad'
_FENCE_LEAKS = ("<img", "[a](http", "@team")


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> plans.Folder:
    """Return a folder to plan in."""
    return plans.Folder(tmp_path, capsys)


def _given(folder: plans.Folder, *items: clusters.Object) -> tuple[str, ...]:
    rule = f"reject when node(disktype = ssd) {_HOSTILE}"
    path = folder.write("new.policy", plans.policy(rule, head=""))
    return "--cluster", folder.cluster(*items), "--from", "none", "--to", path


def test_text_tells_pods_nodes_and_causes(folder: plans.Folder) -> None:
    """The sentence in numbers, the edits, the nodes, then each pod with its cause."""
    rule = "nodeAffinity required disktype = ssd as ssd"
    new = folder.write("new.policy", plans.policy(rule, head=""))
    nodes = clusters.node("a", disktype="ssd"), clusters.node("b")
    cluster = folder.cluster(*nodes, clusters.pod("p", on="b"), clusters.pod("q", on="a"))
    exit_code, out, _ = folder.run("--cluster", cluster, "--from", "none", "--to", new)
    assert (exit_code, out) == (
        0,
        f"""none → {new}, 2 running pods and 0 pending: 1 pod would move, 1 pod stays, with other \
feasible nodes; the current node of 1 pod no longer accepts it

edits
  added  web/ssd  nodeAffinity required disktype = ssd as ssd

nodes
  web/ssd newly keeps pods off b (2 pods): node(s) didn't match policy web/ssd

1 pod would move
  POD     NOW  FROM  TO  CAUSE
  prod/p  b    b     a   web/ssd: b: node(s) didn't match policy web/ssd
""",
    )


def test_markdown_shows_names_and_messages_as_code(folder: plans.Folder) -> None:
    """Nothing that comes from policies or the cluster is a link, a mention, a tag or a column."""
    node = clusters.node("a", disktype="ssd")
    exit_code, out, _ = folder.run(
        *_given(folder, node, clusters.pod("p", on="a")), "-o", "markdown"
    )
    assert exit_code == 1
    assert out.startswith("## policysched plan\n\n`none` → `")
    (row,) = [line for line in out.splitlines() if line.startswith("| `prod/p`")]
    assert row.replace("\\|", "").count("|") == 6
    outside = _outside_code(out)
    assert not any(leak in outside for leak in _FENCE_LEAKS)
    assert out.count("<details>") == out.count("</details>") == 1


def _outside_code(text: str) -> str:
    """Return what of a text stands outside code spans (CommonMark 6.1)."""
    shown, at = "", 0
    while at < len(text):
        if text[at] != "`":
            shown += text[at]
            at += 1
            continue
        run = len(text[at:]) - len(text[at:].lstrip("`"))
        fence, end = "`" * run, at + run
        while True:
            end = text.index(fence, end)
            length = len(text[end:]) - len(text[end:].lstrip("`"))
            if length == run:
                break
            end += length
        at = end + run
    return shown


def test_markdown_is_bounded(folder: plans.Folder) -> None:
    """A comment has 65,536 characters at most, whatever the number of pods and nodes."""
    nodes = [clusters.node(f"n{n:03}" + "x" * 200, disktype="ssd") for n in range(30)]
    pods = [clusters.pod(f"p{n:03}", on=nodes[n % 30]["metadata"]["name"]) for n in range(120)]
    _, out, _ = folder.run(*_given(folder, *nodes, *pods), "-o", "markdown")
    assert len(out) < 65_536
    assert "*and 70 more*" in out
    report: dict[str, Any] = {
        "from": "a",
        "to": "b",
        "summary": {
            phase: {"pods": 0, "unschedulable": 0, "moved": 0, "schedulable": 0}
            | {"nodes": 0, "reason": 0, "victims": 0, "profileAdded": 0, "profileRemoved": 0}
            for phase in ("running", "pending")
        }
        | {"nodeLost": 0, "unserved": 0},
        "edits": [],
        "rejects": [_verdict(n) for n in range(50)] * 10,
        "admits": [_verdict(n) for n in range(50)] * 10,
        "changes": [],
    }
    for verdict in report["rejects"]:
        verdict["nodes"] = ["n" * 190]
    plan_markdown.MAX_CHARACTERS, kept = 5_000, plan_markdown.MAX_CHARACTERS
    try:
        assert "more parts are omitted" in plan_markdown.format_plan_markdown(report)
    finally:
        plan_markdown.MAX_CHARACTERS = kept


def _verdict(number: int) -> dict[str, Any]:
    rule = {"plugin": "Policy", "policy": "p" * 190, "rule": f"r{number}", "line": 1}
    return {**rule, "reason": "x" * 190, "nodes": ["n"], "pods": 1}


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"", b"[]", b'{"kind": "List", "items": [{"kind": "Node"}]}', b"{"]
)
def test_a_cluster_that_is_none_is_one_error(folder: plans.Folder, content: bytes) -> None:
    """Whatever the file holds, there is an error or an empty plan, and no traceback."""
    path = folder.path / "cluster.json"
    path.write_bytes(content)
    code, _, err = folder.run("--cluster", str(path), "--from", "none", "--to", "none")
    assert code in (0, 2)
    assert "Traceback" not in err
    assert (code == 2) == (err != "")


def test_a_shipped_policy_is_planned(folder: plans.Folder) -> None:
    """From no policy to the web tier: web pods leave slow disks, others stay."""
    policy = pathlib.Path(__file__).resolve().parents[2] / "policies" / "web-tier.policy"
    zone = "topology.kubernetes.io/zone"
    nodes = [
        clusters.node("fast", disktype="ssd", **{zone: "a", "kubernetes.io/hostname": "fast"}),
        clusters.node("slow", disktype="hdd", **{zone: "a", "kubernetes.io/hostname": "slow"}),
    ]
    web, other = clusters.pod("web", on="slow"), clusters.pod("other", on="fast")
    web["metadata"]["labels"] = {"app": "shop", "tier": "web"}
    other["metadata"]["labels"] = {"app": "other"}
    cluster = folder.cluster(*nodes, web, other)
    exit_code, out, err = folder.run(
        "--cluster", cluster, "--from", "none", "--to", str(policy), "-o", "json"
    )
    report = plans.checked(out)
    assert (exit_code, err) == (0, "")
    assert plans.changed(report) == {"web": ("moved", "slow", "fast")}
    assert plans.causes(report) == {"web": ("edit", ["web-tier/fast-disk"])}


@pytest.mark.parametrize(
    "items, pending",
    [
        pytest.param((), 0, id="nothing"),
        pytest.param((clusters.pod("p"), clusters.pod("q", on="gone")), 2, id="no nodes"),
        pytest.param(
            (clusters.node("a"), clusters.pod("q", on="gone")), 0, id="a node that is gone"
        ),
        pytest.param(
            (clusters.node("a"), clusters.pod("g", schedulingGates=[{"name": "x"}])), 1, id="gated"
        ),
    ],
)
def test_clusters_at_the_edge_are_planned_and_swept(
    folder: plans.Folder, items: tuple[clusters.Object, ...], pending: int
) -> None:
    """Without nodes, with pods of nodes that are gone, with gates: numbers, and no error."""
    given = ("--cluster", folder.cluster(*items))
    path = folder.write("p.policy", plans.policy("score MostAllocated(cpu: 1) weight 5 as pack"))
    code, out, _ = folder.run(*given, "--from", "none", "--to", path, "-o", "json")
    assert (code, plans.checked(out)["changes"]) == (0, [])
    code, out, _ = folder.run(*given, "--to", path, "--sweep", "web/pack.weight=0,1", "-o", "json")
    report = plans.checked(out)
    assert code == 0
    assert {each["pending"] for each in report["points"]} == {pending}


@pytest.mark.parametrize(
    "old, new, shown",
    [
        pytest.param("a > 1", "a > 2", "a > 1 → a > 2", id="short"),
        pytest.param(
            "reject when cpu_busy > 80% missing allow as too-hot",
            "reject when cpu_busy > 30% missing allow as too-hot",
            "… cpu_busy > 80% … → … cpu_busy > 30% …",
            id="in the middle",
        ),
        pytest.param(
            f"for pods where {'a ' * 40}in (b)",
            f"for pods where {'a ' * 40}in (b) and c",
            "… in (b) → … in (b) and c",
            id="at the end",
        ),
        pytest.param("b " + "a " * 60, "c " + "a " * 60, "b … → c …", id="at the beginning"),
        pytest.param(
            "podAffinity preferred self topologyKey topology.kubernetes.io/zone weight 3 as near",
            "podAffinity preferred self topologyKey topology.kubernetes.io/zone weight 1 as near",
            "… weight 3 … → … weight 1 …",
            id="behind a long word",
        ),
        pytest.param("a " * 60, "a " * 61, "… a a → … a a a", id="one more of the same"),
    ],
)
def test_the_words_that_differ_are_shown(old: str, new: str, shown: str) -> None:
    """However long a rule is, what was edited in it can be read."""
    edit = {"change": "changed", "old": old.strip(), "new": new.strip(), "note": ""}
    assert plan_words.describe_profile_edit(edit, 78) == shown


def test_a_long_rule_keeps_its_note() -> None:
    """What makes the difference stands behind the rule, and is not what is cut."""
    edit = {"change": "changed", "old": "a " * 60, "new": "a " * 60, "note": "let hot: 1 → 2"}
    words = plan_words.describe_profile_edit(edit, 78)
    assert words.endswith("… (let hot: 1 → 2)")
    assert len(words) <= 79
