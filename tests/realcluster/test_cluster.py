from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING

import orjson
import pytest
import yaml

from tests.deploy import kubectl
from tests.realcluster import api_client, cluster, manifests, process

_ROOT = pathlib.Path(__file__).parents[2]

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder for a cluster, which is stopped whatever happens."""
    yield tmp_path / "cluster"
    cluster.down(tmp_path / "cluster")


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with a cluster."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    module = [sys.executable, "-m", "tests.realcluster.cluster"]
    return subprocess.run(
        [*module, *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
    )


def _nodes(folder: pathlib.Path) -> int:
    """Return the number of nodes that kubectl lists in a shell that has read `env`."""
    script = (
        f". {folder}/env && policysched --version > /dev/null && kubectl get nodes --no-headers"
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return len(done.stdout.splitlines())


@pytest.mark.e2e
def test_a_cluster_outlives_the_command_until_it_is_stopped(folder: pathlib.Path) -> None:
    """`up` leaves a cluster behind, refuses to start a second one, and `down` ends it."""
    up = ["up", "--folder", str(folder), "--nodes", "7"]
    started = _command(*up)
    assert started.returncode == 0, started.stderr
    assert f"\n  . {folder}/env\n" in started.stdout
    assert _nodes(folder) == 7
    config = yaml.safe_load((folder / "kubeconfig").read_text())
    client = api_client.ApiClient(
        config["clusters"][0]["cluster"]["server"],
        token=config["users"][0]["user"]["token"],
        ca_file=pathlib.Path(config["clusters"][0]["cluster"]["certificate-authority"]),
    )
    assert len(client.nodes()) == 7

    again = _command(*up)
    assert (again.returncode, again.stdout) == (1, "")
    assert "a cluster runs already" in again.stderr
    assert len(client.nodes()) == 7

    stopped = _command("down", "--folder", str(folder))
    assert (stopped.returncode, stopped.stdout) == (
        0,
        "stopped kube-scheduler, kube-apiserver, etcd\n",
    )
    with pytest.raises(api_client.TransportError):
        client.nodes()
    assert [path.name for path in folder.iterdir()] == ["lock"]


@pytest.mark.e2e
def test_kube_scheduler_serves_the_cluster(folder: pathlib.Path) -> None:
    """A pod that names no scheduler gets a node."""
    assert _command("up", "--folder", str(folder), "--nodes", "1").returncode == 0
    kubectl.run("run", "web", "--image=pause", kubeconfig=folder / "kubeconfig")
    waiting = ("wait", "pod", "web", "--for=condition=PodScheduled", "--timeout=120s")
    kubectl.run(*waiting, kubeconfig=folder / "kubeconfig")


def test_down_spares_a_process_that_took_over_an_id(
    folder: pathlib.Path,
    bystander: subprocess.Popen[bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A recorded id with another start time belongs to someone else and is left alone."""
    folder.mkdir()
    ticks = process.start_ticks(bystander.pid)
    assert ticks is not None
    (folder / "processes.json").write_bytes(orjson.dumps({"etcd": [bystander.pid, ticks - 1]}))
    assert cluster.down(folder) == 0
    assert bystander.poll() is None
    assert capsys.readouterr().out == "no cluster is running\n"


def test_a_process_is_known_by_id_and_start(bystander: subprocess.Popen[bytes]) -> None:
    """Only the right pair of id and start time ends a process; afterwards it has no start."""
    ticks = process.start_ticks(bystander.pid)
    assert ticks is not None
    assert not process.kill_exactly(bystander.pid, ticks + 1)
    assert process.kill_exactly(bystander.pid, ticks)
    bystander.wait()
    assert process.start_ticks(bystander.pid) is None


def test_a_fleet_has_every_instance_type_in_every_zone() -> None:
    """Fifteen nodes are enough to find each of five instance types in each of three zones."""
    places = {
        (
            node["metadata"]["labels"][manifests.ZONE],
            node["metadata"]["labels"][manifests.INSTANCE_TYPE],
        )
        for node in manifests.fleet(15)
    }
    assert len(places) == len(manifests.ZONES) * len(manifests.INSTANCE_TYPES)
