"""`reject when A until B`: a node on which A held stays rejected until B holds.

Whether a node is held moves when a metric is refreshed and at no other time, by the samples alone:
what just-placed pods add can reject a node as long as they count, but never hold it or let it go.
"""

from __future__ import annotations

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import lowering
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr


class Hysteresis:
    """Which nodes a rule holds.

    Attributes:
        latch: key of its state among `MetricTable.latches`: equal conditions over equal queries,
            of another version of the policies or of another profile, share it.
        metrics: keys of the metrics that move it.
    """

    def __init__(
        self,
        when: checked_expr.TypedExpr,
        until: checked_expr.TypedExpr,
        lower: lowering.Lowering,
    ) -> None:
        """Hold from `when` on `until` the other; neither reads the incoming pod."""
        self.hysteresis_key = repr((when, until, lower.queries(when), lower.queries(until)))
        self.metrics = frozenset(
            (*checked_expr.list_read_metrics(when), *checked_expr.list_read_metrics(until))
        )
        measured = lower.measured()
        self._when = measured.lower(when)
        self._until = measured.lower(until)

    def is_held(self, nodes: snapshot.NodeView) -> columns.BoolArray:
        """Return bool (n,): the nodes that are held."""
        snap = nodes.snapshot
        generation = snap.nodes.node_changes.generation
        held = snap.metrics.hysteresis.find_held_nodes(
            self.hysteresis_key, snap.nodes.names, generation
        )
        return held[nodes.rows]

    def is_unknown(self, nodes: snapshot.NodeView) -> columns.BoolArray:
        """Return bool (n,): nodes of which the known past does not show whether they are held."""
        snap = nodes.snapshot
        generation = snap.nodes.node_changes.generation
        unknown = snap.metrics.hysteresis.find_unknown_nodes(
            self.hysteresis_key, snap.nodes.names, generation
        )
        return unknown[nodes.rows]

    def on_metric_refreshed(self, snap: snapshot.Snapshot) -> None:
        """Hold the nodes on which `when` is true, let those go on which `until` is.

        Where both are true the node is held; where neither is, for lack of data too, it stays.
        """
        nodes, state = snap.view_all_rows(), cycle_state.CycleState()
        holds = self._when.evaluate(nodes, _NO_POD, state) == 1
        ends = self._until.evaluate(nodes, _NO_POD, state) == 1
        alive = snap.is_alive
        snap.metrics.hysteresis.update_held_nodes(
            self.hysteresis_key, snap.nodes.names, holds & alive, ends & ~holds & alive
        )


_NO_POD = pod_shape.PodShape(objects.Pod(objects.ObjectMeta()), {}, -1)
