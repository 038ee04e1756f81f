"""The JSON of pods and nodes for requests."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls, object_texts, requests
from policysched.framework import extender_answers
from tests import builders

POD = (
    b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"uid-default-a",'
    b'"managedFields":[{}],"new":[1.50]},"spec":{"novelty":{"x":null}}}'
)
SENT_POD = (
    b'{"metadata":{"name":"a","uid":"uid-default-a","new":[1.5]},"spec":{"novelty":{"x":null}}}'
)
NODE = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","managedFields":[{}]},"more":1}'
SENT_NODE = b'{"metadata":{"name":"n","managedFields":[{}]},"more":1}'


def _make_info(builder: builders.PodBuilder) -> pod_shape.PodInfo:
    return pod_shape.PodShapeCache(frozenset()).make_pod_info(builder.build())


def _make_pod_texts(
    *, keeps_placed: bool = False, asks: bool = True
) -> object_texts.ObjectTexts[objects.Pod]:
    return object_texts.make_pod_texts(lambda _: asks, keeps_placed=keeps_placed)


def _make_encoder(*, sends_names: bool) -> requests.RequestEncoder:
    """Return an encoder that knows a pod and a node."""
    pods, nodes = _make_pod_texts(), object_texts.make_node_texts()
    pods.keep(builders.make_pod("a").build(), lambda: POD)
    nodes.keep(builders.make_node("n").build(), lambda: NODE)
    return requests.RequestEncoder(pods, nodes, sends_names=sends_names)


class TestRequests:
    """What an extender receives."""

    def test_sends_fields_that_policysched_does_not_read(self) -> None:
        """Pods come without managedFields, nodes with them, both without kind and apiVersion."""
        encoder = _make_encoder(sends_names=False)
        sent = encoder.encode_nodes(_make_info(builders.make_pod("a")), ["n"])
        assert sent == (
            b'{"Pod":' + SENT_POD + b',"Nodes":{"items":[' + SENT_NODE + b'],"metadata":{}},'
            b'"NodeNames":null}'
        )

    def test_sends_names_to_extenders_that_know_the_nodes(self) -> None:
        """Victims are uids then."""
        encoder = _make_encoder(sends_names=True)
        info = _make_info(builders.make_pod("a"))
        assert encoder.encode_nodes(info, ["n"]).endswith(b',"Nodes":null,"NodeNames":["n"]}')
        victims = {"n": extender_answers.NodeVictims((info,), 1)}
        assert encoder.encode_victims(info, victims).endswith(
            b'"NodeNameToVictims":null,"NodeNameToMetaVictims":'
            b'{"n":{"Pods":[{"UID":"uid-default-a"}],"NumPDBViolations":1}}}'
        )


class TestTexts:
    """Which texts are kept."""

    def test_forgets_placed_pods(self) -> None:
        """Only extenders that receive victims need them."""
        placed = builders.make_pod("a").node("n").build()
        for keeps, is_there in ((False, False), (True, True)):
            pods = _make_pod_texts(keeps_placed=keeps)
            pods.keep(builders.make_pod("a").build(), lambda: POD)
            pods.keep(placed, lambda: POD)
            assert _is_known(pods, placed) is is_there

    def test_forgets_pods_about_which_no_extender_is_asked(self) -> None:
        """Their texts are not even read."""
        pods = _make_pod_texts(asks=False, keeps_placed=True)
        pending = builders.make_pod("a").build()
        pods.keep(pending, lambda: pytest.fail("read"))
        assert not _is_known(pods, pending)

    def test_follows_changes(self) -> None:
        """A new version replaces the text; gone objects are forgotten."""
        nodes = object_texts.make_node_texts()
        known = builders.make_node("n").build()
        nodes.keep(known, lambda: NODE)
        assert nodes.get("n") == SENT_NODE
        nodes.keep(known, lambda: b'{"metadata":{}}')
        assert nodes.get("n") == b'{"metadata":{}}'
        nodes.retain([])
        with pytest.raises(calls.ExtenderError, match="n has left the cluster"):
            nodes.get("n")

    def test_forgets_deleted_objects(self) -> None:
        """A pod that was deleted is not sent."""
        pods = _make_pod_texts(keeps_placed=True)
        gone = builders.make_pod("a").build()
        pods.keep(gone, lambda: POD)
        pods.forget(gone)
        assert not _is_known(pods, gone)


def _is_known(pods: object_texts.ObjectTexts[objects.Pod], pod: objects.Pod) -> bool:
    try:
        text = pods.get(pod.metadata.uid)
    except calls.ExtenderError:
        return False
    assert msgspec.json.decode(text)
    return True
