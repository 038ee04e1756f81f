"""Compute the verdicts of required terms: those of pods of a shape, and those of placed pods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.plugins.kernels import domain_verdicts, domains

EXISTING, ANTI_AFFINITY, AFFINITY = 1, 2, 3
"""Verdict numbers; if several apply to a node, the highest is reported."""


class RequiredTermVerdicts:
    """Verdicts by topology domain, updated for rows whose pods changed.

    Attributes:
        verdicts: verdicts as of the last `refresh`.
    """

    def __init__(
        self,
        required: Sequence[domains.DomainSums],
        repelled: Sequence[domains.DomainSums],
        repelling: Sequence[domains.DomainSums],
        *,
        matches_itself: bool,
        has_own: bool,
    ) -> None:
        """Compute verdicts from sums by domain; valid until a node changes.

        Args:
            required: for each required affinity term, pods that match all of these terms.
            repelled: pods that match an anti-affinity term of the shape, one sum for each topology
                key.
            repelling: pods whose anti-affinity matches the shape, one sum for each topology key.
            matches_itself: whether a pod of the shape matches its own required affinity terms.
            has_own: whether the shape has required affinity or anti-affinity terms.
        """
        self._sums = (*required, *repelled, *repelling)
        self.verdicts = domain_verdicts.DomainVerdicts([sums.domains for sums in self._sums])
        tables = self.verdicts.tables
        self._required = list(zip(required, tables, strict=False))
        numbers = [ANTI_AFFINITY] * len(repelled) + [EXISTING] * len(repelling)
        occupied = zip((*repelled, *repelling), tables[len(required) :], strict=True)
        self._occupied = [(*each, n) for each, n in zip(occupied, numbers, strict=True)]
        self._matches_itself = matches_itself
        self._has_own = has_own
        self._is_first = False

    @property
    def is_current(self) -> bool:
        """Whether all summed columns are still updated."""
        for sums in self._sums:  # noqa: SIM110 - `all` of a generator takes three times as long
            if not sums.is_current:
                return False
        return True

    def refresh(self) -> bool:
        """Update the verdicts; return whether any term applies to pods of the shape."""
        concerns = self._has_own
        for sums, table, number in self._occupied:
            slots = sums.refresh()
            concerns = concerns or sums.pods > 0
            if slots is None:
                table.replace((sums.table > 0) * np.int16(number))
                continue
            for slot in slots:
                table.set(slot, number if sums.table.item(slot) > 0 else 0)
        if self._required:
            self._refresh_required_affinity()
        return concerns

    def _refresh_required_affinity(self) -> None:
        """Reject the domains without a pod that matches all required affinity terms together.

        If there is no such pod anywhere and the pod matches its own terms, it is the first of a
        series, and every domain is accepted.
        """
        news = [sums.refresh() for sums, _ in self._required]
        is_first = self._matches_itself and not any(sums.pods for sums, _ in self._required)
        is_other = is_first != self._is_first
        self._is_first = is_first
        for (sums, table), slots in zip(self._required, news, strict=True):
            if slots is None or is_other:
                lacks = (sums.table <= 0) * np.int16(AFFINITY)
                if is_first:
                    # Slot 0 is for nodes without the label, which even the first pod must avoid.
                    lacks[1:] = 0
                table.replace(lacks)
            elif not is_first:
                for slot in slots:
                    table.set(slot, 0 if sums.table.item(slot) > 0 else AFFINITY)
