"""What a real process tells of its work: metrics beside kube-scheduler's, and its decisions."""

from __future__ import annotations

import json
import pathlib
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
from prometheus_client import core, parser

from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import kube_scheduler, manifests, process, warm_start

pytestmark = [
    pytest.mark.e2e,
    # Both sign their certificates themselves; who is who is not what these tests are about.
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]

POLICY = """\
version 1
policy tidy {
  for pods
  nodeAffinity required disk NotIn (hdd) as fast-disk
  score allocatable(cpu) prefer high as big-first
}
"""
NODES = {"big": ("8", "ssd"), "small": ("2", "ssd"), "slow": ("8", "hdd")}
OURS = "policysched"


def _pages(port: int, path: str, headers: dict[str, str]) -> str:
    """Return a page of a server whose certificate nobody knows."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with urllib3.HTTPSConnectionPool(
        "127.0.0.1", port, ssl_context=context, retries=False, timeout=30.0, assert_hostname=False
    ) as pool:
        answer = pool.request("GET", path, headers=headers)
    assert answer.status == 200, answer.data
    return answer.data.decode()


class Both:
    """policysched and kube-scheduler beside each other, which have scheduled equal pods."""

    def __init__(
        self, plane: control_planes.ControlPlane, namespace: str, folder: pathlib.Path
    ) -> None:
        self.plane = plane
        self.namespace = namespace
        self.folder = folder
        self.port, self.kube_port = process.free_port(), process.free_port()
        policy = folder / "tidy.policy"
        policy.write_text(POLICY)
        self.ours = scheduler_process.PolicyScheduler(
            plane, folder, flags=[f"--secure-address=127.0.0.1:{self.port}", f"--policies={policy}"]
        )
        flags = [
            f"--secure-port={self.kube_port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={folder / 'certificates'}",
            "--authorization-always-allow-paths=/metrics",
        ]
        self.kube = kube_scheduler.KubeScheduler(plane, folder, flags=flags)
        self.token = plane.tokens[control_planes.ADMIN]

    def create(self) -> None:
        """Create the nodes, and for each scheduler a pod that fits and one that does not."""
        resources = {name: {"cpu": cpu, "memory": "16Gi"} for name, (cpu, _) in NODES.items()}
        self.plane.client.create_nodes(
            [
                manifests.node(name, labels={"disk": disk}, resources=resources[name])
                for name, (_, disk) in NODES.items()
            ]
        )
        pods = [
            manifests.pod(f"{name}-{scheduler}", scheduler_name=scheduler, requests={"cpu": cpu})
            for scheduler in (OURS, "default-scheduler")
            for name, cpu in (("fits", "1"), ("huge", "100"))
        ]
        self.plane.client.create_pods(self.namespace, pods)

    def is_done(self) -> bool:
        """Return whether each scheduler has decided both of its pods."""
        pods = self.plane.client.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return all(pod["status"].get("conditions") for pod in pods)

    def our_metrics(self) -> str:
        """Return the page of policysched."""
        return _pages(self.port, "/metrics", {"Authorization": f"Bearer {self.token}"})

    def kube_metrics(self) -> str:
        """Return the page of kube-scheduler."""
        return _pages(self.kube_port, "/metrics", {})

    def explained(self, pod: str, *flags: str) -> str:
        """Return what `explain --decisions` prints about a pod of policysched."""
        token_file = self.folder / "token"
        token_file.write_text(self.token)
        argv = ["explain", "--insecure-skip-tls-verify"]
        argv += [f"--decisions=https://127.0.0.1:{self.port}", f"--token-file={token_file}"]
        argv += ["pod", f"{self.namespace}/{pod}", *flags]
        done = warm_start.run(*argv)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Both]:
    """Both schedulers on a control plane of their own."""
    folder = tmp_path_factory.mktemp("telling")
    with control_planes.ControlPlane(folder / "plane") as plane:
        plane.client.create_namespace("telling")
        made = Both(plane, "telling", folder)
        made.create()
        with made.ours, made.kube:
            made.ours.wait_until(made.is_done)
            # kube-scheduler writes durations of plugins to its page once a second.
            family = "scheduler_plugin_execution_duration_seconds"
            made.ours.wait_until(lambda: family in made.kube_metrics())
            yield made


def _families(page: str) -> dict[str, core.Metric]:
    return {
        family.name: family
        for family in parser.text_string_to_metric_families(page)
        if family.name.startswith("scheduler_")
    }


def _labels(family: core.Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels}


def _bounds(family: core.Metric) -> list[float]:
    return sorted({float(s.labels["le"]) for s in family.samples if s.name.endswith("_bucket")})


def test_metrics_are_those_of_the_real_kube_scheduler(both: Both) -> None:
    """Whatever we call as kube-scheduler does has its type, its labels and its buckets."""
    ours, theirs = _families(both.our_metrics()), _families(both.kube_metrics())
    assert set(ours) <= set(theirs) | {"scheduler_permit_wait_duration_seconds"}
    compared = 0
    for name, family in ours.items():
        if family.samples and name in theirs and theirs[name].samples:
            assert family.type == theirs[name].type, name
            assert _labels(family) == _labels(theirs[name]), name
            assert _bounds(family) == pytest.approx(_bounds(theirs[name])), name
            compared += 1
    assert compared >= 10


def test_both_count_the_same(both: Both) -> None:
    """Attempts by result, with the name of the profile."""
    for page, profile in (
        (both.our_metrics(), OURS),
        (both.kube_metrics(), "default-scheduler"),
    ):
        family = _families(page)["scheduler_schedule_attempts"]
        results = {s.labels["result"]: s.value for s in family.samples if s.labels}
        assert results["scheduled"] == 1, profile
        assert results["unschedulable"] >= 1, profile
        waiting = _families(page)["scheduler_unschedulable_pods"].samples
        assert ("NodeResourcesFit", profile, 1.0) in {
            (s.labels["plugin"], s.labels["profile"], s.value) for s in waiting
        }


def test_decisions_are_explained_afterwards(both: Both) -> None:
    """Why a pod went where it went, rule by rule, with the policies that decided."""
    (found,) = json.loads(both.explained("fits-policysched", "-o", "json"))
    assert (found["result"], found["node"], found["best"]) == ("scheduled", "big", ["big", "small"])
    (rejection,) = found["rejections"]
    assert (rejection["policy"], rejection["rule"], rejection["line"]) == ("tidy", "fast-disk", 4)
    assert (rejection["nodes"], rejection["examples"]) == (1, ["slow"])
    assert found["scores"]["big"]["tidy/big-first"] > found["scores"]["small"]["tidy/big-first"]
    for points in found["scores"].values():
        assert sum(points.values()) - points["total"] == pytest.approx(points["total"])
    text = both.explained("fits-policysched")
    assert f"{both.namespace}/fits-policysched scheduled to big (attempt 1, " in text
    assert "runner-up: small with " in text


def test_why_a_pod_fits_nowhere_is_explained_afterwards(both: Both) -> None:
    """The message is that of the condition."""
    found: list[dict[str, Any]] = json.loads(both.explained("huge-policysched", "-o", "json"))
    pod = both.plane.client.get(f"/api/v1/namespaces/{both.namespace}/pods/huge-policysched")
    (condition,) = pod["status"]["conditions"]
    assert {each["message"] for each in found} == {condition["message"]}
    (rejection,) = found[0]["rejections"]
    assert (rejection["plugin"], rejection["nodes"]) == ("NodeResourcesFit", 3)
    assert set(rejection["examples"]) == set(NODES)
