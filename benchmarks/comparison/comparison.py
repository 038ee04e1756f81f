"""Runs schedulers in turn on one real API server per case, and stores each measurement at once."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks import workload_devices, workload_files
from benchmarks.comparison import estimates, plans, schedulers, turns
from benchmarks.process import profiles
from benchmarks.records import measurements, results
from benchmarks.running import extender_server, metric_server
from tests.realcluster import (
    api_client,
    components,
    control_plane,
    controller_manager,
    process,
    watching,
)

_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_HIGH = {"metadata": {"name": "benchmark-high"}, "value": 10}
"""The priority class that workloads use for high priority."""

_FAILURES = (
    turns.BenchmarkError,
    api_client.ApiError,
    api_client.TransportError,
    process.ProcessError,
    watching.WatchError,
)
"""Errors that end a case; the other cases are still measured."""


@dataclasses.dataclass
class Comparing:
    """Runs comparisons.

    Attributes:
        results: stored measurements; new ones are added.
        folder: for logs and data; the data of a case is removed at its end.
        options: settings of policysched.
        note: receives lines of progress.
        failed: cases that ended with an error.
    """

    results: results.Results
    folder: pathlib.Path
    options: schedulers.Options
    note: Callable[[str], None] = lambda _: None
    failed: list[measurements.Case] = dataclasses.field(default_factory=list)

    def run(self, comparisons: Sequence[plans.Comparison]) -> None:
        """Measure all missing runs; a case that fails is reported and skipped.

        Raises:
            components.ComponentError: kube-scheduler cannot be built.
        """
        components.binary("kube-scheduler")
        estimate = estimates.Estimate(self.results.measurements)
        missing = [comparison for comparison in comparisons if list(self.missing_turns(comparison))]
        for number, comparison in enumerate(missing, 1):
            left = sum(self._estimate_seconds(estimate, rest) for rest in missing[number - 1 :])
            about = estimates.duration(self._estimate_seconds(estimate, comparison))
            place = f"[{number}/{len(missing)}] {comparison.case}"
            self.note(f"{place}: about {about}; all missing runs: {estimates.duration(left)}")
            try:
                self._compare(comparison)
            except _FAILURES as error:
                self.failed.append(comparison.case)
                self.note(f"{comparison.case}: {error}")

    def missing_turns(self, comparison: plans.Comparison) -> Iterator[tuple[int, str]]:
        """Yield (repeat, scheduler) of each run that has not been measured yet."""
        done = self.results.keys()
        for repeat, name in comparison.turns():
            if (comparison.case, name, repeat) not in done:
                yield repeat, name

    def _estimate_seconds(
        self, estimate: estimates.Estimate, comparison: plans.Comparison
    ) -> float:
        names = [name for _, name in self.missing_turns(comparison)]
        return estimate.seconds(comparison.case, names)

    def _compare(self, comparison: plans.Comparison) -> None:
        folder = self.folder / "case"
        try:
            with (
                start_scene(comparison.case, folder) as scene,
                self._serve_metrics(comparison) as url,
                _serve_extenders(scene.workload) as extenders,
            ):
                without = dataclasses.replace(self.options, extenders=extenders)
                options = dataclasses.replace(without, prometheus=url)
                for repeat, name in list(self.missing_turns(comparison)):
                    own = options if schedulers.needs_prometheus(name) else without
                    self._run_turn(scene, repeat, name, own)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_turn(
        self, scene: turns.Scene, repeat: int, name: str, options: schedulers.Options
    ) -> None:
        folder = self.folder / f"{scene.case.workload}-{scene.case.nodes}-{name}-{repeat}"
        run = turns.run_turn(scene, name, repeat, folder, options)
        self.results.add(run)
        self.note(f"  {name}: {_format_line(run)}")
        profile = folder / schedulers.PROFILE
        if profile.exists():
            self.note(profiles.tables(profile, run.bound, run.total_cpu_seconds))

    @contextlib.contextmanager
    def _serve_metrics(self, comparison: plans.Comparison) -> Iterator[str | None]:
        """Yield the URL of a server that answers queries, or None if no policy reads metrics."""
        if not any(schedulers.needs_prometheus(name) for name in comparison.names):
            yield None
            return
        workload = workload_files.load(comparison.case.workload)
        nodes = [node["metadata"]["name"] for node in workload.nodes(comparison.case.nodes)]
        with metric_server.serve_metrics(nodes) as url:
            yield url


@contextlib.contextmanager
def _serve_extenders(workload: workload_files.Workload) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the configurations of the extenders of a workload, which run meanwhile."""
    if workload.extender is None:
        yield ()
        return
    with extender_server.serve_extender() as url:
        yield [extender_server.make_configuration(url, workload.extender.managed_resources)]


@contextlib.contextmanager
def start_scene(case: measurements.Case, folder: pathlib.Path) -> Iterator[turns.Scene]:
    """Yield a new control plane with the nodes of a case."""
    workload = workload_files.load(case.workload)
    flags = control_plane.THROUGHPUT_FLAGS
    with control_plane.ControlPlane(folder / "control-plane", flags=flags) as plane:
        for namespace in turns.namespaces():
            plane.client.create_namespace(namespace)
        plane.client.create(_PRIORITY_CLASSES, _HIGH)
        plane.client.create_nodes(workload.nodes(case.nodes))
        if workload.devices is not None:
            api = workload_devices.API
            plane.client.create(f"{api}/deviceclasses", workload_devices.make_class())
            plane.client.create_many(f"{api}/resourceslices", workload.slices(case.nodes))
        with _run_claim_controller(plane, workload, folder):
            yield turns.Scene(plane, case, workload)


@contextlib.contextmanager
def _run_claim_controller(
    plane: control_plane.ControlPlane, workload: workload_files.Workload, folder: pathlib.Path
) -> Iterator[None]:
    """Run the controller that makes claims from templates, if the workload has templates."""
    templates = workload.claim_templates()
    if not templates:
        yield
        return
    plane.client.create_many(turns.CLAIM_TEMPLATES, templates)
    flags = ("--controllers=resourceclaim-controller",)
    with controller_manager.ControllerManager(plane, folder / "claim-controller", flags=flags):
        yield


def _format_line(run: measurements.Measurement) -> str:
    return (
        f"{run.pods_per_second:.0f} pods/s, {1000 * run.cpu_seconds / run.bound:.2f} ms of CPU per "
        f"pod, p99 {run.latency.p99_ms:.0f} ms, {run.others_share:.0%} of the machine for others, "
        f"{run.known_stolen_share:.0%} stolen"
    )
