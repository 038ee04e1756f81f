"""A plugin of another package that breaks, or answers something else, is one line and exit 2."""

from __future__ import annotations

import importlib.metadata
import pathlib
from typing import Any

import numpy as np
import pytest

from policysched import api, errors
from policysched.cli import main
from policysched.plugins import arguments, registry
from tests.cli import clusters

POLICY = "profile default-scheduler { plugin Brittle }\n"


class Brittle:
    """Acts at the extension points whose methods it is given."""

    name = "Brittle"
    reads: Any = api.Reads.NODE


def divide(*_: object) -> Any:
    """Break."""
    raise ZeroDivisionError("division by zero")


def say(answer: Any) -> Any:
    """Return a method that answers with anything."""
    return lambda *_: answer


def score(_state: api.CycleState, _pod: api.PodInfo, nodes: api.NodeView) -> Any:
    """Score nothing."""
    return np.zeros(len(nodes), np.int64)


NO_STATUS = "it must answer Status, such as api.SUCCESS, not"
SKIPS = {"pre_filter": say(api.SKIP)}
ANY: Any = api
"""Makes values that type checkers refuse, as plugins without type checkers do."""
UNKNOWN = ANY.Status("Maybe")
BOTH = pytest.mark.parametrize("command", [["explain", "--all"], ["simulate"]], ids=lambda c: c[0])


@pytest.fixture
def run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that runs a command with a plugin, and returns the exit code."""

    def run_with(plugin: dict[str, Any], command: list[str]) -> int:
        def make(args: arguments.Arguments, handle: api.Handle) -> Brittle:
            made = Brittle()
            vars(made).update(plugin)
            return made

        monkeypatch.setitem(globals(), "make", make)
        group = registry.ENTRY_POINT_GROUP
        found = [importlib.metadata.EntryPoint("Brittle", f"{__name__}:make", group)]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: found)
        nodes = (clusters.node("n1"), clusters.node("n2"))
        cluster = clusters.write(tmp_path, *nodes, clusters.pod("p"))
        policy = tmp_path / "p.policy"
        policy.write_text(POLICY)
        return main.main([*command, "--cluster", cluster, "--policies", str(policy)])

    return run_with


@pytest.mark.parametrize(
    "plugin, told",
    [
        ({"filter": divide}, "Filter: ZeroDivisionError: division by zero"),
        ({"pre_enqueue": say(None)}, f"PreEnqueue: {NO_STATUS} None"),
        ({"pre_enqueue": say(UNKNOWN)}, "PreEnqueue: the code of its Status must be api.Code"),
        (SKIPS, "PreFilter: it must answer PreFilterResult, such as api.ALL_NODES or"),
        (
            {"filter": say(np.zeros(2, np.bool_))},
            "Filter: it must answer NodeStatuses, not ndarray",
        ),
        ({"filter": say(api.NodeStatuses.passing(3))}, "Filter: it must answer an array of shape"),
        ({"score": score, "pre_score": say(None)}, f"PreScore: {NO_STATUS} None"),
        ({"score": say(np.zeros(2, np.bool_))}, "Score: its array must be of int64 or float64"),
        ({"score": say(np.zeros(3, np.int64))}, "Score: it must answer an array of shape (2,)"),
        ({"score": score, "normalize_score": say(None)}, "NormalizeScore: it must answer an array"),
    ],
)
@BOTH
def test_a_wrong_answer_is_one_line(
    command: list[str],
    plugin: dict[str, Any],
    told: str,
    run: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line names the plugin and the extension point, the answer and what it should be."""
    assert run(plugin, command) == errors.EXIT_WRONG_INPUT
    shown = capsys.readouterr().err
    assert shown.startswith(f"policysched: plugin `Brittle` failed at {told}")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    "plugin, told",
    [
        ({"reserve": say(None)}, f"Reserve: {NO_STATUS} None"),
        ({"permit": say(api.SUCCESS)}, "Permit: it must answer (Status, seconds), such as"),
    ],
)
def test_a_wrong_answer_about_the_chosen_node_is_one_line(
    plugin: dict[str, Any], told: str, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for what only `simulate` asks."""
    assert run(plugin, ["simulate"]) == errors.EXIT_WRONG_INPUT
    shown = capsys.readouterr().err
    assert shown.startswith(f"policysched: plugin `Brittle` failed at {told}")
    assert shown.count("\n") == 1


@BOTH
@pytest.mark.parametrize(
    "plugin, told",
    [
        ({"reads": "NODE"}, "`reads` must be api.Reads, such as api.Reads.NODE, not str"),
        ({"evidence_on": ("a", "b")}, "`evidence_on` must be a method, not tuple"),
    ],
)
def test_a_wrong_declaration_is_one_line(
    command: list[str],
    plugin: dict[str, Any],
    told: str,
    run: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is found before a pod is scheduled, at the place that names the plugin."""
    assert run(plugin, command) == errors.EXIT_WRONG_INPUT
    shown = capsys.readouterr().err
    assert f"p.policy:1:29: Brittle: {told}" in shown
    assert shown.count("\n") == 1
