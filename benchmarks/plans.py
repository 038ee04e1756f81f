"""Plans: the YAML files of `benchmarks/plans`, which say what is measured and how often."""

from __future__ import annotations

import dataclasses
import pathlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

import msgspec

from benchmarks import churn, measurements, schedulers, workload_files

FOLDER = pathlib.Path(__file__).resolve().parent / "plans"
_SECONDS_OF_ARRIVALS = 20
_Repeats: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=100)]
_Rate: TypeAlias = Annotated[float, msgspec.Meta(ge=0.1, le=100_000)]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Workloads that are measured alike: each of them at each size.

    Attributes:
        workloads: their names.
        nodes: sizes of the cluster.
        pods: how many are measured; by default what the workload says for the size.
        repeats: how often; by default what the plan says.
        arrivals_per_second: rates at which pods arrive, instead of a backlog that lies ready.
        policies: names of files of `benchmarks/policies`, with which policysched is compared with
            itself without a policy, instead of with kube-scheduler.
    """

    workloads: Annotated[list[str], msgspec.Meta(min_length=1)]
    nodes: Annotated[list[workload_files.Count], msgspec.Meta(min_length=1)]
    pods: workload_files.PodCount | None = None
    repeats: _Repeats | None = None
    arrivals_per_second: list[_Rate] = []
    policies: list[str] = []


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured.

    Attributes:
        description: one line.
        cases: in this order.
        repeats: how often each case is run by each scheduler.
    """

    description: str
    cases: Annotated[list[Entry], msgspec.Meta(min_length=1)]
    repeats: _Repeats = 3


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A case and who runs it, how often.

    Attributes:
        names: in this order in every other repeat, and in the opposite one in between; which of
            them comes first follows from the case, so that none has the first turn of all cases
            that are run once.
    """

    case: measurements.Case
    names: Sequence[str]
    repeats: int

    def turns(self) -> Iterator[tuple[int, str]]:
        """Give (repeat, scheduler) in the order of the runs."""
        first = zlib.crc32(str(self.case).encode())
        for repeat in range(self.repeats):
            for name in self.names if (first + repeat) % 2 == 0 else self.names[::-1]:
                yield repeat, name


def load(name: str) -> Plan:
    """Return the plan in `plans/<name>.yaml`, or in a file.

    Raises:
        workload_files.FileError: there is none, or it is not a plan.
    """
    if name in names():
        return workload_files.read(FOLDER / f"{name}.yaml", Plan)
    if not pathlib.Path(name).is_file():
        shipped = ", ".join(names())
        raise workload_files.FileError(f"there is no plan `{name}`; there are {shipped}, or a file")
    return workload_files.read(pathlib.Path(name), Plan)


def names() -> list[str]:
    """Return the names of all plans."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def comparisons(
    plan: Plan, only: Sequence[str] = (), *, has_base: bool = False
) -> list[Comparison]:
    """Return what a plan means, without what came before.

    Args:
        plan: what is measured.
        only: schedulers that run; all of them by default.
        has_base: whether policysched of a second checkout takes its turns, too.

    Raises:
        workload_files.FileError: it names a workload, a policy or a scheduler that is not there.
    """
    known = dict.fromkeys(name for entry in plan.cases for name in _names(entry, has_base=has_base))
    for name in only:
        if name not in known:
            there = ", ".join(known)
            raise workload_files.FileError(f"`{name}` is none of the schedulers: {there}")
    made: dict[measurements.Case, Comparison] = {}
    for entry in plan.cases:
        names = _names(entry, has_base=has_base)
        chosen = [name for name in names if not only or name in only]
        for case in _cases(entry):
            made.setdefault(case, Comparison(case, chosen, entry.repeats or plan.repeats))
    return list(made.values())


def _names(entry: Entry, *, has_base: bool) -> list[str]:
    """Return the schedulers that run an entry, the one that others are compared with first."""
    own = [schedulers.POLICYSCHED, *(schedulers.with_policy(name) for name in entry.policies)]
    if has_base:
        # A scheduler and its base take turns next to each other.
        own = [one for name in own for one in (schedulers.of_base(name), name)]
    return list(dict.fromkeys(own if entry.policies else [schedulers.KUBE_SCHEDULER, *own]))


def _cases(entry: Entry) -> Iterator[measurements.Case]:
    for name in entry.policies:
        schedulers.policy_file(name)  # so that a wrong name is said before anything runs
    compares = "policies" if entry.policies else "schedulers"
    for name in entry.workloads:
        workload = workload_files.load(name)
        _check_churn(workload)
        for nodes in entry.nodes:
            for rate in entry.arrivals_per_second or [0.0]:
                pods = entry.pods or _pod_count(workload, nodes, rate)
                yield measurements.Case(name, nodes, pods, rate, compares)


def _check_churn(workload: workload_files.Workload) -> None:
    try:
        churn.check(workload.churn)
    except workload_files.FileError as error:
        raise workload_files.FileError(f"workload `{workload.name}`: {error}") from error


def _pod_count(workload: workload_files.Workload, nodes: int, rate: float) -> int:
    return int(_SECONDS_OF_ARRIVALS * rate) if rate else workload.pod_count(nodes)
