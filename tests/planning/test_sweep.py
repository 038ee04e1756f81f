from __future__ import annotations

import json
import pathlib
from typing import Any
from xml.etree import ElementTree

import pytest

from policysched.cli import main
from tests.cli import clusters
from tests.planning import plans

_PACK = "score MostAllocated(cpu: 1) weight 100 as pack"
_FULL = "reject when free(cpu) < least as full"
_HEAD = "param least: cores = 0\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> plans.Folder:
    """Return a folder with three nodes, of which one has all pods."""
    made = plans.Folder(tmp_path, capsys)
    made.write("p.policy", plans.policy(_PACK, _FULL, head=_HEAD))
    nodes = [clusters.node(name, cpu="4") for name in "abc"]
    made.cluster(*nodes, *(clusters.pod(f"p{n}", on="a") for n in range(3)))
    return made


def _argv(folder: plans.Folder, *argv: str) -> tuple[str, ...]:
    given = ("--cluster", str(folder.path / "cluster.json"), "--to", str(folder.path / "p.policy"))
    return (*given, *(part for each in argv for part in ("--sweep", each)))


def _swept(folder: plans.Folder, *argv: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    exit_code, out, err = folder.run(*_argv(folder, *argv), *more, "-o", "json")
    assert (exit_code, err) == (0, "")
    return plans.checked(out)


def test_a_weight_is_swept(folder: plans.Folder) -> None:
    """Packed pods lie on one node; without the rule the built-in plugins spread them evenly."""
    report = _swept(folder, "web/pack.weight=0,100")
    spread, packed = report["points"]
    assert [each["values"] for each in report["points"]] == [
        {"web/pack.weight": "0"},
        {"web/pack.weight": "100"},
    ]
    assert (spread["cpu"]["variation"], spread["cpu"]["spread"]) == (0, 0)
    assert packed["cpu"] == {"mean": 0.25, "variation": 1.414214, "spread": 0.75}
    assert (packed["moved"], spread["moved"]) == (0, 2)
    assert report["written"] == {key: packed[key] for key in report["written"]}


def test_a_param_is_swept(folder: plans.Folder) -> None:
    """A hard rule that leaves too little room: pods wait, and those that run break it."""
    report = _swept(folder, "params.least=1,2,5")
    counts = [(each["pending"], each["broken"]) for each in report["points"]]
    assert counts == [(0, 0), (0, 0), (3, 3)]


def test_axes_make_a_grid(folder: plans.Folder) -> None:
    """Every combination is a point, the last axis varied first."""
    report = _swept(folder, "web/pack.weight=0,1", "params.least=1,5")
    assert [tuple(each["values"].values()) for each in report["points"]] == [
        ("0", "1"),
        ("0", "5"),
        ("1", "1"),
        ("1", "5"),
    ]


def test_running_pods_may_stay(folder: plans.Folder) -> None:
    """With --place pending nothing that runs is placed anew."""
    report = _swept(folder, "web/pack.weight=0", more=("--place", "pending"))
    assert report["points"][0]["cpu"]["spread"] == 0.75


def test_hot_nodes_follow_the_limit(folder: plans.Folder) -> None:
    """A node is hot from the share on that is given."""
    for hot, count in (("75%", 1), ("0.76", 0)):
        report = _swept(folder, "web/pack.weight=100", more=("--hot", hot))
        assert report["points"][0]["hotNodes"] == count


def test_pods_of_daemon_sets_stay(folder: plans.Folder) -> None:
    """They belong to their nodes, so they are not placed anew."""
    pod = clusters.pod("d", cpu="4", on="b")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    folder.cluster(clusters.node("a"), clusters.node("b"), pod)
    report = _swept(folder, "params.least=0")
    assert report["points"][0]["hotNodes"] == 1
    assert report["points"][0]["pending"] == 0


@pytest.mark.parametrize(
    "sweeps", [("web/pack.weight=0,50,100",), ("web/pack.weight=0,9", "params.least=0,1,2")]
)
def test_a_plot_is_a_picture(folder: plans.Folder, sweeps: tuple[str, ...]) -> None:
    """One axis is drawn as lines, two as tiles; the file is well-formed and names the axes."""
    path = folder.path / "plot.svg"
    exit_code, out, _ = folder.run(*_argv(folder, *sweeps), "--plot", str(path))
    assert exit_code == 0
    assert out.startswith("web/pack.weight")
    root = ElementTree.parse(path).getroot()  # noqa: S314 - what plan has just drawn
    shown = " ".join(element.text or "" for element in root.iter())
    assert all(sweep.partition("=")[0] in shown for sweep in sweeps)
    kind = "circle" if len(sweeps) == 1 else "rect"
    assert len(root.findall(f"{{http://www.w3.org/2000/svg}}{kind}")) >= 6


@pytest.mark.parametrize(
    "sweep, exit_code, said",
    [
        ("web/pack.weight", 3, "has no values"),
        ("web/pack.weight=", 3, "has no values"),
        ("web/pack.weight=101", 3, "`101` is not a weight"),
        ("web/pack.weight=-1", 3, "`-1` is not a weight"),
        ("web/pack.weight=9²", 3, "is not a weight"),
        ("web/pack.wait=1", 3, "cannot be varied"),
        ("params.=1", 3, "has no name of a param"),
        ("web/pick.weight=1", 2, "did you mean `web/pack`"),
        ("web/full.weight=1", 2, "has no weight"),
        ("params.most=1", 2, "most"),
        ("params.least=x", 2, "least"),
        ("params.least=" + ",".join(map(str, range(101))), 3, "100 are allowed"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    folder: plans.Folder, sweep: str, exit_code: int, said: str
) -> None:
    """One error says what is wrong with the axis."""
    found = folder.run(*_argv(folder, sweep))
    assert (found[0], found[1], said in found[2]) == (exit_code, "", True)
    assert "Traceback" not in found[2]


@pytest.mark.parametrize(
    "argv, said",
    [
        pytest.param(("--hot", "90%"), "--hot needs --sweep", id="hot"),
        pytest.param(("--place", "all"), "--place needs --sweep", id="place"),
        pytest.param(("--plot", "x.svg"), "--plot needs --sweep", id="plot"),
        pytest.param(
            ("--sweep", "params.least=1", "--from", "none"), "--from cannot be used", id="from"
        ),
        pytest.param(
            ("--sweep", "params.least=1", "--fail-on", "any"),
            "--fail-on cannot be used",
            id="fail-on",
        ),
        pytest.param(
            ("--sweep", "params.least=1", "--from-params", "least=2"),
            "--from-params cannot be used",
            id="from-params",
        ),
        pytest.param(("--sweep", "nonsense"), "has no values", id="no axis"),
    ],
)
def test_options_that_exclude_each_other_are_refused_before_anything_is_read(
    folder: plans.Folder, argv: tuple[str, ...], said: str
) -> None:
    """No option is ignored, and nobody waits for a cluster to be told of a misspelt one."""
    given = folder.run("--cluster", "missing.json", "--to", "missing.policy", *argv)
    assert (given[0], given[1], said in given[2]) == (3, "", True), given[2]


def test_a_picture_that_cannot_be_written_costs_no_result(folder: plans.Folder) -> None:
    """The table is told first, then what is wrong."""
    where = str(folder.path / "none" / "x.svg")
    code, out, err = folder.run(*_argv(folder, "params.least=1"), "--plot", where)
    assert (code, "as written" in out, "cannot be written" in err) == (2, True, True)


def test_what_simulate_leaves_pending_is_counted(
    folder: plans.Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """A point of a sweep over pending pods is what `simulate` does with that value."""
    nodes = [clusters.node(name, cpu="4") for name in "ab"]
    cluster = folder.cluster(*nodes, *(clusters.pod(f"p{n}", cpu="2") for n in range(6)))
    report = _swept(folder, "params.least=0,3", more=("--place", "pending"))
    for point in report["points"]:
        value = point["values"]["params.least"]
        given = ("--cluster", cluster, "--policies", str(folder.path / "p.policy"))
        how = ("--params", f"least={value}", "--deterministic", "-o", "json")
        main.main(["simulate", *given, *how])
        placements = json.loads(capsys.readouterr().out)["placements"]
        assert point["pending"] == sum(each["node"] is None for each in placements)
