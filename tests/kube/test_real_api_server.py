"""The same code against a real kube-apiserver: list+watch, binding, status, events, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import random
from typing import Any

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube import errors
from policysched.kube.auth import kubeconfig
from policysched.kube.events import event_recorder
from policysched.kube.http import client
from policysched.kube.reading import decoding, listing, reflector, resources
from policysched.kube.writing import binding, pod_status
from policysched.scheduler import ports
from tests.kube.asynchronous import Sleeps, asynchronous
from tests.kube.following import CLOCK, Collection, connected, followed
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

pytestmark = pytest.mark.e2e

SHAPES = pod_shape.PodShapeCache()
UNSCHEDULABLE = ports.PodCondition("False", "Unschedulable", "0/3 nodes are available")


def create_pod(
    plane: control_planes.ControlPlane, namespace: str, name: str, **spec: Any
) -> pod_shape.PodInfo:
    """Create a pod and return it as the watch would show it."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    plane.client.create(path, manifests.pod(name, scheduler_name="nobody", spec=spec))
    body = plane.client.raw("GET", f"{path}/{name}")
    return SHAPES.make_pod_info(decoding.decode_single_object(body, objects.Pod))


@asynchronous
async def test_nodes_are_followed(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """What is there is listed; what comes, changes and goes is watched."""
    control_plane.client.create_nodes(manifests.fleet(3))
    async with (
        connected(control_plane, tmp_path) as api,
        followed(api, resources.NODES) as (nodes, following),
    ):
        assert sorted(nodes.by_name) == ["node-0", "node-1", "node-2"]
        assert nodes.by_name["node-0"].metadata.labels[manifests.ZONE] == "zone-a"
        control_plane.client.create_nodes([manifests.node("new")])
        await nodes.until(lambda found: "new" in found)
        assert nodes.by_name["new"].status.allocatable["cpu"] == "8"
        control_plane.client.patch("/api/v1/nodes/new", {"spec": {"unschedulable": True}})
        await nodes.until(lambda found: found["new"].spec.unschedulable)
        control_plane.client.delete("/api/v1/nodes/new")
        await nodes.until(lambda found: "new" not in found)
        assert nodes.replaced == 1
        assert following.skipped_count == 0


@asynchronous
async def test_pages_of_a_real_list(
    control_plane: control_planes.ControlPlane,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server's own continue tokens lead through the whole list."""
    monkeypatch.setattr(listing, "PAGE_SIZE", 10)
    control_plane.client.create_nodes(manifests.fleet(35))
    nodes: Collection[objects.Node] = Collection()
    async with connected(control_plane, tmp_path) as api:
        await reflector.Reflector(api, resources.NODES, nodes, rng=random.Random(1)).list_once()
        assert len(nodes.by_name) == 35


@asynchronous
async def test_a_pod_that_ends_is_deleted_to_us(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The field selector of the watch lets ended pods go, as kube-scheduler's does."""
    create_pod(control_plane, namespace, "job")
    async with (
        connected(control_plane, tmp_path) as api,
        followed(api, resources.PODS) as (pods, _),
    ):
        assert pods.by_name["job"].status.phase == "Pending"
        path = f"/api/v1/namespaces/{namespace}/pods/job/status"
        control_plane.client.patch(path, {"status": {"phase": "Succeeded"}})
        await pods.until(lambda found: "job" not in found)


@asynchronous
async def test_a_server_that_is_restarted(tmp_path: pathlib.Path) -> None:
    """Following goes on by itself after the API server was killed and started again.

    A server that has just started does not know old versions: it answers a watch from one with 410,
    which leads to a list.
    """
    with control_planes.ControlPlane(tmp_path / "plane") as plane:
        async with (
            connected(plane, tmp_path) as api,
            followed(api, resources.NODES) as (nodes, _),
        ):
            plane.client.create_nodes([manifests.node("before")])
            await nodes.until(lambda found: "before" in found)
            plane.api_server.kill()
            plane.api_server.start()
            await asyncio.to_thread(plane.wait_ready)
            plane.client.create_nodes([manifests.node("after")])
            await nodes.until(lambda found: {"before", "after"} <= found.keys())

            late: Collection[objects.Node] = Collection()
            following = reflector.Reflector(api, resources.NODES, late, rng=random.Random(1))
            following._resource_version = "1"
            await following.list_or_watch_once()
            assert isinstance(following.last_error, errors.ResourceVersionGoneError)
            assert late.replaced == 0
            stepping = asyncio.create_task(following.list_or_watch_once())
            await late.until(lambda found: {"before", "after"} <= found.keys())
            plane.client.create_nodes([manifests.node("later")])
            await late.until(lambda found: "later" in found)
            stepping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await stepping


@asynchronous
async def test_binding(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A pod is bound once: to bind it again to the same node is fine, to another is a conflict."""
    pod = create_pod(control_plane, namespace, "web")
    async with connected(control_plane, tmp_path) as api:
        binder = binding.ApiBinder(api)
        assert await binder.bind(pod, "node-1") is None
        stored = control_plane.client.pod(namespace, "web")
        assert stored["spec"]["nodeName"] == "node-1"
        assert ("PodScheduled", "True") in {
            (one["type"], one["status"]) for one in stored["status"]["conditions"]
        }
        assert await binder.bind(pod, "node-1") is None
        refused = handles.BindError("the pod is already bound to `node-1`")
        assert await binder.bind(pod, "node-2") == refused


@asynchronous
async def test_binding_what_is_not_there(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Deleted pods, namesakes of deleted pods and gated pods are refused, and the text says so."""
    async with connected(control_plane, tmp_path) as api:
        binder = binding.ApiBinder(api)
        old = create_pod(control_plane, namespace, "web")
        control_plane.client.delete(f"/api/v1/namespaces/{namespace}/pods/web")
        gone = await binder.bind(old, "node-1")
        assert gone is not None
        assert "the pod no longer exists" in gone.message
        create_pod(control_plane, namespace, "web")
        another = await binder.bind(old, "node-1")
        assert another == handles.BindError("the pod no longer exists: another pod has its name")
        assert "nodeName" not in control_plane.client.pod(namespace, "web")["spec"]
        gated = create_pod(control_plane, namespace, "gated", schedulingGates=[{"name": "quota"}])
        refused = await binder.bind(gated, "node-1")
        assert refused is not None
        assert "non-empty .spec.schedulingGates" in refused.message


@asynchronous
async def test_many_bindings_at_once(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """All of many bindings in flight arrive, and two binders of one pod never both win."""
    pods = [create_pod(control_plane, namespace, f"p{number}") for number in range(60)]
    async with connected(control_plane, tmp_path) as api:
        binder = binding.ApiBinder(api)
        wanted = [(pod, node) for pod in pods for node in ("node-1", "node-2")]
        outcomes = await asyncio.gather(*(binder.bind(pod, node) for pod, node in wanted))
        bound_to = {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in control_plane.client.pods(namespace)
        }
        for (pod, node), outcome in zip(wanted, outcomes, strict=True):
            is_ours = bound_to[pod.pod.metadata.name] == node
            assert (outcome is None) is is_ours
            assert outcome is None or "already bound" in outcome.message


@asynchronous
async def test_status(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The condition and the nomination are seen by everyone; other conditions stay."""
    pod = create_pod(control_plane, namespace, "web")
    path = f"/api/v1/namespaces/{namespace}/pods/web"
    other = {"type": "example.com/other", "status": "True"}
    async with connected(control_plane, tmp_path) as api:
        writer = pod_status.ApiPodStatusWriter(api, CLOCK)
        task = asyncio.create_task(writer.run())
        writer.set_condition(pod, UNSCHEDULABLE, "node-1")
        await writer.flush()
        control_plane.client.patch(
            path + "/status",
            {"status": {"conditions": [other]}},
            "application/strategic-merge-patch+json",
        )
        # The version that the writer knows is old by now: it reads the pod and writes again.
        writer.set_condition(pod, ports.PodCondition("False", "Unschedulable", "0/4"), "")
        await writer.flush()
        stored = control_plane.client.pod(namespace, "web")["status"]
        found = {one["type"]: one for one in stored["conditions"]}
        assert found["PodScheduled"]["message"] == "0/4"
        assert found["PodScheduled"]["reason"] == "Unschedulable"
        assert found["PodScheduled"]["lastTransitionTime"]
        assert found["PodScheduled"]["observedGeneration"] == 1
        assert found["example.com/other"]["status"] == "True"
        assert "nominatedNodeName" not in stored
        assert writer.failed == 0
        task.cancel()


@asynchronous
async def test_status_never_undoes_a_binding(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A note that is late, after the pod was bound, is dropped."""
    pod = create_pod(control_plane, namespace, "web")
    async with connected(control_plane, tmp_path) as api:
        assert await binding.ApiBinder(api).bind(pod, "node-1") is None
        writer = pod_status.ApiPodStatusWriter(api, CLOCK)
        task = asyncio.create_task(writer.run())
        writer.set_condition(pod, UNSCHEDULABLE)
        await writer.flush()
        stored = control_plane.client.pod(namespace, "web")["status"]["conditions"]
        assert [one["status"] for one in stored if one["type"] == "PodScheduled"] == ["True"]
        task.cancel()


@asynchronous
async def test_events(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The server takes our events and their counts, and shows them by pod and controller."""
    pod = create_pod(control_plane, namespace, "web")
    async with connected(control_plane, tmp_path) as api:
        recorder = event_recorder.ApiEventRecorder(api, CLOCK, instance="policysched-test")
        task = asyncio.create_task(recorder.run())
        for _ in range(2):
            recorder.record(
                pod,
                ports.EventType.WARNING,
                "FailedScheduling",
                "Scheduling",
                "0/3 nodes are available",
                "policysched",
            )
            await recorder.flush()
        recorder.record(
            pod, ports.EventType.NORMAL, "Scheduled", "Binding", "it fits", "policysched"
        )
        await recorder.flush()
        assert (recorder.failed, recorder.dropped) == (0, 0)
        events = {
            one["reason"]: one
            for one in control_plane.client.items(
                f"/apis/events.k8s.io/v1/namespaces/{namespace}/events",
                fieldSelector="regarding.name=web",
            )
        }
        assert set(events) == {"FailedScheduling", "Scheduled"}
        assert events["FailedScheduling"]["series"]["count"] == 2
        assert events["Scheduled"]["reportingController"] == "policysched"
        assert events["Scheduled"]["reportingInstance"] == "policysched-test"
        assert events["Scheduled"]["regarding"]["uid"] == pod.uid
        # kubectl describe looks there, by the same fields.
        assert control_plane.client.items(
            f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.uid={pod.uid}"
        )
        task.cancel()


@asynchronous
async def test_a_server_that_is_not_trusted(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """A certificate of another authority than the kubeconfig's ends the call before it is made."""
    path = control_plane.write_kubeconfig(tmp_path / "config")
    text = path.read_text(encoding="utf-8").replace("certificate-authority", "ignored")
    path.write_text(text, encoding="utf-8")
    connection = await kubeconfig.load_api_client_config(str(path), None, CLOCK, {})
    sleeps = Sleeps()
    async with client.ApiClient(connection, rng=random.Random(1), sleep=sleeps) as api:
        with pytest.raises(errors.CertificateError, match="certificate is not trusted") as caught:
            await api.send_request("GET", "/api/v1/nodes")
        assert not caught.value.may_have_arrived
        assert sleeps == []  # it would not be trusted the next time either


@asynchronous
async def test_what_a_user_may_not_do(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Without rights, each part says what it was not allowed to do, and none of them falls over."""
    pod = create_pod(control_plane, namespace, "web")
    async with connected(control_plane, tmp_path, "nobody") as api:
        following = reflector.Reflector(api, resources.NODES, Collection(), rng=random.Random(1))
        with pytest.raises(errors.ForbiddenError, match='cannot list resource "nodes"'):
            await following.list_once()
        refused = await binding.ApiBinder(api).bind(pod, "node-1")
        assert refused is not None
        assert 'cannot create resource "pods/binding"' in refused.message
        writer = pod_status.ApiPodStatusWriter(api, CLOCK)
        task = asyncio.create_task(writer.run())
        writer.set_condition(pod, UNSCHEDULABLE)
        await writer.flush()
        assert writer.failed == 1
        task.cancel()
