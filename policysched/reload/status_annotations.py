"""Annotations of the policies' ConfigMap: requests by operators, and the scheduler's status.

The status is written when it changes in this process or a term begins, but not whenever it differs
from the object: two schedulers with one ConfigMap and different params must not overwrite each
other's status endlessly.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

from policysched.kube import config_maps, errors
from policysched.reload import config_map_store, retries
from policysched.reload import state as states

_log = logging.getLogger(__name__)

FREEZE = "policysched.io/freeze"
"""Set by operators to keep the version in use; see `are_reloads_frozen`."""
ROLLBACK = "policysched.io/rollback"
"""Hash, with or without params, of the version that is loaded even while reloads are frozen."""
ROLLOUT_REQUEST = "policysched.io/rollout-request"
"""Request of an operator about a rollout: a verb such as `pause`, and the hash of the version."""
HASH = "policysched.io/hash"
"""Hash of the version in use."""
STATUS = "policysched.io/status"
"""Outcome of the newest version: `ok`, `rollout`, `rolledBack`, `refused` or `frozen`."""
ROLLOUT = "policysched.io/rollout"
"""Hash and stage of the version in a rollout."""
ERRORS = "policysched.io/errors"
"""Errors of the refused version, or the reason of a rollback; at most MAX_ERRORS_BYTES."""
WARNINGS = "policysched.io/warnings"
"""Warnings about the version in use, one line each."""

MAX_ERRORS_BYTES = 4096
"""Limit of an annotation's text; all annotations of an object share 256 KiB."""
_CUT_MARK = "\n..."
_LOOK_SECONDS = 1.0
"""Interval at which a process with an unwritten status checks whether it may write."""


class WatchedConfigMap:
    """The ConfigMap that contains the policies, as a watch shows it.

    Attributes:
        latest: the object as last seen, or None if it does not exist.
        last: the object as last seen, even after its deletion.
        on_bare: called when the object lacks the status annotations, for example after
            `kubectl replace`.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[config_maps.ConfigMap | None]],
        rng: random.Random,
    ) -> None:
        """Begin without an object; `read` reads the present one, or raises KubeError."""
        self._read = read
        self._rng = rng
        self.latest: config_maps.ConfigMap | None = None
        self.last: config_maps.ConfigMap | None = None
        self.on_bare: Callable[[], None] = lambda: None

    async def catch_up(self) -> None:
        """Wait until the watch has shown the present object, and the API server has confirmed it.

        The watch can be behind, for example when this process begins to lead.
        """
        failures = retries.RequestRetries("the ConfigMap of the policies", self._rng, "read")
        while True:
            try:
                present = await self._read()
            except errors.KubeError as error:
                await asyncio.sleep(failures.record_failure(error))
                continue
            if _get_resource_version(present) == _get_resource_version(self.latest):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def record_state(self, config_map: config_maps.ConfigMap | None) -> None:
        """Record the present object, or None if it does not exist."""
        self.latest = config_map
        self.last = config_map or self.last
        if config_map is not None and lacks_version_hash(config_map):
            self.on_bare()


def _get_resource_version(config_map: config_maps.ConfigMap | None) -> str:
    return "" if config_map is None else config_map.metadata.resource_version


def make_status_annotations(
    state: states.PolicyState, present: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the changes of the annotations `present` for a state; None removes an annotation.

    A request that is not about the running rollout is removed. It would otherwise act as soon as
    its version is tried again.
    """
    refused, rollout = state.refused, state.running_rollout
    annotations: dict[str, str | None] = {
        HASH: state.current.hash,
        STATUS: _choose_status(state),
        ROLLOUT: None if rollout is None else rollout.describe(),
        ERRORS: truncate_with_ellipsis(refused.details) if refused else None,
        WARNINGS: truncate_with_ellipsis("\n".join(state.current.warnings)) or None,
    }
    request = present.get(ROLLOUT_REQUEST, "")
    if not state.is_rollout_stored:
        return _keep_rollout_annotations(annotations, present)
    if rollout is None or (request and not request.endswith(f" {rollout.new_hash}")):
        annotations[ROLLOUT_REQUEST] = None
    return annotations


