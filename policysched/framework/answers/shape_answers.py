"""Answers of plugins kept for all equal pods, and patched where the cluster changed.

Most pods of a backlog are copies of each other. For each shape (and set of tolerations) the
Filter and Score vectors of plugins that depend on single rows are kept with the number of the last
change they have seen; the next equal pod asks the plugins only about rows touched since.
"""

from __future__ import annotations

import dataclasses
import datetime
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape, shape_projection
from policysched.framework import asking, cycle_state, interface, plugin_watch, status
from policysched.framework.answers import status_table, together

ScoreFn: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeView], interface.RawScores
]
ScalarT = TypeVar("ScalarT", bound=np.generic)
PlannedT = TypeVar("PlannedT")
SharedT = TypeVar("SharedT")

MAX_SHAPES = 128
"""For how many shapes answers are kept."""
PATCH_SHARE = 4
"""Beyond a quarter of the rows, asking about all of them is cheaper than patching."""
FEW_ROWS = 8
"""So many rows are asked about one by one, by plugins that can (`interface.RowFilterPlugin`)."""
_NOTHING: list[int] = []
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class Version:
    """Up to which change of the cluster a vector is current."""

    def __init__(self, reads: interface.Reads) -> None:
        """Follow what `reads` names."""
        self._reads_usage = interface.Reads.USAGE in reads
        self._reads_metrics = interface.Reads.METRICS in reads
        self._reads_all_nodes = interface.Reads.ALL_NODES in reads
        self._node = self._usage = self._metrics = -1

    @property
    def follows_pods(self) -> bool:
        """Whether pods that come and go change anything; else nodes and metrics alone do."""
        return self._reads_usage

    def changed_rows(self, snap: snapshot.Snapshot) -> npt.NDArray[np.intp] | None:
        """Return the rows to ask about again, None for all, and mark them as seen."""
        rows = self.changed(snap)
        return None if rows is None else np.array(rows, np.intp) if rows else _NO_ROWS

    def changed(self, snap: snapshot.Snapshot) -> list[int] | None:
        """Return the same as plain numbers, ascending; not to be written to."""
        nodes = snap.nodes
        node, usage, metrics = nodes.node_changes.generation, self._usage, self._metrics
        if self._reads_usage:
            usage = nodes.usage_changes.generation
        if self._reads_metrics:
            metrics = snap.metrics.generation
        if node == self._node and metrics == self._metrics:
            if usage == self._usage:
                return _NOTHING
            rows = nodes.usage_changes.list_changes_since(
                self._usage
            )  # mostly this and nothing else
        else:
            rows = self._rows_since(snap, usage, metrics)
        self._node, self._usage, self._metrics = node, usage, metrics
        if rows is None or len(rows) * PATCH_SHARE > snap.size:
            return None
        return rows if len(rows) <= 1 else sorted(set(rows))

    def _rows_since(self, snap: snapshot.Snapshot, usage: int, metrics: int) -> list[int] | None:
        if self._node < 0 or metrics != self._metrics:
            return None
        rows = snap.nodes.node_changes.list_changes_since(self._node)
        if rows is None or (rows and self._reads_all_nodes):
            return None
        if usage != self._usage:
            used = snap.nodes.usage_changes.list_changes_since(self._usage)
            return None if used is None else rows + used
        return rows


