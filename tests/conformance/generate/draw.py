"""Drawing from small sets: what a generator of clusters needs of random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A seeded source of choices; the same seed draws the same cluster."""

    def __init__(self, seed: str, *, is_lenient: bool = False) -> None:
        """Begin at the seed, any text; `is_lenient` lets objects be invalid."""
        self._random = random.Random(seed)
        self._is_lenient = is_lenient

    def chance(self, share: float) -> bool:
        """Return true in `share` of all cases."""
        return self._random.random() < share

    def invalid(self, share: float) -> bool:
        """Return true in `share` of the cases that may hold what an API server now refuses."""
        return self._is_lenient and self.chance(share)

    def number(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return self._random.choice(choices)

    def some(self, choices: Sequence[T], low: int, high: int) -> list[T]:
        """Return from `low` to `high` different choices in any order."""
        most = min(high, len(choices))
        return self._random.sample(list(choices), self._random.randint(min(low, most), most))

    def weighted(self, choices: Mapping[T, float]) -> T:
        """Return one of the choices, each as often as its weight says."""
        return self._random.choices(list(choices), list(choices.values()))[0]

    def many(self, low: int, high: int, make: Callable[[], T]) -> list[T]:
        """Return from `low` to `high` things, each made anew."""
        return [make() for _ in range(self._random.randint(low, high))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """Return all choices in any order."""
        return self._random.sample(list(choices), len(choices))
