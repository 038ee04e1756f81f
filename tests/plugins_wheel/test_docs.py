from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.plugins_wheel import conftest
from tests.realcluster import process as servers

pytestmark = pytest.mark.slow  # each test starts processes

POLICYSCHED = [sys.executable, "-m", "policysched"]


def _pod(name: str, scheduler_name: str, node: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulerName": scheduler_name}
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three nodes with two, one and no pods; a pod of each profile waits."""
    size = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": size, "capacity": size},
        }
        for name in ("full", "half", "idle")
    ]
    pods = [
        _pod("a", "plain", "full"),
        _pod("b", "plain", "full"),
        _pod("c", "plain", "half"),
        _pod("careful", "budgeted"),
        _pod("careless", "plain"),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes + pods}))
    return path


@pytest.fixture
def policy(page: dict[str, str], tmp_path: pathlib.Path) -> pathlib.Path:
    """The profiles of the page as a policy file."""
    path = tmp_path / "profiles.policy"
    path.write_text(page["profiles.policy"])
    return path


def _explain(
    cluster: pathlib.Path, policy: pathlib.Path, environment: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
    argv = [*POLICYSCHED, "explain", "--cluster", str(cluster), "--policies", str(policy)]
    return subprocess.run(
        [*argv, "--all", "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=conftest.CHECKOUT,
    )


def test_the_plugin_acts_in_one_profile_and_is_off_in_the_other(
    cluster: pathlib.Path, policy: pathlib.Path, environment: dict[str, str]
) -> None:
    """Only pods of the profile that names it are filtered and scored by it, with its arguments."""
    done = _explain(cluster, policy, environment)
    assert (done.returncode, done.stderr) == (0, "")
    careful, careless = json.loads(done.stdout)
    assert careful["nodes"]["full"] == {
        "ok": False,
        "plugin": "PodBudget",
        "code": "Unschedulable",
        "reasons": ["node(s) had 2 pods already"],
        "all": [
            {
                "plugin": "PodBudget",
                "code": "Unschedulable",
                "reason": "node(s) had 2 pods already",
                "policy": None,
                "rule": None,
                "line": None,
            }
        ],
    }
    points = {node: scores["PodBudget"] for node, scores in careful["scores"].items()}
    assert points == {"half": 5 * 50, "idle": 5 * 100}
    assert (careful["feasible"], careful["best"]) == (2, ["idle"])
    assert careless["feasible"] == 3
    assert not any("PodBudget" in scores for scores in careless["scores"].values())


def test_simulate_uses_the_plugin(
    cluster: pathlib.Path, policy: pathlib.Path, environment: dict[str, str]
) -> None:
    """Its answers are patched as pods are placed: the second pod sees the first."""
    argv = [*POLICYSCHED, "simulate", "--cluster", str(cluster), "--policies", str(policy)]
    done = subprocess.run(
        [*argv, "--scheduler-name", "budgeted", "--deterministic", "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=conftest.CHECKOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    placed = [(p["pod"], p["node"]) for p in json.loads(done.stdout)["placements"]]
    assert placed == [("default/careful", "idle"), ("default/careless", "half")]


@pytest.mark.parametrize(
    "before, after, message",
    [
        pytest.param("maxPods: 2", "maxPods: 0", "`maxPods` is 0, but must be", id="value"),
        pytest.param("maxPods", "maxPod", "unknown field `maxPod`", id="name"),
    ],
)
def test_wrong_arguments_are_one_error(
    before: str,
    after: str,
    message: str,
    cluster: pathlib.Path,
    policy: pathlib.Path,
    environment: dict[str, str],
) -> None:
    """What the plugin says of its arguments is shown with their place, without a traceback."""
    policy.write_text(policy.read_text().replace(before, after))
    done = _explain(cluster, policy, environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"policysched: {policy}:4:")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_package_the_name_is_unknown(
    cluster: pathlib.Path, policy: pathlib.Path
) -> None:
    """A policy that names a plugin which is not installed is refused."""
    done = _explain(cluster, policy, None)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no plugin `PodBudget`" in done.stderr


@pytest.mark.parametrize("source", ["--policies", "--config"])
def test_start_up_logs_list_the_plugins_of_each_profile(
    source: str, page: dict[str, str], tmp_path: pathlib.Path, environment: dict[str, str]
) -> None:
    """`run` tells the plugins of each profile, API server or not, and ends when it is told to."""
    name = "profiles.policy" if source == "--policies" else "config.yaml"
    (tmp_path / name).write_text(page[name])
    argv = [*POLICYSCHED, "run", "--kubeconfig", str(_kubeconfig_to_nowhere(tmp_path))]
    with subprocess.Popen(
        [*argv, source, str(tmp_path / name)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=conftest.CHECKOUT,
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "profile=plain plugin=DefaultBinder" in line:
                process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    told = [line.partition("policysched: ")[2].strip() for line in lines]
    assert [line for line in told if "PodBudget" in line] == [page["text"].strip()]


def _kubeconfig_to_nowhere(folder: pathlib.Path) -> pathlib.Path:
    """Write a kubeconfig for a port of this machine on which nobody listens."""
    port = servers.free_port()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path
