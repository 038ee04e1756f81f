"""CPU time of a real `run` while pods arrive, with and without open pages.

python -m benchmarks page-readers --rate 200 --readers 0,1,5

A real API server and `policysched ui --decisions` are beside it. A reader asks what an open page
asks: rows as soon as there are some, the status and the map every three seconds. Phases without and
with readers take turns, because the speed of a machine changes.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import statistics
import threading
import time
from collections.abc import Iterator

from benchmarks import options, workload_files
from benchmarks.comparison import arrivals
from benchmarks.process import orphans, process_usage
from tests.e2e.scenes import followed_page, scheduler_process
from tests.realcluster import control_plane as control_planes

_POLL_SECONDS = 3.0
_WAIT_SECONDS = 20
_READY_SECONDS = 120.0


def main(argv: list[str]) -> int:
    """Run the phases, and print a table."""
    parser = options.Parser(prog="python -m benchmarks page-readers", description=__doc__)
    parser.add_argument("--nodes", type=options.at_least(1), default=5000)
    parser.add_argument("--rate", type=options.above_zero, default=200.0, help="pods per second")
    parser.add_argument("--seconds", type=options.at_least(5), default=15, help="of a phase")
    parser.add_argument("--rounds", type=options.at_least(1), default=3)
    parser.add_argument("--readers", type=_parse_counts, default=[0, 1, 5], metavar="N,N,…")
    args = parser.parse_args(argv)
    found: dict[int, list[tuple[float, float]]] = {count: [] for count in args.readers}
    with orphans.folder_without_orphans() as folder, _serve(folder, args.nodes) as served:
        served.run_phase(0, args.rate, args.seconds)  # the first pods fill caches
        for _ in range(args.rounds):
            for count in args.readers:
                found[count].append(served.run_phase(count, args.rate, args.seconds))
    print(f"{args.nodes:,} nodes, {args.rate:g} pods/s due, phases of {args.seconds} s")
    print("readers  sent/s  CPU of run: per pod, per second (median, lowest to highest)")
    for count, phases in found.items():
        print(_format_row(count, phases))
    return 0


def _parse_counts(text: str) -> list[int]:
    return [options.at_least(0, 100)(each) for each in text.split(",")]


def _format_row(count: int, phases: list[tuple[float, float]]) -> str:
    rates = [rate for rate, _ in phases]
    shares = sorted(cpu for _, cpu in phases)
    per_pod = [1000 * cpu / rate for rate, cpu in phases]
    return (
        f"{count:7}  {statistics.median(rates):6.0f}  {statistics.median(per_pod):.3f} ms, "
        f"{statistics.median(shares):.1%} ({shares[0]:.1%} to {shares[-1]:.1%})"
    )


class _ServedScheduler:
    """A scheduler with its page.

    Attributes:
        sent: number of pods that were sent so far.
    """

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        scheduler: scheduler_process.PolicyScheduler,
        page: followed_page.FollowingPage,
    ) -> None:
        self._plane = plane
        self._scheduler = scheduler
        self._page = page
        self._workload = workload_files.load("plain")
        self.sent = 0

    def run_phase(self, readers: int, rate: float, seconds: int) -> tuple[float, float]:
        """Send pods; return the sent pods and the CPU seconds of `run`, both per second."""
        ending = threading.Event()
        pods = self._make_pods(round(rate * seconds))
        with concurrent.futures.ThreadPoolExecutor(max(1, 2 * readers)) as pool:
            for _ in range(readers):
                pool.submit(self._read_rows, ending)
                pool.submit(self._read_state, ending)
            used, began = self._measure_cpu_seconds(), time.monotonic()
            arrived = arrivals.send(self._plane.client, pods, rate)
            self._scheduler.wait_until(lambda: self._page.ask("status")["pending"] == 0)
            lasted = time.monotonic() - began
            spent = self._measure_cpu_seconds() - used
            ending.set()
        return len(arrived.sent) / lasted, spent / lasted

    def _measure_cpu_seconds(self) -> float:
        return process_usage.cpu_seconds(self._scheduler.process.pid)

    def _make_pods(self, count: int) -> list[workload_files.Object]:
        pods = self._workload.pods(count, "policysched")
        for pod in pods:
            self.sent += 1
            pod["metadata"]["name"] = f"pod-{self.sent}"
        return pods

    def _read_rows(self, ending: threading.Event) -> None:
        after = 0
        while not ending.is_set():
            after = self._page.ask("decisions", after=after, wait=_WAIT_SECONDS)["next"]

    def _read_state(self, ending: threading.Event) -> None:
        while not ending.wait(_POLL_SECONDS):
            self._page.ask("status")
            self._page.ask("cluster")


@contextlib.contextmanager
def _serve(folder: pathlib.Path, nodes: int) -> Iterator[_ServedScheduler]:
    workload = workload_files.load("plain")
    with control_planes.ControlPlane(folder / "plane", users={followed_page.READER: []}) as plane:
        plane.client.create_namespace(workload_files.NAMESPACE)
        plane.client.create_nodes(workload.nodes(nodes))
        url, flags = followed_page.prepare(plane, folder)
        with (
            scheduler_process.PolicyScheduler(plane, folder, flags=flags) as scheduler,
            followed_page.FollowingPage(url, folder) as page,
        ):
            scheduler.wait_until(
                lambda: page.ask("status").get("nodes") == nodes,
                time_limit_seconds=_READY_SECONDS,
            )
            yield _ServedScheduler(plane, scheduler, page)
