"""The volumes of one class as arrays, and the best one for a claim on every node at once.

Source: component-helpers `storage/volume/pv_helpers.go`, FindMatchingVolume. Where kube-scheduler
takes whichever of several equal volumes its cache lists first, the smallest name wins here.

Axes: m unpromised volumes, N rows of nodes, E pairs of a volume and a row.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched import quantity, units
from policysched.cluster import snapshot
from policysched.cluster.columns import columns, interning
from policysched.cluster.objects import objects, selectors, storage_objects
from policysched.plugins.kernels import node_rows

Volume: TypeAlias = storage_objects.PersistentVolume
Claim: TypeAlias = storage_objects.PersistentVolumeClaim
Choices: TypeAlias = npt.NDArray[np.int32]
"""int32 (N,): the number of a volume in its pool for each row, NONE for no volume."""

NONE = -1
_FILESYSTEM = "Filesystem"
_AVAILABLE = "Available"
_SLACK = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class _Traits:
    """What many volumes have in common, so that it is decided once for all of them."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    """A volume, and what is read of it; `group` numbers the nodes that can reach it."""

    volume: Volume
    capacity: Fraction
    traits: _Traits
    group: int


class VolumePool:
    """The volumes of one class.

    Those that are promised to nobody are numbered first, in the order of their sizes, and stand in
    arrays of m entries. All others, which only the claim that they are promised to can get, have
    the numbers after these.
    """

    def __init__(self, terms_of: Callable[[Volume], node_rows.Terms]) -> None:
        """Start empty; `terms_of` says from which nodes a volume can be reached."""
        self._terms_of = terms_of
        self._entries: dict[str, _Entry] = {}
        self._groups: interning.Interner[node_rows.Terms] = interning.Interner()
        self._traits: interning.Interner[_Traits] = interning.Interner()
        self._reach = node_rows.Reach()
        self._arrange()

    # --- keeping up -------------------------------------------------------------------------------

    def replace(self, volumes: Iterable[Volume]) -> None:
        """Take in all volumes that there are."""
        self._entries = {volume.metadata.name: self._entry(volume) for volume in volumes}
        self._arrange()

    def update(self, changed: Mapping[str, Volume | None]) -> None:
        """Take in volumes that came or changed; None for those that went."""
        is_moved = False
        for name, volume in changed.items():
            is_moved |= not self._changes_in_place(name, volume)
        if is_moved or len(self._volumes) > 2 * len(self._entries) + _SLACK:
            self._arrange()

    def _changes_in_place(self, name: str, volume: Volume | None) -> bool:
        """Take in a volume; False when it has to stand elsewhere."""
        old, number = self._entries.pop(name, None), self._number_of.get(name)
        if old is not None and number is not None:
            self._clear(number, old)
        if volume is None:
            self._number_of.pop(name, None)
            return True
        new = self._entries[name] = self._entry(volume)
        if volume.spec.claim_ref is not None and number is None:
            number = self._append(volume)
        in_array = number is not None and number < len(self._is_free)
        is_moved = old is None or (old.capacity, old.group) != (new.capacity, new.group)
        if number is None or (in_array and is_moved):
            return False
        if not in_array and volume.spec.claim_ref is None:
            return False
        self._write(number, new)
        return True

    def _entry(self, volume: Volume) -> _Entry:
        spec = volume.spec
        traits = _Traits(
            spec.volume_mode or _FILESYSTEM,
            spec.volume_attributes_class_name or "",
            frozenset(spec.access_modes),
        )
        group = self._groups.intern(self._terms_of(volume))
        return _Entry(volume, _amount(spec.capacity), traits, group)

    def _arrange(self) -> None:
        """Number all volumes and fill the arrays."""
        if len(self._groups) > 2 * len(self._entries) + _SLACK:
            self._forget_unused_groups()
        entries = self._entries.values()
        self._sizes = sorted({entry.capacity for entry in entries})
        rank_of = {size: rank for rank, size in enumerate(self._sizes)}
        unpromised = [e for e in entries if e.volume.spec.claim_ref is None]
        unpromised.sort(key=lambda e: (rank_of[e.capacity], e.volume.metadata.name))
        self._ranks = np.array([rank_of[e.capacity] for e in unpromised], np.intp)
        self._group_ids = np.array([e.group for e in unpromised], np.intp)
        self._trait_ids = np.zeros(len(unpromised), np.intp)
        self._is_free: columns.BoolArray = np.zeros(len(unpromised), np.bool_)
        self._promised: dict[tuple[str, str], set[str]] = {}
        self._volumes: list[Volume] = []
        self._number_of: dict[str, int] = {}
        promised = (e for e in entries if e.volume.spec.claim_ref is not None)
        for entry in (*unpromised, *promised):
            self._write(self._append(entry.volume), entry)

    def _forget_unused_groups(self) -> None:
        """Drop the nodes of volumes that are long gone."""
        terms_of, self._groups = self._groups.values, interning.Interner()
        self._reach = node_rows.Reach()
        self._entries = {
            name: dataclasses.replace(entry, group=self._groups.intern(terms_of[entry.group]))
            for name, entry in self._entries.items()
        }

    def _append(self, volume: Volume) -> int:
        self._number_of[volume.metadata.name] = number = len(self._volumes)
        self._volumes.append(volume)
        return number

    def _clear(self, number: int, entry: _Entry) -> None:
        reference = entry.volume.spec.claim_ref
        if reference is not None:
            key = reference.namespace, reference.name
            self._promised[key].discard(entry.volume.metadata.name)
            if not self._promised[key]:
                del self._promised[key]
        if number < len(self._is_free):
            self._is_free[number] = False

    def _write(self, number: int, entry: _Entry) -> None:
        volume = self._volumes[number] = entry.volume
        reference = volume.spec.claim_ref
        if reference is not None:
            key = reference.namespace, reference.name
            self._promised.setdefault(key, set()).add(volume.metadata.name)
        elif number < len(self._is_free):
            self._trait_ids[number] = self._traits.intern(entry.traits)
            self._is_free[number] = volume.status.phase == _AVAILABLE and not _is_going(volume)

    # --- matching ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return how many volumes there are."""
        return len(self._entries)

    def volume(self, number: int) -> Volume:
        """Return a volume by its number."""
        return self._volumes[number]

    def best(
        self,
        claim: Claim,
        taken: Sequence[Choices],
        rows: node_rows.NodeRows,
        snap: snapshot.Snapshot,
    ) -> Choices:
        """Return the volume that a claim gets on each row.

        A volume that is promised to the claim is the only one it can get. Else it gets the smallest
        of the free ones that are large enough and reachable.

        Args:
            claim: the claim.
            taken: what other claims of the pod, to which this pool was shown before, get.
            rows: finds the rows of selectors; refreshed.
            snap: the nodes.
        """
        choices = np.full(snap.size, NONE, np.int32)
        is_open = np.ones(snap.size, np.bool_)
        edges = self._reach.edges(self._groups.values, rows, snap)
        for number, group in self._promised_to(claim):
            asked = is_open & ~_taken_by(taken, number, snap.size)
            reached = edges.of_selector(group)
            choices[reached[asked[reached]]] = number
            is_open &= ~asked
        if is_open.any():
            numbers, at_rows = self._reachable(self._candidates(claim), len(taken), edges)
            keep = is_open[at_rows]
            for chosen in taken:
                keep &= chosen[at_rows] != numbers
            # Of several values for a row the last one stays, which shall be the smallest number.
            choices[at_rows[keep][::-1]] = numbers[keep][::-1]
        return choices

    def _promised_to(self, claim: Claim) -> list[tuple[int, int]]:
        """Return number and group of the volumes that are promised to the claim, by name."""
        meta = claim.metadata
        promised = sorted(self._promised.get((meta.namespace, meta.name), ()))
        entries = [self._entries[name] for name in promised]
        return [
            (self._number_of[name], entry.group)
            for name, entry in zip(promised, entries, strict=True)
            if entry.capacity >= requested(claim)
            and _is_promised(entry.volume, claim)
            and not _is_going(entry.volume)
            and (entry.traits.mode, entry.traits.attributes_class) == _wanted(claim)
        ]

    def _candidates(self, claim: Claim) -> node_rows.Rows:
        """Return intp (c,): the free volumes that suit a claim, but for the node."""
        modes = frozenset(claim.spec.access_modes)
        suits = np.array(
            [
                (t.mode, t.attributes_class) == _wanted(claim) and modes <= t.access_modes
                for t in self._traits.values
            ],
            np.bool_,
        )
        smallest = bisect.bisect_left(self._sizes, requested(claim))
        first = int(np.searchsorted(self._ranks, smallest))
        numbers = first + np.flatnonzero(self._is_free[first:] & suits[self._trait_ids[first:]])
        if claim.spec.selector is None:
            return numbers
        selector = selectors.from_label_selector(claim.spec.selector)
        labelled = [n for n in numbers.tolist() if selector.matches(self._labels(n))]
        return np.array(labelled, np.intp)

    def _labels(self, number: int) -> dict[str, str]:
        return self._volumes[number].metadata.labels

    def _reachable(
        self, candidates: node_rows.Rows, spare: int, edges: node_rows.Edges
    ) -> tuple[Choices, node_rows.Rows]:
        """Return int32 (E,) and intp (E,): candidates, ascending, and rows that reach them.

        Of the volumes that are reached from the same nodes, only the first 1 + `spare` can be the
        best one on any of them.
        """
        kept = candidates[_occurrences(self._group_ids[candidates]) <= spare]
        positions, at_rows = edges.of_selectors(self._group_ids[kept])
        return kept[positions].astype(np.int32), at_rows


