"""Binding: what each answer, and no answer, means for the pod."""

from __future__ import annotations

import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube.writing import binding
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import (
    Answer,
    FakeServer,
    drop,
    json_body,
    status,
)

POD = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("web").build())
PATH = "/api/v1/namespaces/default/pods/web"
BINDING = PATH + "/binding"

CREATED = json_body({"kind": "Status", "status": "Success", "code": 201}, 201)
ASSIGNED = status(409, "Conflict", 'pod web is already assigned to node "n2"')
DELETING = status(409, "Conflict", "pod web is being deleted, cannot be assigned to a host")


def stored(node_name: str, uid: str = POD.uid) -> Answer:
    """Answer with the pod as the server has it."""
    meta = {"name": "web", "namespace": "default", "uid": uid}
    return json_body({"metadata": meta, "spec": {"nodeName": node_name, "containers": None}})


async def bind(pod: pod_shape.PodInfo, server: FakeServer) -> handles.BindError | None:
    """Bind to node n1."""
    async with server.client() as api:
        return await binding.ApiBinder(api).bind(pod, "n1")


@asynchronous
async def test_a_binding_as_it_arrives() -> None:
    """The binding names pod, uid and node, and needs one request."""
    async with FakeServer() as server:
        server.on("POST", BINDING, CREATED)
        assert await bind(POD, server) is None
        (request,) = server.requests
        assert request.body == {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web", "namespace": "default", "uid": POD.uid},
            "target": {"kind": "Node", "name": "n1"},
        }


@pytest.mark.parametrize(
    "posts, gets, outcome",
    [
        pytest.param([status(503), CREATED], [stored("")], None, id="second attempt"),
        pytest.param([status(429, retry_after=1), CREATED], [], None, id="asked to wait"),
        pytest.param([drop, CREATED], [stored("")], None, id="first answer lost, not arrived"),
        pytest.param(
            [drop, CREATED],
            [status(503), status(503), status(503), stored("")],
            None,
            id="first answer lost, server away for a while",
        ),
        pytest.param(
            [drop, status(403, "Forbidden", "not any more")],
            [stored(""), stored("n1")],
            None,
            id="first answer lost, arrived late",
        ),
        pytest.param([drop, ASSIGNED], [stored("n1")], None, id="first answer lost, arrived"),
        pytest.param([drop], [stored("n1")], None, id="all answers lost, arrived"),
        pytest.param(
            [ASSIGNED],
            [stored("n2")],
            handles.BindError("the pod is already bound to `n2`"),
            id="another scheduler was faster",
        ),
        pytest.param(
            [DELETING],
            [stored("")],
            handles.BindError("pod web is being deleted, cannot be assigned to a host"),
            id="being deleted",
        ),
        pytest.param(
            [status(404, "NotFound", 'pods "web" not found')],
            [],
            handles.BindError('the pod no longer exists: pods "web" not found'),
            id="deleted",
        ),
        pytest.param(
            [status(409, "Conflict", "Precondition failed: UID in precondition")],
            [stored("", uid="another")],
            handles.BindError("the pod no longer exists: another pod has its name"),
            id="created anew",
        ),
        pytest.param(
            [drop],
            [status(404)],
            handles.BindError("the pod no longer exists"),
            id="gone meanwhile",
        ),
        pytest.param(
            [status(403, "Forbidden", "no binding for you")],
            [],
            handles.BindError("no binding for you"),
            id="not allowed",
        ),
        pytest.param(
            [status(422, "Invalid", "target.kind: unsupported")],
            [],
            handles.BindError("target.kind: unsupported"),
            id="invalid",
        ),
        pytest.param(
            [status(500, "InternalError", "a webhook fails")],
            [stored("")],
            handles.BindError("a webhook fails"),
            id="server fails",
        ),
        pytest.param(
            [status(500, "InternalError", "etcd is away")],
            [json_body(["no pod"]), status(503), status(503), status(503), stored("n1")],
            None,
            id="server fails, and has bound it",
        ),
    ],
)
@asynchronous
async def test_what_the_answers_mean(
    posts: list[Answer], gets: list[Answer], outcome: handles.BindError | None
) -> None:
    """A pod counts as bound exactly when the server has it on our node."""
    async with FakeServer() as server:
        server.on("POST", BINDING, *posts)
        server.on("GET", PATH, *gets)
        assert await bind(POD, server) == outcome


@asynchronous
async def test_without_a_server() -> None:
    """A binding that never left us has failed for certain: there is nothing to look up."""
    async with FakeServer() as server:
        pass
    error = await bind(POD, server)
    assert error is not None
    assert "no connection" in error.message
