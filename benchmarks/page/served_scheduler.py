"""A real `run` behind a real API server, followed by `policysched ui`, for page benchmarks."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from benchmarks import workload_files
from benchmarks.comparison import arrivals
from benchmarks.process import process_usage
from tests.e2e.scenes import followed_page, scheduler_process
from tests.realcluster import control_plane as control_planes

_READY_SECONDS = 120.0
_SETTINGS = """\
apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
serving: {page: true, secureAddress: "%s"}
"""


class ServedScheduler:
    """A scheduler, and the page that follows it.

    Attributes:
        url: its secure port.
        folder: has the token and the authority for this port.
        page: `policysched ui --decisions`.
    """

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        scheduler: scheduler_process.PolicyScheduler,
        page: followed_page.FollowingPage,
    ) -> None:
        """Send pods to the API server of `plane`."""
        self._plane = plane
        self._scheduler = scheduler
        self._workload = workload_files.load("plain")
        self._sent = 0
        self.url, self.folder, self.page = page.url, page.folder, page

    def place_pods(self, per_second: float, seconds: float) -> int:
        """Send pods at an even rate, wait until all have a node, and return how many they are."""
        pods = self._make_pods(round(per_second * seconds))
        arrivals.send(self._plane.client, pods, per_second)
        self._scheduler.wait_until(lambda: self.page.ask("status")["pending"] == 0)
        return len(pods)

    def measure_cpu_seconds(self) -> float:
        """Return the CPU time of `run` so far."""
        return process_usage.cpu_seconds(self._scheduler.process.pid)

    def _make_pods(self, count: int) -> list[workload_files.Object]:
        pods = self._workload.pods(count, "policysched")
        for pod in pods:
            self._sent += 1
            pod["metadata"]["name"] = f"pod-{self._sent}"
        return pods


@contextlib.contextmanager
def serve_scheduler(folder: pathlib.Path, nodes: int) -> Iterator[ServedScheduler]:
    """Run everything with files in `folder`, and yield the scheduler once it knows all nodes."""
    workload = workload_files.load("plain")
    with control_planes.ControlPlane(folder / "plane", users={followed_page.READER: []}) as plane:
        plane.client.create_namespace(workload_files.NAMESPACE)
        plane.client.create_nodes(workload.nodes(nodes))
        url, flags = followed_page.prepare(plane, folder)
        settings = folder / "config.yaml"
        settings.write_text(_SETTINGS % url.removeprefix("https://"))
        with (
            scheduler_process.PolicyScheduler(
                plane, folder, flags=[*flags, f"--config={settings}"]
            ) as scheduler,
            followed_page.FollowingPage(url, folder) as page,
        ):
            scheduler.wait_until(
                lambda: page.ask("status").get("nodes") == nodes,
                time_limit_seconds=_READY_SECONDS,
            )
            yield ServedScheduler(plane, scheduler, page)
