"""What is kept of plugins' answers for the pods of each shape."""

from __future__ import annotations

import dataclasses
import datetime
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape, shape_projection
from policysched.framework import asking, cycle_state, interface
from policysched.framework.answers import derived, status_table

PlannedT = TypeVar("PlannedT")
SharedT = TypeVar("SharedT")

MAX_SHAPES = 1024
"""For how many shapes answers are kept, in a cluster of up to about 5,000 nodes."""
_MAX_ROWS = 5_000_000
"""Rows of all kept shapes together, about 40 bytes each; at least `_LEAST_SHAPES` are kept."""
_LEAST_SHAPES = 128


@dataclasses.dataclass
class ShapeAnswers:
    """What is kept for one shape; filled in as plugins are first asked.

    Attributes:
        state: the CycleState of all plugins whose answers are kept.
        example: the pod about which they are asked.
        table: numbers of all statuses met with this shape.
        scores: raw ones by plugin number.
        left_out: numbers of plugins that do not apply to the shape.
        plans: whom Filter and Score ask, and how, as their runners made it.
        by_key: what several shapes use, see `shared`.
    """

    state: cycle_state.CycleState
    example: pod_shape.PodInfo
    left_out: frozenset[int] = frozenset()
    table: status_table.StatusTable = dataclasses.field(default_factory=status_table.StatusTable)
    scores: dict[int, derived.Derived] = dataclasses.field(default_factory=dict)
    plans: dict[str, Any] = dataclasses.field(default_factory=dict)
    by_key: MutableMapping[Hashable, Any] = dataclasses.field(default_factory=dict)

    def shared(
        self,
        shape: pod_shape.PodShape,
        kind: str,
        numbered: Sequence[tuple[int, interface.Plugin]],
        make: Callable[[], SharedT],
    ) -> SharedT:
        """Return `make()`, or the result that a shape with the same answer keys made earlier.

        Results are shared only if every plugin has an `answer_key` (`interface.KeyedPlugin`), and
        among pods with the same tolerations and `spec.nodeName`. `kind` separates different results
        of the same plugins.
        """
        if not all(has_key(plugin) for _, plugin in numbered):
            return make()
        keys = (cast("interface.KeyedPlugin", plugin).answer_key(shape) for _, plugin in numbered)
        numbers = tuple(number for number, _ in numbered)
        node_name = self.example.pod.spec.node_name
        key = (kind, numbers, tuple(keys), self.state.tolerations, node_name)
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = make()
        return cast("SharedT", found)

    def planned(self, point: str, make: Callable[[frozenset[int]], PlannedT]) -> PlannedT:
        """Return what `make` makes of the numbers of plugins left out, made once."""
        made = self.plans.get(point)
        if made is None:
            made = self.plans[point] = make(self.left_out)
        return cast("PlannedT", made)


Tolerations: TypeAlias = tuple[objects.Toleration, ...]