def _keep_rollout_annotations(
    wished: dict[str, str | None], present: Mapping[str, str]
) -> dict[str, str | None]:
    """Return changes without those of a rollout that the process does not know, or has to store."""
    kept = {ROLLOUT}
    is_told = wished[STATUS] == "ok" or wished[ERRORS] == present.get(ERRORS)
    if is_told and present.get(STATUS) in {"rollout", "rolledBack"}:
        kept |= {STATUS, ERRORS}
    return {key: value for key, value in wished.items() if key not in kept}


def _choose_status(state: states.PolicyState) -> str:
    if state.is_frozen:
        return "frozen"
    if state.running_rollout is not None:
        return "rollout"
    if state.refused is None:
        return "ok"
    return "rolledBack" if state.is_rolled_back else "refused"


def truncate_with_ellipsis(text: str) -> str:
    """Return the text, truncated with an ellipsis to MAX_ERRORS_BYTES."""
    encoded = text.encode()
    if len(encoded) <= MAX_ERRORS_BYTES:
        return text
    return encoded[: MAX_ERRORS_BYTES - len(_CUT_MARK)].decode(errors="ignore") + _CUT_MARK


class StatusAnnotationWriter:
    """Writes the state of the policies to annotations while this process leads."""

    def __init__(
        self,
        state: states.PolicyState,
        followed: WatchedConfigMap,
        store: config_map_store.ConfigMapStore,
        is_leading: Callable[[], bool],
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Annotate the ConfigMap `followed` with `state`, initially and after each request."""
        self._state = state
        self._followed = followed
        self._store = store
        self._is_leading = is_leading
        self._sleep = sleep
        self._retries = retries.RequestRetries("the status of the policies", rng)
        self._news = asyncio.Event()
        self._news.set()
        self._written: tuple[str, config_maps.Changes] | None = None  # with the uid of the object

    def request_write(self) -> None:
        """Request a write: the state has changed, or the annotations may have been removed."""
        self._news.set()

    async def run(self) -> NoReturn:
        """Write requested status changes until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while pause_seconds := await self._write_once():
                await self._wait_for_write_request(pause_seconds)
                self._news.clear()

    async def _wait_for_write_request(self, seconds: float) -> None:
        """Wait until a write is requested, for at most `seconds`."""
        waiting = [
            asyncio.ensure_future(each) for each in (self._sleep(seconds), self._news.wait())
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    async def _write_once(self) -> float:
        """Try to write; return the seconds until the next attempt, or 0 to wait for a request."""
        target = self._followed.latest
        if target is None or target.metadata.deletion_timestamp:
            return 0.0  # a new object will request a write
        wished = make_status_annotations(self._state, target.metadata.annotations)
        # No event reports that the rollout is stored.
        pause_seconds = 0.0 if self._state.is_rollout_stored else _LOOK_SECONDS
        if not self._is_leading():
            self._written = None
            is_present = _has_annotations(target.metadata.annotations, wished)
            return pause_seconds if is_present else _LOOK_SECONDS
        if self._are_annotations_present(target, wished):
            return pause_seconds
        try:
            await self._store.annotate_config_map(target, wished)
        except errors.FencedWriteError:
            return _LOOK_SECONDS
        except errors.KubeError as error:
            return self._retries.record_failure(error)
        self._written = (target.metadata.uid, wished)
        self._retries.record_success()
        return pause_seconds

    def _are_annotations_present(
        self, target: config_maps.ConfigMap, wished: config_maps.Changes
    ) -> bool:
        """Return whether the server has these annotations; the watch may be behind our writes."""
        if self._written is not None and self._written[0] == target.metadata.uid:
            # The watch may still show a state from before our last write, and this state may happen
            # to equal `wished`.
            return self._written[1] == wished and not lacks_version_hash(target)
        return _has_annotations(target.metadata.annotations, wished)


def are_reloads_frozen(annotations: Mapping[str, str]) -> bool:
    """Return whether the annotation freezes reloads: every value except `false` does.

    Values such as `yes` or `True`, written in an emergency, must not be ignored.
    """
    value = annotations.get(FREEZE)
    return value is not None and value.strip().lower() != "false"


def lacks_version_hash(config_map: config_maps.ConfigMap) -> bool:
    """Return whether the annotation HASH is missing, as after `kubectl replace`."""
    return HASH not in config_map.metadata.annotations


def _has_annotations(present: Mapping[str, str], wished: config_maps.Changes) -> bool:
    return all(present.get(key) == value for key, value in wished.items())
