"""A cache of plugin values by pod shape, valid while their inputs are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from policysched.cluster.pods import pod_shape

ValueT = TypeVar("ValueT")

_MAX_SHAPES = 512


class ShapeMemo(Generic[ValueT]):
    """One value for each shape, with the stamp of its inputs."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[pod_shape.PodShape, tuple[object, ValueT]] = {}

    def get_or_compute(
        self,
        shape: pod_shape.PodShape,
        stamp: object,
        compute: Callable[[], ValueT],
        is_current: Callable[[ValueT], bool] | None = None,
    ) -> ValueT:
        """Return the value for `shape`; it is recomputed if `stamp` has changed.

        `is_current` may reject a cached value whose stamp does not cover all inputs.
        """
        kept = self._kept.get(shape)
        if kept is not None and kept[0] == stamp and (is_current is None or is_current(kept[1])):
            return kept[1]
        value = compute()
        if len(self._kept) >= _MAX_SHAPES:
            self._kept.clear()
        self._kept[shape] = (stamp, value)
        return value
