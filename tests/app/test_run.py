"""`policysched run` against a real API server: what the parts are joined to."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest
import yaml

from tests.app import aged_nodes, operations_page
from tests.e2e.scenes import scheduler_process
from tests.promapi import fake_prometheus
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, warm_start

POLICY = """\
version 1
metric cpu_busy: ratio = `cpu` node instance refresh 15s maxAge 1h
policy cool { for pods reject when cpu_busy > 80% missing allow as too-hot }
profile cool { policies cool }
profile plain { }
"""


def _node_of(plane: control_planes.ControlPlane, namespace: str, pod: str) -> str:
    node: str = plane.client.pod(namespace, pod)["spec"].get("nodeName", "")
    return node


def _message_of(plane: control_planes.ControlPlane, namespace: str, pod: str) -> str:
    conditions = plane.client.pod(namespace, pod)["status"].get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")


@pytest.mark.e2e
def test_policies_and_metric_values_of_files_decide(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Each profile by its own rules; a pod that metrics reject is bound once the values change."""
    (tmp_path / "p.policy").write_text(POLICY)
    client = control_plane.client
    aged_nodes.create(control_plane, manifests.node("node-1"))
    values = tmp_path / "metrics.yaml"
    values.write_text("cpu_busy: {node-1: 95%}")
    names = ("plain", "cool")
    client.create_pods(namespace, [manifests.pod(name, scheduler_name=name) for name in names])
    flags = ("--policies", str(tmp_path), "--metrics-file", str(values))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: _node_of(control_plane, namespace, "plain") == "node-1")
        scheduler.wait_until(lambda: "too-hot" in _message_of(control_plane, namespace, "cool"))
        assert _node_of(control_plane, namespace, "cool") == ""
        values.write_text("cpu_busy: {node-1: 5%}")
        scheduler.wait_until(lambda: _node_of(control_plane, namespace, "cool") == "node-1")


