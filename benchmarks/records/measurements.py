"""Records of the runs of schedulers: case, figures, quality and inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec

from benchmarks.comparison import schedulers

_AboveZero = Annotated[float, msgspec.Meta(ge=1e-6, le=1e9)]


class Case(msgspec.Struct, frozen=True):
    """A workload at a size.

    Attributes:
        workload: its name.
        nodes: number of nodes.
        pods: number of measured pods.
        arrivals_per_second: the rate at which pods arrive; 0 for a backlog, which exists before the
            scheduler starts.
        compares: the difference between the compared runs: `schedulers` or `policies`.
    """

    workload: str
    nodes: Annotated[int, msgspec.Meta(ge=1)]
    pods: int
    arrivals_per_second: float = 0.0
    compares: str = "schedulers"

    def baselines(self, scheduler: str) -> Sequence[str]:
        """Return the schedulers by whose figures the figures of `scheduler` are divided.

        The first is the same scheduler without a policy if policies are compared, otherwise
        kube-scheduler. The figures of policysched are also divided by those of the base.
        """
        is_policies = self.compares == "policies"
        own = schedulers.without_policy(scheduler) if is_policies else schedulers.KUBE_SCHEDULER
        both = (own, schedulers.of_base(scheduler))
        return [name for name in dict.fromkeys(both) if name != scheduler]

    def __str__(self) -> str:
        """Return a title of one line."""
        rate = f" at {self.arrivals_per_second:g}/s" if self.arrivals_per_second else ""
        suffix = ", policies" if self.compares == "policies" else ""
        return f"{self.workload}, {self.nodes:,} nodes, {self.pods:,} pods{rate}{suffix}"


class Quality(msgspec.Struct, frozen=True):
    """The quality of placements (see `benchmarks.comparison.quality`).

    Attributes:
        cpu_std, cpu_max: standard deviation and maximum of the nodes' requested cpu shares.
        memory_std, memory_max: likewise for memory.
        score: the sum of the points of the measured pods, 0 to 100 each.
        broken_rules: number of rules that the final state violates.
    """

    cpu_std: float
    cpu_max: float
    memory_std: float
    memory_max: float
    score: float
    broken_rules: int


class Latency(msgspec.Struct, frozen=True):
    """Quantiles over the pods of the milliseconds until a pod was bound.

    The wait of an arriving pod begins when the pod is due, even if the benchmark sends it later;
    the wait of a pod of a backlog begins at the start of the scheduler.
    """

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class Origin(msgspec.Struct, frozen=True):
    """The inputs of a run besides its case; runs of different origins are not compared.

    Attributes:
        workload: hash of the objects that the workload creates.
        policysched: hash of the files of the package and of the grammar.
        kube_scheduler: its version.
        policy: hash of the text of the policy; "" without one.
        flags: further flags of policysched.
    """

    workload: str
    policysched: str
    kube_scheduler: str
    policy: str = ""
    flags: tuple[str, ...] = ()


class Measurement(msgspec.Struct, frozen=True):
    """One run of one scheduler.

    Attributes:
        case: the workload and its size.
        scheduler: the scheduler that ran; `policysched+NAME` with the policy of that name,
            `policysched@base` from a second checkout.
        repeat: the number of the repeat, from 0.
        bound: number of measured pods that got a node.
        start_seconds: from the start of the process to the first binding or preemption.
        bind_seconds: from there to the last binding.
        pods_per_second: bindings per second in `bind_seconds`.
        events_behind_seconds: from the last binding until the last event was written.
        cpu_seconds: of the scheduler, from the first binding or preemption to the last event.
        server_cpu_seconds: of kube-apiserver and etcd in the same time.
        total_cpu_seconds: of the scheduler since its start.
        peak_memory_mib: of the scheduler since its start.
        others_share: share of the machine's CPU time that other processes used in the same time.
        stolen_share: share that the hypervisor gave to other virtual machines; None in lines of
            older benchmarks.
        ended_at: when the last event was written, in seconds since the epoch; None in lines of
            older benchmarks.
        arrived_per_second: the rate at which pods were sent, which a busy machine may reduce; 0 for
            a backlog.
        sent_late_p99_ms: the delay between due and sent, which is part of the waits with both
            schedulers; 0 for a backlog.
        latency: the waits until pods were bound.
        quality: the quality of their placements.
        origin: the inputs of the run; None in lines of older benchmarks.
        machine: cores and Python (see `benchmarks.process.machine`).
        churn_turns: cycles of churn in the same time as `cpu_seconds`.
    """

    case: Case
    scheduler: str
    repeat: int
    bound: Annotated[int, msgspec.Meta(ge=1)]
    start_seconds: float
    bind_seconds: _AboveZero
    pods_per_second: _AboveZero
    events_behind_seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    total_cpu_seconds: float
    peak_memory_mib: float
    others_share: float
    latency: Latency
    quality: Quality
    machine: str = ""
    arrived_per_second: float = 0.0
    origin: Origin | None = None
    churn_turns: int = 0
    sent_late_p99_ms: float = 0.0
    stolen_share: float | None = None
    ended_at: float | None = None

    @property
    def key(self) -> tuple[Case, str, int]:
        """Case, scheduler and repeat, which identify the run."""
        return self.case, self.scheduler, self.repeat

    @property
    def known_stolen_share(self) -> float:
        """The stolen share; NaN if it is unknown."""
        return math.nan if self.stolen_share is None else self.stolen_share

    @property
    def pods_per_second_with_events(self) -> float:
        """Bindings per second, until the last event was written."""
        return self.bound / (self.bind_seconds + max(0.0, self.events_behind_seconds))
