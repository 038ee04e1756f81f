"""The simulation of partitionable GPUs: the policy gains something on a small cluster, too."""

from __future__ import annotations

import pytest

from benchmarks import __main__ as commands
from benchmarks.partitions import gpus, packing, simulation
from tests import page_examples

GPUS_OF_NODES = (4, 4, 8, 4, 4, 4)
HOURS = 5.0


@pytest.mark.slow
def test_the_policy_is_better_than_the_default_profile() -> None:
    """More pods for whole GPUs are placed at once, and pods get more memory, in either order."""
    default, _, _, *with_policy = packing.PROFILES
    load = simulation.Load(0.9 * gpus.MEMORY_SLICES * sum(GPUS_OF_NODES), HOURS)
    usual = packing.simulate(default, GPUS_OF_NODES, load, seed=1)
    assert sum(usual.arrived.values()) > 100
    for profile in with_policy:
        run = packing.simulate(profile, GPUS_OF_NODES, load, seed=1)
        assert run.arrived == usual.arrived
        assert _count_whole(run) > _count_whole(usual)
        assert run.slice_hours > usual.slice_hours


def _count_whole(run: simulation.Run) -> int:
    """Return how many pods for whole GPUs were placed at once."""
    return sum(count for ask, count in run.at_once.items() if ask.is_whole)


def test_the_table_has_a_row_for_each_profile_and_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Without pods that wait, everything is placed at once."""
    words = ["partitions", "--nodes", "2", "--hours", "2.5", "--demand", "10,20"]
    assert commands.main(words) == 0
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 * len(packing.PROFILES)
    assert [row.split("|")[1].strip() for row in rows[:: len(packing.PROFILES)]] == ["10%", "20%"]


def test_the_page_shows_the_policy() -> None:
    """Readers of docs/devices.md see what was measured."""
    page = (page_examples.DOCS / "devices.md").read_text(encoding="utf-8")
    assert packing.POLICY.read_text(encoding="utf-8") in page
