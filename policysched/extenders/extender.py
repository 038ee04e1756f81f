"""One extender: which pods it is asked about, its requests, and what its answers mean.

Source: `pkg/scheduler/extender.go`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls, interest, measurements, replies, requests, settings
from policysched.framework import extender_answers, status

_POINTS_PER_SCORE = 10
"""A score of an extender is at most 10, one of a plugin 100 (extender/v1, MaxExtenderPriority)."""

_T = TypeVar("_T")

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
        pods: requests.TextLookup,
        nodes: requests.TextLookup,
        measured: measurements.CallMeasurements,
    ) -> None:
        """Send requests by `caller`, with the JSON of pods and nodes, and measure them."""
        self.settings = configured
        self._measured = measured
        self._caller = caller
        self._encoder = requests.RequestEncoder(
            pods, nodes, sends_names=configured.node_cache_capable
        )
        self._resources = interest.collect_managed_resources(configured)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.settings.name

    def is_interested(self, pod: pod_shape.PodInfo) -> bool:
        """Return whether the pod requests a resource that the extender manages."""
        return interest.is_interested(self._resources, pod.pod)

    async def filter_nodes(
        self, pod: pod_shape.PodInfo, names: Sequence[str], left_seconds: float
    ) -> FilteredNodes:
        """Ask which of some nodes the extender accepts.

        Raises:
            ExtenderError: the call failed, or the answer is an error or names other nodes.
            NoTimeLeftError: there was no answer within `left_seconds`.
        """
        body = self._encoder.encode_nodes(pod, names)
        call = self._filter_nodes(body, names, left_seconds)
        return await self._measure(self.settings.filter_verb, call)

    async def _filter_nodes(
        self, body: bytes, names: Sequence[str], left_seconds: float
    ) -> FilteredNodes:
        verb, decode = self.settings.filter_verb, replies.decode_filter
        reply = await self._call(verb, body, decode, left_seconds)
        if reply.error:
            raise calls.ExtenderError(reply.error)
        rejections = {
            **_make_rejections(reply.failed, status.Code.UNSCHEDULABLE),
            **_make_rejections(reply.unresolvable, _UNRESOLVABLE),
        }
        return FilteredNodes(self._find_accepted(reply, names), rejections)

    def _find_accepted(self, reply: replies.FilterReply, names: Sequence[str]) -> list[str]:
        """Return the nodes that remain, each once.

        Raises:
            ExtenderError: `node_names` has a node that was not sent.
        """
        sent = frozenset(names)
        if not self.settings.node_cache_capable or reply.node_names is None:
            return [name for name in dict.fromkeys(reply.node_list_names or ()) if name in sent]
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
        verb, body = self.settings.prioritize_verb, self._encoder.encode_nodes(pod, names)
        return await self._measure(verb, self._call(verb, body, replies.decode_points))

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

        The answer is compared with the pods that are placed when it arrives. Victims that have left
        since the request are dropped, and candidates without victims after that.

        Raises:
            ExtenderError: the call failed, or the answer names unknown nodes or pods, or a node
                without victims although the extender is not ignorable.
        """
        body = self._encoder.encode_victims(pod, victims)
        choice = self._choose_victims(body, victims, take_snapshot)
        return await self._measure(self.settings.preempt_verb, choice)

    async def _choose_victims(
        self,
        body: bytes,
        sent: extender_answers.VictimsByNode,
        take_snapshot: Callable[[], snapshot.Snapshot],
    ) -> extender_answers.VictimsByNode:
        reply = await self._call(self.settings.preempt_verb, body, replies.decode_victims)
        snap = take_snapshot()
        chosen: dict[str, extender_answers.NodeVictims] = {}
        for name, victims in reply.items():
            candidate = sent.get(name)
            if candidate is not None and snap.find_row(name) is None:
                continue
            sent_uids = {pod.uid for pod in candidate.pods} if candidate is not None else set()
            pods = self._find_victims(name, victims.uids, sent_uids, snap)
            if pods or not victims.uids:
                chosen[name] = extender_answers.NodeVictims(pods, victims.violations)
        for name, node in chosen.items():
            if not node.pods and not self.settings.ignorable:
                raise calls.ExtenderError(f'expected at least one victim pod on node "{name}"')
        return {name: node for name, node in chosen.items() if node.pods}

    def _find_victims(
        self, name: str, uids: Iterable[str], sent_uids: Collection[str], snap: snapshot.Snapshot
    ) -> tuple[pod_shape.PodInfo, ...]:
        """Return the victims on a node without those that left it since the request."""
        row = snap.find_row(name)
        if row is None:
            raise calls.ExtenderError(f'nodeinfo not found for node name "{name}"')
        placed = {pod.uid: pod for pod in snap.placed.get_pods(row)}
        for uid in uids:
            if uid not in placed and uid not in sent_uids:
                raise calls.ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: "
                    f"{name}, but the pod is not found on that node"
                )
        return tuple(placed[uid] for uid in uids if uid in placed)

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Let the extender bind the pod.

        Raises:
            ExtenderError: the call failed, or the answer is an error; the pod may be bound.
        """
        body = self._encoder.encode_binding(pod, node_name)
        await self._measure(self.settings.bind_verb, self._bind(body))

    async def _bind(self, body: bytes) -> None:
        error = await self._call(self.settings.bind_verb, body, replies.decode_binding_error)
        if error:
            raise calls.ExtenderError(error)

    async def _call(
        self,
        verb: str,
        body: bytes,
        decode: Callable[[bytes], _T],
        left_seconds: float = math.inf,
    ) -> _T:
        """Send a request, and decode the answer.

        Raises:
            ExtenderError: the call failed, or the answer cannot be decoded.
        """
        answer = await self._caller.post(verb, body, left_seconds)
        try:
            return decode(answer)
        except calls.ExtenderError as error:
            raise calls.ExtenderError(f"extender {self.name}: {error}") from error

    async def _measure(self, verb: str, call: Awaitable[_T]) -> _T:
        return await self._measured.measure(self.name, verb, call)


def _make_rejections(texts: Mapping[str, str], code: status.Code) -> dict[str, status.Status]:
    return {
        name: status.Status(code, (text,), extender_answers.EXTENDER)
        for name, text in texts.items()
    }
