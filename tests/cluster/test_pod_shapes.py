"""Which shapes are shared, and for how long."""

from __future__ import annotations

import weakref

from policysched.cluster.pods import pod_shape
from tests import builders

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
