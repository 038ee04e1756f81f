"""The roles of deploy/ are what policysched needs: no right is missing, and none is left over."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from policysched.observability.live_page import debug_forms
from tests.deploy import installed, kubectl, objector, queries, rights, tour
from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

READ_ONLY = pathlib.Path(__file__).resolve().parent / "read_only"


@pytest.fixture(scope="module")
def tour_taken(
    deployed_plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[installed.Installed]:
    """policysched as it is installed, still at work after it has done everything once."""
    client = deployed_plane.client
    client.create_namespace("tour")
    _let_read_metrics(deployed_plane, rights.READER)
    nowhere = f"http://127.0.0.1:{process.free_port()}"
    managed = [{"name": "example.com/unused"}]
    changes = {
        "prometheus": {"default": {"url": nowhere}},
        "extenders": [{"urlPrefix": nowhere, "filterVerb": "f", "managedResources": managed}],
    }
    ours = installed.Installed(deployed_plane, tmp_path_factory.mktemp("tour"), changes)
    with (
        pytest.MonkeyPatch.context() as patch,
        objector.Objector(client, rights.USER) as objections,
    ):
        patch.setenv("PYTHONPATH", str(READ_ONLY), prepend=os.pathsep)
        with ours.scheduler as scheduler:
            walk = tour.Tour(client, "tour", scheduler)
            walk.take()
            assert objections.objected == set(objector.WRITES)
            assert ours.page("/metrics", deployed_plane.tokens[rights.READER])[0] == 200
            yield ours
    deployed_plane.clear()


def _let_read_metrics(plane: control_planes.ControlPlane, user: str) -> None:
    """Do what components/monitoring/kustomization.yaml tells to do, for a user."""
    plane.give_role(user, "policysched-metrics-reader")


def test_everything_works_without_a_refusal(tour_taken: installed.Installed) -> None:
    """Nothing that policysched asked for was forbidden."""
    assert sorted(map(str, tour_taken.asked().refused)) == []


def test_a_read_only_file_system_is_enough(tour_taken: installed.Installed) -> None:
    """All of that was done without a file of its own, and without a word about one."""
    program = "open('/policysched', 'w')"
    environment = {**os.environ, "PYTHONPATH": str(READ_ONLY)}
    refused = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=False
    )
    assert b"Read-only file system" in refused.stderr  # what the process was started with, too
    assert str(READ_ONLY).encode() in _environment(tour_taken)
    assert "Read-only" not in tour_taken.scheduler.process.log.read_text(encoding="utf-8")


def _environment(ours: installed.Installed) -> bytes:
    return pathlib.Path(f"/proc/{ours.scheduler.process.pid}/environ").read_bytes()


def test_no_right_is_left_over(tour_taken: installed.Installed) -> None:
    """Each was used, so that taking it away would have refused something."""
    granted = set(rights.granted(kubectl.overlay("second-scheduler")))

    def unused() -> list[str]:
        done = tour_taken.asked().allowed
        return sorted(str(one) for one in granted if not any(one.covers(each) for each in done))

    with contextlib.suppress(process.ProcessError):  # what is unused is told below
        tour_taken.scheduler.wait_until(lambda: not unused(), time_limit_seconds=60.0)
    assert unused() == []


def test_all_overlays_give_the_same_rights() -> None:
    """So that what is shown for one holds for all."""
    for overlay in kubectl.OVERLAYS:
        assert rights.granted(kubectl.overlay(overlay)) == rights.granted(
            kubectl.overlay("second-scheduler")
        )


def test_metrics_are_for_those_who_may_read_them(
    deployed_plane: control_planes.ControlPlane, tour_taken: installed.Installed
) -> None:
    """Without a token, and without the role, there are none; health is for everybody."""
    assert tour_taken.page("/metrics")[0] in (401, 403)
    assert tour_taken.page("/metrics", "wrong")[0] == 401
    assert tour_taken.page("/metrics", deployed_plane.tokens["nobody"])[0] == 403
    assert tour_taken.page("/debug/config", deployed_plane.tokens[rights.READER])[0] == 403
    for path in ("/livez", "/readyz", "/healthz"):
        assert tour_taken.page(path)[0] == 200


def test_the_page_follows_with_the_role_of_its_readers(
    deployed_plane: control_planes.ControlPlane, tour_taken: installed.Installed
) -> None:
    """policysched-debug-reader is enough for the pages of `policysched ui`, and gives no more."""
    token = deployed_plane.tokens["nobody"]
    deployed_plane.give_role("nobody", "policysched-debug-reader")
    paths = [
        "/debug/decisions?form=rows",
        debug_forms.STATUS_PATH,
        debug_forms.QUEUE_PATH,
        debug_forms.VERSIONS_PATH,
        debug_forms.RULES_PATH,
        debug_forms.CLUSTER_PATH,
    ]
    tour_taken.scheduler.wait_until(lambda: tour_taken.page(paths[0], token)[0] == 200)
    assert [tour_taken.page(path, token)[0] for path in paths] == [200] * len(paths)
    assert tour_taken.page("/metrics", token)[0] == 403


def test_alerts_and_dashboard_read_metrics_that_are_there(
    deployed_plane: control_planes.ControlPlane, tour_taken: installed.Installed
) -> None:
    """Every name in their expressions is one that /metrics has."""
    _, text = tour_taken.page("/metrics", deployed_plane.tokens[rights.READER])
    served = queries.served(text)
    for title, expression in {**queries.alerts(), **queries.panels()}.items():
        missing = queries.names(expression) - served - queries.OF_OTHERS
        assert not missing, title
