"""Nodes whose exporters a real Prometheus scrapes, and a scheduler that goes by node-load.policy.

The policy is the shipped one with shorter times, so that tests need not wait for minutes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import time
from typing import TYPE_CHECKING, Any

import urllib3
from prometheus_client import parser

from policysched import clock as clocks
from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests, node_exporter, process, prometheus

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tests.realcluster import control_plane as control_planes

PROFILE = "node-load"
SCRAPE_INTERVAL_MS = 500
RATE_LATE_SECONDS = 4.0 + SCRAPE_INTERVAL_MS / 1000
"""A rate over 4 s is that of a new load once all its samples are; counters go by whole scrapes."""
PARAMS = ("--params", "rate_window=4s")
METRICS = ("node_cpu", "node_memory", "node_disk_io", "node_disk_space", "node_network")
WEIGHTS = dict(zip(METRICS, (3, 4, 2, 2, 2), strict=True))

QUERIES: Mapping[str, str] = {
    "node_cpu": '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[4s]))',
    "node_memory": "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes",
    "node_disk_io": 'rate(node_disk_io_time_seconds_total{device="nvme0n1"}[4s])',
    "node_disk_space": '1 - node_filesystem_avail_bytes{mountpoint="/"} '
    '/ node_filesystem_size_bytes{mountpoint="/"}',
    "node_network": 'rate(node_network_receive_bytes_total{device="eth0"}[4s]) / 1.25e9',
}
"""What the metrics mean, written a second time by hand, all as shares."""

SCRAPED: Mapping[str, str] = {
    "node_cpu": 'node_cpu_seconds_total{mode="idle",cpu="0"}',
    "node_memory": "node_memory_MemAvailable_bytes",
}
"""A series behind some of them."""

SHORT_AGE = "6s"
"""`maxAge` for tests that wait for samples to be too old; for others a late scrape is nothing."""


def policy_text(
    *, refresh: str = "1s", max_age: str = "40s", on_outage: str = "skip", is_protected: bool = True
) -> str:
    """Return node-load.policy with other times, another answer to outages, or without `placed`."""
    file = scheduler_process.SHIPPED_POLICIES / "node-load.policy"
    text = file.read_text(encoding="utf-8")
    text = re.sub(r"refresh \d+s maxAge \d+m", f"refresh {refresh} maxAge {max_age}", text)
    text = text.replace("onOutage skip", f"onOutage {on_outage}")
    return text if is_protected else re.sub(r"\n *placed adds .*", "", text)


def nodes(count: int) -> list[dict[str, Any]]:
    """Return equal nodes, each with an address."""
    made = [manifests.node(f"n{number:03}") for number in range(count)]
    for number, node in enumerate(made):
        address = {"type": "InternalIP", "address": address_of(number)}
        node["status"]["addresses"] = [address]
    return made


def address_of(number: int) -> str:
    """Return the InternalIP of a node."""
    return f"10.77.{number // 250}.{number % 250 + 1}"


def instances(count: int) -> dict[str, str]:
    """Return node → the address of its exporter."""
    return {f"n{number:03}": f"{address_of(number)}:9100" for number in range(count)}


@dataclasses.dataclass
class Scene:
    """Everything at work.

    Attributes:
        own_url: where the scheduler serves its own metrics.
        nodes: by the value of `instance`.
        served_before: queries that Prometheus had served before the scheduler was started.
        started_seconds: when that was, by the monotonic clock.
    """

    plane: control_planes.ControlPlane
    namespace: str
    exporter: node_exporter.NodeExporter
    prometheus: prometheus.Prometheus
    scheduler: scheduler_process.PolicyScheduler
    own_url: str
    nodes: Mapping[str, str]
    served_before: float = 0.0
    started_seconds: float = 0.0

    def create_pods(
        self, names: Sequence[str], spec: Mapping[str, Any] | None = None, cpu: str = "100m"
    ) -> None:
        """Create pods of the profile."""
        made = [
            manifests.pod(name, scheduler_name=PROFILE, requests={"cpu": cpu}, spec=spec)
            for name in names
        ]
        self.plane.client.create_pods(self.namespace, made)

    def placements(self, prefix: str = "") -> dict[str, str]:
        """Return pod → node of those that are bound."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.plane.client.pods(self.namespace)
            if pod["spec"].get("nodeName") and pod["metadata"]["name"].startswith(prefix)
        }

    def wait_bound(self, prefix: str, count: int) -> dict[str, str]:
        """Return where pods went once all of them are bound."""
        self.scheduler.wait_until(lambda: len(self.placements(prefix)) == count)
        return self.placements(prefix)

    def condition(self, name: str) -> dict[str, Any]:
        """Return the PodScheduled condition of a pod."""
        conditions = self.plane.client.pod(self.namespace, name)["status"].get("conditions", [])
        return next((one for one in conditions if one["type"] == "PodScheduled"), {})

    def loads(self, metric: str, at_seconds: float | None = None) -> dict[str, float]:
        """Return what Prometheus itself answers, by node, now or for some time."""
        answer = self.prometheus.query(QUERIES[metric], time=at_seconds)
        return {self.nodes[one["metric"]["instance"]]: float(one["value"][1]) for one in answer}

    def put(self, nodes: Collection[str], load: node_exporter.Load) -> float:
        """Put load on nodes; return when that was, in seconds since 1970."""
        self.exporter.put(nodes, load)
        return clocks.SystemClock().now().timestamp()

    def wait_scraped(self, nodes: Collection[str], metric: str, at_seconds: float) -> float:
        """Wait until Prometheus has scrapes of all nodes from after `at_seconds`; return the last.

        Scrapes are timed by Prometheus itself, so that a busy machine makes this slower, not wrong.
        """

        def scraped() -> list[float]:
            found = self.prometheus.query(f"timestamp({SCRAPED[metric]})")
            by_node = {self.nodes[x["metric"]["instance"]]: float(x["value"][1]) for x in found}
            return [by_node.get(node, 0.0) for node in nodes]

        self.scheduler.wait_until(lambda: min(scraped()) > at_seconds)
        return max(scraped())

    def wait_asked(self, metric: str) -> float:
        """Return when a query that is sent after now has been answered and used, since 1970.

        Queries of one metric are sent one after the other: with the second the first is done.
        """
        before = self._asked()[metric]
        self.scheduler.wait_until(lambda: self._asked()[metric] >= before + 2)
        return self.answered_at()[metric]

    def settled_nodes(self) -> int:
        """Return of how many nodes the windows of rates are full: before, rates are too low."""
        due = 4000 // SCRAPE_INTERVAL_MS
        full = f"count_over_time(node_cpu_seconds_total{{mode='idle',cpu='0'}}[4s]) >= {due - 1}"
        return len(self.prometheus.query(full))

    def points_by_hand(self, at_seconds: Mapping[str, float]) -> dict[str, float]:
        """Return what the five scores give each node, without pods.

        They are by Prometheus' own answers for these times, by metric.
        """
        points: dict[str, float] = dict.fromkeys(self.nodes.values(), 0.0)
        for metric, weight in WEIGHTS.items():
            for node, load in self.loads(metric, at_seconds[metric]).items():
                points[node] += weight * 100 * (1 - min(max(load, 0.0), 1.0))
        return points

    def answered_at(self) -> dict[str, float]:
        """Return when each metric was last answered, in seconds since 1970."""
        name = "policysched_metric_last_success_timestamp_seconds"
        return {metric: self.own_of(name, metric, source="default") for metric in METRICS}

    def own(self) -> dict[str, float]:
        """Return the scheduler's own metrics: `name{label=value,…}` → value."""
        answer = urllib3.request("GET", f"{self.own_url}/metrics", retries=False, timeout=60)
        found = {}
        for family in parser.text_string_to_metric_families(answer.data.decode()):
            for sample in family.samples:
                labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
                found[f"{sample.name}{{{labels}}}"] = sample.value
        return found

    def own_of(self, name: str, metric: str = "node_cpu", **labels: str) -> float:
        """Return one of them."""
        named = {"metric": metric} | labels
        text = ",".join(f"{k}={v}" for k, v in sorted(named.items()))
        return self.own()[f"{name}{{{text}}}"]

    def queries(self) -> float:
        """Return how many queries were sent for all metrics."""
        found = self.own().items()
        return sum(v for name, v in found if name.startswith("policysched_metric_queries_total"))

    def refreshes_at_most(self) -> int:
        """Return how often a metric with a refresh of 1 s may have been asked for by now."""
        return math.floor(time.monotonic() - self.started_seconds) + 1

    def wait_refreshed(self) -> None:
        """Return when every metric has been asked for, and answered, after now."""
        before = self._asked()
        self.scheduler.wait_until(
            lambda: all(count >= before[name] + 2 for name, count in self._asked().items())
        )

    def _asked(self) -> dict[str, float]:
        return {
            metric: self.own_of("policysched_metric_queries_total", metric, source="default")
            for metric in METRICS
        }

    def events(self) -> list[dict[str, Any]]:
        """Return the events about metric sources, oldest first."""
        path = "/apis/events.k8s.io/v1/namespaces/kube-system/events"
        found = [
            one
            for one in self.plane.client.items(path)
            if one["reason"].startswith("MetricsSource")
        ]
        return sorted(found, key=lambda one: str(one["eventTime"]))