class KeptFilter:
    """First failures of consecutive Filter plugins that depend on single rows.

    Attributes:
        current: int16 (N,), the answers as of the last `refresh`; not to be written to.
        table: numbers of the statuses.
        changes: rows that got another answer.
    """

    def __init__(self, plugins: Sequence[interface.FilterPlugin]) -> None:
        """Keep answers of `plugins`, in order."""
        self.plugins = plugins
        self.current: status_table.StatusIds = np.zeros(0, np.int16)
        self.table = status_table.StatusTable()
        self.changes = change_log.ChangeLog[int]()
        self._version = Version(_union(plugins))
        self._knows_rows = any(map(together.filters_rows, plugins))
        self._asked: dict[bool, list[tuple[interface.FilterPlugin, together.FilterRow]]] = {}

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Bring the answers up to date."""
        rows = self._version.changed(snap)
        if rows is None:
            self.current = first_failures(
                self.plugins, state, pod, snap.view_all_rows(), self.table
            )
            self.changes.note_everything_changed()
        elif rows:
            self.current = lengthened(self.current, snap.size)
            if self._knows_rows and len(rows) <= FEW_ROWS:
                self._refresh_few(rows, state, pod, snap)
            else:
                at = np.array(rows, np.intp)
                many = first_failures(self.plugins, state, pod, snap.view_rows(at), self.table)
                others = at[many != self.current[at]]
                self.current[at] = many
                self.changes.note_changed_items(others.tolist())

    def _refresh_few(
        self,
        rows: Sequence[int],
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> None:
        is_measured = plugin_watch.CURRENT.get() is not None
        asked = self._asked.get(is_measured)
        if asked is None:
            asked = together.filter_rows(self.plugins, is_measured=is_measured)
            self._asked[is_measured] = asked
        for row in rows:
            node, found = snap.view_row(row), 0
            for plugin, ask in asked:
                answer = ask(state, pod, node)
                if answer is not status.SUCCESS and not answer.is_success:
                    found = self.table.intern(status_table.signed(plugin.name, answer))
                    break
            if found != self.current.item(row):
                self.current[row] = found
                self.changes.note_changed_item(row)


class KeptScores:
    """Scores of every row that depend on single rows: raw ones of a plugin, or sums of several.

    Attributes:
        changes: grows whenever a score comes out different, or there is one more.
    """

    def __init__(self, version: Version, compute: ScoreFn) -> None:
        """Keep what `compute` says of rows; `version` tells when to ask it again."""
        self._compute = compute
        self._version = version
        self._scores: interface.RawScores = np.zeros(0, np.int64)
        self.changes = 0

    def scores(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.RawScores:
        """Return (N,) scores, current and in the dtype of `compute`; not to be written to."""
        rows = self._version.changed_rows(snap)
        if rows is None:
            self._scores = self._compute(state, pod, snap.view_all_rows())
            self.changes += 1
        elif len(rows):
            self.changes += len(self._scores) < snap.size
            self._scores = lengthened(self._scores, snap.size)
            before = self._scores[rows].tobytes()  # NaN equals itself in bytes
            self._scores[rows] = self._compute(state, pod, snap.view_rows(rows))
            self.changes += before != self._scores[rows].tobytes()
        return self._scores


@dataclasses.dataclass
class ShapeAnswers:
    """What is kept for one shape; filled in as plugins are first asked.

    Attributes:
        state: the CycleState of all plugins whose answers are kept.
        table: numbers of all statuses met with this shape.
        pre_filters: answers of PreFilter by plugin number.
        scores: raw ones by plugin number.
        left_out: numbers of plugins that do not apply to the shape.
        plan: for each extension point, the plugins that do, in the form its runner likes.
        by_key: what several shapes use, see `shared`.
    """

    state: cycle_state.CycleState
    left_out: frozenset[int] = frozenset()
    table: status_table.StatusTable = dataclasses.field(default_factory=status_table.StatusTable)
    pre_filters: dict[int, interface.PreFilterResult] = dataclasses.field(default_factory=dict)
    scores: dict[int, KeptScores] = dataclasses.field(default_factory=dict)
    plan: dict[Hashable, Sequence[Any]] = dataclasses.field(default_factory=dict)
    by_key: MutableMapping[Hashable, Any] = dataclasses.field(default_factory=dict)

    def shared(
        self,
        shape: pod_shape.PodShape,
        kind: str,
        numbered: Sequence[tuple[int, interface.Plugin]],
        make: Callable[[], SharedT],
    ) -> SharedT:
        """Return what `make` makes of numbered plugins, the same for shapes they cannot tell apart.

        That are plugins which all say what they read of a pod (`interface.KeyedPlugin`). `kind` is
        what is made of them.
        """
        if not all(has_key(plugin) for _, plugin in numbered):
            return make()
        keys = (cast("interface.KeyedPlugin", plugin).answer_key(shape) for _, plugin in numbered)
        key = (kind, tuple(number for number, _ in numbered), tuple(keys))
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = make()
        return cast("SharedT", found)

    def planned(
        self, point: Hashable, make: Callable[[frozenset[int]], Sequence[PlannedT]]
    ) -> Sequence[PlannedT]:
        """Return what `make` makes of the numbers of plugins left out, made once."""
        made = self.plan.get(point)
        if made is None:
            made = self.plan[point] = make(self.left_out)
        return made


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

        `scoped` are numbered plugins that leave out some shapes; with `max_shapes` 0 each pod is
        decided from scratch. Shapes that `projection` does not tell apart share answers, and the
        `sharing` plugins are told.
        """
        self._scoped = scoped
        self._max_shapes = max_shapes
        self._projection = projection
        self._sharing = sharing
        self._kept: OrderedDict[tuple[int, str, Tolerations], ShapeAnswers] = OrderedDict()
        self._alike: OrderedDict[tuple[bytes, str, Tolerations], ShapeAnswers] = OrderedDict()
        self._by_key: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self._stamp = (0, 0)
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
        stamp = (snap.counts.namespaces_generation, len(snap.nodes.resources))
        if stamp != self._stamp or snap.now < self._latest:
            self.forget()  # set back, a clock may undo whatever has begun or ended by it
            self._stamp = stamp
        self._latest = snap.now
        key = (pod.shape.index, pod.pod.spec.node_name, tolerations)
        answers = self._kept.get(key)
        if answers is None or _are_over(answers, snap.now):
            answers = self._kept[key] = self._of_alike(pod, tolerations, snap)
            if len(self._kept) > self._max_shapes:
                self._kept.popitem(last=False)
        if self._max_shapes:
            self._kept.move_to_end(key)
        return answers

    def _of_alike(
        self, pod: pod_shape.PodInfo, tolerations: Tolerations, snap: snapshot.Snapshot
    ) -> ShapeAnswers:
        """Return the answers for shapes in which the same is read, fresh when there are none."""
        if self._projection is None or not self._max_shapes:
            return self._begin(pod.shape, tolerations, snap)
        key = (self._projection.make_pod_fields_key(pod.shape), pod.pod.spec.node_name, tolerations)
        answers = self._alike.get(key)
        if answers is not None and not _are_over(answers, snap.now):
            for plugin in self._sharing:
                plugin.shares(answers.state, pod.shape)
        else:
            answers = self._alike[key] = self._begin(pod.shape, tolerations, snap)
            if len(self._alike) > self._max_shapes:
                self._alike.popitem(last=False)
        self._alike.move_to_end(key)
        return answers

    def _begin(
        self, shape: pod_shape.PodShape, tolerations: Tolerations, snap: snapshot.Snapshot
    ) -> ShapeAnswers:
        state = cycle_state.CycleState(tolerations)
        left_out = frozenset(
            n
            for n, p in self._scoped
            if not asking.ask(p, "applies_to", p.applies_to, state, shape, snap)
        )
        by_key = self._by_key if self._max_shapes else dict[Hashable, Any]()
        return ShapeAnswers(state, left_out, by_key=by_key)


