"""Store one node label as a column of integers, and match requirements against it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import interning
from policysched.cluster.objects import node_texts

_ABSENT = -1
_MAX_TABLES = 512
_NO_ANSWERS: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
_SLACK_VALUES = 1024


class ValueTest(Hashable, Protocol):
    """A condition on the values of one column."""

    @property
    def key(self) -> str:
        """The key of the column."""
        ...

    @property
    def test(self) -> str:
        """The condition as text, without the key."""
        ...

    def matches_value(self, value: str | None) -> bool:
        """Return whether a value meets the condition; None means that it is absent."""
        ...


class LabelColumn:
    """The values of one label on all nodes.

    Attributes:
        key: the label key, or a key of `node_texts`.
        read: reads the value of a node.
        ids: int32 (C,), index into `values.values`, or -1 if the label is absent; also the topology
            domains of `topologyKey: key`.
    """

    def __init__(self, key: str, capacity: int) -> None:
        """Create a column of `capacity` rows; the label is absent in all of them."""
        self.key = key
        self.read = node_texts.make_node_text_reader(key)
        self.ids: npt.NDArray[np.int32] = np.full(capacity, _ABSENT, np.int32)
        self.values: interning.Interner[str] = interning.Interner()
        self._tables: dict[ValueTest, npt.NDArray[np.bool_]] = {}

    def set_label_value(self, row: int, value: str | None) -> None:
        """Set the label on one node; None removes it."""
        self.ids[row] = _ABSENT if value is None else self.values.intern(value)

    def fill_label_values(self, values: Sequence[str | None]) -> None:
        """Set the values of the first rows in one batch; five times as fast as one call per row."""
        different = dict.fromkeys(values)
        numbers = {v: self.values.intern(v) for v in different if v is not None}
        self.ids[: len(values)] = [_ABSENT if v is None else numbers[v] for v in values]

    def grow(self, capacity: int) -> None:
        """Extend the column to `capacity` rows."""
        longer = np.full(capacity, _ABSENT, np.int32)
        longer[: len(self.ids)] = self.ids
        self.ids = longer

    def is_bloated(self, size: int) -> bool:
        """Return whether most values are unused, so that the column should be rebuilt."""
        return len(self.values) > 2 * size + _SLACK_VALUES

    def find_matching_rows(
        self, requirement: ValueTest, rows: slice | npt.NDArray[np.intp]
    ) -> npt.NDArray[np.bool_]:
        """Return bool (n,): the rows that match `requirement`, whose key must be `self.key`."""
        # A requirement depends only on the value, so it is evaluated once for each distinct value.
        # The id -1 indexes the last entry of the table, which is the verdict for an absent label.
        answers: npt.NDArray[np.bool_] = self._get_match_table(requirement)[self.ids[rows]]
        return answers

    def _get_match_table(self, requirement: ValueTest) -> npt.NDArray[np.bool_]:
        table = self._tables.get(requirement)
        if table is None or len(table) != len(self.values) + 1:
            if len(self._tables) >= _MAX_TABLES:
                self._tables.clear()
            known = _NO_ANSWERS if table is None else table[:-1]
            table = self._tables[requirement] = self._extend_match_table(requirement, known)
        return table

    def _extend_match_table(
        self, requirement: ValueTest, known: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Return the verdicts for all values, of which the first ones are known."""
        answers = [requirement.matches_value(value) for value in self.values.values[len(known) :]]
        answers.append(requirement.matches_value(None))
        return np.append(known, np.array(answers, np.bool_))
