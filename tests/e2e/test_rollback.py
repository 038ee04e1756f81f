"""Versions that are kept: gone back to, held while frozen, started on where the newest is bad."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import report_schemas
from tests.e2e.scenes import policy_edits, reload_scene

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[reload_scene.Scene]:
    """A grid of nodes, and a scheduler that goes by GOOD."""
    with reload_scene.running(control_plane, namespace, tmp_path) as made:
        yield made


def test_reloads_are_frozen_until_they_are_not(scene: reload_scene.Scene) -> None:
    """An annotation keeps the version in use, over edits and a restart; a rollback goes through."""
    scene.config_map.edit(reload_scene.OTHER)
    scene.wait_until_told("ok", reload_scene.OTHER)
    scene.config_map.annotate(freeze="true")
    scene.wait_until_told("frozen", reload_scene.OTHER)
    scene.config_map.edit(policy_edits.Version(3, 3, 3))
    scene.config_map.annotate(hash=None, status=None)  # as `kubectl replace` does
    scene.wait_until_told("frozen", reload_scene.OTHER)
    scene.scheduler.kill_and_start_again()
    assert scene.place("frozen") == {"frozen": "node-1-2"}

    listed = json.loads(scene.roll_back("--list", "-o", "json"))
    report_schemas.check_report(listed, "versions")
    assert [(one["hash"], one["inUse"]) for one in listed] == [
        (reload_scene.OTHER.hash, True),
        (reload_scene.GOOD.hash, False),
    ]
    said = scene.roll_back(reload_scene.GOOD.hash[:5])
    assert f"wrote version {reload_scene.GOOD.hash}" in said
    assert "held back" in said
    scene.wait_until_told("frozen", reload_scene.GOOD)
    assert scene.place("back") == {"back": "node-0-0"}

    scene.config_map.annotate(freeze=None)
    scene.wait_until_told("ok", reload_scene.GOOD)


def test_a_bad_version_at_the_start(scene: reload_scene.Scene) -> None:
    """By default nothing starts, and why is shown; with lastGood the kept version serves."""
    scene.scheduler.wait_until(scene.config_map.has_history)
    scene.config_map.edit(reload_scene.BAD)
    scene.wait_until_told("refused", reload_scene.GOOD)
    scene.scheduler.process.kill()
    scene.scheduler.process.start()
    assert scene.scheduler.process.wait(reload_scene.LIMIT_SECONDS) == 2
    assert "`mandatory`" in scene.scheduler.log

    scene.scheduler.process.command += ["--on-bad-start", "lastGood"]
    scene.scheduler.process.start()
    scene.wait_until_told("refused", reload_scene.GOOD)
    assert scene.place("late") == {"late": "node-0-0"}
    with pytest.raises(subprocess.CalledProcessError) as caught:
        scene.roll_back("fff")
    assert caught.value.returncode == 2
    assert "`fff`: is not a version in the history" in caught.value.stderr
    assert "wrote version" in scene.roll_back()
    scene.wait_until_told("ok", reload_scene.GOOD)
