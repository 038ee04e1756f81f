"""What is measured of one run of a scheduler, and what it was measured with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec

from benchmarks import schedulers

_AboveZero = Annotated[float, msgspec.Meta(ge=1e-6, le=1e9)]


class Case(msgspec.Struct, frozen=True):
    """What is measured: a workload at a size.

    Attributes:
        workload: its name.
        nodes: how many.
        pods: how many are measured.
        arrivals_per_second: how fast they come; 0 for a backlog that lies ready.
        compares: what differs between the runs: `schedulers` or `policies`.
    """

    workload: str
    nodes: Annotated[int, msgspec.Meta(ge=1)]
    pods: int
    arrivals_per_second: float = 0.0
    compares: str = "schedulers"

    def baselines(self, scheduler: str) -> Sequence[str]:
        """Return the schedulers whose figures those of `scheduler` are divided by.

        With policies that is the same scheduler without one, otherwise kube-scheduler; and for
        policysched, the one of the base.
        """
        is_policies = self.compares == "policies"
        own = schedulers.without_policy(scheduler) if is_policies else schedulers.KUBE_SCHEDULER
        both = (own, schedulers.of_base(scheduler))
        return [name for name in dict.fromkeys(both) if name != scheduler]

    def __str__(self) -> str:
        """Return one line for people."""
        how = f" at {self.arrivals_per_second:g}/s" if self.arrivals_per_second else ""
        what = ", policies" if self.compares == "policies" else ""
        return f"{self.workload}, {self.nodes:,} nodes, {self.pods:,} pods{how}{what}"


class Quality(msgspec.Struct, frozen=True):
    """How well pods were placed (see `benchmarks.quality`).

    Attributes:
        cpu_std, cpu_max: of the shares of cpu that pods request, over all nodes.
        memory_std, memory_max: likewise.
        score: the sum over the measured pods of 0 to 100 points each.
        broken_rules: how many rules the final state breaks.
    """

    cpu_std: float
    cpu_max: float
    memory_std: float
    memory_max: float
    score: float
    broken_rules: int


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds until pods were bound: quantiles over the pods.

    Arriving pods count from the moment in which they were due, whenever the benchmark got to send
    them; those of a backlog from the start of the scheduler.
    """

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class Origin(msgspec.Struct, frozen=True):
    """What a run was made with beside its case; runs of other origins are not compared.

    Attributes:
        workload: hash of what its file creates.
        policysched: hash of the files of the package.
        kube_scheduler: its version.
        policy: hash of the policy's text; "" without one.
        flags: further ones of policysched.
    """

    workload: str
    policysched: str
    kube_scheduler: str
    policy: str = ""
    flags: tuple[str, ...] = ()


class Measurement(msgspec.Struct, frozen=True):
    """One run of one scheduler.

    Attributes:
        case, scheduler: what ran; `policysched+NAME` with the policy of that name,
            `policysched@base` from a second checkout.
        repeat: which turn it was, from 0.
        bound: how many of the measured pods got a node.
        start_seconds: from the start of the process to the first binding or preemption.
        bind_seconds: from there to the last binding.
        pods_per_second: bindings a second in this time.
        events_behind_seconds: from the last binding until the last event was written.
        cpu_seconds: of the scheduler between the first binding or preemption and the last event.
        server_cpu_seconds: of kube-apiserver and etcd in the same time.
        total_cpu_seconds: of the scheduler since its start.
        peak_memory_mib: of the scheduler since its start.
        others_share: of the machine's CPU time, what went to other processes meanwhile.
        stolen_share: of the same, what the hypervisor gave to other virtual machines; None in lines
            of older benchmarks.
        ended_at: when the last event was written, in seconds since the epoch; None likewise.
        arrived_per_second: how fast pods were really sent, which a busy machine may slow down; 0
            for a backlog.
        sent_late_p99_ms: how long after they were due pods were sent, which the waits of both
            schedulers have in them; 0 for a backlog.
        latency: until pods were bound.
        quality: where they were bound.
        origin: what it was made with; None in lines of older benchmarks.
        machine: its cores and Python (see `benchmarks.machine`).
        churn_turns: how often objects came, or came and went, in the same time as `cpu_seconds`.
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
        """What this is a measurement of."""
        return self.case, self.scheduler, self.repeat

    @property
    def known_stolen_share(self) -> float:
        """The stolen share; not a number where it is not known."""
        return math.nan if self.stolen_share is None else self.stolen_share

    @property
    def told_per_second(self) -> float:
        """Bindings a second, until the last event was written."""
        return self.bound / (self.bind_seconds + max(0.0, self.events_behind_seconds))
