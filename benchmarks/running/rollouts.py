"""CPU time of `run` on a real API server, while a new version of the policies has a share.

python -m benchmarks rollouts --nodes 1000

In turn, rollouts are not configured (off), no rollout runs (idle), or a new version decides about
half of the workloads (share). The new version differs in one number. `rollout` measures the cycle
alone.
"""

from __future__ import annotations

import pathlib
import statistics
import tempfile
import time
from typing import Any

import yaml

from benchmarks import options
from benchmarks.cycle import rollout
from benchmarks.process import process_usage
from policysched.config import config_reading
from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

_NAMESPACE = "bench"
_CONFIG_MAP = f"/api/v1/namespaces/{_NAMESPACE}/configmaps"
_MODES = ("off", "idle", "share")
_STAGES = {"minPods": 1_000_000, "stages": [{"percent": 50}]}
_LIMIT_SECONDS = 300.0


def _write_config(folder: pathlib.Path, mode: str) -> pathlib.Path:
    policies: dict[str, Any] = {"configMap": f"{_NAMESPACE}/policies"}
    if mode != "off":
        policies["rollout"] = _STAGES
    file = folder / "config.yaml"
    text = yaml.safe_dump({**config_reading.HEAD, "policies": policies})
    file.write_text(text, encoding="utf-8")
    return file


def measure(plane: control_planes.ControlPlane, mode: str, pods: int) -> float:
    """Return the CPU milliseconds of the scheduler for each pod that it binds."""
    client = plane.client
    metadata = {"name": "policies"}
    client.create(_CONFIG_MAP, {"metadata": metadata, "data": {"web.policy": rollout.TEXT}})
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        flags = ["--config", str(_write_config(folder, mode))]
        with scheduler_process.PolicyScheduler(plane, folder, flags=flags) as scheduler:
            scheduler.wait_until(lambda: "policysched.io/hash" in _read_annotations(plane))
            if mode == "share":
                scheduler.wait_until(lambda: _has_history(plane))
                text = rollout.TEXT.replace("500m", "400m")
                client.patch(f"{_CONFIG_MAP}/policies", {"data": {"web.policy": text}})
                scheduler.wait_until(lambda: "policysched.io/rollout" in _read_annotations(plane))
            time.sleep(2)
            before = process_usage.cpu_seconds(scheduler.process.pid)
            client.create_pods(_NAMESPACE, _make_pods(pods))
            scheduler.wait_until(lambda: _are_all_bound(plane), time_limit_seconds=_LIMIT_SECONDS)
            seconds = process_usage.cpu_seconds(scheduler.process.pid) - before
    for each in ("policies", "policies-history"):
        client.delete(f"{_CONFIG_MAP}/{each}")
    plane.clear()
    return 1000 * seconds / pods


def _make_pods(count: int) -> list[dict[str, Any]]:
    pods = [rollout.make_pod(number) for number in range(count)]
    for pod in pods:
        pod["metadata"] = {**pod["metadata"], "namespace": _NAMESPACE}
        pod["metadata"].pop("uid")
        pod["spec"]["schedulerName"] = "policysched"
    return pods


def _read_annotations(plane: control_planes.ControlPlane) -> dict[str, str]:
    found = plane.client.get(f"{_CONFIG_MAP}/policies")["metadata"].get("annotations") or {}
    return dict(found)


def _has_history(plane: control_planes.ControlPlane) -> bool:
    names = [each["metadata"]["name"] for each in plane.client.items(_CONFIG_MAP)]
    return "policies-history" in names


def _are_all_bound(plane: control_planes.ControlPlane) -> bool:
    time.sleep(0.5)  # listing the pods must not slow down the server
    query = {"fieldSelector": "spec.nodeName="}
    return not plane.client.items(f"/api/v1/namespaces/{_NAMESPACE}/pods", **query)


def main(argv: list[str]) -> int:
    """Print milliseconds of CPU time for each pod, and their ratio to `off`."""
    parser = options.Parser(prog="python -m benchmarks rollouts")
    parser.add_argument("--nodes", type=options.at_least(10), default=1000)
    parser.add_argument("--pods", type=options.at_least(100), default=4000)
    parser.add_argument("--repeat", type=options.at_least(1), default=5)
    args = parser.parse_args(argv)
    found: dict[str, list[float]] = {mode: [] for mode in _MODES}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "control-plane"
        with control_planes.ControlPlane(folder, flags=control_planes.THROUGHPUT_FLAGS) as plane:
            plane.client.create_namespace(_NAMESPACE)
            for _ in range(args.repeat):
                for mode in _MODES:
                    plane.client.create_nodes(manifests.fleet(args.nodes))
                    found[mode].append(measure(plane, mode, args.pods))
    print(f"{'rollouts':8}  {'ms of CPU a pod':>15}  ratio (median, lowest to highest)")
    for mode, values in found.items():
        ratios = [a / b for a, b in zip(values, found["off"], strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{mode:8}  {statistics.median(values):>15.3f}  {ratio}")
    return 0
