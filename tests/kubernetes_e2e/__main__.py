"""`python -m tests.kubernetes_e2e`: Kubernetes' e2e tests, with policysched and kube-scheduler.

python -m tests.kubernetes_e2e
python -m tests.kubernetes_e2e --sets scheduling,apps --nodes 12
python -m tests.kubernetes_e2e --sets devices --schedulers policysched

A test that fails with policysched alone is repeated with both. The command ends with 1 if it still
fails with policysched and passes with kube-scheduler.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests import whole_numbers
from tests.kubernetes_e2e import clusters, comparison, e2e_sets, reports, runs, table
from tests.realcluster import api_client, components, process

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".kubernetes-e2e"
"""Results, and the files of each run."""

_EXIT_ERROR = 2
_EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sets; return 1 if policysched fails what kube-scheduler passes, 2 for errors."""
    args = _parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # servers end with this command
    try:
        for program in components.KUBERNETES_E2E.programs:
            components.binary(program)
        results = list(_run_all(args))
    except (
        api_client.ApiError,
        components.ComponentError,
        process.ProcessError,
        reports.ReportError,
    ) as error:
        print(error, file=sys.stderr)
        return _EXIT_ERROR
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    (FOLDER / "results.json").write_text(_format_json(results), encoding="utf-8")
    missing = [e2e_set for e2e_set in e2e_sets.SETS if e2e_set.missing and e2e_set not in args.sets]
    print("\n".join(table.format_table(results, missing)))
    return choose_exit_code(results)


def choose_exit_code(results: Sequence[table.Result]) -> int:
    """Return 0 if policysched passed all that kube-scheduler did, 2 if the cluster is broken."""
    if any(result.is_control_broken for result in results):
        return _EXIT_ERROR
    return int(any(result.is_ours_to_blame for result in results))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kubernetes_e2e",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = [e2e_set for e2e_set in e2e_sets.SETS if not e2e_set.missing]
    parser.add_argument(
        "--sets",
        type=_choose_sets,
        default=default,
        help="separated by commas; default: all that policysched has the features for",
    )
    parser.add_argument(
        "--schedulers",
        type=_choose_schedulers,
        default=clusters.SCHEDULERS,
        help="separated by commas; default: both",
    )
    positive = whole_numbers.at_least(1)
    parser.add_argument("--nodes", type=positive, default=5, help="default: 5")
    parser.add_argument(
        "--clusters", type=positive, default=2, help="at the same time; default: 2, for two cores"
    )
    parser.add_argument(
        "--repeats",
        type=positive,
        default=3,
        help="of what fails with policysched alone; default: 3",
    )
    return parser.parse_args(arguments)


def _choose_sets(text: str) -> list[e2e_sets.E2eSet]:
    known = {e2e_set.name: e2e_set for e2e_set in e2e_sets.SETS}
    return [known[name] for name in _split(text, known)]


def _choose_schedulers(text: str) -> Sequence[str]:
    return _split(text, clusters.SCHEDULERS)


def _split(text: str, known: Sequence[str] | Mapping[str, object]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"`{name}` is none of {', '.join(known)}")
    return names


def _run_all(args: argparse.Namespace) -> Iterator[table.Result]:
    """Run every set with every scheduler, some at the same time, and yield what came of each."""
    with concurrent.futures.ThreadPoolExecutor(args.clusters) as pool:
        runner = Runner(pool, args.nodes)
        try:
            futures = {
                (e2e_set.name, scheduler): runner.submit(e2e_set, scheduler)
                for e2e_set in args.sets
                for scheduler in args.schedulers
            }
            _wait(futures.values())
            for e2e_set in args.sets:
                done = {name: futures[e2e_set.name, name].result() for name in args.schedulers}
                differences = _repeat_failed(runner, args.repeats, e2e_set, done)
                yield table.Result(e2e_set, done, list(differences))
        finally:
            runner.stop()


def _wait(futures: Iterable[concurrent.futures.Future[runs.Run]]) -> None:
    """Return when all have ended; raise the first error at once."""
    first_error = concurrent.futures.FIRST_EXCEPTION
    for future in concurrent.futures.wait(futures, return_when=first_error).done:
        future.result()


class Runner:
    """Runs sets in the background, and says how each ended."""

    def __init__(self, pool: concurrent.futures.Executor, node_count: int) -> None:
        self._pool = pool
        self._node_count = node_count
        self._stopping = threading.Event()

    def submit(
        self,
        e2e_set: e2e_sets.E2eSet,
        scheduler: str,
        *,
        tests: Sequence[str] = (),
        suffix: str = "",
    ) -> concurrent.futures.Future[runs.Run]:
        """Return what will come of a set, or of some of its tests, with a scheduler.

        Args:
            e2e_set: which.
            scheduler: one of `clusters.SCHEDULERS`.
            tests: names of tests; none for the whole set.
            suffix: of the name of its folder.
        """
        return self._pool.submit(self._run, e2e_set, scheduler, tests, suffix)

    def stop(self) -> None:
        """End what runs, and begin nothing more."""
        self._stopping.set()
        self._pool.shutdown(cancel_futures=True)

    def _run(
        self, e2e_set: e2e_sets.E2eSet, scheduler: str, tests: Sequence[str], suffix: str
    ) -> runs.Run:
        done = runs.run(
            e2e_set,
            scheduler,
            FOLDER / e2e_set.name / f"{scheduler}{suffix}",
            node_count=self._node_count,
            stopping=self._stopping,
            tests=tests,
        )
        print(
            f"{e2e_set.name}, {scheduler}{suffix}: {done.passed} of {len(done.outcomes)} passed "
            f"in {done.duration_seconds / 60:.1f} minutes",
            flush=True,
        )
        return done


def _repeat_failed(
    runner: Runner, count: int, e2e_set: e2e_sets.E2eSet, done: Mapping[str, runs.Run]
) -> Iterator[comparison.Difference]:
    """Repeat the tests that failed with policysched alone, and yield what comes of each."""
    if set(done) != set(clusters.SCHEDULERS):
        return
    ours = done[clusters.POLICYSCHED].outcomes
    failed = comparison.find_failed(done[clusters.KUBE_SCHEDULER].outcomes, ours)
    if not failed:
        return
    futures = {
        scheduler: [
            runner.submit(e2e_set, scheduler, tests=failed, suffix=f"-repeat-{number}")
            for number in range(1, count + 1)
        ]
        for scheduler in clusters.SCHEDULERS
    }
    repeats = {
        scheduler: [future.result().outcomes for future in pending]
        for scheduler, pending in futures.items()
    }
    for test in failed:
        yield comparison.judge(
            test, ours, repeats[clusters.KUBE_SCHEDULER], repeats[clusters.POLICYSCHED]
        )


def _format_json(results: Sequence[table.Result]) -> str:
    content = [
        {
            "set": result.e2e_set.name,
            "runs": {name: dataclasses.asdict(run) for name, run in result.runs.items()},
            "differences": [
                {"test": one.test, "message": one.message, "verdict": one.verdict.value}
                for one in result.differences
            ],
        }
        for result in results
    ]
    return json.dumps(content, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
