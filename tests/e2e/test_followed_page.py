"""`policysched ui --decisions` in front of `policysched run`, both as processes of their own."""

from __future__ import annotations

import concurrent.futures
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import report_schemas
from tests.e2e.scenes import followed_page, policy_edits, reload_scene
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

pytestmark = pytest.mark.e2e

FollowingPage = followed_page.FollowingPage


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[tuple[reload_scene.Scene, FollowingPage]]:
    """A scheduler that goes by GOOD, and the page of a reader who may do nothing else."""
    url, flags = followed_page.prepare(control_plane, tmp_path)
    with (
        reload_scene.running(control_plane, namespace, tmp_path, flags) as made,
        FollowingPage(url, tmp_path) as page,
    ):
        yield made, page


def test_the_page_follows_pods_versions_and_a_restart(
    scene: tuple[reload_scene.Scene, FollowingPage], namespace: str
) -> None:
    """Rows arrive in the request that waits for them; the page survives the scheduler."""
    made, page = scene
    status = page.ask("status")
    report_schemas.check_report(status["scheduler"], "page-status")
    assert (status["scheduler"]["isLeading"], status["nodes"]) == (True, policy_edits.GRID**2)
    assert status["hash"] == reload_scene.GOOD.hash
    _follow_pods(made, page, namespace)
    _follow_versions(made, page)
    _survive_a_restart(made, page, namespace)
    kubeconfig = str(made.scheduler.kubeconfig)
    with FollowingPage(page.url, page.folder, "--live", "--kubeconfig", kubeconfig) as both:
        assert both.ask("status")["listing"]["hash"] == ""
        assert both.ask("explain", pod=f"{namespace}/huge")["feasible"] == 0
        assert f"{namespace}/second" in str(both.ask("decisions")["rows"])


def _follow_pods(made: reload_scene.Scene, page: FollowingPage, namespace: str) -> None:
    """Let a pod be placed and another one wait."""
    pod, after = f"{namespace}/first", page.ask("decisions")["next"]
    rows = _ask_while(page, lambda: made.place("first"), after, pod)
    assert [row[1] for row in rows] == [pod]
    assert (rows[0][4:6], rows[0][8]) == (["scheduled", "node-0-0"], reload_scene.GOOD.hash)
    (record,) = page.ask("records", pod=f"{namespace}/first")["records"]
    assert record["node"] == "node-0-0"
    assert f"{namespace}/first" in page.ask("node", name="node-0-0")["pods"]
    assert "node-3-3" in page.ask("cluster")["names"]
    huge = manifests.pod("huge", scheduler_name="policysched", requests={"cpu": "2000"})
    made.client.create_pods(namespace, [huge])
    made.scheduler.wait_until(lambda: _list_waiting(page) == {f"{namespace}/huge": "unschedulable"})


def _follow_versions(made: reload_scene.Scene, page: FollowingPage) -> None:
    """Let a version be refused, another one be loaded, and the first one come back."""
    wait_until = made.scheduler.wait_until
    made.config_map.edit(reload_scene.BAD)
    wait_until(lambda: page.ask("status")["scheduler"]["refused"] is not None)
    refused = page.ask("versions")["refused"]
    assert (refused["hash"], "`mandatory`" in refused["errors"]) == (reload_scene.BAD.hash, True)
    made.config_map.edit(reload_scene.OTHER)
    made.wait_until_told("ok", reload_scene.OTHER)
    wait_until(lambda: len(_list_versions(page)) == 2)
    made.roll_back()
    wait_until(lambda: page.ask("status")["hash"] == reload_scene.GOOD.hash)
    assert _list_versions(page)[0] == (reload_scene.GOOD.hash, True)
    rules = page.ask("policies")["profiles"][0]["rules"]
    assert sorted(rule["policy"] for rule in rules) == ["row-0", "slot-0"]


def _survive_a_restart(made: reload_scene.Scene, page: FollowingPage, namespace: str) -> None:
    """Kill the scheduler; its next run has other decisions, and the versions of the history."""
    wait_until = made.scheduler.wait_until
    before = page.ask("decisions")
    made.scheduler.process.kill()
    assert "does not answer; the page asks again" in page.ask("status")["error"]
    made.scheduler.process.start()
    wait_until(lambda: "error" not in page.ask("status"))
    after = page.ask("decisions", after=before["next"])
    assert after["startedAt"] > before["startedAt"]
    pod = f"{namespace}/second"
    rows = _ask_while(page, lambda: made.place("second"), after["next"], pod)
    assert pod in [row[1] for row in rows]
    wait_until(lambda: (reload_scene.OTHER.hash, False) in _list_versions(page))


def _ask_while(page: FollowingPage, act: Callable[[], object], after: int, pod: str) -> list[Any]:
    """Return the rows up to one of `pod`, of requests the first of which waits while `act` runs."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(_follow_until, page, after, pod)
        act()
        return waiting.result()


def _follow_until(page: FollowingPage, after: int, pod: str) -> list[Any]:
    """Ask for the next rows until `pod` has one; a waiting pod may be tried at any time."""
    rows: list[Any] = []
    for _ in range(5):
        answer = page.ask("decisions", after=after, wait=20)
        rows += answer["rows"]
        if pod in [row[1] for row in rows]:
            break
        after = answer["next"]
    return rows


def _list_waiting(page: FollowingPage) -> dict[str, str]:
    return {each["pod"]: each["queue"] for each in page.ask("queue")["pods"]}


def _list_versions(page: FollowingPage) -> list[tuple[str, bool]]:
    return [(each["hash"], each["inUse"]) for each in page.ask("versions")["versions"]]
