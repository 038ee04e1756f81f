"""Member clusters whose load a real Prometheus scrapes, and a `karmada run` that goes by it."""

from __future__ import annotations

import contextlib
import dataclasses
import urllib.request
from typing import TYPE_CHECKING, Any

from prometheus_client import parser

from tests.karmada import twins
from tests.realcluster import karmada, node_exporter, process, prometheus

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Mapping

    from tests.e2e.scenes import scheduler_process
    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

LIMIT_SECONDS = 90.0
QUERY = "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"
POLICY = f"""\
metric busy: ratio = `{QUERY}` cluster instance refresh 1s maxAge 6s missing allow
clusterPolicy web {{
  for resources
  reject when busy > 90% as full
  score busy prefer low normalize linear(0%, 100%) missing score 0
  replicas Divided Weighted by score
}}
profile policysched {{
  policies web
  onOutage SKIP_OR_HOLD
}}
"""


def policy(on_outage: str = "skip") -> str:
    """Return a policy that divides by load and keeps off what is full."""
    return POLICY.replace("SKIP_OR_HOLD", on_outage)


def load(share: float) -> node_exporter.Load:
    """Return how busy a cluster is, which here is told by memory."""
    return node_exporter.Load(memory=share)


def shares(client: api_client.ApiClient, name: str) -> dict[str, int]:
    """Return cluster → replicas of one of our bindings, empty as long as it has none."""
    targets = _binding(client, name)["spec"].get("clusters", [])
    return {target["name"]: target["replicas"] for target in targets}


def condition(client: api_client.ApiClient, name: str) -> dict[str, Any]:
    """Return the condition Scheduled of one of our bindings, empty as long as it has none."""
    conditions = _binding(client, name).get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "Scheduled"), {})


def _binding(client: api_client.ApiClient, name: str) -> dict[str, Any]:
    path = f"{karmada.WORK}/namespaces/default/resourcebindings/{twins.OURS}-{name}"
    return client.get(path)


def create(client: api_client.ApiClient, name: str, replicas: int = 10) -> None:
    """Create a binding of ours that leaves open how its replicas are divided."""
    karmada.create(client, twins.of(twins.binding(name, {}, replicas=replicas), twins.OURS))


def notes(client: api_client.ApiClient, name: str) -> set[str]:
    """Return what events about a binding of ours say."""
    about = f"{twins.OURS}-{name}"
    return {
        event["message"]
        for event in client.items("/api/v1/events")
        if event["involvedObject"]["name"] == about
    }


@dataclasses.dataclass
class Scene:
    """Everything at work.

    Attributes:
        policies: the folder that is followed.
    """

    client: api_client.ApiClient
    exporter: node_exporter.NodeExporter
    prometheus: prometheus.Prometheus
    scheduler: scheduler_process.PolicyScheduler
    own_address: str
    policies: pathlib.Path

    def put(self, cluster: str, share: float) -> None:
        """Let a cluster be as busy as this from now on."""
        self.exporter.put([cluster], load(share))

    def write(self, text: str) -> None:
        """Write another version of the policy."""
        (self.policies / "web.policy").write_text(text, encoding="utf-8")

    def wait_shares(self, name: str, **expected: int) -> None:
        """Return once a binding of ours has these clusters."""
        self.scheduler.wait_until(
            lambda: shares(self.client, name) == expected, time_limit_seconds=LIMIT_SECONDS
        )

    def wait_condition(self, name: str, reason: str) -> str:
        """Return the message of the condition of a binding, once it has this reason."""
        self.scheduler.wait_until(
            lambda: condition(self.client, name).get("reason") == reason,
            time_limit_seconds=LIMIT_SECONDS,
        )
        return str(condition(self.client, name)["message"])

    def own(self, name: str, **labels: str) -> float:
        """Return one of the metrics that the scheduler tells of itself; -1 for none."""
        for family in parser.text_string_to_metric_families(_page(self.own_address)):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return -1.0

    def wait_own(self, value: float, name: str, **labels: str) -> None:
        """Return once one of these metrics has this value."""
        self.scheduler.wait_until(
            lambda: self.own(name, **labels) == value, time_limit_seconds=LIMIT_SECONDS
        )

    def wait_asked(self) -> None:
        """Return when the metric has been asked for, and answered, after now."""
        name = "policysched_metric_queries_total"
        before = self.own(name)
        self.scheduler.wait_until(
            lambda: self.own(name) >= before + 2, time_limit_seconds=LIMIT_SECONDS
        )


def _page(address: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
            return str(answer.read().decode())
    except OSError:  # it does not listen yet
        return ""


@contextlib.contextmanager
def playing(
    plane: control_planes.ControlPlane,
    folder: pathlib.Path,
    text: str,
    loads: Mapping[str, float],
    *flags: str,
) -> Iterator[Scene]:
    """Start everything; yield once the scheduler knows the load of every cluster."""
    for name in loads:
        karmada.create(plane.client, twins.cluster(name))
    policies = folder / "policies"
    policies.mkdir()
    own_address = f"127.0.0.1:{process.free_port()}"
    with contextlib.ExitStack() as stack:
        exporter = stack.enter_context(node_exporter.NodeExporter({name: name for name in loads}))
        for name, share in loads.items():
            exporter.put([name], load(share))
        config = exporter.prometheus_config(500)
        server = stack.enter_context(prometheus.Prometheus(folder / "prometheus", config=config))
        server.process.wait_until(
            lambda: len(server.query(QUERY)) == len(loads), time_limit_seconds=LIMIT_SECONDS
        )
        said = [
            f"--policies={policies}",
            f"--prometheus={server.url}",
            f"--metrics-bind-address={own_address}",
            *flags,
        ]
        scheduler = twins.ours(plane, folder, said)
        scene = Scene(plane.client, exporter, server, scheduler, own_address, policies)
        scene.write(text)
        stack.enter_context(scheduler)
        scene.wait_own(len(loads), "policysched_metric_clusters", metric="busy", state="ok")
        yield scene
