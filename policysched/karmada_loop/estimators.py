"""Keep connections to the estimators of member clusters, and query all of them concurrently.

Source: Karmada v1.18.2 `pkg/scheduler/scheduler.go` (`reconcileEstimatorConnection`),
`pkg/estimator/client/accurate.go`, `cache.go`.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
from typing import TYPE_CHECKING

from prometheus_client import core

from policysched import backoff, errors
from policysched.karmada import objects
from policysched.karmada.state import estimator_messages
from policysched.karmada_loop import estimator_addresses, estimator_connection
from policysched.observability import logs

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from policysched.karmada.state import estimates
    from policysched.karmada_loop import options
    from policysched.kube.http import client
    from policysched.kube.reading import reflector

_log = logging.getLogger(__name__)

_CONNECT_SECONDS = 5.0
"""Timeout for connecting to one address, as in Karmada."""
_AGAIN = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
_PULL = "Pull"


class Estimators:
    """The connections to estimators, each kept until its cluster is removed."""

    def __init__(
        self, said: options.EstimatorOptions, api: client.ApiClient, rng: random.Random
    ) -> None:
        """Find estimators by the options `said`, and by Services in `api` if they exist.

        Raises:
            InputError: a certificate file cannot be used.
        """
        self._said = said
        self._api = api
        self._rng = rng
        self._tls = estimator_connection.EstimatorTls(
            said.ca_file, said.cert_file, said.key_file, is_verified=said.is_verified
        ).make_ssl_context()
        self._wanted: set[str] = set()
        self._tried: set[str] = set()
        self._connections: dict[str, estimator_connection.EstimatorConnection] = {}
        self._problems: dict[str, str] = {}
        self._calls: collections.Counter[str] = collections.Counter()
        self._changed = asyncio.Event()
        self._progress = asyncio.Event()

    # --- connections ---------------------------------------------------------------------------

    def wrap_sink(
        self, sink: reflector.ReflectorSink[objects.Cluster]
    ) -> reflector.ReflectorSink[objects.Cluster]:
        """Return a sink that passes clusters to `sink`, and adds and removes their estimators."""
        return _EstimatorConnectingSink(sink, self)

    def add_estimator(self, cluster: objects.Cluster) -> None:
        """Connect to the cluster's estimator, unless clusters of its sync mode have none."""
        name = cluster.metadata.name
        is_pulled = cluster.spec.sync_mode == _PULL
        if name not in self._wanted and (self._said.with_pull_clusters or not is_pulled):
            self._wanted.add(name)
            self._changed.set()

    def disconnect_other_estimators(self, names: Iterable[str]) -> None:
        """Disconnect from the estimators of all other clusters."""
        gone = self._wanted.difference(names)
        if gone:
            self._wanted -= gone
            self._changed.set()

    def drop_estimator(self, name: str) -> None:
        """Disconnect from the estimator of a cluster."""
        self._wanted.discard(name)
        self._changed.set()

    async def run(self) -> None:
        """Keep connections to the estimators of all added clusters until cancelled."""
        connecting: dict[str, asyncio.Task[None]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._changed.clear()
                    for name in self._wanted - connecting.keys():
                        connecting[name] = group.create_task(self._connect_estimator(name))
                    for name in connecting.keys() - self._wanted:
                        connecting.pop(name).cancel()
                        self._close_estimator_connection(name)
                    await self._changed.wait()
        finally:
            for name in list(self._connections):
                self._close_estimator_connection(name)

    async def wait_until_estimators_tried(self) -> None:
        """Wait until the first connection to each estimator has succeeded or failed."""
        while not self._wanted <= self._tried:
            self._progress.clear()
            await self._progress.wait()

    def _close_estimator_connection(self, name: str) -> None:
        self._tried.discard(name)
        self._progress.set()  # wake `wait_until_estimators_tried`
        self._problems.pop(name, None)
        known = self._connections.pop(name, None)
        if known is not None:
            known.close()

    async def _connect_estimator(self, name: str) -> None:
        """Retry, with growing delays, until the estimator of a cluster is connected."""
        failures = 0
        while name not in self._connections:
            try:
                addresses = await estimator_addresses.find_estimator_addresses(
                    self._api, self._said, name
                )
                self._connections[name] = await self._connect_to_first_address(addresses)
                self._log_estimator_problem(name, "")
            except errors.RemoteError as error:
                failures += 1
                self._log_estimator_problem(name, str(error))
            self._tried.add(name)
            self._progress.set()
            if failures and name not in self._connections:
                await asyncio.sleep(_AGAIN.compute_wait_seconds(failures, self._rng))

    async def _connect_to_first_address(
        self, addresses: Sequence[tuple[str, int]]
    ) -> estimator_connection.EstimatorConnection:
        """Return a connection to the first address that accepts a connection.

        Raises:
            EstimatorCallError: no address accepts a connection.
        """
        problems = []
        for host, port in addresses:
            made = estimator_connection.EstimatorConnection(host, port, self._tls)
            try:
                await made.open_connection(_CONNECT_SECONDS)
            except estimator_connection.EstimatorCallError as error:
                made.close()
                problems.append(f"{host}:{port}: {error}")
            except asyncio.CancelledError:
                made.close()
                raise
            else:
                return made
        raise estimator_connection.EstimatorCallError("; ".join(problems))

    # --- questions -----------------------------------------------------------------------------

    async def ask_estimators(self, question: estimates.EstimateRequest) -> estimates.Answers:
        """Return the answers.

        If one is None, others can be missing; the caller then ignores all of them.
        """
        unconnected = [name for name in question.clusters if name not in self._connections]
        if unconnected:
            return dict.fromkeys(unconnected)
        if not self._said.timeout_seconds:
            return dict.fromkeys(question.clusters)
        call = _EstimatorCall.from_request(question)
        answers: dict[str, int | None] = {}

        async def ask_one(name: str) -> None:
            answers[name] = await self._request_replica_count(name, call)
            if answers[name] is None:
                raise _NoEstimateError

        with contextlib.suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                for name in question.clusters:
                    group.create_task(ask_one(name))
        return answers

    async def _request_replica_count(self, name: str, call: _EstimatorCall) -> int | None:
        """Return the answer of one estimator, or None; count and log failures."""
        known = self._connections.get(name)
        if known is None:
            return None
        request = estimator_messages.encode_estimate_request(name, call.about)
        try:
            answer = await known.call_estimator(
                call.method, request, call.metadata, self._said.timeout_seconds
            )
            count = estimator_messages.decode_replica_count(answer)
        except (
            estimator_connection.EstimatorCallError,
            estimator_messages.EstimatorMessageError,
        ) as error:
            self._calls["error"] += 1
            self._log_estimator_problem(name, str(error))
            return None
        self._calls["success"] += 1
        self._log_estimator_problem(name, "")
        return count

    # --- reports -------------------------------------------------------------------------------

    def _log_estimator_problem(self, name: str, problem: str) -> None:
        """Log a new problem with an estimator once, and its recovery once."""
        before = self._problems.get(name)
        if problem == before:
            return
        self._problems[name] = problem
        if problem:
            text = "no estimates from any cluster for %s: %s"
            _log.warning(text, name, problem)
        else:
            _log.info("the estimator answers %s", logs.format_log_fields(cluster=name))

    def collect_metrics(self) -> Iterable[core.Metric]:
        """Yield metrics for the number of estimators and the number of calls by result."""
        known = core.GaugeMetricFamily(
            "policysched_karmada_estimators",
            "Estimators of member clusters, by state of the connection.",
            labels=("state",),
        )
        connected = len(self._connections)
        known.add_metric(("connected",), connected)
        known.add_metric(("missing",), len(self._wanted) - connected)
        yield known
        calls = core.CounterMetricFamily(
            "policysched_karmada_estimator_calls",
            "Calls to estimators of member clusters, by result.",
            labels=("result",),
        )
        for result in ("success", "error"):
            calls.add_metric((result,), self._calls[result])
        yield calls


@dataclasses.dataclass(frozen=True, slots=True)
class _EstimatorCall:
    """The method and the content that the calls to all estimators share."""

    method: str
    about: bytes
    metadata: dict[str, str]

    @classmethod
    def from_request(cls, question: estimates.EstimateRequest) -> _EstimatorCall:
        spec = question.spec
        metadata = {"object": _format_object_header(spec.resource)}
        if question.counts_sets:
            about = estimator_messages.encode_component_set(
                spec.components, spec.resource.namespace
            )
            return cls(estimator_messages.MAX_AVAILABLE_SETS, about, metadata)
        about = estimator_messages.encode_replica_requirements(spec.replica_requirements)
        return cls(estimator_messages.MAX_AVAILABLE_REPLICAS, about, metadata)


class _NoEstimateError(Exception):
    """An estimator gave no answer; cancels the other calls, because their answers are not used."""


class _EstimatorConnectingSink:
    """Passes clusters to another sink, and adds or removes their estimators."""

    def __init__(self, sink: reflector.ReflectorSink[objects.Cluster], known: Estimators) -> None:
        self._sink = sink
        self._estimators = known

    def replace(self, clusters: Sequence[objects.Cluster]) -> None:
        self._sink.replace(clusters)
        self._estimators.disconnect_other_estimators(cluster.metadata.name for cluster in clusters)
        for cluster in clusters:
            self._estimators.add_estimator(cluster)

    def upsert(self, cluster: objects.Cluster) -> None:
        self._sink.upsert(cluster)
        self._estimators.add_estimator(cluster)

    def delete(self, cluster: objects.Cluster) -> None:
        self._sink.delete(cluster)
        self._estimators.drop_estimator(cluster.metadata.name)


def _format_object_header(resource: objects.ObjectReference) -> str:
    """Return the resource's name as an ASCII header, for the log of the estimator."""
    text = f"kind={resource.kind}, name={resource.namespace}/{resource.name}"
    return "".join(each if " " <= each <= "~" else "?" for each in text)
