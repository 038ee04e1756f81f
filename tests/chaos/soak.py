"""Let a cluster be busy for a long time and look whether the scheduler's memory stays.

    python -m tests.chaos.soak --minutes 30

Ten pods a second come and go, nodes flap, policies are edited. The memory at the end may be at most
1.05 of that after five minutes; then the cluster is filled to the last place, which shows that no
room was lost in the meantime either. What is printed is a line a minute.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from typing import TYPE_CHECKING

from tests import whole_numbers
from tests.chaos import patient_client, soak_churn
from tests.e2e.scenes import failover_scene, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.realcluster import api_client

LIMIT = 1.05
FIRST_MINUTES = 5
"""From then on memory should not grow: what is kept is bounded and has been filled."""

_TOLD = (
    "policysched_",
    "scheduler_pending_pods",
    "scheduler_schedule_attempts_total",
    "scheduler_cache_size",
)


@dataclasses.dataclass(frozen=True)
class Sample:
    """Memory over one minute: the median of a sample a second.

    Attributes:
        anonymous_mib: the part that no file stands behind.
    """

    resident_mib: float
    anonymous_mib: float


class Meter:
    """Reads the memory of a process, a number a second and a median a minute."""

    def __init__(self, pid: int) -> None:
        self.minutes: list[Sample] = []
        self._status = pathlib.Path(f"/proc/{pid}/status")
        self._seconds: list[tuple[float, float]] = []

    def look(self) -> None:
        """Take a sample."""
        fields = dict(
            line.split(":", 1) for line in self._status.read_text(encoding="utf-8").splitlines()
        )
        self._seconds.append((_mib(fields["VmRSS"]), _mib(fields["RssAnon"])))

    def end_minute(self) -> Sample:
        """Sum up what was seen since the last call."""
        resident, anonymous = zip(*self._seconds, strict=True)
        self._seconds.clear()
        sample = Sample(statistics.median(resident), statistics.median(anonymous))
        self.minutes.append(sample)
        return sample

    def growth(self) -> float:
        """Return the memory of the last minute as a share of that after five minutes."""
        first = self.minutes[min(FIRST_MINUTES, len(self.minutes)) - 1]
        return self.minutes[-1].resident_mib / first.resident_mib


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 1 where memory has grown too much or something happened that must not."""
    args = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with control_planes.ControlPlane(
            folder / "control-plane", flags=control_planes.THROUGHPUT_FLAGS
        ) as plane:
            return _soak(plane, folder, args)


def _soak(
    plane: control_planes.ControlPlane, folder: pathlib.Path, args: argparse.Namespace
) -> int:
    client = patient_client.PatientClient.of(plane)
    churn = soak_churn.Churn(client, random.Random(args.seed), pods_per_second=args.pods_per_second)
    address = f"127.0.0.1:{process.free_port()}"
    flags = ["--policy-configmap", soak_churn.CONFIG_MAP, "--metrics-address", address]
    with scheduler_process.PolicyScheduler(plane, folder, flags=flags) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        meter = Meter(scheduler.process.pid)
        print("minute  resident MiB  anonymous MiB    pods", flush=True)
        for minute in range(1, args.minutes + 1):
            _live_a_minute(churn, meter, scheduler)
            sample = meter.end_minute()
            print(
                f"{minute:6}  {sample.resident_mib:12.1f}  {sample.anonymous_mib:13.1f}"
                f"  {churn.created:6}",
                flush=True,
            )
            if args.counts:
                print(_counts(address), flush=True)
        churn.settle()
        found = _fill(client, scheduler)
    growth = meter.growth()
    print(f"after {len(meter.minutes)} minutes: {growth:.3f} of minute {FIRST_MINUTES}")
    print(*found, sep="\n")
    return 1 if growth > LIMIT or found else 0


def _live_a_minute(
    churn: soak_churn.Churn, meter: Meter, scheduler: scheduler_process.PolicyScheduler
) -> None:
    pause = threading.Event()
    minute_ends = time.monotonic() + 60.0
    while (begun := time.monotonic()) < minute_ends:
        if not scheduler.process.is_running():
            raise process.ProcessError(f"the scheduler has ended:\n{scheduler.process.log_tail()}")
        churn.live_one_second()
        meter.look()
        pause.wait(max(0.0, 1.0 - (time.monotonic() - begun)))


def _fill(client: api_client.ApiClient, scheduler: scheduler_process.PolicyScheduler) -> list[str]:
    """Fill the cluster to the last place, and return what is wrong."""
    names = [f"fill-{number}" for number in range(soak_churn.NODES * soak_churn.PODS_PER_NODE)]
    pods = [manifests.pod(name, scheduler_name="policysched") for name in names]
    client.create_pods(soak_churn.NAMESPACE, pods)
    try:
        scheduler.wait_until(
            lambda: not client.items("/api/v1/pods", fieldSelector="spec.nodeName=")
        )
    except process.ProcessError as error:
        return [str(error)]
    return failover_scene.violations(client)


def _counts(address: str) -> str:
    """Return what the process tells of itself that has to do with memory."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30.0) as answer:
        lines = answer.read().decode().splitlines()
    return "\n".join(f"        {line}" for line in lines if line.startswith(_TOLD))


def _mib(kibibytes: str) -> float:
    return int(kibibytes.split(maxsplit=1)[0]) / 1024


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.chaos.soak")
    parser.add_argument("--minutes", type=whole_numbers.at_least(FIRST_MINUTES + 1), default=30)
    parser.add_argument("--pods-per-second", type=whole_numbers.at_least(1), default=10)
    parser.add_argument("--seed", type=whole_numbers.at_least(0), default=1)
    parser.add_argument("--counts", action="store_true", help="print own metrics each minute")
    return parser


if __name__ == "__main__":
    sys.exit(main())
