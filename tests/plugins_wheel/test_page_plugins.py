"""The plugins of docs/plugins.md that need no wheel of their own, as the page shows them."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import json
import pathlib
import re
from typing import Any

import numpy as np
import pytest

from policysched import api
from policysched.cli import main
from policysched.plugins import registry
from tests import builders, page_examples
from tests.cli import clusters
from tests.scheduler import fakes

MODULES = {
    "FastStorage": "fast_storage",
    "StartLimit": "start_limit",
    "Together": "together",
}


@dataclasses.dataclass
class Installed:
    """The plugins of the page, with a command that runs them on a cluster."""

    folder: pathlib.Path
    capsys: pytest.CaptureFixture[str]

    def run(self, command: str, plugin: str, *objects: clusters.Object) -> str:
        """Return what a command prints, whose pods are scheduled by one plugin of the page."""
        policy = self.folder / "p.policy"
        policy.write_text(f"profile default-scheduler {{ plugin {plugin} }}\n")
        cluster = clusters.write(self.folder, *objects)
        argv = ["--cluster", cluster, "--policies", str(policy), "-o", "json"]
        code = main.main([*command.split(), *argv])
        printed = self.capsys.readouterr()
        return printed.err if code == 2 else printed.out

    def simulate(self, plugin: str, *objects: clusters.Object) -> dict[str, Any]:
        """Return the node or the message of each pod."""
        placements = json.loads(self.run("simulate --deterministic", plugin, *objects))
        return {p["pod"]: p["node"] or p["message"] for p in placements["placements"]}


@pytest.fixture
def installed(
    page: dict[str, str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Installed:
    """The modules of the page where Python finds them, with their entry points."""
    for module in MODULES.values():
        (tmp_path / f"{module}.py").write_text(page[f"{module}.py"], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    points = [
        importlib.metadata.EntryPoint(
            name, f"{module}:{name}.from_args", registry.ENTRY_POINT_GROUP
        )
        for name, module in MODULES.items()
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
    return Installed(tmp_path, capsys)


def _pod(name: str, **labels: str) -> clusters.Object:
    pod = clusters.pod(name)
    named = {f"example.com/{key.replace('_', '-')}": value for key, value in labels.items()}
    pod["metadata"]["labels"] = named
    return pod


def test_a_filter_and_a_score_with_arrays(installed: Installed) -> None:
    """A label of the pod is compared with those of nodes, and free memory decides."""
    fast = {"example.com/iops": "9000"}
    nodes = [
        clusters.node("fast-1", **fast),
        clusters.node("fast-2", **fast),
        clusters.node("none"),
        clusters.node("slow", **{"example.com/iops": "900"}),
    ]
    nodes[1]["status"]["allocatable"] = {"cpu": "4", "memory": "64Gi", "pods": "110"}
    pods = [_pod("demanding", iops="5000"), _pod("greedy", iops="10000"), _pod("modest")]
    assert installed.simulate("FastStorage weight 9", *nodes, *pods) == {
        "prod/demanding": "fast-2",
        "prod/greedy": ("0/4 nodes are available: 4 node(s) had less than 10000 I/O operations."),
        "prod/modest": "fast-2",
    }


def test_values_that_pass_from_pre_filter_to_reserve(installed: Installed) -> None:
    """Each placed pod counts for the next one."""
    nodes = [clusters.node("n1"), clusters.node("n2")]
    pods = [_pod(name, start_weight="6") for name in ("a", "b", "c")]
    wrong = _pod("d", start_weight="11")
    placed = installed.simulate("StartLimit", *nodes, *pods, wrong, _pod("e"))
    assert {placed["prod/a"], placed["prod/b"]} == {"n1", "n2"}
    assert placed["prod/c"].startswith("0/2 nodes are available: 2 node(s) were busy.")
    assert placed["prod/d"].startswith("0/2 nodes are available: no start-weight: 11.")
    assert placed["prod/e"] in ("n1", "n2")


def test_the_mistake_of_the_page(
    page: dict[str, str], installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant of another type than PreFilter's is the line of the page."""
    module = installed.folder / "start_limit_wrong.py"
    code = page["start_limit.py"].replace("return api.SKIP_FILTER", "return api.SKIP")
    module.write_text(code, encoding="utf-8")
    group = registry.ENTRY_POINT_GROUP
    point = importlib.metadata.EntryPoint(
        "StartLimit", "start_limit_wrong:StartLimit.from_args", group
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    shown = installed.run("explain --all", "StartLimit", clusters.node("n1"), _pod("a"))
    assert shown == page["mistake"]


def _member(name: str) -> builders.PodBuilder:
    labels = {"example.com/group": "g", "example.com/group-size": "2"}
    return builders.make_pod(name).labels(labels)


@pytest.mark.usefixtures("installed")
def test_a_binding_that_waits_for_another() -> None:
    """The first pod of a group is bound with the second, others at once; or it is rejected."""

    async def scenario() -> None:
        factory = importlib.import_module("together").Together.from_args
        world = fakes.World(factory=factory)
        world.add_node("n1", pods=9)
        world.add_pod(_member("a"))
        world.add_pod("alone")
        await world.settle()
        assert (world.bind.bound, len(world.waiting)) == ([("alone", "n1")], 1)
        world.add_pod(_member("b"))
        await world.settle()
        assert sorted(world.bind.bound) == [("a", "n1"), ("alone", "n1"), ("b", "n1")]
        world.add_pod(_member("c"))
        await world.settle()
        world.clock.advance(61)
        await world.settle()
        assert (world.where("c"), len(world.waiting)) == ("unschedulable", 0)

    fakes.play(scenario())


def _list_expressions(section: str) -> list[str]:
    """Return the code in the first column of a table of the page."""
    text = (page_examples.DOCS / "plugins.md").read_text(encoding="utf-8")
    lines = text.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


def test_expressions_of_the_page_have_values() -> None:
    """Those about nodes have an entry for each node of a view."""
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2", "n3")])
    snap = cluster.cache.snapshot()
    nodes = snap.view_rows(np.array([0, 2]))
    requirement = api.Requirement("disk", api.LabelOperator.IN, frozenset({"ssd"}))
    known = {
        "pod": cluster.info(builders.make_pod("p")),
        "state": api.CycleState(),
        "nodes": nodes,
        "resource": "cpu",
        "key": "disk",
        "requirement": requirement,
    }
    about_pods = _list_expressions("Read the pod")
    about_nodes = _list_expressions("Read the nodes")
    assert len(about_pods) == 6
    assert len(about_nodes) == 11
    for expression in about_pods:
        assert eval(expression, {}, known) is not None  # noqa: S307 - of our page
    sizes = {e: np.size(eval(e, {}, known)) for e in about_nodes}  # noqa: S307 - of our page
    assert sizes == dict.fromkeys(about_nodes, 2) | {"len(nodes)": 1}


def test_examples_are_short(page: dict[str, str]) -> None:
    """A plugin of the page is one that can be read at a glance."""
    for module in MODULES.values():
        assert len(re.findall(r"\S.*\n", page[f"{module}.py"])) <= 50


def test_names_of_the_page_are_public(page: dict[str, str]) -> None:
    """Examples use `policysched.api` alone."""
    code = "\n".join(text for name, text in page.items() if name.endswith(".py"))
    assert set(re.findall(r"\bapi\.(\w+)", code)) <= set(api.__all__)
    assert set(re.findall(r"from policysched\S* import (\w+)", code)) == {"api"}
