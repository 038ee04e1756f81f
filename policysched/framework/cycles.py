"""What one scheduling cycle works with, from PreFilter to Score."""

from __future__ import annotations

import dataclasses

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, extender_answers, interface, point_times
from policysched.framework.answers import first_failures, shape_answers


@dataclasses.dataclass(slots=True)
class Cycle:
    """What one scheduling cycle works with.

    Attributes:
        state: scratch of plugins that are asked in every cycle.
        answers: what is kept for equal pods; plugins in there have a state of their own.
        times: of the extension points.
        failures: the result of Filter, once it was asked about all rows.
        extenders: what HTTP extenders answered about the pod; None if none is interested.
    """

    pod: pod_shape.PodInfo
    snap: snapshot.Snapshot
    state: cycle_state.CycleState
    answers: shape_answers.ShapeAnswers
    times: point_times.PointTimes
    failures: first_failures.FirstFailures | None = None
    extenders: extender_answers.ExtenderAnswers | None = None

    def get_state_of(self, plugin: interface.Plugin) -> cycle_state.CycleState:
        """Return the state that `plugin` sees."""
        return self.answers.state if shape_answers.keeps_answers(plugin) else self.state
