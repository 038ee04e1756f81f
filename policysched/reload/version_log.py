"""Serve /debug/versions: versions in use and before, refused ones with reasons, the rollout.

A process remembers the versions that it has used and the outcomes of offers. The history ConfigMap,
if there is one, has the versions of earlier processes; it is read at most every ten seconds.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from policysched import clock as clocks
from policysched.framework.answers import rejections
from policysched.kube import errors
from policysched.observability.live_page import version_forms
from policysched.reload import history
from policysched.reload import state as states

ReadHistory = Callable[[], Awaitable[Mapping[str, bytes]]]
"""Returns the values of the history ConfigMap, empty if it does not exist; raises KubeError."""

_MOST_VERSIONS = 10
_MOST_EVENTS = 50
_MAX_ERROR_CHARACTERS = 8192
_AGE_SECONDS = 10.0
"""Maximum age of the history."""


class VersionLog:
    """Remembers versions and outcomes, and makes the page.

    Attributes:
        event_count: number of outcomes since the start.
    """

    def __init__(
        self,
        state: states.PolicyState,
        clock: clocks.Clock,
        history_name: str = "",
        read_history: ReadHistory | None = None,
    ) -> None:
        """Follow `state`; without `read_history`, only versions of this process are known."""
        self._state = state
        self._clock = clock
        self._history_name = history_name
        self._read_history = read_history
        self._used = deque([state.current], maxlen=_MOST_VERSIONS)
        self._events: deque[version_forms.VersionEvent] = deque(maxlen=_MOST_EVENTS)
        self._kept: list[version_forms.UsedVersion] = []
        self._problem = ""
        self._read_at_seconds = float("-inf")
        self.event_count = 0
        if state.current.texts:
            at = state.current.loaded_at.isoformat()
            loaded = states.OfferOutcome.LOADED.value
            self._events.append(version_forms.VersionEvent(at, loaded, state.current.hash, ""))
        if state.refused is not None:  # the process has started with an earlier version
            self._record(
                states.ReloadEvent(
                    states.OfferOutcome.REFUSED, state.refused.hash, state.refused.details
                )
            )
        state.listeners.append(self._record_event)

    def _record_event(self, event: states.ReloadEvent) -> None:
        if event.outcome is states.OfferOutcome.LOADED:
            self._used.append(self._state.current)
        self._record(event)

    def _record(self, event: states.ReloadEvent) -> None:
        self.event_count += 1
        text = rejections.cut(event.errors, _MAX_ERROR_CHARACTERS)
        at = self._clock.now().isoformat()
        rollout, stage = self._state.rollout, ""
        if event.outcome is states.OfferOutcome.STAGED and rollout is not None:
            stage = rollout.describe_stage()
        self._events.append(
            version_forms.VersionEvent(at, event.outcome.value, event.hash, text, stage)
        )

    async def make_page(self) -> version_forms.VersionsDocument:
        """Return all known versions and outcomes, newest first."""
        await self._refresh_history()
        state = self._state
        return version_forms.VersionsDocument(
            state.origin,
            state.is_frozen,
            list(state.current.warnings),
            make_refused_version(state),
            self._list_versions(),
            list(reversed(self._events)),
            self._history_name,
            self._problem,
            None
            if state.rollout is None
            else msgspec.convert(state.rollout.as_json(), version_forms.RolloutDocument),
        )

    def _list_versions(self) -> list[version_forms.UsedVersion]:
        """Return each version once: as this process used it, or as it is in the history."""
        current = self._state.current
        ours = [
            _make_used_version(each, self._state.origin, is_in_use=each is current)
            for each in reversed(self._used)
            if each.texts
        ]
        found = {each.hash: each for each in reversed([*ours, *self._kept])}
        return sorted(found.values(), key=lambda each: (each.in_use, each.loaded_at), reverse=True)

    async def _refresh_history(self) -> None:
        now_seconds = self._clock.monotonic_seconds()
        if self._read_history is None or now_seconds - self._read_at_seconds < _AGE_SECONDS:
            return
        self._read_at_seconds = now_seconds
        try:
            kept = await self._read_history()
        except errors.KubeError as error:
            self._problem = str(error)
            return
        self._problem = ""
        self._kept = [
            _make_kept_version(key, version)
            for key, version in history.decode_versions_newest_first(kept)
        ]


def make_refused_version(
    state: states.PolicyState, limit_characters: int = _MAX_ERROR_CHARACTERS
) -> version_forms.RefusedVersion | None:
    """Return the newest version if it is not used, with errors of at most `limit_characters`."""
    if state.refused is None:
        return None
    at = "" if state.refused_at is None else state.refused_at.isoformat()
    errors_text = rejections.cut(state.refused.details, limit_characters)
    return version_forms.RefusedVersion(state.refused.hash, at, errors_text, state.is_rolled_back)


def describe_running_rollout(state: states.PolicyState, limit_characters: int) -> str:
    """Return the new version and its stage in at most `limit_characters`, or ""."""
    rollout = state.running_rollout
    if rollout is None:
        return ""
    paused = ", paused" if rollout.is_paused else ""
    return rejections.cut(f"{rollout.describe()}{paused}", limit_characters)


def _make_used_version(
    version: states.VersionInUse, origin: str, *, is_in_use: bool
) -> version_forms.UsedVersion:
    texts = [version_forms.NamedText(each.name, each.text) for each in version.texts]
    at = _format_time(version.loaded_at)
    return version_forms.UsedVersion(version.hash, at, origin, is_in_use, texts)


def _make_kept_version(
    key: history.VersionKey, version: history.FormerVersion
) -> version_forms.UsedVersion:
    texts = [version_forms.NamedText(each.name, each.text) for each in version.texts]
    at = _format_time(key.loaded_at)
    return version_forms.UsedVersion(key.hash, at, version.origin, in_use=False, texts=texts)


def _format_time(time: datetime.datetime) -> str:
    """Return UTC, so that times can be compared as texts."""
    return time.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