class ShapeAnswersCache:
    """The answers kept for the most recently scheduled shapes of one profile."""

    def __init__(
        self,
        scoped: Sequence[tuple[int, interface.ScopedPlugin]] = (),
        *,
        max_shapes: int = MAX_SHAPES,
        projection: shape_projection.PodFieldsRead | None = None,
        sharing: Sequence[interface.SharingPlugin] = (),
    ) -> None:
        """Start with nothing kept.

        `scoped` are numbered plugins that apply only to some shapes. `max_shapes` 0 disables the
        cache. Shapes with the same `projection` share answers; the `sharing` plugins are notified
        of each shape.
        """
        self._scoped = scoped
        self._max_shapes = max_shapes
        self._projection = projection
        self._sharing = sharing
        self._kept: OrderedDict[tuple[int, str, Tolerations], ShapeAnswers] = OrderedDict()
        self._alike: OrderedDict[tuple[bytes, str, Tolerations], ShapeAnswers] = OrderedDict()
        self._by_key: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self._stamp = (0, 0, 0)
        self._latest = datetime.datetime.min.replace(tzinfo=datetime.UTC)

    def forget(self) -> None:
        """Forget everything that is kept."""
        self._kept.clear()
        self._alike.clear()
        self._by_key = weakref.WeakValueDictionary()

    def get(
        self, pod: pod_shape.PodInfo, tolerations: Tolerations, snap: snapshot.Snapshot
    ) -> ShapeAnswers:
        """Return what is kept for pods equal to `pod`, fresh when there is nothing valid.

        A shape leaves the node's name out, so that placed and waiting pods share it; answers for a
        pod that names its node are kept apart.
        """
        stamp = (
            snap.counts.namespaces_generation,
            len(snap.nodes.resources),
            snap.devices.classes.resource_generation,
        )
        if stamp != self._stamp or snap.now < self._latest:
            self.forget()  # set back, a clock may undo whatever has begun or ended by it
            self._stamp = stamp
        self._latest = snap.now
        key = (pod.shape.index, pod.pod.spec.node_name, tolerations)
        answers = self._kept.get(key)
        if answers is None or _are_over(answers, snap.now):
            answers = self._kept[key] = self._of_alike(pod, tolerations, snap)
            for plugin in self._sharing:
                plugin.shares(answers.state, pod.shape)
            if len(self._kept) > self._get_limit(snap):
                self._kept.popitem(last=False)
        if self._max_shapes:
            self._kept.move_to_end(key)
        return answers

    def _of_alike(
        self, pod: pod_shape.PodInfo, tolerations: Tolerations, snap: snapshot.Snapshot
    ) -> ShapeAnswers:
        """Return the answers for shapes in which the same is read, fresh when there are none."""
        if self._projection is None or not self._max_shapes:
            return self._begin(pod, tolerations, snap)
        key = (self._projection.make_pod_fields_key(pod.shape), pod.pod.spec.node_name, tolerations)
        answers = self._alike.get(key)
        if answers is None or _are_over(answers, snap.now):
            answers = self._alike[key] = self._begin(pod, tolerations, snap)
            if len(self._alike) > self._get_limit(snap):
                self._alike.popitem(last=False)
        self._alike.move_to_end(key)
        return answers

    def _get_limit(self, snap: snapshot.Snapshot) -> int:
        """Return for how many shapes answers about all nodes are kept."""
        return min(self._max_shapes, max(_LEAST_SHAPES, _MAX_ROWS // max(snap.size, 1)))

    def _begin(
        self, pod: pod_shape.PodInfo, tolerations: Tolerations, snap: snapshot.Snapshot
    ) -> ShapeAnswers:
        state = cycle_state.CycleState(tolerations)
        left_out = frozenset(
            n
            for n, p in self._scoped
            if not asking.ask(p, "applies_to", p.applies_to, state, pod.shape, snap)
        )
        by_key = self._by_key if self._max_shapes else dict[Hashable, Any]()
        return ShapeAnswers(state, pod.make_example(), left_out, by_key=by_key)


def keeps_answers(plugin: interface.Plugin) -> bool:
    """Return whether a plugin's answers may be kept for equal pods."""
    reads = getattr(plugin, "reads", interface.Reads.ANYTHING)
    return bool(reads) and interface.Reads.ANYTHING not in reads


def keeps_preparation(plugin: interface.Plugin) -> bool:
    """Return whether what it says at PreFilter and PreScore may be kept for equal pods as well.

    Our own plugins look there at nothing but the pod; those of others may look at nodes.
    """
    return keeps_answers(plugin) and not asking.is_third_party(plugin)


def has_key(plugin: interface.Plugin) -> bool:
    """Return whether a plugin says what it reads of a pod (`interface.KeyedPlugin`)."""
    return asking.shortcut(plugin, "answer_key") is not None


def _are_over(answers: ShapeAnswers, now: datetime.datetime) -> bool:
    """Return whether answers have expired, or contain an error, after which Filter runs again."""
    until = answers.state.valid_until
    return (until is not None and now >= until) or bool(answers.table.errors)
