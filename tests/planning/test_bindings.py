"""`plan` over a Karmada dump: what a change of cluster policies does to bindings, and by what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli import clusters
from tests.conformance.generate import draw
from tests.karmada import cases, policy_texts
from tests.planning import plans

if TYPE_CHECKING:
    import pathlib

Object = dict[str, Any]

_HEAD = "metric errors: ratio = `sum by (cluster) (x)` cluster cluster missing allow\n"


def _cluster(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": spec,
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"pods": "30"}},
        },
    }


def _binding(name: str, replicas: int = 6, placement: Object | None = None, **at: int) -> Object:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name}
    present = [{"name": cluster, "replicas": count} for cluster, count in at.items()]
    spec = {"resource": resource, "replicas": replicas, "placement": placement or {}}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {**spec, "clusters": present},
    }


_CLUSTERS = (_cluster("m1", region="eu"), _cluster("m2", region="eu"), _cluster("m3", region="us"))


def _policy(*statements: str, name: str = "shop", head: str = _HEAD) -> str:
    lines = "\n  ".join(("for resources", *statements))
    return f"{head}clusterPolicy {name} {{\n  {lines}\n}}\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> plans.Folder:
    """Return a folder to plan in."""
    return plans.Folder(tmp_path, capsys)


def _plan(
    folder: plans.Folder, old: str, new: str, *items: Object, argv: tuple[str, ...] = ()
) -> tuple[int, Object]:
    """Return the exit code and what a plan says of bindings."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [*_CLUSTERS, *items]}
    given = ["--cluster", folder.write("plane.json", json.dumps(listed))]
    given += ["--from", folder.write("old.policy", old) if old else "none"]
    given += ["--to", folder.write("new.policy", new) if new else "none"]
    metrics = folder.write("metrics.json", json.dumps({"errors": {"m1": "1%", "m2": "9%"}}))
    if _HEAD in old + new:
        given += ["--metrics", metrics]
    exit_code, out, _ = folder.run(*given, *argv, "-o", "json")
    found: Object = plans.checked(out)["bindings"]
    return exit_code, found


def _shares(fate: Object) -> dict[str, int]:
    return {each["name"]: each["replicas"] for each in fate["clusters"]}


_DIVIDE = "replicas Divided Weighted AvailableReplicas"
_BY_SCORE = "replicas Divided Weighted by score"
_SCORE = "score errors prefer low normalize linear(0%, 10%) missing score 0 as errors"
_GROUP = "clusterGroup near where region = us"


@pytest.mark.parametrize(
    "old, new, expected, exit_code",
    [
        pytest.param(
            _policy(_DIVIDE),
            _policy(_DIVIDE, "reject when errors > 5% as hot"),
            ("clusters", ["m2"], [], ["shop/hot"]), 0,
            id="a rule keeps a cluster off",
        ),
        pytest.param(
            _policy(_DIVIDE),
            _policy(_DIVIDE, "clusterAffinity required region = asia as asia"),
            ("unschedulable", ["m1", "m2", "m3"], [], ["shop/asia"]), 1,
            id="no cluster is left",
        ),
        pytest.param(
            _policy(_DIVIDE, "clusterAffinity required region = asia as asia"),
            _policy(_DIVIDE),
            ("schedulable", [], ["m1", "m2", "m3"], ["shop/asia"]), 0,
            id="clusters come",
        ),
        pytest.param(
            _policy(_DIVIDE, _SCORE), _policy(_BY_SCORE, _SCORE),
            ("clusters", ["m3"], [], ["shop: replicas"]), 0,
            id="the division",
        ),
        pytest.param(
            _policy(_DIVIDE), _policy(_DIVIDE, _GROUP),
            ("clusters", ["m1", "m2"], [], ["shop: clusterGroup"]), 0,
            id="a group",
        ),
        pytest.param(
            _policy("replicas Divided Weighted (m1: 1, m2: 1)", head=""),
            _policy("replicas Divided Weighted (m1: 2, m2: 1)", head=""),
            ("replicas", [], [], ["shop: replicas"]), 0,
            id="weights",
        ),
        pytest.param(
            "", _policy("replicas Divided Aggregated", head=""),
            ("clusters", ["m2", "m3"], [], ["shop: replicas"]), 0,
            id="a policy comes",
        ),
        pytest.param(
            _policy("replicas Divided Aggregated", head=""), "",
            ("clusters", [], ["m2", "m3"], ["shop: replicas"]), 0,
            id="a policy goes",
        ),
        pytest.param(
            _policy("clusterAffinity required region = asia as asia", head=""),
            _policy("clusterAffinity required region = mars as mars", head=""),
            ("reason", [], [], ["shop/asia"]), 0,
            id="another reason",
        ),
    ],
)  # fmt: skip
def test_what_changes_and_by_what(
    old: str,
    new: str,
    expected: tuple[str, list[str], list[str], list[str]],
    exit_code: int,
    folder: plans.Folder,
) -> None:
    """Outcome, lost and gained clusters, and the edits without which it would be as before."""
    code, found = _plan(folder, old, new, _binding("web"))
    (change,) = found["changes"]
    told = (change["outcome"], change["lost"], change["gained"], sorted(change["cause"]["edits"]))
    assert told == expected
    assert found["summary"] | {"bindings": 1, told[0]: 1} == found["summary"]
    assert code == exit_code


