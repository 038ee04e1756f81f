"""Plans of edited policies: one at a time in a thread of its own; a new plan cancels the last one.

A plan makes its own cluster from the objects of the view, so the views can use theirs meanwhile.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from policysched import clock as clocks
from policysched import errors
from policysched.page import draft_language, page_source, plan_groups
from policysched.planning import (
    binding_changes,
    bindings_report,
    plan_making,
    plan_report,
    sides,
    two_sided_cluster,
)

Report: TypeAlias = dict[str, Any]
IN_USE, EDITED = "policies in use", "edited policies"
_REPLACED = "another plan was started"
_MOST_SECONDS = 60.0


def count_cluster_changes(found: Sequence[Report]) -> dict[str, dict[str, int]]:
    """Return how many bindings each member cluster gains and loses, as `count_node_changes`."""
    counts: dict[str, dict[str, int]] = {}
    for change in found:
        for what in ("gained", "lost"):
            for name in change[what]:
                counts.setdefault(name, {"gained": 0, "lost": 0})[what] += 1
    return counts


def count_node_changes(found: Sequence[Report]) -> dict[str, dict[str, int]]:
    """Return how many pods each node gains and loses, keyed by node; other nodes are left out."""
    counts: dict[str, dict[str, int]] = {}
    for change in found:
        before, after = change["from"]["node"], change["to"]["node"]
        if before != after:
            for node, what in ((before, "lost"), (after, "gained")):
                if node is not None:
                    counts.setdefault(node, {"gained": 0, "lost": 0})[what] += 1
    return counts


class PlanCancelledError(Exception):
    """Another plan was started, the time limit was reached, or the server ends."""


class PlanJob:
    """A plan in progress, or its outcome.

    Attributes:
        number: identifies the job.
        part, done, total: the current part of the work, and its finished and total steps.
        report: the full plan, once it is finished.
        groups: its changed pods or bindings.
        error: why there is no plan; "" without an error.
    """

    def __init__(self, number: int, clock: clocks.Clock) -> None:
        """Make a job that has not begun."""
        self.number = number
        self.part, self.done, self.total = "reading the policies", 0, 0
        self.report: Report | None = None
        self.groups: list[plan_groups.ChangeGroup] = []
        self.error = ""
        self._clock = clock
        self._end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
        self._is_cancelled = threading.Event()

    def cancel(self) -> None:
        """End the work at its next step."""
        self._is_cancelled.set()

    def run(
        self, view: page_source.ClusterView, in_use: Mapping[str, str], texts: Mapping[str, str]
    ) -> None:
        """Make the plan, or record why there is none."""
        try:
            self._raise_if_cancelled()
            report = make_plan(view.inputs, in_use, texts, self._begin_part)
            self.groups = plan_groups.group_changes(_get_changes(report))
            self.report = report
        except (PlanCancelledError, errors.InputError) as error:
            self.error = str(error)

    def describe(self) -> Report:
        """Return the progress or the outcome for the page, with groups instead of all changes."""
        answer: Report = {"job": self.number, "error": self.error, "plan": None, "nodes": {}}
        if self.report is not None:
            answer["plan"] = _drop_changes(self.report)
            answer["groups"] = [each.describe() for each in self.groups]
            answer["nodes"] = count_node_changes(self.report["changes"])
            if "bindings" in self.report:
                answer["plan"]["bindings"] = _drop_changes(self.report["bindings"])
                answer["nodes"] = count_cluster_changes(self.report["bindings"]["changes"])
        return answer | {"part": self.part, "done": self.done, "of": self.total}

    def _begin_part(self, part: str, total: int) -> Callable[[int], None]:
        self.part, self.done, self.total = part, 0, total
        self._raise_if_cancelled()
        return self._advance

    def _advance(self, steps: int) -> None:
        self.done += steps
        self._raise_if_cancelled()

    def _raise_if_cancelled(self) -> None:
        if self._is_cancelled.is_set():
            raise PlanCancelledError(_REPLACED)
        if self._clock.monotonic_seconds() > self._end_seconds:
            raise PlanCancelledError(
                f"the plan took more than {_MOST_SECONDS:g} s; `policysched plan` has no limit"
            )


class PlanJobs:
    """Starts plans and waits for them."""

    def __init__(self, clock: clocks.Clock) -> None:
        """Start without a job."""
        self._clock = clock
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "plan")
        self._job = PlanJob(0, clock)
        self._running: concurrent.futures.Future[None] = concurrent.futures.Future()

    def start(
        self, view: page_source.ClusterView, in_use: Mapping[str, str], texts: Mapping[str, str]
    ) -> PlanJob:
        """Cancel the current job, and start one that compares `texts` with those in use."""
        self._job.cancel()
        self._job = PlanJob(self._job.number + 1, self._clock)
        self._running = self._thread.submit(self._job.run, view, in_use, texts)
        return self._job

    async def wait(self, number: int, wait_seconds: float) -> PlanJob:
        """Return a job when it has ended, or after `wait_seconds`.

        Raises:
            LookupError: the job does not exist.
        """
        if not 0 < number <= self._job.number:
            raise LookupError(f"plan {number}")
        if number < self._job.number:
            replaced = PlanJob(number, self._clock)
            replaced.error = _REPLACED
            return replaced
        job, running = self._job, asyncio.wrap_future(self._running)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(running), wait_seconds)
        return job

    def get_report(self, number: int) -> Report:
        """Return the full plan of a finished job.

        Raises:
            LookupError: there is no such plan.
        """
        if number != self._job.number or self._job.report is None:
            raise LookupError(f"plan {number}")
        return self._job.report

    def get_rows(self, number: int, group: int, after: int) -> Sequence[Report]:
        """Return changes of a group of a finished job; see `ChangeGroup.get_rows`.

        Raises:
            LookupError: there is no such plan, or it has no such group.
        """
        self.get_report(number)
        if group >= len(self._job.groups):
            raise LookupError(f"group {group} of plan {number}")
        return self._job.groups[group].get_rows(after)

    def close(self) -> None:
        """Cancel the current job and end the thread."""
        self._job.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def make_plan(
    inputs: page_source.ClusterInputs,
    in_use: Mapping[str, str],
    texts: Mapping[str, str],
    begin: Callable[[str, int], Callable[[int], None]],
) -> Report:
    """Return the plan in the form of schemas/plan.schema.json.

    Raises:
        InputError: the edited policies have errors.
    """
    old, new = sides.make_plan_sides(
        _make_side_texts(IN_USE, in_use),
        _make_side_texts(EDITED, texts),
        inputs.params,
        inputs.scheduler_name,
        inputs.now,
    )
    declared = {each.key: each for each in (*new.policies.all_metrics, *old.policies.all_metrics)}
    basis = two_sided_cluster.PlanInputs(
        old, new, inputs.now, inputs.read_samples(declared.values()), inputs.scheduler_name
    )
    plan = plan_making.make_policy_change_plan(basis, inputs.objects, inputs.where, begin)
    report = plan_report.as_json(plan, basis, inputs.where)
    if inputs.plane.clusters or inputs.plane.bindings:
        advance = begin("bindings", len(inputs.plane.bindings))
        found = binding_changes.compare_bindings(basis, inputs.plane, advance)
        report["bindings"] = bindings_report.as_json(found, basis)
    return report


def _get_changes(report: Report) -> Sequence[Report]:
    """Return the changed bindings of a control plane, else the changed pods."""
    part = report.get("bindings", report)
    changed: Sequence[Report] = part["changes"]
    return changed


def _drop_changes(report: Report) -> Report:
    return {name: field for name, field in report.items() if name != "changes"}


def _make_side_texts(name: str, texts: Mapping[str, str]) -> sides.SideTexts:
    if not texts:
        return sides.SideTexts(sides.NONE, sides.NO_POLICIES, {}, name)
    return sides.SideTexts(name, draft_language.make_texts(texts), {}, f"the {name}")
