"""`simulate` where pods preempt others, and what policies have to say about it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from policysched.cli import main
from tests.cli import clusters

HIGH = clusters.pod("high", cpu="3", priority=10)


def _simulated(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    items: list[clusters.Object],
    policy: str = "",
) -> dict[str, Any]:
    """Return what becomes of the one pending pod."""
    argv = ["simulate", "--cluster", clusters.write(folder, *items), "--deterministic"]
    if policy:
        path = folder / "test.policy"
        body = f"for pods where app = web\n  {policy}"
        path.write_text(f"version 1\n\npolicy test {{\n  {body}\n}}\n")
        argv += ["--policies", str(path)]
    assert main.main([*argv, "-o", "json"]) == 0
    (placement,) = json.loads(capsys.readouterr().out)["placements"]
    assert isinstance(placement, dict)
    return placement


def _labelled(pod: clusters.Object, **labels: str) -> clusters.Object:
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


ON_A = clusters.pod("a", cpu="3", on="n1", priority=1)
ON_B = clusters.pod("b", cpu="3", on="n2", priority=2)


@pytest.mark.parametrize(
    "policy, node, victims",
    [
        pytest.param("", "n1", ["prod/a"], id="without policies"),
        pytest.param(
            "reject when node(pool = old)", "n2", ["prod/b"], id="nobody leaves a node in vain"
        ),
        pytest.param(
            "reject when free(cpu) - requests(cpu) < 500m", "n1", ["prod/a"], id="room is counted"
        ),
        pytest.param(
            "reject when free(cpu) - requests(cpu) < 1500m", None, [], id="never enough room"
        ),
        pytest.param(
            "podAntiAffinity required pods where app = batch topologyKey host",
            "n2",
            ["prod/b"],
            id="who repels the pod stays",
        ),
        pytest.param(
            "podAntiAffinity required pods where app = web topologyKey host",
            "n1",
            ["prod/a"],
            id="who is repelled has gone",
        ),
    ],
)
def test_policies_take_part(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    policy: str,
    node: str | None,
    victims: list[str],
) -> None:
    """Rules about nodes rule nodes out; rules about pods are asked again without the victims."""
    nodes = [clusters.node("n1", host="n1", pool="old"), clusters.node("n2", host="n2", pool="new")]
    batch = _labelled(clusters.pod("batch", cpu="0", on="n1", priority=50), app="batch")
    found = _simulated(tmp_path, capsys, [*nodes, ON_A, ON_B, batch, HIGH], policy)
    assert (found["node"], found["victims"]) == (node, victims)


def test_victims_are_chosen_as_budgets_allow(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PodDisruptionBudget of the file spares the pods that it guards."""
    guarded = _labelled(ON_A, app="guarded")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "prod"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": 0},
    }
    nodes = [clusters.node("n1"), clusters.node("n2")]
    found = _simulated(tmp_path, capsys, [*nodes, budget, guarded, ON_B, HIGH])
    assert (found["node"], found["victims"]) == ("n2", ["prod/b"])


def test_the_message_is_that_of_the_filters(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where preemption does not help, `simulate` says the same as `explain`."""
    equal = clusters.pod("equal", cpu="3", on="n1", priority=10)
    found = _simulated(tmp_path, capsys, [clusters.node("n1"), equal, HIGH])
    assert (found["node"], found["victims"]) == (None, [])
    assert found["message"] == "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_room_is_left_for_nominated_pods(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A pod of the file whose status nominates it keeps its room, also where others come first."""
    waits = clusters.pod("waits", cpu="3", priority=10)
    waits["status"]["nominatedNodeName"] = "n1"
    path = clusters.write(tmp_path, clusters.node("n1"), clusters.node("n2", cpu="1"), HIGH, waits)
    argv = [command, "--cluster", path, "-o", "json"]
    argv += ["--all"] if command == "explain" else ["--deterministic"]
    assert main.main(argv) == 0
    report = json.loads(capsys.readouterr().out)
    if command == "explain":
        high, waiting = report
        assert high["message"] == "0/2 nodes are available: 2 Insufficient cpu."
        assert waiting["best"] == ["n1"]
    else:
        high, waiting = report["placements"]
        assert (high["node"], waiting["node"]) == (None, "n1")


def test_the_table_says_who_is_evicted_from_where(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column that is there if any pod makes room, and their number in the summary."""
    nodes = [clusters.node("n1"), clusters.node("n2")]
    small = [clusters.pod(f"low-{n}", cpu="2", on="n1") for n in (1, 2)]
    waiting = [HIGH, clusters.pod("huge", cpu="9")]
    cluster = clusters.write(tmp_path, *nodes, *small, ON_B, *waiting)
    assert main.main(["simulate", "--cluster", cluster, "--deterministic"]) == 0
    reason = "0/2 nodes are available: 2 Insufficient cpu."
    assert capsys.readouterr().out.split("\n")[:5] == [
        "POD        NODE  FEASIBLE  EVICTS                          WHY NOT",
        "prod/high  n1           1  prod/low-2, prod/low-1 from n1",
        f"prod/huge  -            0                                  {reason}",
        "",
        "1 of 2 pods placed, 2 pods evicted to make room",
    ]


def test_json_says_from_which_node(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the victims; without victims there is no such node."""
    items = [clusters.node("n1"), clusters.node("n2"), ON_A, ON_B]
    assert _simulated(tmp_path, capsys, [*items, HIGH])["nominatedNode"] == "n1"
    easy = clusters.pod("easy", cpu="1")
    assert "nominatedNode" not in _simulated(tmp_path, capsys, [*items, easy])


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_plan_says_who_is_evicted(
    form: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod that the new policies move makes room on another node."""
    items = [clusters.node("n1", pool="old"), clusters.node("n2", pool="new"), ON_A, ON_B, HIGH]
    policy = tmp_path / "new.policy"
    policy.write_text("policy p { for pods where app = web\n reject when node(pool = old) }\n")
    argv = ["plan", "--cluster", clusters.write(tmp_path, *items), "--from", "none"]
    main.main([*argv, "--to", str(policy), "-o", form])
    said = capsys.readouterr().out.replace("`", "")
    (line,) = (line for line in said.splitlines() if "prod/high" in line)
    assert "n1, evicts prod/a" in line
    assert "n2, evicts prod/b" in line
