"""Connections to the estimators of clusters, and questions to all of them at once."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from policysched.karmada import objects
from policysched.karmada.state import estimates
from policysched.karmada_loop import estimator_addresses, estimators, options
from policysched.kube import errors as kube_errors
from tests.karmada import twins
from tests.karmada_loop import estimator_servers
from tests.kube import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

SPEC = objects.BindingSpec(
    resource=objects.ObjectReference(kind="Deployment", namespace="shop", name="wéb"),
    replicas=3,
    replica_requirements=objects.ReplicaRequirements(resource_request={"cpu": "1"}),
)


class Services:
    """An API server that has Services alone.

    Attributes:
        by_cluster: `spec` of the Service of a cluster's estimator.
        status_code: of a refusal; 0 for none.
    """

    def __init__(self) -> None:
        """Have none."""
        self.by_cluster: dict[str, Any] = {}
        self.status_code = 0

    async def send_request(self, method: str, path: str, **_: Any) -> bytes:
        """Return a Service."""
        assert method == "GET"
        namespace, name = path.removeprefix("/api/v1/namespaces/").split("/services/")
        assert namespace == "karmada-system"
        spec = self.by_cluster.get(name.removeprefix("karmada-scheduler-estimator-"))
        if self.status_code or spec is None:
            raise kube_errors.from_response(self.status_code or 404, b"{}", None)
        return json.dumps({"spec": spec}).encode()

    def point(self, cluster: str, port: int) -> None:
        """Let the Service of a cluster's estimator point to a port of this machine."""
        ports = [{"port": 10352, "targetPort": port}]
        spec = {"type": "ExternalName", "externalName": estimator_servers.HOST, "ports": ports}
        self.by_cluster[cluster] = spec


def _api(services: Services) -> Any:
    return services


@pytest.mark.parametrize(
    "spec, expected",
    [
        (
            None,
            [
                ("karmada-scheduler-estimator-m.karmada-system.svc.cluster.local", 10352),
                ("karmada-scheduler-estimator-m.karmada-system.svc", 10352),
            ],
        ),
        (
            {
                "type": "ExternalName",
                "externalName": "there",
                "ports": [{"port": 1, "targetPort": 2}, {"port": 10352, "targetPort": 99}],
            },
            [("there", 99)],
        ),
        ({"type": "ClusterIP", "ports": [{"port": 10352}]}, "is of type `ClusterIP`"),
        (
            {"type": "ExternalName", "externalName": "there"},
            "has no numeric target port for port 10352",
        ),
        (
            {
                "type": "ExternalName",
                "externalName": "there",
                "ports": [{"port": 10352, "targetPort": "grpc"}],
            },
            "has no numeric target port for port 10352",
        ),
    ],
    ids=["none", "external", "other-type", "no-port", "named-port"],
)
@asynchronous.asynchronous
async def test_where_an_estimator_is(spec: Any, expected: Any) -> None:
    """By the name of its Service in the host cluster, unless a Service here points elsewhere."""
    services = Services()
    if spec is not None:
        services.by_cluster["m"] = spec
    found = estimator_addresses.find_estimator_addresses(
        _api(services), options.EstimatorOptions(), "m"
    )
    if isinstance(expected, str):
        with pytest.raises(estimator_addresses.EstimatorAddressError, match=expected):
            await found
    else:
        assert await found == expected


@asynchronous.asynchronous
async def test_a_service_that_may_not_be_read_is_an_error_that_says_so() -> None:
    """The account of the scheduler needs to get Services."""
    services = Services()
    services.status_code = 403
    with pytest.raises(estimator_addresses.EstimatorAddressError, match="cannot be read"):
        await estimator_addresses.find_estimator_addresses(
            _api(services), options.EstimatorOptions(), "m"
        )


def _cluster(name: str, sync_mode: str = "Push") -> objects.Cluster:
    return msgspec.convert(twins.cluster(name, syncMode=sync_mode), objects.Cluster)


@dataclasses.dataclass
class _Sink:
    """What comes after."""

    seen: list[str] = dataclasses.field(default_factory=list)

    def replace(self, clusters: Any) -> None:
        self.seen.append("replace")

    def upsert(self, cluster: objects.Cluster) -> None:
        self.seen.append(f"upsert {cluster.metadata.name}")

    def delete(self, cluster: objects.Cluster) -> None:
        self.seen.append(f"delete {cluster.metadata.name}")