def test_what_is_there_is_told_apart(folder: plans.Folder) -> None:
    """A division moves nothing that is complete; a required affinity does at the next attempt."""
    web = _binding("web", m1=3, m2=3)
    _, found = _plan(folder, _policy(_DIVIDE), _policy(_DIVIDE, "reject when errors > 5%"), web)
    (change,) = found["changes"]
    assert (_shares({"clusters": change["present"]}), change["movesNow"]) == (
        {"m1": 3, "m2": 3},
        False,
    )
    asked = "clusterAffinity required clusterName In (m1, m3)"
    _, found = _plan(folder, _policy(_DIVIDE), _policy(_DIVIDE, asked), web)
    (change,) = found["changes"]
    assert change["movesNow"]
    assert change["cause"]["how"] == (
        f"m2: cluster(s) didn't match policy {found['edits'][0]['name']}"
    )
    assert found["summary"]["movesNow"] == 1


@pytest.mark.parametrize(
    "fail_on, exit_code", [("never", 0), ("unschedulable", 0), ("moved", 1), ("any", 1)]
)
def test_exit_codes(fail_on: str, exit_code: int, folder: plans.Folder) -> None:
    """Bindings that get other clusters count as moved."""
    new = _policy("replicas Divided Aggregated", head="")
    code, _ = _plan(folder, "", new, _binding("web"), argv=("--fail-on", fail_on))
    assert code == exit_code


@pytest.mark.parametrize(
    "old, new, expected, exit_code",
    [
        (("across",), ("across", "edge"), {}, 0),
        (("across", "edge"), ("across", "rim"), {}, 0),
        (("rim", "across"), ("far", "across"), {}, 0),
        (("across", "edge"), ("rim", "edge"), {"web": "profileRemoved"}, 1),
        (("rim", "edge"), ("across", "edge"), {"web": "profileAdded"}, 0),
    ],
)
def test_bindings_of_other_schedulers_are_left_out(
    old: tuple[str, ...],
    new: tuple[str, ...],
    expected: dict[str, str],
    exit_code: int,
    folder: plans.Folder,
) -> None:
    """As for pods: with several profiles, schedulerName says whose a binding is."""
    web, other = _binding("web"), _binding("other")
    web["spec"]["schedulerName"] = "across"
    texts = []
    is_about_web = "across" in (old[0], new[0])
    changed = _DIVIDE if is_about_web else "replicas Divided Aggregated"
    for statement, names in ((_DIVIDE, old), (changed, new)):
        profiles = (f"profile {each} {{ policies shop }}" for each in names[:1])
        rest = (f"profile {each} {{ }}" for each in names[1:])
        texts.append(_policy(statement, head="") + "\n".join([*profiles, *rest]))
    code, found = _plan(folder, texts[0], texts[1], web, other)
    outcomes = {each["binding"].removeprefix("prod/"): each["outcome"] for each in found["changes"]}
    assert (code, outcomes) == (exit_code, expected)
    assert (found["summary"]["bindings"], found["summary"]["unserved"]) == (1, 1)


