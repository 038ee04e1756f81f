"""Which version of the policies is in use, what became of others, and who wants to know."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import logging
from collections.abc import Callable
from typing import TypeAlias

from policysched.lang import source
from policysched.reload import versions

_log = logging.getLogger(__name__)


class OfferOutcome(enum.Enum):
    """What became of an offer.

    KEPT: it is the version in use already, whose place a bad one had taken, or that was frozen.
    """

    LOADED = "loaded"
    REFUSED = "refused"
    FROZEN = "frozen"
    KEPT = "kept"


@dataclasses.dataclass(frozen=True, slots=True)
class ReloadEvent:
    """What listeners are told.

    Attributes:
        outcome: what became of the offer.
        hash: of the offered version, "" where there were no texts.
        errors: why it was refused, as `check` shows it; "" otherwise.
        summary: the first of `errors`, on one line.
    """

    outcome: OfferOutcome
    hash: str
    errors: str = ""
    summary: str = ""


Listener: TypeAlias = Callable[[ReloadEvent], None]


@dataclasses.dataclass(frozen=True, slots=True)
class VersionInUse:
    """A version that decisions are made by.

    Attributes:
        hash: as in every decision.
        texts: what it is made of, empty without policies.
        loaded_at: since when.
        warnings: what its author should know, each on a line.
    """

    hash: str
    texts: tuple[source.SourceText, ...]
    loaded_at: datetime.datetime
    warnings: tuple[str, ...] = ()


def make_version_in_use(checked: versions.CheckedVersion, now: datetime.datetime) -> VersionInUse:
    """Return a version that decides from now on, and log what its author should know."""
    for warning in checked.warnings:
        _log.warning("policies: %s", warning)
    return VersionInUse(checked.hash, checked.texts, now, checked.warnings)


class PolicyState:
    """What is known about the policies of a running process.

    Attributes:
        origin: where they come from, such as `configmap NAMESPACE/NAME`.
        current: the version in use.
        refused: the newest version, if it is a bad one that is not in use.
        refused_at: since when.
        is_frozen: whether other versions are held back.
        reloads: how many versions were loaded and refused since the start.
        listeners: are told of every offer that changed something.
    """

    def __init__(self, origin: str, current: VersionInUse, *, is_frozen: bool = False) -> None:
        """Begin with a good version."""
        self.origin = origin
        self.current = current
        self.refused: versions.VersionRefusal | None = None
        self.refused_at: datetime.datetime | None = None
        self.is_frozen = is_frozen
        self.reloads: collections.Counter[OfferOutcome] = collections.Counter()
        self.listeners: list[Listener] = []

    def record_load(self, version: VersionInUse) -> None:
        """Note that another version is in use from now on."""
        self.current = version
        self.refused = self.refused_at = None
        self.reloads[OfferOutcome.LOADED] += 1
        self._notify_listeners(ReloadEvent(OfferOutcome.LOADED, version.hash))

    def record_refusal(self, refusal: versions.VersionRefusal, now: datetime.datetime) -> None:
        """Note that a version cannot be used."""
        self.refused, self.refused_at = refusal, now
        self.reloads[OfferOutcome.REFUSED] += 1
        self._notify_listeners(
            ReloadEvent(OfferOutcome.REFUSED, refusal.hash, refusal.details, refusal.summary)
        )

    def record_frozen(self, version_hash: str) -> None:
        """Note that a version is not looked at, because reloads are frozen."""
        self.refused = self.refused_at = None
        self._notify_listeners(ReloadEvent(OfferOutcome.FROZEN, version_hash))

    def record_unchanged(self) -> None:
        """Note that the version in use is what the source has."""
        self.refused = self.refused_at = None
        outcome = OfferOutcome.FROZEN if self.is_frozen else OfferOutcome.KEPT
        self._notify_listeners(ReloadEvent(outcome, self.current.hash))

    def _notify_listeners(self, told: ReloadEvent) -> None:
        for listener in self.listeners:
            try:
                listener(told)
            except Exception:  # noqa: BLE001 - logged, see below
                # Whoever only listens must not end reloads, nor keep others from being told.
                _log.exception("a listener failed at a version of the policies")
