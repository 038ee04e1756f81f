"""Compare the values that were measured in a stage with the bounds of the guards."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping

from policysched.rollout import settings, tally


class GuardState(enum.Enum):
    """The result of one evaluation of a guard.

    UNKNOWN: there is no value yet; the stage waits.
    """

    OK = "ok"
    TRIPPED = "tripped"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The result of one evaluation of a guard, with its numbers.

    Attributes:
        guard: the name of the guard.
        value, bound: the measured value and the highest accepted one, in the unit of the measure;
            None if unknown.
        problem: why the value is unknown; "" otherwise.
    """

    guard: str
    state: GuardState
    value: float | None = None
    bound: float | None = None
    problem: str = ""

    def describe(self) -> str:
        """Return the guard and its numbers on one line."""
        if self.value is None or self.bound is None:
            return f"{self.guard}: {self.problem}"
        sign = ">" if self.state is GuardState.TRIPPED else "<="
        return f"{self.guard}: {self.value:.4g} {sign} {self.bound:.4g}"


@dataclasses.dataclass(frozen=True, slots=True)
class MeasuredValues:
    """The values that were measured in a stage.

    Attributes:
        new, old: the results of the new version and of the version in force.
        missing_metrics_share: see `settings.Measure`; None if no guard has this measure, or if the
            new version reads no metrics.
        query_values: guard → value of its query, or the reason why there is none.
    """

    new: tally.VersionTally
    old: tally.VersionTally
    missing_metrics_share: float | None = None
    query_values: Mapping[str, float | str] = dataclasses.field(default_factory=dict)


def evaluate_guard(guard: settings.Guard, measured: MeasuredValues, min_pods: int) -> GuardVerdict:
    """Return the verdict of one guard.

    A guard that counts pods is unknown until `min_pods` pods of the new version are judged, and as
    many of the version in force if it compares both. `missingMetrics` needs one judged pod: before
    the first decision, the metrics may not have been queried.
    """
    if guard.query:
        return _compare(guard, measured.query_values.get(guard.name, "not queried yet"), None)
    needed = 1 if guard.measure == "missingMetrics" else min_pods
    if measured.new.judged < needed:
        problem = f"{measured.new.judged} of {needed} pods judged"
        return GuardVerdict(guard.name, GuardState.UNKNOWN, problem=problem)
    if guard.measure == "missingMetrics":
        return _compare(guard, measured.missing_metrics_share or 0.0, None)
    read = _READERS[guard.measure or "unschedulable"]
    value = read(measured.new)
    if guard.most is None and measured.old.judged < min_pods:
        problem = f"{measured.old.judged} of {min_pods} pods of the version in force judged"
        return GuardVerdict(guard.name, GuardState.UNKNOWN, problem=problem)
    return _compare(guard, "no pods judged" if value is None else value, read(measured.old))


_READERS: Mapping[str, Callable[[tally.VersionTally], float | None]] = {
    "unschedulable": lambda pods: pods.unschedulable_share,
    "attemptP99Seconds": lambda pods: pods.p99_seconds,
    "evictions": lambda pods: pods.evictions_per_pod,
}


def _compare(guard: settings.Guard, value: float | str, old: float | None) -> GuardVerdict:
    """Compare a value, or the reason why there is none, with the bound of a guard."""
    if isinstance(value, str) or math.isnan(value):
        problem = value if isinstance(value, str) else "the value is NaN"
        return GuardVerdict(guard.name, GuardState.UNKNOWN, problem=problem)
    bound = guard.most
    if bound is None:
        bound = (old or 0.0) * (guard.most_times_old or 0.0)
    state = GuardState.TRIPPED if value > bound else GuardState.OK
    return GuardVerdict(guard.name, state, value, bound)
