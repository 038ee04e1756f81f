"""Schedulers take turns on one real API server for each case, and measurements are kept at once."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import shutil
from collections.abc import Callable, Iterator, Sequence

from benchmarks import (
    estimates,
    measurements,
    metric_server,
    plans,
    profiles,
    results,
    schedulers,
    turns,
    workload_files,
)
from tests.realcluster import api_client, components, control_plane, process, watching

_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_HIGH = {"metadata": {"name": "benchmark-high"}, "value": 10}
"""What workloads call a high priority."""

_FAILURES = (
    turns.BenchmarkError,
    api_client.ApiError,
    api_client.TransportError,
    process.ProcessError,
    watching.WatchError,
)
"""What ends a case; the others are still measured."""


@dataclasses.dataclass
class Comparing:
    """Runs comparisons.

    Attributes:
        results: what has been measured, and where further measurements go.
        folder: for logs and data; what a case has written there goes when it is over.
        options: for policysched.
        note: gets a line of progress now and then.
        failed: the cases that ended with an error.
    """

    results: results.Results
    folder: pathlib.Path
    options: schedulers.Options
    note: Callable[[str], None] = lambda _: None
    failed: list[measurements.Case] = dataclasses.field(default_factory=list)

    def run(self, comparisons: Sequence[plans.Comparison]) -> None:
        """Measure what is missing; a case that fails is told and left out.

        Raises:
            components.ComponentError: what is compared cannot be built.
        """
        components.binary("kube-scheduler")
        estimate = estimates.Estimate(self.results.measurements)
        missing = [one for one in comparisons if list(self.missing_turns(one))]
        for number, one in enumerate(missing, 1):
            left = sum(self._seconds(estimate, rest) for rest in missing[number - 1 :])
            about = estimates.duration(self._seconds(estimate, one))
            place = f"[{number}/{len(missing)}] {one.case}"
            self.note(f"{place}: about {about}, {estimates.duration(left)} with all that is left")
            try:
                self._compare(one)
            except _FAILURES as error:
                self.failed.append(one.case)
                self.note(f"{one.case}: {error}")

    def missing_turns(self, one: plans.Comparison) -> Iterator[tuple[int, str]]:
        """Give (repeat, scheduler) of what has not been measured yet."""
        made = self.results.keys()
        for repeat, name in one.turns():
            if (one.case, name, repeat) not in made:
                yield repeat, name

    def _seconds(self, estimate: estimates.Estimate, one: plans.Comparison) -> float:
        names = [name for _, name in self.missing_turns(one)]
        return estimate.seconds(one.case, names)

    def _compare(self, one: plans.Comparison) -> None:
        folder = self.folder / "case"
        try:
            with self._scene(one.case, folder) as scene, self._prometheus(one) as url:
                options = dataclasses.replace(self.options, prometheus=url)
                for repeat, name in list(self.missing_turns(one)):
                    own = options if schedulers.needs_prometheus(name) else self.options
                    self._play(scene, repeat, name, own)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _play(
        self, scene: turns.Scene, repeat: int, name: str, options: schedulers.Options
    ) -> None:
        folder = self.folder / f"{scene.case.workload}-{scene.case.nodes}-{name}-{repeat}"
        made = turns.play(scene, name, repeat, folder, options)
        self.results.add(made)
        self.note(f"  {name}: {_line(made)}")
        profile = folder / schedulers.PROFILE
        if profile.exists():
            self.note(profiles.tables(profile, made.bound, made.total_cpu_seconds))

    @contextlib.contextmanager
    def _scene(self, case: measurements.Case, folder: pathlib.Path) -> Iterator[turns.Scene]:
        """Give a control plane of its own with the nodes of a case."""
        workload = workload_files.load(case.workload)
        flags = control_plane.THROUGHPUT_FLAGS
        with control_plane.ControlPlane(folder / "control-plane", flags=flags) as plane:
            for namespace in turns.namespaces():
                plane.client.create_namespace(namespace)
            plane.client.create(_PRIORITY_CLASSES, _HIGH)
            plane.client.create_nodes(workload.nodes(case.nodes))
            yield turns.Scene(plane, case, workload)

    @contextlib.contextmanager
    def _prometheus(self, one: plans.Comparison) -> Iterator[str | None]:
        """Give the URL of what answers queries, where a policy asks for metrics."""
        if not any(schedulers.needs_prometheus(name) for name in one.names):
            yield None
            return
        workload = workload_files.load(one.case.workload)
        nodes = [node["metadata"]["name"] for node in workload.nodes(one.case.nodes)]
        with metric_server.serving(nodes) as url:
            yield url


def _line(one: measurements.Measurement) -> str:
    return (
        f"{one.pods_per_second:.0f} pods/s, {1000 * one.cpu_seconds / one.bound:.2f} ms of CPU a "
        f"pod, p99 {one.latency.p99_ms:.0f} ms, {one.others_share:.0%} of the machine for others, "
        f"{one.known_stolen_share:.0%} stolen"
    )
