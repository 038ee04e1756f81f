"""Carry out moves in a cluster: store those of the loop guard in a ConfigMap, and evict pods."""

from __future__ import annotations

from policysched import errors
from policysched.auditing import loop_guard, moving
from policysched.cluster.pods import pod_shape
from policysched.kube import config_maps
from policysched.kube import errors as kube_errors
from policysched.kube.http import client
from policysched.kube.writing import api_eviction

_GUARD_KEY = "moves"


class ConfigMapGuardStore:
    """Stores the moves of the loop guard in a ConfigMap, which is part of the installation.

    It implements `moving.GuardStore`.
    """

    def __init__(self, api: config_maps.ConfigMapClient, name: str, *, is_required: bool) -> None:
        """Use the ConfigMap `name`, given as `NAMESPACE/NAME`.

        Unless it `is_required`, a missing ConfigMap is one without moves.
        """
        self._config_maps = api
        self._name = name
        self._is_required = is_required
        self._known: config_maps.ConfigMap | None = None

    async def read(self) -> list[loop_guard.WorkloadMove]:
        """Return the moves.

        Raises:
            InputError: the ConfigMap is invalid, or is missing although it is required.
            KubeError: it cannot be read.
        """
        namespace, _, name = self._name.partition("/")
        where = f"configmap {self._name}"
        found = await self._config_maps.read_config_map(namespace, name)
        if found is None and not self._is_required:
            return []
        if found is None:
            raise errors.InputError(
                where,
                "does not exist, so the loop guard cannot record moves",
                help="create it, or install deploy/components/audit-evict",
            )
        moves = loop_guard.decode_moves(found.data.get(_GUARD_KEY, ""), where)
        self._known = found  # only now: a write must not replace invalid moves
        return moves

    async def write(self, guard: loop_guard.LoopGuard) -> None:
        """Write the moves, unless the ConfigMap has changed since it was read or written.

        Raises:
            GuardConflictError: it has changed.
            KubeError: it was not written, or the outcome is unknown.
        """
        assert self._known is not None  # noqa: S101 - it is read before the first move
        text = loop_guard.encode_moves(guard.moves)
        try:
            # Without its answer, the next write would not notice writes of others after this one.
            self._known = await self._config_maps.change_config_map(
                self._known, data={_GUARD_KEY: text}
            )
        except kube_errors.ConflictError as error:
            raise moving.GuardConflictError(f"configmap {self._name} has changed") from error


class ApiViolatorEvictor:
    """Evicts pods through the Eviction API; it implements `moving.PodEvictor`."""

    def __init__(self, api: client.ApiClient) -> None:
        self._client = api_eviction.EvictionClient(api)

    async def evict(self, pod: pod_shape.PodInfo) -> None:
        """Evict a pod.

        Raises:
            EvictionRefusedError: a disruption budget allows no eviction, or the pod no longer
                exists.
            EvictionNotMadeError: the pod was certainly not evicted for another reason.
            KubeError: the eviction failed, or its outcome is unknown.
        """
        try:
            await self._client.create_eviction(pod.pod.metadata)
        except (kube_errors.TooManyRequestsError, kube_errors.ConflictError) as error:
            raise moving.EvictionRefusedError(error.message) from error
        except kube_errors.NotFoundError as error:
            raise moving.EvictionRefusedError("the pod no longer exists") from error
        except kube_errors.KubeError as error:
            if _may_have_evicted(error):
                raise
            raise moving.EvictionNotMadeError(str(error)) from error


def _may_have_evicted(error: kube_errors.KubeError) -> bool:
    """Return whether a failed request may have had an effect."""
    match error:
        case kube_errors.TransportError():
            return error.may_have_arrived
        case kube_errors.ApiError():
            return isinstance(error, kube_errors.ServerError)
        case _:
            return not isinstance(error, kube_errors.CredentialError)
