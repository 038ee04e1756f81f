"""Statuses as small integers, so that a vector can say which one each node has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.framework import status

StatusIds: TypeAlias = npt.NDArray[np.int16]
Statuses: TypeAlias = Sequence[status.Status]

_MAX_STATUSES = 30_000
"""Below what int16 holds; reasons must not contain values that differ from node to node."""


class StatusTable:
    """Numbers statuses; 0 is SUCCESS.

    Attributes:
        statuses: by number.
        errors: numbers of those that end a cycle instead of rejecting a node.
    """

    def __init__(self) -> None:
        """Start with SUCCESS alone."""
        self.statuses: list[status.Status] = [status.SUCCESS]
        self.errors: list[int] = []
        self._ids: dict[status.Status, int] = {status.SUCCESS: 0}

    def copy(self) -> StatusTable:
        """Return a table with the same numbers, to which statuses of one cycle can be added."""
        other = StatusTable()
        other.statuses = self.statuses.copy()
        other.errors = self.errors.copy()
        other._ids = self._ids.copy()
        return other

    def intern(self, answer: status.Status) -> int:
        """Return the number of a status, a new one when it was not seen before.

        Raises:
            OverflowError: a plugin makes ever new reason texts.
        """
        known = self._ids.get(answer)
        if known is None:
            known = len(self.statuses)
            if known >= _MAX_STATUSES:
                msg = f"plugin {answer.plugin} gives a different reason for every node"
                raise OverflowError(msg)
            self._ids[answer] = known
            self.statuses.append(answer)
            if not answer.is_rejection:
                self.errors.append(known)
        return known

    def translate(self, plugin_name: str, answers: status.NodeStatuses) -> StatusIds:
        """Return int16 (n,): a plugin's answers in this table's numbers."""
        if len(answers.statuses) == 1:
            return answers.ids
        numbers = [self.intern(signed(plugin_name, s)) for s in answers.statuses]
        translated: StatusIds = np.array(numbers, np.int16).take(answers.ids)
        return translated


def first_of(ids: StatusIds, others: StatusIds) -> StatusIds:
    """Return int16 (n,) `ids`, and `others` where these are 0; faster than `np.where`."""
    merged: StatusIds = ids + others * (ids == 0)
    return merged


def signed(plugin_name: str, answer: status.Status) -> status.Status:
    """Return a Filter answer with its plugin's name; what is no rejection is an error.

    Source: runtime/framework.go, RunFilterPlugins.
    """
    if answer.is_success:
        return answer
    if not answer.is_rejection:
        return status.error(plugin_name, f'running "{plugin_name}" filter plugin', answer)
    return answer if answer.plugin else dataclasses.replace(answer, plugin=plugin_name)