def test_pods_and_bindings_of_one_dump_are_both_told(folder: plans.Folder) -> None:
    """A sentence has both, and each kind has its edits."""
    items = [
        clusters.node("n1", disktype="ssd"),
        clusters.node("n2"),
        clusters.pod("p", on="n2"),
        *_CLUSTERS,
        _binding("web"),
    ]
    text = plans.policy("nodeAffinity required disktype = ssd as ssd", head="")
    text += _policy("replicas Divided Aggregated", head="")
    new = folder.write("new.policy", text)
    argv = ["--cluster", folder.cluster(*items), "--from", "none", "--to", new]
    exit_code, out, err = folder.run(*argv)
    assert (exit_code, err) == (0, "")
    assert out.startswith(
        f"none → {new}, 1 running pod and 0 pending: 1 pod would move; the current node of 1 pod "
        "no longer accepts it. 1 binding: 1 binding would move to other clusters "
        "(decided as if nothing were placed yet; now: 1 pending)\n"
    )
    assert "added  web/ssd  nodeAffinity required disktype = ssd as ssd" in out
    assert "added  shop: replicas  replicas Divided Aggregated" in out
    assert "prod/web  -    m1:6, m2:6, m3:6  m1:6  shop: replicas: m2 still accepts it" in out
    exit_code, out, err = folder.run(*argv, "-o", "markdown")
    assert (exit_code, err) == (0, "")
    assert "<details><summary>1 binding would move to other clusters</summary>" in out
    assert "| `prod/web` | `-` | `m1:6, m2:6, m3:6` | `m1:6` |" in out


def test_params_are_named_as_the_cause(folder: plans.Folder) -> None:
    """A rule of the same words with another param is told with the param."""
    text = "param limit: ratio = 5%\n" + _policy(_DIVIDE, "reject when errors > limit as hot")
    other = text.replace("5%", "20%", 1)
    _, found = _plan(folder, other, text, _binding("web"))
    (edit,) = found["edits"]
    assert (edit["name"], edit["note"]) == ("shop/hot", "param limit: 0.2 → 0.05")
    assert edit["bindings"]["clusters"] == 1


@pytest.mark.parametrize("seed", range(25))
def test_taking_the_cause_back_is_as_before(seed: int, folder: plans.Folder) -> None:
    """Plans between generated policies: nothing changes without edits, and causes are edits."""
    d = draw.Draw(f"plan bindings {seed}")
    old, new = policy_texts.policies(d), policy_texts.policies(d)
    items = cases.control_plane(f"plan {seed}")["items"]
    metrics = folder.write("m.json", json.dumps({"errors": {"m00": 0.07}, "power": {"m01": 4}}))
    plane = {"apiVersion": "v1", "kind": "List", "items": items}
    given = ["--cluster", folder.write("plane.json", json.dumps(plane)), "--metrics", metrics]
    old_path, new_path = folder.write("old.policy", old), folder.write("new.policy", new)
    _, out, _ = folder.run(*given, "--from", old_path, "--to", new_path, "-o", "json")
    found = plans.checked(out)["bindings"]
    names = {each["name"] for each in found["edits"]}
    for change in found["changes"]:
        assert change["cause"]["kind"] in ("edit", "together", "several")
        assert set(change["cause"]["edits"]) <= names
    _, out, _ = folder.run(*given, "--from", old_path, "--to", old_path, "-o", "json")
    same = plans.checked(out)["bindings"]
    assert (same["edits"], same["changes"]) == ([], [])


def test_a_sweep_needs_pods(folder: plans.Folder) -> None:
    """`--sweep` is about pods, and says so."""
    plane = {"apiVersion": "v1", "kind": "List", "items": list(_CLUSTERS)}
    given = ["--cluster", folder.write("plane.json", json.dumps(plane))]
    text = plans.policy("score free(cpu) prefer high as room", head="")
    given += ["--to", folder.write("new.policy", text), "--sweep", "web/room.weight=1,2"]
    exit_code, _, err = folder.run(*given)
    assert exit_code == 2
    assert "has no Node and no Pod; --sweep needs them" in err
