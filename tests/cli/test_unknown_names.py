"""Files of metrics that name nodes or clusters that are not there: a warning, the output stays."""

from __future__ import annotations

import io
import json
import pathlib
from types import SimpleNamespace

import pytest

from policysched.cli import main
from tests.cli import clusters

POLICY = """\
version 1
metric busy: ratio = `1 - rate(node_cpu_idle_seconds_total[5m])`
  node instance  refresh 15s  maxAge 2m
metric failing: ratio = `rate(errors_total[5m])`
  cluster cluster  refresh 15s  maxAge 2m

policy web {
  for pods where app = web
  reject when busy > 80% missing allow as too-hot
}
clusterPolicy calm {
  for resources
  reject when failing > 5% missing allow as too-broken
}
"""
POD = ("explain", "--cluster", "cluster.json", "--metrics", "m.yaml", "pod", "prod/a")
WARNING = (
    "policysched: warning: m.yaml names unknown nodes, which are ignored: "
    "`n11` (did you mean `n1`?), `other`\n"
)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The current folder, with a cluster, policies and metrics of some nodes that do not exist."""
    clusters.write(tmp_path, clusters.node("n1"), clusters.node("n2"), clusters.pod("a"))
    (tmp_path / "p.policy").write_text(POLICY)
    (tmp_path / "m.yaml").write_text("busy: {n1: 10%, n11: 20%, other: _}\n")
    kind = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    member = {**kind, "metadata": {"name": "member1"}}
    (tmp_path / "plane.json").write_text(json.dumps(clusters.list_of(member)))
    (tmp_path / "c.yaml").write_text("failing: {member1: 1%, member2: 1%}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("simulate", "--cluster", "cluster.json", "--metrics", "m.yaml"), id="run"),
        pytest.param(
            ("explain", "--cluster", "cluster.json", "--metrics", "m.yaml", "--all"), id="all"
        ),
        pytest.param(POD, id="pod"),
    ],
)
def test_unknown_nodes_are_named(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that has no sample; the first with the name that was probably meant."""
    argv = (*argv, "--policies", "p.policy", "-o", "json")
    assert main.main(argv) == 0
    said = capsys.readouterr()
    assert said.err == WARNING
    assert json.loads(said.out)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("more", [(), ("--sweep", "web/too-hot.weight=1")], ids=["plan", "sweep"])
def test_plans_name_them_too(more: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Of both sides and of sweeps."""
    argv = ["plan", "--cluster", "cluster.json", "--to", "p.policy", "--metrics", "m.yaml"]
    main.main([*argv, *(more or ("--from", "p.policy"))])
    assert WARNING in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("karmada", "simulate"), id="simulate"),
        pytest.param(("explain", "binding", "--all"), id="explain"),
    ],
)
def test_unknown_clusters_are_named(
    argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a control plane; those of metrics of clusters alone."""
    inputs = ("--cluster", "plane.json", "--metrics", "c.yaml", "--policies", "p.policy")
    assert main.main([*argv, *inputs]) == 0
    assert capsys.readouterr().err == (
        "policysched: warning: c.yaml names unknown clusters, which are ignored: "
        "`member2` (did you mean `member1`?)\n"
    )


@pytest.mark.usefixtures("folder")
def test_metrics_of_clusters_are_not_about_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """One file may serve both schedulers."""
    inputs = ("--cluster", "cluster.json", "--metrics", "c.yaml", "--policies", "p.policy")
    assert main.main(["simulate", *inputs]) == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_of_several_clusters_only_names_that_none_has_are_unknown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of metrics may be about all JSON lines together."""
    lines = [
        json.dumps(clusters.list_of(clusters.node(name), clusters.pod("a")))
        for name in ("n1", "n11")
    ]
    stdin = SimpleNamespace(buffer=io.BytesIO("\n".join(lines).encode()), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)
    argv = ["--cluster", "-", "--metrics", "m.yaml", "--policies", "p.policy"]
    assert main.main(["simulate", *argv]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err == WARNING.replace("`n11` (did you mean `n1`?), ", "")
