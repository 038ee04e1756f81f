"""Reload policies: check new versions in a thread, and swap them between two cycles.

    source ─ offer ▶ check, lint, compile (thread) ▶ plugins, frameworks (loop) ▶ use_version
                          └─ errors ───────────────────────┴─▶ refused: the version in use stays

A version is used entirely or not at all. While a version is being checked, only the newest offer is
kept; offers in between are never considered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Generic, NoReturn, Protocol, TypeVar

from policysched import clock as clocks
from policysched import errors, process
from policysched.framework import handles
from policysched.observability import logs
from policysched.profiles import policies
from policysched.reload import state as states
from policysched.reload import versions

_log = logging.getLogger("policysched")

QUIET_SECONDS = 5.0
"""Time without new offers after which the memory of previous versions is freed."""
RETRY_SECONDS = 60.0
"""Interval between attempts to use a good version that cannot be used at the moment."""


_Made = TypeVar("_Made")
_Used_contra = TypeVar("_Used_contra", contravariant=True)


class ReloadTarget(Protocol[_Used_contra]):
    """The consumer of the version in use; see `LiveProfiles`."""

    def use_version(self, policy_set: policies.PolicySet, made: _Used_contra, /) -> None:
        """Use the object that `make` created from a version.

        Raises:
            InputError: the object cannot be used at the moment; nothing has changed.
        """
        ...

    async def wait_for_metrics(self, news: asyncio.Event | None = None) -> None:
        """Pause decisions until new metrics have been queried or `news` is set."""
        ...


class VersionStages(Protocol[_Used_contra]):
    """Puts versions in force in stages; see `rollouts.controller.RolloutController`."""

    def takes_version(
        self, checked: versions.CheckedVersion, offer: versions.OfferedVersion, /
    ) -> bool:
        """Return whether a version passes stages instead of being in force at once."""
        ...

    def continues(self, version_hash: str, /) -> bool:
        """Return whether a version is in a stage, which a freeze holds."""
        ...

    def stage_version(self, checked: versions.CheckedVersion, made: _Used_contra, /) -> None:
        """Begin the stages of a version.

        Raises:
            InputError: the version cannot be used at the moment; nothing has changed.
        """
        ...


def make_profiles_factory(
    make_handle: Callable[[versions.CheckedVersion], handles.Handle],
) -> Callable[[versions.CheckedVersion], policies.Profiles]:
    """Return a function that makes the profiles of a version; `make_handle` is for its plugins."""

    def make(checked: versions.CheckedVersion) -> policies.Profiles:
        return policies.require_profiles(
            policies.make_profiles(checked.policy_set, make_handle(checked), checked.compiled)
        )

    return make


class Reloader(Generic[_Made]):
    """Loads the versions that a source offers.

    Attributes:
        state: the version in use, and the outcomes of offers.
        is_busy: whether an offer waits or is being considered.
        is_hindered: whether a good version cannot be used at the moment, and is retried.
        stages: puts versions in force in stages; None for at once.
    """

    def __init__(
        self,
        checker: versions.VersionChecker,
        state: states.PolicyState,
        live: ReloadTarget[_Made],
        make: Callable[[versions.CheckedVersion], _Made],
        clock: clocks.Clock,
        *,
        known: versions.OfferedVersion,
    ) -> None:
        """Create a reloader that does nothing until `run` is called.

        Args:
            checker: checks and compiles versions.
            state: contains the version that `live` uses at the start.
            live: receives the versions to use.
            make: creates from a version the object that `live` uses, or raises InputError.
            clock: provides load times; its monotonic time measures durations.
            known: the version of the source that is in force at the start, or is refused.
        """
        self.state = state
        self.is_busy = False
        self.stages: VersionStages[_Made] | None = None
        self.is_hindered = False
        self._checker = checker
        self._live = live
        self._make = make
        self._clock = clock
        self._offered = asyncio.Event()
        self._newest = known
        self._considered = self._make_comparison_key(known)

    def submit_offer(self, offer: versions.OfferedVersion) -> None:
        """Accept the current version of the source; it replaces an offer not yet considered."""
        self._newest = offer
        if self._make_comparison_key(offer) != self._considered:
            self.is_busy = True
            self._offered.set()

    async def run(self) -> NoReturn:
        """Load offered versions until cancelled."""
        while True:
            await self._wait_for_offer(RETRY_SECONDS if self.is_hindered else None)
            self._offered.clear()
            await self._consider_offer(self._newest)
            self.is_busy = self._offered.is_set()
            await self._wait_for_offer(QUIET_SECONDS)
            if not self._offered.is_set():
                process.collect_garbage_cycles()

    async def _wait_for_offer(self, seconds: float | None) -> None:
        """Wait for the next offer, for at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._offered.wait()

    async def _consider_offer(self, offer: versions.OfferedVersion) -> None:
        """Load an offer if it is new, permitted, and not the version in use."""
        essence = self._make_comparison_key(offer)
        if essence == self._considered and not self.is_hindered:
            return
        self._considered, self.is_hindered = essence, False
        version_hash = self._checker.compute_hash(offer.texts)
        if offer.is_frozen != self.state.is_frozen:
            change = "frozen" if offer.is_frozen else "no longer frozen"
            _log.warning(
                "reloads are %s %s", change, logs.format_log_fields(hash=self._current_hash)
            )
        self.state.is_frozen = offer.is_frozen
        self.state.declares_stages = self._checker.declares_stages(offer)
        if version_hash == self.state.current.hash and not offer.problem:
            self._record_unchanged_version()
            refusal = self._checker.check_rollout(offer)
            if refusal is not None:
                self._refuse_version(refusal)
        elif self._is_held_by_freeze(offer) and not self._is_in_stage(version_hash):
            self._hold_back(version_hash)
        else:
            await self._load_version(offer)

    def _is_held_by_freeze(self, offer: versions.OfferedVersion) -> bool:
        return offer.is_frozen and not self._checker.is_requested_by_rollback(offer)

    def _is_in_stage(self, version_hash: str) -> bool:
        return self.stages is not None and self.stages.continues(version_hash)

    def _hold_back(self, version_hash: str) -> None:
        _log.warning("reloads are frozen: %s is held back", _format_version(version_hash))
        self.state.record_frozen_offer(version_hash)

    def _make_comparison_key(self, offer: versions.OfferedVersion) -> tuple[object, ...]:
        """Return the parts of an offer that must differ for it to count as new."""
        texts = self._checker.compute_hash(offer.texts)
        # The target of a rollback matters only during a freeze.
        demanded = offer.is_frozen and offer.demanded
        return (texts, offer.problem, offer.is_frozen, demanded, offer.rollout_text)

    def _record_unchanged_version(self) -> None:
        if self.state.refused is not None:
            _log.info(
                "the policies equal the version in use again %s",
                logs.format_log_fields(hash=self._current_hash),
            )
        self.state.record_unchanged_offer()

    async def _load_version(self, offer: versions.OfferedVersion) -> None:
        """Check an offered version in a thread; use it, or record its refusal."""
        started_seconds = self._clock.monotonic_seconds()
        found = await process.run_in_thread(lambda: self._checker.check_version(offer))
        if isinstance(found, versions.VersionRefusal):
            self._refuse_version(found)
            return
        is_staged = self._passes_stages(found, offer)
        if not is_staged and self._is_held_by_freeze(offer):  # its stages were removed
            self._hold_back(found.hash)
            return
        if is_staged:
            self.state.forget_refusal_of_others(found.hash)
        refusal = self._use_version(found, is_staged=is_staged)
        if refusal is not None:
            self._refuse_version(refusal)
        elif not is_staged:
            self._record_loaded_version(found, started_seconds)
        if refusal is None:
            # A corrected version must not wait for metrics that only this version needs.
            await self._live.wait_for_metrics(self._offered)

    def _passes_stages(
        self, found: versions.CheckedVersion, offer: versions.OfferedVersion
    ) -> bool:
        """Return whether a version passes stages; the target of a rollback never does."""
        if self.stages is None or self._checker.is_requested_by_rollback(offer):
            return False
        return self.stages.takes_version(found, offer)

    def _record_loaded_version(
        self, found: versions.CheckedVersion, started_seconds: float
    ) -> None:
        seconds = self._clock.monotonic_seconds() - started_seconds
        _log.info(
            "policies reloaded %s",
            logs.format_log_fields(
                hash=found.hash, former=self._current_hash, seconds=f"{seconds:.3f}"
            ),
        )
        self.state.record_loaded_version(states.make_version_in_use(found, self._clock.now()))

    def _refuse_version(self, refusal: versions.VersionRefusal) -> None:
        """Log and record a refusal, unless it repeats the last refusal."""
        if self.state.is_known_refusal(refusal):
            return
        _log.error(
            "%s is refused, %s stays in use: %s",
            _format_version(refusal.hash),
            _format_version(self._current_hash),
            refusal.details,
        )
        self.state.record_refusal(refusal, self._clock.now())

    def _use_version(
        self, checked: versions.CheckedVersion, *, is_staged: bool
    ) -> versions.VersionRefusal | None:
        """Make and use the profiles of a version between two cycles, or return its refusal."""
        try:
            made = self._make(checked)
        except errors.InputError as error:
            return versions.make_version_refusal(checked.hash, error)
        try:
            if self.stages is not None and is_staged:
                self.stages.stage_version(checked, made)
            else:
                self._live.use_version(checked.policy_set, made)
        except errors.InputError as error:  # a missing permission may be granted later
            self.is_hindered = True
            return versions.make_version_refusal(checked.hash, error)
        return None

    @property
    def _current_hash(self) -> str:
        return self.state.current.hash


def _format_version(version_hash: str) -> str:
    return f"version {version_hash}" if version_hash else "the current content of the source"