def requested(claim: Claim) -> Fraction:
    """Return how many bytes a claim asks for."""
    return _amount(claim.spec.resources.requests)


def _amount(resources: objects.ResourceList) -> Fraction:
    return quantity.parse_quantity(str(resources.get(units.STORAGE, 0)))


def _wanted(claim: Claim) -> tuple[str, str]:
    """Return volumeMode and volumeAttributesClassName; both have to be the volume's."""
    spec = claim.spec
    return spec.volume_mode or _FILESYSTEM, spec.volume_attributes_class_name or ""


def _is_promised(volume: Volume, claim: Claim) -> bool:
    """Whether the volume's claimRef, whose name fits, is about this very claim."""
    reference = volume.spec.claim_ref
    return reference is not None and reference.uid in ("", claim.metadata.uid)


def _is_going(volume: Volume) -> bool:
    return volume.metadata.deletion_timestamp is not None


def _taken_by(taken: Sequence[Choices], number: int, size: int) -> columns.NodeMask:
    """Return bool (N,): the rows on which a volume was given to one of the other claims."""
    found = np.zeros(size, np.bool_)
    for chosen in taken:
        found |= chosen == number
    return found


def _occurrences(values: node_rows.Rows) -> node_rows.Rows:
    """Return intp (c,): how often each value has come before.

    >>> _occurrences(np.array([7, 8, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.ones(len(values), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(values)))
    found = np.zeros(len(values), np.intp)
    found[order] = np.arange(len(values)) - np.repeat(starts, counts)
    return found