@contextlib.contextmanager
def playing(
    plane: control_planes.ControlPlane,
    namespace: str,
    folder: pathlib.Path,
    policy: str,
    *,
    node_count: int = 50,
    loads: Mapping[str, node_exporter.Load] | None = None,
) -> Iterator[Scene]:
    """Start everything; pods are scheduled once Prometheus knows the load of every node."""
    plane.client.create_nodes(nodes(node_count))
    by_name = instances(node_count)
    (folder / "node-load.policy").write_text(policy, encoding="utf-8")
    own_address = f"127.0.0.1:{process.free_port()}"
    with contextlib.ExitStack() as stack:
        exporter = stack.enter_context(node_exporter.NodeExporter(by_name))
        for name, load in (loads or {}).items():
            exporter.put([name], load)
        config = exporter.prometheus_config(SCRAPE_INTERVAL_MS)
        server = stack.enter_context(prometheus.Prometheus(folder / "prometheus", config=config))
        policies = ("--policies", str(folder / "node-load.policy"), *PARAMS)
        flags = (*policies, "--prometheus", server.url, "--metrics-address", own_address)
        scheduler = scheduler_process.PolicyScheduler(plane, folder, flags=flags)
        nodes_by_instance = {instance: name for name, instance in by_name.items()}
        scene = Scene(
            plane,
            namespace,
            exporter,
            server,
            scheduler,
            f"http://{own_address}",
            nodes_by_instance,
        )
        server.process.wait_until(
            lambda: scene.settled_nodes() == node_count,
            time_limit_seconds=60,
        )
        scene.served_before = server.served_queries()
        scene.started_seconds = time.monotonic()
        stack.enter_context(scheduler)
        scheduler.wait_until(lambda: _has_all(scene, node_count))
        yield scene


def _has_all(scene: Scene, node_count: int) -> bool:
    """Return whether the scheduler has a value of every metric for every node."""
    name = "policysched_metric_nodes"
    try:
        return all(scene.own_of(name, each, state="ok") == node_count for each in METRICS)
    except (urllib3.exceptions.HTTPError, KeyError):
        return False
