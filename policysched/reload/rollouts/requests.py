"""Read the state of the newest rollout from the cluster, and request a change of a running one.

A request is an annotation of the policies' ConfigMap with the hash of the version that it is about.
Only the leader acts on it, and only while the rollout of this version runs.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

from policysched import errors
from policysched.kube import config_maps
from policysched.kube import errors as kube_errors
from policysched.reload import config_map_store
from policysched.reload import status_annotations as statuses
from policysched.reload.rollouts import rollout_store
from policysched.rollout import progress

Verb = Literal["pause", "resume", "promote", "abort"]

_VERBS = frozenset(get_args(Verb))
_ATTEMPTS = 5
"""Maximum number of attempts; schedulers occasionally write their status to the same object."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewestRollout:
    """The newest rollout, as it is stored in the cluster.

    Attributes:
        policies: the ConfigMap of the policies.
        state: the stored state of the rollout; None if there was none.
    """

    policies: config_maps.ConfigMap
    state: progress.RolloutState | None

    @property
    def running(self) -> progress.RolloutState | None:
        """The state of the running rollout, or None."""
        return self.state if self.state is not None and self.state.is_running else None

    @property
    def requested(self) -> str:
        """The verb of the request about the running rollout, or ""."""
        verb, _, version_hash = self._annotations.get(statuses.ROLLOUT_REQUEST, "").partition(" ")
        is_about_it = self.running is not None and version_hash == self.running.new_hash
        return verb if is_about_it and verb in _VERBS else ""

    @property
    def is_frozen(self) -> bool:
        """Whether a freeze holds the present stage."""
        return statuses.are_reloads_frozen(self._annotations)

    @property
    def _annotations(self) -> dict[str, str]:
        return self.policies.metadata.annotations


@dataclasses.dataclass(frozen=True, slots=True)
class RequestResult:
    """The result of a request.

    Attributes:
        state: the rollout that the request is about.
        is_written: whether the ConfigMap was changed; False if it had the request already.
        is_frozen: whether a freeze holds the present stage.
    """

    state: progress.RolloutState
    is_written: bool
    is_frozen: bool


class RolloutRequests:
    """Reads the state of the newest rollout, and writes requests."""

    def __init__(self, store: config_map_store.ConfigMapStore, policies: str, history: str) -> None:
        """Use the ConfigMaps `policies` and `history`, given as `NAMESPACE/NAME`."""
        self._store = store
        self._policies = policies
        self._rollouts = rollout_store.RolloutStore(store, history)

    async def read(self) -> NewestRollout:
        """Return the newest rollout.

        Raises:
            InputError: there is no ConfigMap of policies.
            KubeError: a ConfigMap cannot be read.
        """
        namespace, _, name = self._policies.partition("/")
        policies = await self._store.read_config_map(namespace, name)
        if policies is None:
            raise errors.InputError(f"configmap {self._policies}", "does not exist")
        return NewestRollout(policies, (await self._rollouts.read()).state)

    async def request(self, verb: Verb) -> RequestResult:
        """Write a request about the running rollout, unless another rollout begins meanwhile.

        Raises:
            InputError: no rollout runs, or the one that ran has ended meanwhile.
            ConflictError: other clients changed the ConfigMap during each attempt.
            KubeError: the write failed, or its outcome is unknown.
        """
        found = await self.read()
        first = self._get_running_rollout(found)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._write_request(verb, found)
            except kube_errors.ConflictError:
                if attempt == _ATTEMPTS:
                    raise
            found = await self.read()
            if self._get_running_rollout(found).new_hash != first.new_hash:
                raise errors.InputError(
                    f"configmap {self._policies}",
                    f"the rollout of {first.new_hash} has ended",
                    help="another one has begun; see `rollout status`",
                )
        raise AssertionError  # the last attempt returns or raises

    def _get_running_rollout(self, found: NewestRollout) -> progress.RolloutState:
        if found.running is not None:
            return found.running
        last = found.state
        ended = f"; the rollout of {last.new_hash} was {last.status.describe()}" if last else ""
        raise errors.InputError(f"configmap {self._policies}", f"no rollout is running{ended}")

    async def _write_request(self, verb: Verb, found: NewestRollout) -> RequestResult:
        """Write a request, unless the ConfigMap has it already."""
        state = self._get_running_rollout(found)
        wished = f"{verb} {state.new_hash}"
        present = found.policies.metadata.annotations.get(statuses.ROLLOUT_REQUEST)
        if present != wished:
            annotations = {statuses.ROLLOUT_REQUEST: wished}
            await self._store.change_config_map(found.policies, annotations=annotations)
        return RequestResult(state, is_written=present != wished, is_frozen=found.is_frozen)
