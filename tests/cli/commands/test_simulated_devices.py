"""`simulate` and `explain` with devices of a cluster file."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from policysched.cli import main
from tests.cli import clusters

DRIVER = "gpu.example.com"
API = {"apiVersion": "resource.k8s.io/v1"}
CLASS = {**API, "kind": "DeviceClass", "metadata": {"name": "gpu"}}


def _slice(node: str, *devices: str) -> clusters.Object:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": each} for each in devices],
    }
    return {**API, "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def _claim(name: str, **status: Any) -> clusters.Object:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    metadata = {"name": name, "namespace": "prod", "uid": f"uid-{name}"}
    spec = {"devices": {"requests": [request]}}
    return {**API, "kind": "ResourceClaim", "metadata": metadata, "spec": spec, "status": status}


def _pod(name: str, claim: str) -> clusters.Object:
    return clusters.pod(name, resourceClaims=[{"name": "u", "resourceClaimName": claim}])


def _run(
    capsys: pytest.CaptureFixture[str], folder: pathlib.Path, command: str, *items: clusters.Object
) -> Any:
    path = clusters.write(folder, *items)
    assert main.main([*command.split(), "--cluster", path, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_pods_that_share_a_claim_share_its_device(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They go where it is; the next claim gets the other device, and then there is none."""
    nodes = [clusters.node(name, cpu="20") for name in ("n1", "n2")]
    claims = [_claim(name) for name in ("shared", "second", "third")]
    uses = {"a": "shared", "b": "shared", "c": "second", "d": "third", "e": "shared"}
    pods = [_pod(name, claim) for name, claim in uses.items()]
    answer = _run(
        capsys,
        tmp_path,
        "simulate --deterministic",
        *nodes,
        CLASS,
        _slice("n2", "gpu-0", "gpu-1"),
        *claims,
        *pods,
    )
    placed = {each["pod"]: each["node"] for each in answer["placements"]}
    assert placed == {
        "prod/a": "n2",
        "prod/b": "n2",
        "prod/c": "n2",
        "prod/d": None,
        "prod/e": "n2",
    }
    [reason] = {each["message"] for each in answer["placements"] if each["pod"] == "prod/d"}
    assert "2 cannot allocate all claims" in reason


def test_devices_in_use_are_those_of_the_file(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A claim of the file that has a device keeps it from others."""
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}
    taken = _claim("taken", allocation={"devices": {"results": [result]}})
    items = [clusters.node("n1"), CLASS, _slice("n1", "gpu-0"), _claim("c"), _pod("p", "c")]
    for others, feasible in (([], 1), ([taken], 0)):
        [answer] = _run(capsys, tmp_path, "explain pod prod/p", *items, *others)
        assert answer["feasible"] == feasible
