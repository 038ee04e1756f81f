"""Write each decision about a binding: two patches and an event."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from policysched.cluster.objects import time_text
from policysched.karmada import objects
from policysched.karmada.scheduler import attempt_outcomes, patches
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths

if TYPE_CHECKING:
    from policysched import clock as clocks
    from policysched.karmada.scheduler import binding_scheduler
    from policysched.karmada.steps import binding_decision
    from policysched.karmada_loop import acknowledgements

_log = logging.getLogger(__name__)

_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=3)
"""Few attempts, because the queue retries an unwritten binding with growing delays."""

_NAMESPACE_TERMINATING = "NamespaceTerminating"
_FORBIDDEN = 403


class BindingWriter:
    """Writes bindings through the API server."""

    def __init__(
        self,
        api: client.ApiClient,
        decisions: binding_scheduler.BindingScheduler,
        shown: acknowledgements.WriteAcknowledgements,
        clock: clocks.Clock,
    ) -> None:
        """Write the attempts of `decisions` through `api`, and report outcomes to `decisions`.

        `shown` records the versions that the watches have shown.
        """
        self._api = api
        self._decisions = decisions
        self._echoes = shown
        self._clock = clock

    async def write_attempt(self, attempt: binding_scheduler.BindingAttempt) -> None:
        """Write one attempt and report its outcome."""
        try:
            is_retried = await self._write_attempt_once(attempt)
        except errors.FencedWriteError:  # the next leader retries
            self._decisions.abandon_attempt(attempt)
        except asyncio.CancelledError:
            self._decisions.abandon_attempt(attempt)
            raise
        except Exception:  # noqa: BLE001 - a bug must not stop other writes, or lose this binding
            _log.exception("binding %s could not be written", attempt.binding.key)
            self._decisions.end_attempt(attempt, is_retried=True)
        else:
            self._decisions.end_attempt(attempt, is_retried=is_retried)

    async def _write_attempt_once(self, attempt: binding_scheduler.BindingAttempt) -> bool:
        """Write an attempt; return whether the queue must retry it."""
        decision = attempt.decision
        if decision is None:
            failure = await self._patch_status(
                attempt, patches.make_observed_generation_patch(attempt.binding)
            )
            return failure is not None and not failure.is_final
        if not self._decisions.needs_write_or_event(attempt):
            return False
        with self._echoes.track_written_binding(attempt.binding) as echo:
            newest, failure = await self._write_clusters(attempt)
            verdict = attempt_outcomes.derive_attempt_outcome(
                decision.result, [] if failure is None else [failure]
            )
            self._decisions.record_outcome_event(attempt, verdict)
            if newest is not None:
                await echo.wait_for_version(newest.metadata.resource_version)
        current = self._decisions.get_current_binding(attempt)
        if current is None:  # gone; a new object of that name is another binding
            return False
        if newest is not None:  # other writers may have changed conditions
            newest = msgspec.structs.replace(newest, status=current.status)
        patch = self._make_status_patch(attempt, decision, verdict, newest)
        last = await self._patch_status(attempt, patch)
        if any(each is not None and each.is_final for each in (failure, last)):
            return False
        return last is not None or (verdict.is_retried and not attempt.is_hopeless)

    async def _write_clusters(
        self, attempt: binding_scheduler.BindingAttempt
    ) -> tuple[objects.Binding | None, attempt_outcomes.WriteFailure | None]:
        """Write the clusters; return the written binding, if known, and the failure, if any."""
        if attempt.targets is None:
            return None, None
        return await self._send_merge_patch(
            attempt, patches.make_clusters_patch(attempt.binding, attempt.targets)
        )

    def _make_status_patch(
        self,
        attempt: binding_scheduler.BindingAttempt,
        decision: binding_decision.BindingDecision,
        verdict: attempt_outcomes.AttemptOutcome,
        newest: objects.Binding | None,
    ) -> patches.Patch:
        """Return the patch of the status, with the outcome and the affinity term."""
        binding, now = attempt.binding, time_text.format_rfc3339(self._clock.now())
        generation = self._decisions.find_generation_to_confirm(attempt, newest, now)
        patch = patches.make_condition_patch(
            binding, verdict.condition, now, newest, generation=generation
        )
        if attempt.targets is None:
            return patch
        return patches.merge_status_patches(
            patch, patches.make_affinity_term_patch(binding, decision.observed_affinity)
        )

    async def _patch_status(
        self, attempt: binding_scheduler.BindingAttempt, patch: patches.Patch
    ) -> attempt_outcomes.WriteFailure | None:
        _, failure = await self._send_merge_patch(attempt, patch, "/status")
        return failure

    async def _send_merge_patch(
        self, attempt: binding_scheduler.BindingAttempt, patch: patches.Patch, subresource: str = ""
    ) -> tuple[objects.Binding | None, attempt_outcomes.WriteFailure | None]:
        """Send a merge patch unless it is empty; return the new binding or the failure."""
        if not patch:
            return None, None
        binding, body = attempt.binding, msgspec.json.encode(patch)
        try:
            answer = await self._api.send_request(
                "PATCH",
                _make_binding_path(binding) + subresource,
                body,
                content_type=client.MERGE_PATCH,
                policy=_POLICY,
            )
            newest = decoding.decode_single_object(answer, objects.Binding)
        except errors.FencedWriteError:
            raise
        except errors.UndecodableAnswerError as error:
            _log.warning("the answer to a write of %s is not understood: %s", binding.key, error)
            return None, None
        except errors.KubeError as error:
            _log.warning("binding %s could not be written: %s", binding.key, error)
            return None, _make_write_failure(error)
        self._decisions.note_written_binding(attempt, newest)
        return newest, None


def _make_binding_path(binding: objects.Binding) -> str:
    meta = binding.metadata
    if binding.kind == "ResourceBinding":
        return paths.format_resource_binding_path(meta.namespace, meta.name)
    return paths.format_cluster_binding_path(meta.name)


def _make_write_failure(error: errors.KubeError) -> attempt_outcomes.WriteFailure:
    if not isinstance(error, errors.ApiError):
        return attempt_outcomes.WriteFailure(str(error))
    is_quota = error.status_code == _FORBIDDEN and error.reason == attempt_outcomes.QUOTA_EXCEEDED
    is_final = isinstance(error, errors.NotFoundError) or _NAMESPACE_TERMINATING in error.causes
    return attempt_outcomes.WriteFailure(error.message, is_quota=is_quota, is_final=is_final)
