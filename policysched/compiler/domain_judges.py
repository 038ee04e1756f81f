"""Which topology domains fail by the pods in them, told domain by domain while pods come and go."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from policysched.cluster.columns import columns
from policysched.plugins.kernels import spreading


class Judge(Protocol):
    """Decides about domains; tables have D + 1 entries, see `plugins.kernels.domains`."""

    def every(self, totals: columns.FloatArray, present: columns.BoolArray) -> columns.BoolArray:
        """Return bool (D + 1,): the domains that fail by `totals` pods, float64 (D + 1,).

        `present`, bool (D + 1,), are the domains that have a node.
        """
        ...

    def one(self, slot: int, total: float) -> bool | None:
        """Return whether a domain fails that has other pods now; None where others may change too.

        After that `every` is asked.
        """
        ...


class Occupied:
    """Fails where there is any pod."""

    def every(self, totals: columns.FloatArray, present: columns.BoolArray) -> columns.BoolArray:
        """Return the domains with pods."""
        del present
        return np.greater(totals, 0)

    def one(self, slot: int, total: float) -> bool:
        """Return whether there is a pod."""
        del slot
        return total > 0


class Empty:
    """Fails where there is no pod, unless there is none anywhere and the pod may be the first."""

    def __init__(self, *, may_be_first: bool) -> None:
        """Let the incoming pod go anywhere while there is none, if it `may_be_first`."""
        self._may_be_first = may_be_first
        self._is_any = False

    def every(self, totals: columns.FloatArray, present: columns.BoolArray) -> columns.BoolArray:
        """Return the domains without pods."""
        del present
        self._is_any = bool(totals.any())
        if self._may_be_first and not self._is_any:
            return np.zeros(len(totals), np.bool_)
        return np.equal(totals, 0)

    def one(self, slot: int, total: float) -> bool | None:
        """Return False where pods are; the first one and the last one may change everything."""
        del slot
        return False if total > 0 and self._is_any else None


class Skewed:
    """Fails where the skew would be too large (`spreading.violating_domains`)."""

    def __init__(self, *, own: int, max_skew: int, min_domains: int) -> None:
        """Take the arguments of `spreading.violating_domains`."""
        self._own = own
        self._max_skew = max_skew
        self._min_domains = min_domains
        self._totals: columns.FloatArray = np.zeros(1)
        self._is_eligible: columns.BoolArray = np.zeros(1, np.bool_)
        self._minimum = 0.0
        self._lowest = 0
        self._may_fail = True

    def every(self, totals: columns.FloatArray, present: columns.BoolArray) -> columns.BoolArray:
        """Return the domains in which the pod would make the skew too large."""
        self._totals, self._is_eligible = totals.copy(), present
        if np.count_nonzero(present) >= max(self._min_domains, 1):
            self._find_minimum()
        else:
            self._minimum = 0.0
            self._is_eligible = np.zeros(len(totals), np.bool_)
        found = spreading.violating_domains(
            totals,
            present,
            own=self._own,
            max_skew=self._max_skew,
            min_domains=self._min_domains,
        )
        self._may_fail = bool(found.any())
        return found

    def _find_minimum(self) -> None:
        eligible = self._totals[self._is_eligible]
        self._minimum = float(eligible.min())
        self._lowest = int(np.count_nonzero(eligible == self._minimum))

    def one(self, slot: int, total: float) -> bool | None:
        """Return whether the skew would be too large, None where the minimum is another one."""
        if self._is_eligible.item(slot):
            self._lowest -= self._totals.item(slot) == self._minimum
            self._lowest += total == self._minimum
            if total < self._minimum:
                return None
            self._totals[slot] = total
            if not self._lowest:
                if self._may_fail:
                    return None
                self._find_minimum()  # it is higher, so none of the others fails now
        else:
            self._totals[slot] = total
        is_failing = total + self._own - self._minimum > self._max_skew
        self._may_fail = self._may_fail or is_failing
        return is_failing
