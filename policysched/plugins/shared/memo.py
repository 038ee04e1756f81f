"""Cache values of plugins by pod shape while their inputs are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from policysched.cluster.pods import pod_shape

ValueT = TypeVar("ValueT")

_MAX_SHAPES = 512


class ShapeMemo(Generic[ValueT]):
    """A cache with one value for each shape, and the stamp of the inputs of each value."""

    def __init__(self) -> None:
        """Start empty."""
        self._cached: dict[pod_shape.PodShape, tuple[object, ValueT]] = {}

    def get_or_compute(
        self,
        shape: pod_shape.PodShape,
        stamp: object,
        compute: Callable[[], ValueT],
        is_current: Callable[[ValueT], bool] | None = None,
    ) -> ValueT:
        """Return the value for `shape`, and recompute it if `stamp` has changed.

        `is_current` can reject a cached value if the stamp does not cover all inputs.
        """
        cached = self._cached.get(shape)
        if (
            cached is not None
            and cached[0] == stamp
            and (is_current is None or is_current(cached[1]))
        ):
            return cached[1]
        value = compute()
        if len(self._cached) >= _MAX_SHAPES:
            self._cached.clear()
        self._cached[shape] = (stamp, value)
        return value
