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


POLICY = """\
policy training {
  for pods
  reject when freeDevices(gpu) < 1 as reserve
}
"""


def _make_running_pod(name: str, claim: str, device: str, *, users: int = 1) -> list[Any]:
    """Return a pod on `n1`, and its claim, which has a device there and so many users."""
    pod = _pod(name, claim)
    pod["spec"]["nodeName"] = "n1"
    pod["metadata"]["uid"] = f"uid-{name}"
    others = [{"resource": "pods", "name": f"o{n}", "uid": f"o{n}"} for n in range(users - 1)]
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": device}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}, *others],
    }
    return [pod, _claim(claim, **status)]


@pytest.fixture
def policies(tmp_path: pathlib.Path) -> str:
    """Rules about devices."""
    (path := tmp_path / "training.policy").write_text(POLICY)
    return str(path)


@pytest.mark.parametrize("users, free", [(1, 1), (2, 0)])
def test_a_running_pod_is_decided_as_if_it_had_no_devices(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    policies: str,
    users: int,
    free: int,
) -> None:
    """A device that other pods use, too, stays in use."""
    running = _make_running_pod("old", "taken", "gpu-0", users=users)
    items = [clusters.node("n1"), CLASS, _slice("n1", "gpu-0"), *running]
    [answer] = _run(capsys, tmp_path, f"explain pod prod/old --policies {policies}", *items)
    assert answer["feasible"] == free
    if free:
        plan = f"plan --from none --to {policies} --fail-on never"
        running_pods = _run(capsys, tmp_path, plan, *items)["summary"]["running"]
        assert (running_pods["pods"], running_pods["unschedulable"]) == (1, 0)


@pytest.mark.parametrize("free, violated", [("gpu-1", 0), ("", 0), (None, 1)])
def test_the_devices_of_a_running_pod_do_not_count_against_it(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    policies: str,
    free: str | None,
    violated: int,
) -> None:
    """An audit takes the pod off its node together with its devices."""
    users = 2 if free is None else 1
    running = _make_running_pod("old", "taken", "gpu-0", users=users)
    devices = ["gpu-0", *([free] if free else [])]
    path = clusters.write(tmp_path, clusters.node("n1"), CLASS, _slice("n1", *devices), *running)
    served = ["--scheduler-name", "policysched"]
    assert main.main(["audit", "--cluster", path, policies, *served, "-o", "json"]) == violated
    report = json.loads(capsys.readouterr().out)
    assert report["violatingPods"] == violated
    if violated:
        (node,) = report["rules"][0]["nodes"]
        assert "freeDevices(gpu) 0 < 1" in node["pods"][0]["evidence"]


def test_a_running_pod_with_an_extended_resource_is_decided_like_a_new_one(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], policies: str
) -> None:
    """The claim that the scheduler made for it does not count."""
    pod, claim = _make_running_pod("old", "made", "gpu-0")
    del pod["spec"]["resourceClaims"]
    resource = "deviceclass.resource.kubernetes.io/gpu"
    amounts = {"requests": {resource: "1"}, "limits": {resource: "1"}}
    pod["spec"]["containers"][0]["resources"] = amounts
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "old", "uid": "uid-old"}
    claim["metadata"] |= {
        "ownerReferences": [owner | {"controller": True}],
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    }
    items = [clusters.node("n1"), CLASS, _slice("n1", "gpu-0"), claim, pod]
    [answer] = _run(capsys, tmp_path, f"explain pod prod/old --policies {policies}", *items)
    assert answer["best"] == ["n1"]
    report = _run(capsys, tmp_path, f"audit --scheduler-name policysched {policies}", *items)
    assert (report["pods"], report["violatingPods"]) == (1, 0)


def test_edits_change_the_rule_and_not_the_devices(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], policies: str
) -> None:
    """Evictions would free no device, and other requests of the pod would not help."""
    items = [
        clusters.node("n1"),
        CLASS,
        _slice("n1", "gpu-0"),
        *_make_running_pod("old", "taken", "gpu-0"),
        clusters.pod("web"),
    ]
    items[-1]["spec"]["priority"] = 1000
    command = f"explain pod prod/web --node n1 --policies {policies}"
    [answer] = _run(capsys, tmp_path, command, *items)
    assert [each["text"] for each in answer["edits"]] == [
        "rule training/reserve (line 3): threshold from 1 to 0",
        "remove rule training/reserve (line 3)",
    ]
    assert answer["preemption"] is None
    [reason] = answer["nodes"]["n1"]["all"]
    assert reason["evidence"] == "freeDevices(gpu) 0 < 1"


def test_plan_names_the_rule_about_devices(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], policies: str
) -> None:
    """As the cause of a pod that has to wait."""
    running = _make_running_pod("old", "taken", "gpu-0")
    items = [
        *(clusters.node(name) for name in ("n1", "n2")),
        CLASS,
        _slice("n1", "gpu-0"),
        *running,
        clusters.pod("web"),
    ]
    plan = f"plan --from none --to {policies} --fail-on never"
    answer = _run(capsys, tmp_path, plan, *items)
    assert answer["summary"]["pending"]["unschedulable"] == 1
    [change] = [each for each in answer["changes"] if each["pod"] == "prod/web"]
    assert change["cause"]["edits"] == ["training/reserve"]


TIMEOUT = 'plugin DynamicResources args { filterTimeout: "0.000001s" }'
ROOM = "policy room { for pods reject when freeDevices(gpu) < 2 as two }"


def test_searches_have_no_limit_of_time(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A busy machine does not change an answer: `filterTimeout` is for `run`."""
    old, new = tmp_path / "old.policy", tmp_path / "new.policy"
    old.write_text(f"profile default-scheduler {{ {TIMEOUT} }}")
    new.write_text(f"{ROOM} profile default-scheduler {{ policies room {TIMEOUT} }}")
    nodes = [clusters.node(name, cpu="20") for name in ("n1", "n2")]
    slices = [_slice("n1", "a"), _slice("n2", "a", "b")]
    items = [*nodes, CLASS, *slices, _claim("c"), _pod("p", "c")]
    answer = _run(capsys, tmp_path, f"simulate --deterministic --policies {old}", *items)
    assert [each["node"] for each in answer["placements"]] == ["n1"]
    planned = _run(capsys, tmp_path, f"plan --from {old} --to {new}", *items)
    [change] = planned["changes"]
    assert (change["from"]["node"], change["to"]["node"]) == ("n1", "n2")
    assert change["cause"]["edits"] == ["room/two"]