@pytest.mark.e2e
def test_metric_values_of_a_prometheus_decide(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Its series are joined to nodes by address; values that change let a rejected pod in."""
    (tmp_path / "p.policy").write_text(POLICY.replace("15s", "1s"))
    node = manifests.node("node-1")
    node["status"]["addresses"] = [{"type": "InternalIP", "address": "10.1.2.3"}]
    client = control_plane.client
    aged_nodes.create(control_plane, node)
    client.create_pods(namespace, [manifests.pod("cool", scheduler_name="cool")])
    values = ["0.95"]

    def answer(_: fake_prometheus.Request) -> fake_prometheus.Answer:
        value = fake_prometheus.series(values[-1], instance="10.1.2.3:9100")
        time = fake_prometheus.measured(999.0, instance="10.1.2.3:9100")
        return fake_prometheus.success([value, time])

    with fake_prometheus.FakePrometheus() as server:
        server.answer = answer
        flags = ("--policies", str(tmp_path), "--prometheus", server.url)
        with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
            scheduler.wait_until(lambda: "too-hot" in _message_of(control_plane, namespace, "cool"))
            assert _node_of(control_plane, namespace, "cool") == ""
            values.append("0.05")
            scheduler.wait_until(lambda: _node_of(control_plane, namespace, "cool") == "node-1")


@pytest.mark.e2e
def test_who_may_not_have_the_lease_schedules_nothing(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Without rights on leases nothing is bound, as the log says; with those of the page it is."""
    for role in ("system:kube-scheduler", "system:volume-scheduler"):
        control_plane.give_role("scheduler", role)
    client = control_plane.client
    client.create_nodes([manifests.node("node-1")])
    client.create_pods(namespace, [manifests.pod("a", scheduler_name="policysched")])
    flags = ("--leader-elect", "--leader-elect-retry-period=100ms")
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, flags=flags, user="scheduler"
    ) as scheduler:
        scheduler.wait_until(lambda: "could not be acquired" in scheduler.process.log_tail())
        assert 'cannot get resource "leases"' in scheduler.process.log_tail()
        assert _node_of(control_plane, namespace, "a") == ""
        control_plane.grant(
            "scheduler", yaml.safe_load(operations_page.BLOCKS["role.yaml"])["rules"]
        )
        scheduler.wait_until(lambda: _node_of(control_plane, namespace, "a") == "node-1")
    client.delete("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/policysched")


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_order_when_it_is_told_to(
    number: signal.Signals,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """Without configuration and policies it schedules; a signal ends it with exit code 0."""
    client = control_plane.client
    client.create_nodes([manifests.node("node-1")])
    client.create_pods(namespace, [manifests.pod("a", scheduler_name="policysched")])
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    argv = [sys.executable, "-m", "policysched", "run", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "synced nodes=1" in line:
                break
        while not _node_of(control_plane, namespace, "a"):
            assert process.poll() is None
        process.send_signal(number)
        rest = process.stderr.read().splitlines()
        assert process.wait() == 0
    assert [line.split(" ", 1)[1] for line in rest[-2:]] == [
        "INFO policysched: stopping",
        "INFO policysched: stopped",
    ]


@pytest.mark.e2e
def test_bad_policies_of_a_pipe_end_it(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """The last good version is looked for; where none is kept, what is wrong is shown."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"
        "policies: {history: default/nothing-kept, onBadStart: lastGood}\n"
    )
    argv = [sys.executable, "-m", "policysched", "run", "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(
        [*argv, "--config", str(config), "--policies", "-"],
        input="policy b@d { for pods }\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "policysched: policies: 1 error" in done.stderr
    assert "b@d" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv, message",
    [
        pytest.param(["--kubeconfig", "none"], "none", id="no-kubeconfig"),
        pytest.param(["--config", "none"], "none: cannot be read: No such file", id="no-config"),
        pytest.param(["--policies", "none"], "none: cannot be read: No such", id="no-policies"),
        pytest.param(["--metrics-file", "none"], "none: cannot be read: No such", id="no-metrics"),
        pytest.param(
            [
                *("--policies", "policies/load-aware.policy"),
                *("--prometheus", "a=http://h", "--prometheus", "b=http://h"),
            ],
            "names no source, and none of the several",
            id="no-source",
        ),
        pytest.param(["--params", "a=1"], "the param `a` needs policies", id="params"),
    ],
)
def test_what_cannot_be_read_ends_it_at_the_start(argv: list[str], message: str) -> None:
    """One error and exit code 2, before anything is scheduled."""
    done = warm_start.run("run", *argv)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("policysched: ")
    assert message in line


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv, message",
    [
        pytest.param(
            ["--prometheus", "prometheus:9090"], "is not the URL of a server", id="no-url"
        ),
        pytest.param(
            ["--prometheus", "http://u:hunter2@h"], "the URL contains a user", id="password"
        ),
        pytest.param(
            ["--prometheus", "http://h", "--metrics-file", "m.yaml"],
            "give --metrics-file or --prometheus, not both",
            id="file-too",
        ),
        pytest.param(["--leader-elect=perhaps"], "neither `true` nor `false`", id="no-truth"),
        pytest.param(
            ["--leader-elect-resource-name="], "--leader-elect-resource-name is empty", id="no-name"
        ),
        pytest.param(
            ["--leader-elect-resource-name=My_Lease"],
            "--leader-elect-resource-name: `leaderElection.resourceName` must be a name of",
            id="name-that-no-object-has",
        ),
        pytest.param(
            ["--feature-gates", "OpportunisticBatching"],
            "--feature-gates: `OpportunisticBatching` is not a switch; write NAME=true",
            id="no-switch",
        ),
        pytest.param(
            ["--leader-elect", "--leader-elect-lease-duration=5s"],
            "--leader-elect-lease-duration: `leaderElection`: `leaseDuration` must be greater",
            id="lease-too-short",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(argv: list[str], message: str) -> None:
    """One error and exit code 3; a password is not repeated."""
    done = warm_start.run("run", *argv)
    assert done.returncode == 3
    assert message in done.stderr
    assert "hunter2" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2
