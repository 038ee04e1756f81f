"""Plans: the YAML files of `benchmarks/plans`, with the cases to measure and their repeats."""

from __future__ import annotations

import dataclasses
import pathlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

import msgspec

from benchmarks import workload_files
from benchmarks.comparison import churn, schedulers
from benchmarks.records import measurements

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "plans"
_SECONDS_OF_ARRIVALS = 20
_Repeats: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=100)]
_Rate: TypeAlias = Annotated[float, msgspec.Meta(ge=0.1, le=100_000)]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Workloads with common settings; each workload is measured at each size.

    Attributes:
        workloads: their names.
        nodes: sizes of the cluster.
        pods: number of measured pods; by default the workload's number for the size.
        repeats: repeats of each case; by default those of the plan.
        arrivals_per_second: rates at which pods arrive; without one, a backlog is measured.
        policies: names of files of `benchmarks/policies`; policysched with each of them is compared
            with policysched without a policy, instead of with kube-scheduler.
    """

    workloads: Annotated[list[str], msgspec.Meta(min_length=1)]
    nodes: Annotated[list[workload_files.Count], msgspec.Meta(min_length=1)]
    pods: workload_files.PodCount | None = None
    repeats: _Repeats | None = None
    arrivals_per_second: list[_Rate] = []
    policies: list[str] = []


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cases to measure.

    Attributes:
        description: one line.
        cases: in the order of measurement.
        repeats: number of runs of each case by each scheduler.
    """

    description: str
    cases: Annotated[list[Entry], msgspec.Meta(min_length=1)]
    repeats: _Repeats = 3


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A case, its schedulers and the number of its repeats.

    Attributes:
        names: schedulers in the order of every second repeat; the other repeats have the opposite
            order. The case decides the order of the first repeat, so that no scheduler is first in
            all cases that run once.
    """

    case: measurements.Case
    names: Sequence[str]
    repeats: int

    def turns(self) -> Iterator[tuple[int, str]]:
        """Yield (repeat, scheduler) in the order of the runs."""
        first = zlib.crc32(str(self.case).encode())
        for repeat in range(self.repeats):
            for name in self.names if (first + repeat) % 2 == 0 else self.names[::-1]:
                yield repeat, name


def load(name: str) -> Plan:
    """Return the plan in `plans/<name>.yaml`, or in another file.

    Raises:
        workload_files.FileError: the file does not exist, or is not a plan.
    """
    if name in names():
        return workload_files.read(FOLDER / f"{name}.yaml", Plan)
    if not pathlib.Path(name).is_file():
        shipped = ", ".join(names())
        raise workload_files.FileError(
            f"unknown plan `{name}`; known plans are {shipped}, or a file"
        )
    return workload_files.read(pathlib.Path(name), Plan)


def names() -> list[str]:
    """Return the names of all plans."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def comparisons(
    plan: Plan, only: Sequence[str] = (), *, has_base: bool = False
) -> list[Comparison]:
    """Return the comparisons of a plan, one for each case; the first entry of a case counts.

    Args:
        plan: the cases to measure.
        only: the schedulers to run; by default all.
        has_base: whether policysched of a second checkout also runs.

    Raises:
        workload_files.FileError: a workload, policy or scheduler is unknown.
    """
    known = dict.fromkeys(
        name for entry in plan.cases for name in _list_schedulers(entry, has_base=has_base)
    )
    for name in only:
        if name not in known:
            known_names = ", ".join(known)
            raise workload_files.FileError(
                f"unknown scheduler `{name}`; known schedulers are {known_names}"
            )
    by_case: dict[measurements.Case, Comparison] = {}
    for entry in plan.cases:
        names = _list_schedulers(entry, has_base=has_base)
        chosen = [name for name in names if not only or name in only]
        for case in _list_cases(entry):
            by_case.setdefault(case, Comparison(case, chosen, entry.repeats or plan.repeats))
    return list(by_case.values())


def _list_schedulers(entry: Entry, *, has_base: bool) -> list[str]:
    """Return the schedulers that run an entry; baselines are before the others."""
    own = [schedulers.POLICYSCHED, *(schedulers.with_policy(name) for name in entry.policies)]
    if has_base:
        # A scheduler runs next to its base.
        own = [each for name in own for each in (schedulers.of_base(name), name)]
    return list(dict.fromkeys(own if entry.policies else [schedulers.KUBE_SCHEDULER, *own]))


def _list_cases(entry: Entry) -> Iterator[measurements.Case]:
    for name in entry.policies:
        schedulers.policy_file(name)  # reports an unknown name before anything runs
    compares = "policies" if entry.policies else "schedulers"
    for name in entry.workloads:
        workload = workload_files.load(name)
        _check_churn(workload)
        for nodes in entry.nodes:
            for rate in entry.arrivals_per_second or [0.0]:
                pods = entry.pods or _count_pods(workload, nodes, rate)
                yield measurements.Case(name, nodes, pods, rate, compares)


def _check_churn(workload: workload_files.Workload) -> None:
    try:
        churn.check(workload.churn)
    except workload_files.FileError as error:
        raise workload_files.FileError(f"workload `{workload.name}`: {error}") from error


def _count_pods(workload: workload_files.Workload, nodes: int, rate: float) -> int:
    return int(_SECONDS_OF_ARRIVALS * rate) if rate else workload.pod_count(nodes)