class _World:
    """Estimators that are connected to, with a watch that is fed by hand."""

    def __init__(self, **said: Any) -> None:
        self.services = Services()
        self.sink = _Sink()
        self.estimators = estimators.Estimators(
            options.EstimatorOptions(**said), _api(self.services), random.Random(1)
        )
        self.clusters = self.estimators.wrap_sink(self.sink)

    @contextlib.asynccontextmanager
    async def running(self, **services: estimator_servers.Service) -> AsyncIterator[None]:
        """Serve these for clusters of the same names, and connect to all."""
        async with contextlib.AsyncExitStack() as stack:
            for name, service in services.items():
                self.services.point(
                    name, await stack.enter_async_context(estimator_servers.grpc(service))
                )
            self.clusters.replace([_cluster(name) for name in services])
            run = asyncio.create_task(self.estimators.run())
            await self.estimators.wait_until_estimators_tried()
            try:
                yield
            finally:
                run.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await run

    async def ask(self, *clusters: str) -> estimates.Answers:
        """Ask the estimators of these."""
        return await self.estimators.ask_estimators(estimates.EstimateRequest(SPEC, clusters))

    async def until(self, holds: Callable[[dict[str, float]], bool]) -> None:
        """Wait until the metrics say so."""
        while not holds(self.metrics()):  # noqa: ASYNC110 - metrics have no event
            await asyncio.sleep(0.001)

    def metrics(self) -> dict[str, float]:
        """Return the metrics by name and label."""
        return {
            f"{sample.name} {''.join(sample.labels.values())}": sample.value
            for metric in self.estimators.collect_metrics()
            for sample in metric.samples
        }


@asynchronous.asynchronous
async def test_all_are_asked_about_the_same() -> None:
    """Each with the name of its cluster; the name of the workload goes along, as headers allow."""
    world, m1, m2 = _World(), estimator_servers.counting(3), estimator_servers.counting(-1)
    async with world.running(m1=m1, m2=m2):
        assert await world.ask("m1", "m2") == {"m1": 3, "m2": -1}
        assert await world.ask("m2") == {"m2": -1}
    (request, metadata), *others = m1.requests
    assert others == []
    assert b"m1" in request
    assert metadata == {"object": "kind=Deployment, name=shop/w?b"}
    assert len(m2.requests) == 2
    assert world.metrics()["policysched_karmada_estimator_calls_total success"] == 3


@asynchronous.asynchronous
async def test_where_one_is_not_connected_nobody_is_asked() -> None:
    """The answers of the others would not count."""
    world, m1 = _World(), estimator_servers.counting(3)
    async with world.running(m1=m1):
        assert await world.ask("m1", "m2") == {"m2": None}
        assert m1.requests == []


def _answering(answer: bytes) -> estimator_servers.Service:
    async def said(_: bytes) -> bytes:
        return answer

    return estimator_servers.Service(said)


def _hanging() -> estimator_servers.Service:
    async def said(_: bytes) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    return estimator_servers.Service(said)


async def _failing(_: bytes) -> bytes:
    raise ValueError("wrong cluster")


@pytest.mark.parametrize(
    "service, said",
    [
        (_answering(b"\xff\xff"), None),
        (_answering(b"\x0a\x03abc"), 0),
        (_answering(estimator_servers.answer_of(-(2**31))), -(2**31)),
        (_answering(estimator_servers.answer_of(2**40 + 5)), 5),
        (estimator_servers.Service(_failing), None),
        (_answering(b"\x08\x05" + b"\x12\x80\x80\x04" + b"x" * 65536), 5),
    ],
    ids=["garbage", "other-field", "negative", "too-large", "error", "much"],
)
@asynchronous.asynchronous
async def test_strange_answers(service: estimator_servers.Service, said: int | None) -> None:
    """What is no message is no answer; what is one counts as it would in Go."""
    world = _World()
    async with world.running(m1=service, m2=estimator_servers.counting(3)):
        answers = await world.ask("m1", "m2")
        assert answers["m1"] == said
        assert await world.ask("m2") == {"m2": 3}


@asynchronous.asynchronous
async def test_a_slow_one_ends_with_the_time_for_all() -> None:
    """What others answered by then stays known."""
    world = _World(timeout_seconds=0.5)
    async with world.running(slow=_hanging(), quick=estimator_servers.counting(3)):
        answers = await world.ask("slow", "quick")
        assert None in answers.values()
        assert answers.get("quick", 3) in (3, None)
        assert world.metrics()["policysched_karmada_estimator_calls_total error"] >= 1


