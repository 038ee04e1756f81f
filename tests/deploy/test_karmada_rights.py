"""The rights of deploy/karmada/control-plane are what `karmada run` needs, and no more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.deploy import kubectl, rights
from tests.karmada import twins
from tests.realcluster import control_plane as control_planes
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

FOLDER = kubectl.DEPLOY / "karmada" / "control-plane"
ACCOUNT = rights.Account("karmada-system", "policysched-karmada")
NAMES = {
    "second-scheduler": (twins.OURS, "policysched"),
    "replace-default": (twins.THEIRS, "karmada-scheduler"),
}
"""Whose bindings an overlay serves, and by which Lease (`test_karmada.py` holds them to that)."""


@dataclasses.dataclass(frozen=True)
class Day:
    """What was seen of a working day.

    Attributes:
        granted: what the manifests allow.
        asked: what was asked for.
        logs: what was written about that.
    """

    granted: set[rights.Right]
    asked: rights.Asked
    logs: str


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_planes.ControlPlane]:
    """A Karmada control plane with the account, which writes down what that asks for."""
    folder = tmp_path_factory.mktemp("karmada")
    with control_planes.ControlPlane(folder, flags=rights.audit_flags(folder, ACCOUNT)) as made:
        karmada.install(made)
        made.client.create_namespace(ACCOUNT.namespace)
        admin = made.write_kubeconfig(folder / "admin.kubeconfig")
        kubectl.run("apply", "-k", str(FOLDER), kubeconfig=admin)
        said = kubectl.run(
            "create", "token", ACCOUNT.name, "-n", ACCOUNT.namespace, kubeconfig=admin
        )
        made.tokens[ACCOUNT.user] = said.strip()
        yield made


@pytest.fixture(scope="module")
def day(plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Day:
    """A day on which everything happens once, to both overlays."""
    karmada.create(plane.client, twins.cluster("member1"))
    logs = [_work(plane, tmp_path_factory.mktemp(overlay), *NAMES[overlay]) for overlay in NAMES]
    granted = set(rights.granted(kubectl.rendered(FOLDER), ACCOUNT))
    return Day(granted, rights.asked(plane.folder, since=0), "".join(logs))


def _work(plane: control_planes.ControlPlane, folder: pathlib.Path, name: str, lease: str) -> str:
    """Lead, place one of each kind, tell of it, fail again and again; return the log."""
    client = plane.client
    everywhere = twins.binding("everywhere", {})
    everywhere["kind"] = "ClusterResourceBinding"
    del everywhere["metadata"]["namespace"], everywhere["spec"]["resource"]["namespace"]
    for one in (
        twins.binding("app", {}, replicas=2),
        twins.binding("too-large", twins.dynamic(), replicas=5000),
        everywhere,
    ):
        karmada.create(client, twins.of(one, name))
    flags = [
        f"--scheduler-name={name}",
        "--leader-elect=true",
        f"--leader-elect-resource-name={lease}",
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=500ms",
    ]
    with twins.ours(plane, folder, flags, user=ACCOUNT.user) as scheduler:
        scheduler.wait_until(lambda: _are_told(plane, name) and _is_renewed(plane, lease))
        return scheduler.log


def _are_told(plane: control_planes.ControlPlane, name: str) -> bool:
    """Say whether all have a condition and events, one of which was counted up."""
    outcomes = twins.outcomes(plane.client, name)
    reasons = {one: (each["condition"] or {}).get("reason") for one, each in outcomes.items()}
    counts = [
        event.get("count", 1)
        for event in plane.client.items("/api/v1/events")
        if event["involvedObject"]["name"] == f"{name}-too-large"
    ]
    return (
        reasons == {"app": "Success", "too-large": "Unschedulable", "everywhere": "Success"}
        and all(each["events"] and each["events of the template"] for each in outcomes.values())
        and max(counts, default=0) > 1
    )


def _is_renewed(plane: control_planes.ControlPlane, lease: str) -> bool:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{ACCOUNT.namespace}/leases/{lease}"
    spec = plane.client.get(path)["spec"]
    return bool(spec["holderIdentity"] and spec["renewTime"] > spec["acquireTime"])


def test_everything_is_done_without_a_refusal(day: Day) -> None:
    """Nothing that it asked for was forbidden, and no path was asked for but those of objects."""
    assert sorted(map(str, day.asked.refused)) == []
    assert day.asked.paths == frozenset()
    assert "forbidden" not in day.logs


def test_no_right_is_left_over(day: Day) -> None:
    """Each was used, so that taking it away would have refused something."""
    assert len(day.granted) > 15  # they were read
    done = day.asked.allowed
    assert [str(one) for one in sorted(day.granted) if not any(map(one.covers, done))] == []
