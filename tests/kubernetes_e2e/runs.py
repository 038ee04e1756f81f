"""One run of the tests of a set with one scheduler."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from policysched import clock as clocks
from tests.kubernetes_e2e import clusters, reports
from tests.realcluster import components

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.kubernetes_e2e import e2e_sets

_TIME_LIMIT = "75m"
_SEED = 1
_REPORT = "junit_01.xml"
_POLL_SECONDS = 0.5


@dataclasses.dataclass(frozen=True)
class Run:
    """What came of a set with one scheduler.

    Attributes:
        outcomes: by the name of the test.
        duration_seconds: of the tests, without the start of the cluster.
    """

    outcomes: Mapping[str, reports.Outcome]
    duration_seconds: float

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(outcome.is_passed for outcome in self.outcomes.values())


def run(
    e2e_set: e2e_sets.E2eSet,
    scheduler: str,
    folder: pathlib.Path,
    *,
    node_count: int,
    stopping: threading.Event,
    tests: Sequence[str] = (),
) -> Run:
    """Run a set on a cluster of its own.

    Args:
        e2e_set: what to run.
        scheduler: one of `clusters.SCHEDULERS`.
        folder: for all files of the cluster and the report; emptied first.
        node_count: how many nodes the cluster has.
        stopping: ends the tests early when it is set.
        tests: names of tests; none for the whole set.

    Raises:
        reports.ReportError: e2e.test wrote no complete report, or ran no test; `e2e.log` says why.
        process.ProcessError: the cluster did not start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clock = clocks.SystemClock()
    with clusters.run(e2e_set, scheduler, folder, node_count=node_count) as kubeconfig:
        start_seconds = clock.monotonic_seconds()
        _run_ginkgo(_command(e2e_set, kubeconfig, folder, tests), folder / "e2e.log", stopping)
        duration_seconds = clock.monotonic_seconds() - start_seconds
    return Run(reports.read(folder / _REPORT), duration_seconds)


def _command(
    e2e_set: e2e_sets.E2eSet, kubeconfig: pathlib.Path, folder: pathlib.Path, tests: Sequence[str]
) -> list[str]:
    focus = "|".join(map(re.escape, tests)) if tests else e2e_set.focus
    return [
        str(components.binary("ginkgo")),
        f"--procs={e2e_set.processes}",
        f"--timeout={_TIME_LIMIT}",
        f"--seed={_SEED}",
        f"--focus={focus}",
        *([f"--skip={e2e_set.skip}"] if e2e_set.skip else []),
        "--no-color",
        str(components.binary("e2e.test")),
        "--",
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={components.binary('kubectl')}",
        "--provider=local",
        "--system-daemonsets-startup-timeout=1m",
        f"--report-dir={folder}",
    ]


def _run_ginkgo(command: Sequence[str], log: pathlib.Path, stopping: threading.Event) -> None:
    """Run the tests; the exit code says no more than the report."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as ginkgo,
    ):
        while ginkgo.poll() is None:
            if stopping.wait(_POLL_SECONDS):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(ginkgo.pid, signal.SIGKILL)  # with the processes of e2e.test
                break