def has_key(plugin: interface.Plugin) -> bool:
    """Return whether a plugin says what it reads of a pod (`interface.KeyedPlugin`)."""
    return asking.shortcut(plugin, "answer_key") is not None


def first_failures(
    plugins: Sequence[interface.FilterPlugin],
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    nodes: snapshot.NodeView,
    table: status_table.StatusTable,
) -> status_table.StatusIds:
    """Return int16 (n,): the status of the first plugin that rejects each node, 0 for none."""
    ids: status_table.StatusIds = np.zeros(len(nodes), np.int16)
    for plugin in plugins:
        answers = asking.ask_filter(plugin, state, pod, nodes)
        if len(answers.statuses) > 1 and answers.ids.any():
            ids = status_table.first_of(ids, table.translate(plugin.name, answers))
    return ids


def _union(plugins: Sequence[interface.FilterPlugin]) -> interface.Reads:
    reads = interface.Reads(0)
    for plugin in plugins:
        reads |= plugin.reads
    return reads


def _are_over(answers: ShapeAnswers, now: datetime.datetime) -> bool:
    """Return whether answers hold no longer: an error at Filter is to be asked about again."""
    until = answers.state.valid_until
    return (until is not None and now >= until) or bool(answers.table.errors)


def lengthened(array: npt.NDArray[ScalarT], size: int) -> npt.NDArray[ScalarT]:
    """Return an array that has at least `size` entries, new ones 0."""
    if len(array) >= size:
        return array
    return np.concatenate((array, np.zeros(size - len(array), array.dtype)))
