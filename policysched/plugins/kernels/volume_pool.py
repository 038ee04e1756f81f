"""The volumes of one class as arrays, and the best one for a claim on every node at once.

Source: component-helpers `storage/volume/pv_helpers.go`, FindMatchingVolume. Where kube-scheduler
takes whichever of several equal volumes its cache lists first, the smallest name wins here.

Axes: m volumes, N rows of nodes, E pairs of a volume and a row.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched import quantity
from policysched.cluster import (
    columns,
    interning,
    objects,
    selectors,
    snapshot,
    storage_objects,
)
from policysched.plugins.kernels import node_rows

Volume: TypeAlias = storage_objects.PersistentVolume
Claim: TypeAlias = storage_objects.PersistentVolumeClaim
Choices: TypeAlias = npt.NDArray[np.int32]
"""int32 (N,): the number of a volume in its pool for each row, NONE for no volume."""

NONE = -1
_STORAGE = "storage"
_FILESYSTEM = "Filesystem"
_AVAILABLE = "Available"


@dataclasses.dataclass(frozen=True, slots=True)
class _Traits:
    """What many volumes have in common, so that it is decided once for all of them."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    volume: Volume
    capacity: Fraction
    traits: _Traits
    terms: node_rows.Terms


class VolumePool:
    """The volumes of one class, the smallest first; they are numbered in this order."""

    def __init__(self, terms_of: Callable[[Volume], node_rows.Terms]) -> None:
        """Start empty; `terms_of` says from which nodes a volume can be reached."""
        self._terms_of = terms_of
        self._entries: dict[str, _Entry] = {}
        self._edges_version = -1
        self._arrange()

    # --- keeping up -------------------------------------------------------------------------------

    def refresh(self, volumes: Iterable[Volume]) -> None:
        """Take in what has changed since the last time; `volumes` are all that there are."""
        entries = self._entries
        present = {volume.metadata.name: volume for volume in volumes}
        known_objects = (e.volume if e else None for e in map(entries.get, present))
        changed = [
            v for v, known in zip(present.values(), known_objects, strict=True) if v is not known
        ]
        is_rearranged = len(present) != len(entries) or any(self._moves(v) for v in changed)
        if is_rearranged:
            self._entries = {name: e for name, e in entries.items() if name in present}
        for volume in changed:
            self._entries[volume.metadata.name] = self._entry(volume)
        if is_rearranged:
            self._arrange()
            return
        for volume in changed:
            self._set(self._number_of[volume.metadata.name], self._entries[volume.metadata.name])

    def _moves(self, volume: Volume) -> bool:
        """Whether a changed volume stands elsewhere in the order, or is reached from elsewhere."""
        known = self._entries.get(volume.metadata.name)
        return (
            known is None
            or known.capacity != _amount(volume.spec.capacity)
            or known.volume.spec.node_affinity != volume.spec.node_affinity
        )

    def _entry(self, volume: Volume) -> _Entry:
        spec = volume.spec
        traits = _Traits(
            spec.volume_mode or _FILESYSTEM,
            spec.volume_attributes_class_name or "",
            frozenset(spec.access_modes),
        )
        return _Entry(volume, _amount(spec.capacity), traits, self._terms_of(volume))

    def _arrange(self) -> None:
        """Number the volumes by size and name, and fill all columns."""
        ordered = sorted(self._entries.values(), key=lambda e: (e.capacity, e.volume.metadata.name))
        self._volumes = [entry.volume for entry in ordered]
        self._capacities = [entry.capacity for entry in ordered]
        self._number_of = {v.metadata.name: i for i, v in enumerate(self._volumes)}
        self._traits: interning.Interner[_Traits] = interning.Interner()
        self._groups: interning.Interner[node_rows.Terms] = interning.Interner()
        self._promised: dict[tuple[str, str], set[int]] = {}
        self._is_free: columns.BoolArray = np.zeros(len(ordered), np.bool_)
        self._trait_ids = np.zeros(len(ordered), np.intp)
        self._group_ids = np.array([self._groups.intern(e.terms) for e in ordered], np.intp)
        self._edges_version = -1
        for number, entry in enumerate(ordered):
            self._write(number, entry)

    def _set(self, number: int, entry: _Entry) -> None:
        old = self._volumes[number].spec.claim_ref
        if old is not None:
            self._promised[old.namespace, old.name].discard(number)
        self._write(number, entry)

    def _write(self, number: int, entry: _Entry) -> None:
        volume = entry.volume
        self._volumes[number] = volume
        self._trait_ids[number] = self._traits.intern(entry.traits)
        claim = volume.spec.claim_ref
        self._is_free[number] = (
            claim is None and volume.status.phase == _AVAILABLE and not _is_going(volume)
        )
        if claim is not None:
            self._promised.setdefault((claim.namespace, claim.name), set()).add(number)

    # --- matching ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return m."""
        return len(self._volumes)

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
        edges = self._edges(rows, snap)
        choices = np.full(snap.size, NONE, np.int32)
        is_open = np.ones(snap.size, np.bool_)
        for number in self._promised_to(claim):
            asked = is_open & ~_taken_by(taken, number, snap.size)
            reached = edges.of_selector(int(self._group_ids[number]))
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

    def _edges(self, rows: node_rows.NodeRows, snap: snapshot.Snapshot) -> node_rows.Edges:
        if self._edges_version != rows.version:
            found = [rows.rows(terms, snap) for terms in self._groups.values]
            self._kept_edges = node_rows.Edges.of(found)
            self._edges_version = rows.version
        return self._kept_edges

    def _promised_to(self, claim: Claim) -> list[int]:
        """Return the volumes that a user or a controller has given to the claim, by name."""
        meta = claim.metadata
        mode, attributes_class = _wanted(claim)
        smallest = self._first_of_size(claim)
        numbers = [
            number
            for number in self._promised.get((meta.namespace, meta.name), ())
            if number >= smallest
            and _is_promised(self._volumes[number], claim)
            and not _is_going(self._volumes[number])
            and self._traits.values[self._trait_ids[number]].mode == mode
            and self._traits.values[self._trait_ids[number]].attributes_class == attributes_class
        ]
        return sorted(numbers, key=lambda n: self._volumes[n].metadata.name)

    def _candidates(self, claim: Claim) -> node_rows.Rows:
        """Return intp (c,): the free volumes that suit a claim, but for the node."""
        mode, attributes_class = _wanted(claim)
        modes = frozenset(claim.spec.access_modes)
        suits = np.array(
            [
                (t.mode, t.attributes_class) == (mode, attributes_class) and modes <= t.access_modes
                for t in self._traits.values
            ],
            np.bool_,
        )
        first = self._first_of_size(claim)
        numbers = first + np.flatnonzero(self._is_free[first:] & suits[self._trait_ids[first:]])
        if claim.spec.selector is None:
            return numbers
        selector = selectors.from_label_selector(claim.spec.selector)
        labelled = [n for n in numbers.tolist() if selector.matches(self._labels(n))]
        return np.array(labelled, np.intp)

    def _labels(self, number: int) -> dict[str, str]:
        return self._volumes[number].metadata.labels

    def _first_of_size(self, claim: Claim) -> int:
        return bisect.bisect_left(self._capacities, requested(claim))

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
    return quantity.parse(str(resources.get(_STORAGE, 0)))


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
