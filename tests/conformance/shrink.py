"""A small case in place of a large one: whatever the disagreement does not need is dropped.

First halves of the list of objects, then smaller pieces, then single fields and elements of what is
left, until nothing can go any more. A step is kept if the two still disagree about the same aspect.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Manifest = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]
StillFails: TypeAlias = Callable[[Manifest], bool]

_KEPT = frozenset(
    (
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "spec",
        "uid",
        "startTime",
        "key",
        "operator",
        "values",
        "effect",
        "weight",
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "containerPort",
        "preference",
        "podAffinityTerm",
        "utilization",
        "score",
        "pdName",
        "volumeID",
        "volumeHandle",
        "driver",
        "provisioner",
        "accessModes",
        "capacity",
        "resources",
    )
)
"""Fields without which an API server takes no such object; lists of them can be dropped."""


def shrink(case: Manifest, still_fails: StillFails, most_tries: int = 3000) -> Manifest:
    """Return a smaller case for which `still_fails`, after at most so many tries."""
    budget = _Budget(still_fails, most_tries)
    found = case
    while not budget.is_spent:
        before = _size(found)
        found = _without_objects(found, budget)
        found = _without_fields(found, budget)
        if _size(found) == before:
            break
    return found


class _Budget:
    """Counts the tries: each one asks both schedulers."""

    def __init__(self, still_fails: StillFails, most_tries: int) -> None:
        self._still_fails = still_fails
        self._left = most_tries

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def allows(self, case: Manifest) -> bool:
        """Whether the case still fails, and there was a try left to find out."""
        if self.is_spent:
            return False
        self._left -= 1
        return self._still_fails(case)


def _without_objects(case: Manifest, budget: _Budget) -> Manifest:
    """Drop pieces of the list of objects, half of it at first, single ones in the end."""
    items = case["cluster"]["items"]
    length = max(len(items) // 2, 1)
    while True:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + length :]
            smaller = {**case, "cluster": {**case["cluster"], "items": fewer}}
            if fewer and budget.allows(smaller):
                case, items = smaller, fewer
            else:
                start += length
        if length == 1:
            return case
        length = max(length // 2, 1)


def _without_fields(case: Manifest, budget: _Budget) -> Manifest:
    """Drop fields and elements: outer ones first, and the last element of a list before others."""
    for path in sorted(_paths(case), key=_outer_and_last_first):
        smaller = _without(case, path)
        if smaller is not None and budget.allows(smaller):
            case = smaller
    return case


def _outer_and_last_first(path: Path) -> tuple[int, int]:
    last = path[-1]
    return len(path), -last if isinstance(last, int) else 1


def _paths(case: Manifest) -> Iterator[Path]:
    """Yield the places of everything that may be dropped."""
    for number, item in enumerate(case["cluster"]["items"]):
        for path in _inside(item):
            yield ("cluster", "items", number, *path)
    for path in _inside(case.get("config", {})):
        yield ("config", *path)
    if "config" in case:
        yield ("config",)
    for number in range(len(case["ask"])):
        yield ("ask", number)


def _inside(value: object) -> Iterator[Path]:
    keys: Iterator[tuple[str | int, object]]
    if isinstance(value, dict):
        keys = iter(value.items())
    elif isinstance(value, list):
        keys = iter(enumerate(value))
    else:
        return
    for key, inner in keys:
        if key not in _KEPT:
            yield (key,)
        for path in _inside(inner):
            yield (key, *path)


def _without(case: Manifest, path: Path) -> Manifest | None:
    """Return the case without what is at `path`; None if that is gone already."""
    smaller = copy.deepcopy(case)
    owner: Any = smaller
    for key in path[:-1]:
        try:
            owner = owner[key]
        except (KeyError, IndexError):
            return None
    try:
        del owner[path[-1]]
    except (KeyError, IndexError):
        return None
    return smaller


def _size(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1
