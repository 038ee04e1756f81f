"""`karmada run` and the real karmada-scheduler on one API server, with twins of every binding."""

from __future__ import annotations

import contextlib
import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.karmada import cases, twins
from tests.realcluster import api_client, karmada

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator

    from tests.e2e import scheduler_process
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

SEED = int(os.environ.get("CONFORMANCE_SEED", random.SystemRandom().randrange(10**6)))
LIMIT_SECONDS = 60.0
GENERATED = 40


@contextlib.contextmanager
def _both(
    plane: control_planes.ControlPlane, folder: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    with karmada.KarmadaScheduler(plane, folder), twins.ours(plane, folder) as scheduler:
        yield scheduler


def _wait_until_alike(
    client: api_client.ApiClient,
    scheduler: scheduler_process.PolicyScheduler,
    holds: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> dict[str, Any]:
    """Return what both made of the bindings, once that is the same, and `holds`."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        ours, theirs = (twins.outcomes(client, name) for name in twins.BOTH)
        if (
            ours == theirs
            and all(twins.is_settled(each) for each in theirs.values())
            and holds(theirs)
        ):
            return theirs
        if time.monotonic() > deadline or not scheduler.process.is_running():
            differing = [name for name in theirs if ours.get(name) != theirs[name]]
            for name in differing[:3]:
                assert ours[name] == theirs[name], f"seed {SEED}: {name}\n{scheduler.log[-2000:]}"
            raise AssertionError(f"not in time: {theirs}\n{scheduler.log[-2000:]}")
        time.sleep(0.3)


def _generated() -> list[dict[str, Any]]:
    """Return the clusters of one control plane, and bindings of several."""
    planes = [cases.control_plane(f"{SEED}-live-{number}") for number in range(20)]
    clusters = max(
        ([one for one in plane["items"] if one["kind"] == "Cluster"] for plane in planes), key=len
    )
    for one in clusters:
        one["metadata"].pop("deletionTimestamp", None)
        one["metadata"].pop("finalizers", None)
    bindings = [one for plane in planes for one in plane["items"] if one["kind"] != "Cluster"]
    for number, one in enumerate(bindings):
        name = f"app{number}"
        one["spec"]["resource"]["name"] = name
        one["metadata"]["name"] = f"{name}-{one['spec']['resource']['kind'].lower()}"
    return [*clusters, *bindings]


def test_generated_bindings_end_alike(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Clusters, replicas, annotation, status, condition and events of both twins are the same."""
    client = karmada_plane.client
    items = _generated()
    karmada.create_all(client, [one for one in items if one["kind"] == "Cluster"])
    taken = []
    for one in items:
        if one["kind"] != "Cluster" and len(taken) < GENERATED:
            with contextlib.suppress(api_client.ApiError):  # not all that is drawn is valid
                taken += twins.create(client, [one])
    assert len(taken) == GENERATED
    with _both(karmada_plane, tmp_path) as scheduler:
        _wait_until_alike(client, scheduler, lambda told: len(told) >= GENERATED)
