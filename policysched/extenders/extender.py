"""One extender: which pods it is asked about, its requests, and what its answers mean.

Source: `pkg/scheduler/extender.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls, interest, replies, requests, settings
from policysched.framework import extender_answers, status

_POINTS_PER_SCORE = 10
"""A score of an extender is at most 10, one of a plugin 100 (extender/v1, MaxExtenderPriority)."""

_UNRESOLVABLE = status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE


@dataclasses.dataclass(frozen=True, slots=True)
class FilteredNodes:
    """The nodes that an extender accepted, and the texts about those that it rejected."""

    accepted: Sequence[str]
    rejections: Mapping[str, status.Status]


class Extender:
    """One extender; each method sends one request.

    Attributes:
        settings: as configured.
    """

    def __init__(
        self,
        configured: settings.ExtenderSettings,
        caller: calls.ExtenderCaller,
        texts: requests.KnownObjects,
    ) -> None:
        """Send requests by `caller`, with the objects in `texts`."""
        self.settings = configured
        self._caller = caller
        self._encoder = requests.RequestEncoder(texts, sends_names=configured.node_cache_capable)
        self._resources = interest.collect_managed_resources(configured)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.settings.name

    def is_interested(self, pod: pod_shape.PodInfo) -> bool:
        """Return whether the pod requests a resource that the extender manages."""
        return interest.is_interested(self._resources, pod.pod)

    async def filter_nodes(self, pod: pod_shape.PodInfo, names: Sequence[str]) -> FilteredNodes:
        """Ask which of some nodes the extender accepts.

        Raises:
            ExtenderError: the call failed, or the answer is an error or names other nodes.
        """
        body = self._encoder.encode_nodes(pod, names)
        reply = replies.decode_filter(await self._caller.post(self.settings.filter_verb, body))
        if reply.error:
            raise calls.ExtenderError(reply.error)
        rejections = {
            **_make_rejections(reply.failed, status.Code.UNSCHEDULABLE),
            **_make_rejections(reply.unresolvable, _UNRESOLVABLE),
        }
        return FilteredNodes(self._find_accepted(reply, names), rejections)

    def _find_accepted(self, reply: replies.FilterReply, names: Sequence[str]) -> list[str]:
        """Return the nodes that remain, without duplicates."""
        if not self.settings.node_cache_capable or reply.node_names is None:
            return list(dict.fromkeys(reply.node_list_names or ()))
        sent = frozenset(names)
        for name in reply.node_names:
            if name not in sent:
                raise calls.ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in '
                    "the input node list"
                )
        return list(dict.fromkeys(reply.node_names))

    async def score_nodes(
        self, pod: pod_shape.PodInfo, names: Sequence[str]
    ) -> list[tuple[str, int]]:
        """Ask for scores; return pairs of a node's name and its score.

        Raises:
            ExtenderError: the call failed.
        """
        body = self._encoder.encode_nodes(pod, names)
        answer = await self._caller.post(self.settings.prioritize_verb, body)
        return replies.decode_points(answer)

    @property
    def points_per_score(self) -> int:
        """What a score is multiplied by."""
        return self.settings.weight * _POINTS_PER_SCORE

    async def choose_victims(
        self,
        pod: pod_shape.PodInfo,
        victims: extender_answers.VictimsByNode,
        take_snapshot: Callable[[], snapshot.Snapshot],
    ) -> extender_answers.VictimsByNode:
        """Ask which candidates of preemption remain, and with which victims.

        The answer is compared with the pods that are placed when it arrives.

        Raises:
            ExtenderError: the call failed, or the answer names unknown nodes or pods, or a node
                without victims although the extender is not ignorable.
        """
        body = self._encoder.encode_victims(pod, victims)
        reply = replies.decode_victims(await self._caller.post(self.settings.preempt_verb, body))
        snap = take_snapshot()
        found = {name: self._find_victims(name, node, snap) for name, node in reply.items()}
        for name, node in found.items():
            if not node.pods and not self.settings.ignorable:
                raise calls.ExtenderError(f'expected at least one victim pod on node "{name}"')
        return {name: node for name, node in found.items() if node.pods}

    def _find_victims(
        self, name: str, victims: replies.MetaVictims, snap: snapshot.Snapshot
    ) -> extender_answers.NodeVictims:
        row = snap.nodes.row_of.get(name)
        if row is None or not snap.is_alive[row]:
            raise calls.ExtenderError(f'nodeinfo not found for node name "{name}"')
        placed = {pod.uid: pod for pod in snap.placed.get_pods(row)}
        for uid in victims.uids:
            if uid not in placed:
                raise calls.ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: "
                    f"{name}, but the pod is not found on that node"
                )
        pods = tuple(placed[uid] for uid in victims.uids)
        return extender_answers.NodeVictims(pods, victims.violations)

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Let the extender bind the pod.

        Raises:
            ExtenderError: the call failed, or the answer is an error; the pod may be bound.
        """
        body = self._encoder.encode_binding(pod, node_name)
        answer = await self._caller.post(self.settings.bind_verb, body)
        error = replies.decode_binding_error(answer)
        if error:
            raise calls.ExtenderError(error)


def _make_rejections(texts: Mapping[str, str], code: status.Code) -> dict[str, status.Status]:
    return {
        name: status.Status(code, (text,), extender_answers.EXTENDER)
        for name, text in texts.items()
    }