@asynchronous.asynchronous
async def test_one_failure_does_not_wait_for_the_rest() -> None:
    """The answers of those that were cut short are not known, and asked again where they count."""
    world = _World(timeout_seconds=1000.0)
    async with world.running(wrong=estimator_servers.Service(_failing), slow=_hanging()):
        assert await world.ask("wrong", "slow") == {"wrong": None}


@asynchronous.asynchronous
async def test_no_time_asks_nobody() -> None:
    """As karmada-scheduler with a timeout of 0."""
    world, m1 = _World(timeout_seconds=0.0), estimator_servers.counting(3)
    async with world.running(m1=m1):
        assert await world.ask("m1") == {"m1": None}
        assert m1.requests == []


@asynchronous.asynchronous
async def test_connections_follow_clusters() -> None:
    """One comes with its cluster and goes with it, also where a new list does not have it."""
    world = _World()
    async with (
        estimator_servers.grpc(estimator_servers.counting(3)) as port,
        world.running(m1=estimator_servers.counting(1), m2=estimator_servers.counting(2)),
    ):
        world.services.point("m3", port)
        world.clusters.upsert(_cluster("m3"))
        await world.estimators.wait_until_estimators_tried()
        assert await world.ask("m1", "m3") == {"m1": 1, "m3": 3}
        assert world.metrics()["policysched_karmada_estimators connected"] == 3
        world.clusters.delete(_cluster("m1"))
        world.clusters.replace([_cluster("m3")])
        await world.until(lambda told: told["policysched_karmada_estimators connected"] == 1)
        assert await world.ask("m2", "m3") == {"m2": None}
        assert await world.ask("m3") == {"m3": 3}
    assert world.sink.seen == ["replace", "upsert m3", "delete m1", "replace"]


@asynchronous.asynchronous
async def test_a_cluster_that_goes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing is ever decided where it goes while its estimator is tried first."""
    is_tried = asyncio.Event()

    async def hang(*_: object) -> None:
        is_tried.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(estimator_addresses, "find_estimator_addresses", hang)
    world = _World()
    world.clusters.upsert(_cluster("m1"))
    run = asyncio.create_task(world.estimators.run())
    waiting = asyncio.create_task(world.estimators.wait_until_estimators_tried())
    await is_tried.wait()
    assert not waiting.done()
    world.clusters.delete(_cluster("m1"))
    await waiting
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run


@pytest.mark.parametrize("with_pull_clusters", [True, False])
@asynchronous.asynchronous
async def test_clusters_in_pull_mode_may_be_left_out(with_pull_clusters: bool) -> None:
    """Where one of them is a candidate, no answers count then, as in Karmada."""
    world = _World(with_pull_clusters=with_pull_clusters)
    async with estimator_servers.grpc(estimator_servers.counting(3)) as port:
        world.services.point("pulled", port)
        world.clusters.upsert(_cluster("pulled", "Pull"))
        async with world.running(m1=estimator_servers.counting(1)):
            world.clusters.upsert(_cluster("pulled", "Pull"))
            await world.estimators.wait_until_estimators_tried()
            expected = {"pulled": 3 if with_pull_clusters else None}
            assert await world.ask("pulled") == expected


@asynchronous.asynchronous
async def test_an_estimator_that_comes_later_is_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first failure holds nothing up; it is told once, and so is the end of the trouble."""
    again = dataclasses.replace(estimators._AGAIN, first_seconds=0.001, max_seconds=0.01)
    monkeypatch.setattr(estimators, "_AGAIN", again)
    caplog.set_level("INFO")
    world = _World()
    world.services.by_cluster["late"] = {"type": "ClusterIP"}
    world.clusters.upsert(_cluster("late"))
    async with world.running(m1=estimator_servers.counting(1)):
        world.clusters.upsert(_cluster("late"))
        await world.estimators.wait_until_estimators_tried()
        assert await world.ask("late") == {"late": None}
        async with estimator_servers.grpc(estimator_servers.counting(7)) as port:
            world.services.point("late", port)
            await world.until(lambda told: told["policysched_karmada_estimators missing"] == 0)
            assert await world.ask("late") == {"late": 7}
    told = [record.getMessage() for record in caplog.records if "late" in record.getMessage()]
    assert [text.partition(":")[0] for text in told] == [
        "no estimates from any cluster for late",
        "the estimator answers cluster=late",
    ]
