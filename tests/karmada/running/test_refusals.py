"""`karmada run` when the API server refuses what it writes, which may have many reasons."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import pytest

from tests.deploy import objector
from tests.karmada import twins
from tests.realcluster import api_client, karmada
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.e2e.scenes import scheduler_process

pytestmark = pytest.mark.e2e

WORK = ("work.karmada.io", "v1alpha2")
MAIN = ("resourcebindings", "UPDATE")
STATUS = ("resourcebindings/status", "UPDATE")
ENDING = "ending"
QUOTA = {"code": 403, "reason": "QuotaExceeded", "message": "FederatedResourceQuota is exceeded"}
TERMINATING = {
    "code": 403,
    "reason": "Forbidden",
    "message": "the namespace is being terminated",
    "details": {"causes": [{"reason": "NamespaceTerminating", "message": "it goes"}]},
}


def _spec(client: api_client.ApiClient, name: str) -> dict[str, Any]:
    path = karmada.path_of(twins.of(twins.binding(name, {}), twins.OURS))
    spec: dict[str, Any] = client.get(path)["spec"]
    return spec


def _reason(client: api_client.ApiClient, name: str, scheduler: str = twins.OURS) -> str | None:
    condition = twins.outcomes(client, scheduler)[name]["condition"]
    return None if condition is None else str(condition["reason"])


@pytest.mark.parametrize(
    "status",
    [
        objector.CONFLICT,
        {"code": 429, "reason": "TooManyRequests", "message": "not so fast"},
        {"code": 500, "reason": "InternalError", "message": "out of order"},
    ],
    ids=["conflict", "too-many-requests", "server-error"],
)
def test_what_is_refused_once_is_written_in_the_end(
    status: dict[str, Any], karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Each of the two writes of each binding is refused, and none is lost or done twice."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    refused = collections.Counter[tuple[str, tuple[str, str]]]()

    def once(request: dict[str, Any]) -> Any:
        write = (request["name"], objector.write_of(request))
        refused[write] += 1
        return status if refused[write] == 1 else None

    admin = control_planes.ADMIN
    with (
        objector.Objector(client, admin, (MAIN, STATUS), group_version=WORK, status_for=once),
        twins.ours(karmada_plane, tmp_path) as scheduler,
    ):
        for name in ("first", "second"):
            karmada.create(client, twins.of(twins.binding(name, {}, replicas=2), twins.OURS))
        scheduler.wait_until(lambda: _are_placed(client, {"first", "second"}))
        assert all(
            refused[f"{twins.OURS}-{name}", write] > 1
            for name in ("first", "second")
            for write in (MAIN, STATUS)
        )
    assert [one["metadata"]["generation"] for one in client.items(karmada.BINDINGS)] == [2, 2]


def _are_placed(client: api_client.ApiClient, names: set[str]) -> bool:
    outcomes = twins.outcomes(client, twins.OURS)
    return outcomes.keys() == names and all(
        one["clusters"] and one["is confirmed"] and one["condition"]["reason"] == "Success"
        for one in outcomes.values()
    )


def test_a_quota_that_is_exceeded_is_told_of_as_karmada_does(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Condition and events are the same, and when the quota is raised both go on by themselves."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    is_exceeded = True

    def over(_: dict[str, Any]) -> Any:
        return QUOTA if is_exceeded else None

    with (
        objector.Objector(
            client, control_planes.ADMIN, (MAIN,), group_version=WORK, status_for=over
        ),
        karmada.KarmadaScheduler(karmada_plane, tmp_path),
        twins.ours(karmada_plane, tmp_path) as scheduler,
    ):
        twins.create(client, [twins.binding("app", {}, replicas=2)])
        _wait_until_alike(client, scheduler, "QuotaExceeded")
        is_exceeded = False
        _wait_until_alike(client, scheduler, "Success")


def _wait_until_alike(
    client: api_client.ApiClient, scheduler: scheduler_process.PolicyScheduler, reason: str
) -> None:
    def are_alike() -> bool:
        ours, theirs = (twins.outcomes(client, name)["app"] for name in twins.BOTH)
        return bool(
            ours == theirs
            and ours["condition"]
            and ours["condition"]["reason"] == reason
            and ours["events"]
        )

    scheduler.wait_until(are_alike)


@pytest.fixture
def ending(karmada_plane: control_planes.ControlPlane) -> Iterator[control_planes.ControlPlane]:
    """A control plane with bindings in a namespace that is being deleted."""
    client = karmada_plane.client
    client.create_namespace(ENDING)
    karmada.create(client, twins.cluster("member1"))
    one = twins.binding("app", {}, replicas=2)
    one["metadata"]["namespace"] = one["spec"]["resource"]["namespace"] = ENDING
    twins.create(client, [one])
    path = f"/api/v1/namespaces/{ENDING}"
    client.delete(path)
    karmada_plane.api_server.wait_until(
        lambda: not _may_create_in(client, ENDING), time_limit_seconds=60.0
    )
    yield karmada_plane
    client.raw("PUT", f"{path}/finalize", client.get(path) | {"spec": {"finalizers": []}})


def _may_create_in(client: api_client.ApiClient, namespace: str) -> bool:
    try:
        client.raw(
            "POST",
            f"/api/v1/namespaces/{namespace}/configmaps",
            {"metadata": {"name": "probe"}},
            query={"dryRun": "All"},
        )
    except api_client.ApiError:
        return False
    return True


def test_a_namespace_that_goes_away_disturbs_nothing(
    ending: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Its bindings end as Karmada's do, no event is written there, and others are told of."""
    client = ending.client
    with karmada.KarmadaScheduler(ending, tmp_path), twins.ours(ending, tmp_path) as scheduler:
        twins.create(client, [twins.binding("later", {}, replicas=2)])
        scheduler.wait_until(lambda: _is_told(client, "later"))
        told = {name: twins.outcomes(client, name)["app"] for name in twins.BOTH}
        assert told[twins.OURS] == told[twins.THEIRS]
        assert told[twins.OURS]["events"] == []
        assert scheduler.log.count("events are not written") == 1


def _is_told(client: api_client.ApiClient, name: str) -> bool:
    ours, theirs = (twins.outcomes(client, scheduler) for scheduler in twins.BOTH)
    return all(
        told[name]["events"] and told[name]["is confirmed"] and told["app"]["is confirmed"]
        for told in (ours, theirs)
    )


def test_a_write_that_the_end_of_a_namespace_refuses_is_not_tried_again(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Its binding goes away with it."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    refused = collections.Counter[str]()

    def lost(request: dict[str, Any]) -> Any:
        if not request["name"].endswith("lost"):
            return None
        refused[request["name"]] += 1
        return TERMINATING

    admin = control_planes.ADMIN
    with (
        objector.Objector(client, admin, (MAIN,), group_version=WORK, status_for=lost),
        twins.ours(karmada_plane, tmp_path) as scheduler,
    ):
        for name in ("lost", "other", "last"):
            karmada.create(client, twins.of(twins.binding(name, {}, replicas=2), twins.OURS))
            scheduler.wait_until(lambda: _reason(client, name) is not None)  # noqa: B023 - it is called in this round
        assert refused == {f"{twins.OURS}-lost": 1}
    assert "clusters" not in _spec(client, "lost")
    assert _reason(client, "last") == "Success"
