"""The version of the policies in use, and the outcomes of offered versions."""

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
from policysched.rollout import progress

_log = logging.getLogger(__name__)


class OfferOutcome(enum.Enum):
    """The outcome of an offer.

    KEPT: the offer is the version in use again, after a refused offer or a freeze.
    STAGED: the version begins a rollout, or enters its next stage.
    ROLLED_BACK: the version was rolled back in a rollout.
    """

    LOADED = "loaded"
    REFUSED = "refused"
    FROZEN = "frozen"
    KEPT = "kept"
    STAGED = "staged"
    ROLLED_BACK = "rolledBack"


@dataclasses.dataclass(frozen=True, slots=True)
class ReloadEvent:
    """The outcome of an offer, for listeners.

    Attributes:
        outcome: what happened to the version.
        hash: the hash of the offered version, or "" if there were no texts.
        errors: the errors of a refused version, as `check` prints them, or the reason of a
            rollback; "" otherwise.
        summary: the first of `errors`, on one line.
    """

    outcome: OfferOutcome
    hash: str
    errors: str = ""
    summary: str = ""


Listener: TypeAlias = Callable[[ReloadEvent], None]


@dataclasses.dataclass(frozen=True, slots=True)
class VersionInUse:
    """The version of the policies that decisions use.

    Attributes:
        hash: the version's hash, as in every decision.
        texts: the policy texts; empty without policies.
        loaded_at: when the version took effect.
        warnings: the warnings for the author, one line each.
    """

    hash: str
    texts: tuple[source.SourceText, ...]
    loaded_at: datetime.datetime
    warnings: tuple[str, ...] = ()


def make_version_in_use(checked: versions.CheckedVersion, now: datetime.datetime) -> VersionInUse:
    """Return a version that takes effect now, and log its warnings."""
    for warning in checked.warnings:
        _log.warning("policies: %s", warning)
    return VersionInUse(checked.hash, checked.texts, now, checked.warnings)


class PolicyState:
    """The state of the policies of a running process.

    Attributes:
        origin: the source of the policies, such as `configmap NAMESPACE/NAME`.
        current: the version in use.
        refused: why the newest version is not used: it was refused or rolled back; None if it
            was neither.
        refused_at: time of the refusal or of the rollback.
        is_frozen: whether other versions are held back.
        declares_stages: whether the newest offer declares stages, whatever became of its version.
        rollout: the newest rollout, or None; its end does not remove it. Only the leader has one.
        is_rollout_stored: whether the cluster has `rollout`, or there is none. Otherwise the
            annotations about it stay as they are, such as the request of an operator.
        reloads: number of loaded and of refused versions since the start.
        listeners: called with every offer that changed this state.
    """

    def __init__(
        self,
        origin: str,
        current: VersionInUse,
        *,
        is_frozen: bool = False,
        declares_stages: bool = False,
    ) -> None:
        """Start with the good version `current` from the source `origin`."""
        self.origin = origin
        self.current = current
        self.refused: versions.VersionRefusal | None = None
        self.refused_at: datetime.datetime | None = None
        self.is_frozen = is_frozen
        self.declares_stages = declares_stages
        self.rollout: progress.RolloutState | None = None
        self.is_rollout_stored = True
        self.reloads: collections.Counter[OfferOutcome] = collections.Counter()
        self.listeners: list[Listener] = []

    @property
    def running_rollout(self) -> progress.RolloutState | None:
        """The newest rollout of this process if it has not ended, or None."""
        return self.rollout if self.rollout is not None and self.rollout.is_running else None

    @property
    def annotates_pods(self) -> bool:
        """Whether bindings annotate pods with their version: guards find pods by it.

        A running rollout continues while the settings of rollouts have errors.
        """
        return self.declares_stages or self.running_rollout is not None

    def record_loaded_version(self, version: VersionInUse) -> None:
        """Record that another version took effect, which is the newest one."""
        self.refused = self.refused_at = None
        self.record_promoted_version(version)

    def record_promoted_version(self, version: VersionInUse) -> None:
        """Record that a version has passed its stages; a later edit may be refused meanwhile."""
        self.current = version
        self._forget_refusal_of(version.hash)
        self.reloads[OfferOutcome.LOADED] += 1
        self._notify_listeners(ReloadEvent(OfferOutcome.LOADED, version.hash))

    def forget_refusal_of_others(self, version_hash: str) -> None:
        """Forget why another version was refused: the newest offer is a good version."""
        if self.refused is not None and self.refused.hash != version_hash:
            self.refused = self.refused_at = None

    def _forget_refusal_of(self, version_hash: str) -> None:
        if self.refused is not None and self.refused.hash == version_hash:
            self.refused = self.refused_at = None

    def is_known_refusal(self, refusal: versions.VersionRefusal) -> bool:
        """Return whether a refusal repeats the last one, because a version was tried again."""
        last = self.refused
        return last is not None and (last.hash, last.details) == (refusal.hash, refusal.details)

    def record_refusal(self, refusal: versions.VersionRefusal, now: datetime.datetime) -> None:
        """Record that a version cannot be used."""
        self.refused, self.refused_at = refusal, now
        self.reloads[OfferOutcome.REFUSED] += 1
        self._notify_listeners(
            ReloadEvent(OfferOutcome.REFUSED, refusal.hash, refusal.details, refusal.summary)
        )

    @property
    def is_rolled_back(self) -> bool:
        """Whether the newest version was rolled back in a rollout."""
        return (
            self.refused is not None
            and self.rollout is not None
            and self.rollout.status is progress.RolloutStatus.ROLLED_BACK
            and self.refused.hash == self.rollout.new_hash
        )

    def record_staged_version(self, version_hash: str) -> None:
        """Record that a version begins a rollout, or enters its next stage."""
        self._forget_refusal_of(version_hash)
        self._notify_listeners(ReloadEvent(OfferOutcome.STAGED, version_hash))

    def record_rolled_back_version(
        self, refusal: versions.VersionRefusal, now: datetime.datetime
    ) -> None:
        """Record that a version was rolled back."""
        self.refused, self.refused_at = refusal, now
        self._notify_listeners(
            ReloadEvent(OfferOutcome.ROLLED_BACK, refusal.hash, refusal.details, refusal.summary)
        )

    def record_frozen_offer(self, version_hash: str) -> None:
        """Record that a version was not considered, because reloads are frozen."""
        self.refused = self.refused_at = None
        self._notify_listeners(ReloadEvent(OfferOutcome.FROZEN, version_hash))

    def record_unchanged_offer(self) -> None:
        """Record that the source offers the version in use again."""
        self.refused = self.refused_at = None
        outcome = OfferOutcome.FROZEN if self.is_frozen else OfferOutcome.KEPT
        self._notify_listeners(ReloadEvent(outcome, self.current.hash))

    def _notify_listeners(self, event: ReloadEvent) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - logged, see below
                # A failing listener must not stop reloads or the calls of other listeners.
                _log.exception("a listener failed on a version of the policies")
