"""Which shapes are shared, and for how long."""

from __future__ import annotations

import weakref

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from tests import builders, storage_builders

POD = builders.make_pod("web")


def _others(count: int) -> list[builders.PodBuilder]:
    return [builders.make_pod("job").labels(job=str(number)) for number in range(count)]


def test_pods_in_use_share_their_shape_whatever_comes_between() -> None:
    """A shape that a pod has is found again after many others."""
    shapes = pod_shape.PodShapeCache(limit=2)
    placed = shapes.make_pod_info(POD.build())
    for other in _others(5):
        shapes.intern_shape(other.build())
    assert shapes.intern_shape(POD.build()) is placed.shape


def test_a_recent_shape_is_shared_by_the_next_pod() -> None:
    """A pod that has gone may be followed by an equal one a moment later."""
    shapes = pod_shape.PodShapeCache(limit=2)
    index = shapes.intern_shape(POD.build()).index
    assert shapes.intern_shape(POD.build()).index == index


def test_shapes_that_no_pod_has_are_forgotten() -> None:
    """Jobs, each with labels of its own, leave nothing behind, at once and not some time."""
    shapes = pod_shape.PodShapeCache(limit=2)
    seen = [weakref.ref(shapes.intern_shape(other.build())) for other in _others(6)]
    assert [ref() is None for ref in seen] == [True] * 4 + [False] * 2


def _use(claim: str) -> objects.PersistentVolumeClaimSource:
    return objects.PersistentVolumeClaimSource(claim_name=claim)


CLAIMS = {
    ("data", "default"): storage_builders.make_claim("data", class_name="fast", request="2Gi"),
    ("logs", "default"): storage_builders.make_claim("logs", request=None),
    ("web-own", "default"): storage_builders.make_claim("web-own", owner_uid="uid-default-web"),
    ("web-other", "default"): storage_builders.make_claim("web-other", owner_uid="another"),
    ("older", "default"): storage_builders.make_claim(
        "older",
        class_name="new",
        annotations={"volume.beta.kubernetes.io/storage-class": "old"},
    ),
}


def _list_requests(pod: builders.PodBuilder) -> list[tuple[str, int]]:
    shapes = pod_shape.PodShapeCache(find_claim=lambda name, at: CLAIMS.get((name, at)))
    shape = shapes.intern_shape(pod.build())
    assert shape.get_requested_amount("storage") == sum(size for _, size in shape.storage)
    return [(each.class_name, each.size_bytes) for each in shape.storage]


@pytest.mark.parametrize(
    "pod, requests",
    [
        pytest.param(POD, [], id="no claims"),
        pytest.param(POD.claim("data"), [("fast", 2**31)], id="class and size"),
        pytest.param(POD.claim("logs"), [("", 0)], id="neither class nor size"),
        pytest.param(POD.claim("older"), [("old", 2**30)], id="an annotation"),
        pytest.param(POD.claim("gone"), [], id="a claim that does not exist"),
        pytest.param(POD.claim("data").meta(namespace="other"), [], id="of another namespace"),
        pytest.param(
            POD.volume("a", persistent_volume_claim=_use("data")).volume(
                "b", persistent_volume_claim=_use("data")
            ),
            [("fast", 2**31)],
            id="one claim twice",
        ),
        pytest.param(POD.claim("data").claim("logs"), [("fast", 2**31), ("", 0)], id="two"),
        pytest.param(POD.ephemeral("own"), [("", 2**30)], id="an ephemeral volume"),
        pytest.param(POD.ephemeral("other"), [], id="the claim of another pod"),
    ],
)
def test_what_claims_request(pod: builders.PodBuilder, requests: list[tuple[str, int]]) -> None:
    """Each claim that exists counts once."""
    assert _list_requests(pod) == requests


def test_pods_have_another_shape_after_their_claim_changed() -> None:
    """The same one again when the claim is as before."""
    known = [storage_builders.make_claim("data", class_name="fast")]
    shapes = pod_shape.PodShapeCache(find_claim=lambda *_: known[-1])
    first = shapes.intern_shape(POD.claim("data").build())
    known.append(storage_builders.make_claim("data", class_name="slow"))
    second = shapes.intern_shape(POD.claim("data").build())
    known.append(known[0])
    assert second is not first
    assert shapes.intern_shape(POD.claim("data").build()) is first
    assert shapes.intern_shape(POD.build()).storage == ()
