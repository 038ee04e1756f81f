"""A plugin of another package that breaks is one line and exit 2."""

from __future__ import annotations

import importlib.metadata
import pathlib

import pytest

from policysched import errors
from policysched.cli import main
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, status
from policysched.plugins import arguments, registry
from tests.cli import clusters

POLICY = "profile default-scheduler { plugin Brittle }\n"


class Brittle:
    """Raises where it should filter."""

    name = "Brittle"
    reads = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Break."""
        raise ZeroDivisionError("division by zero")


def make(args: arguments.Arguments, handle: handles.Handle) -> Brittle:
    """Make it, as the entry point of its package."""
    return Brittle()


@pytest.mark.parametrize("command", [["explain", "--all"], ["simulate"]], ids=lambda c: c[0])
def test_a_plugin_that_raises_is_one_line(
    command: list[str],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line names the plugin and the extension point."""
    group = registry.ENTRY_POINT_GROUP
    found = [importlib.metadata.EntryPoint("Brittle", f"{__name__}:make", group)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: found)
    cluster = clusters.write(tmp_path, clusters.node("n1"), clusters.node("n2"), clusters.pod("p"))
    policy = tmp_path / "p.policy"
    policy.write_text(POLICY)
    argv = [*command, "--cluster", cluster, "--policies", str(policy)]
    assert main.main(argv) == errors.EXIT_WRONG_INPUT
    told = "policysched: plugin `Brittle` failed at Filter: ZeroDivisionError: division by zero\n"
    assert capsys.readouterr().err == told
