"""What was measured: one line of JSON for each run of a scheduler, in a file that may grow."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import msgspec

from benchmarks import schedulers


class ResultsError(Exception):
    """A file of results holds something else; the text says where."""


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
    nodes: int
    pods: int
    arrivals_per_second: float = 0.0
    compares: str = "schedulers"

    @property
    def baseline(self) -> str:
        """Whose figures the others are divided by."""
        is_policies = self.compares == "policies"
        return schedulers.POLICYSCHED if is_policies else schedulers.KUBE_SCHEDULER

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

    Arriving pods count from the moment in which they were sent to the API server, those of a
    backlog from the start of the scheduler.
    """

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class Measurement(msgspec.Struct, frozen=True):
    """One run of one scheduler.

    Attributes:
        case, scheduler: what ran; `policysched+NAME` with the policy of that name.
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
        arrived_per_second: how fast pods really came, which a busy machine may slow down; 0 for a
            backlog.
        latency: until pods were bound.
        quality: where they were bound.
        source: hash of the sources of policysched.
        machine: how many cores, which Python.
    """

    case: Case
    scheduler: str
    repeat: int
    bound: int
    start_seconds: float
    bind_seconds: float
    pods_per_second: float
    events_behind_seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    total_cpu_seconds: float
    peak_memory_mib: float
    others_share: float
    latency: Latency
    quality: Quality
    source: str = ""
    machine: str = ""
    arrived_per_second: float = 0.0

    @property
    def key(self) -> tuple[Case, str, int]:
        """What this is a measurement of."""
        return self.case, self.scheduler, self.repeat

    @property
    def told_per_second(self) -> float:
        """Bindings a second, until the last event was written."""
        return self.bound / (self.bind_seconds + self.events_behind_seconds)


class Results:
    """A file of measurements; each is written when it has been made.

    Attributes:
        measurements: all so far.
    """

    def __init__(self, file: pathlib.Path | None) -> None:
        """Read what the file holds already; without a file nothing is kept.

        A last line without an end is what a killed benchmark was writing; it is taken away.

        Raises:
            ResultsError: a line is no measurement, or the file cannot be read.
        """
        self._file = file
        self.measurements: list[Measurement] = []
        if file is not None:
            self.measurements += _read(file)

    def keys(self) -> set[tuple[Case, str, int]]:
        """Return what has been measured."""
        return {one.key for one in self.measurements}

    def add(self, one: Measurement) -> None:
        """Keep a measurement."""
        self.measurements.append(one)
        if self._file is not None:
            with self._file.open("ab") as file:
                file.write(msgspec.json.encode(one) + b"\n")


def read(file: pathlib.Path) -> Sequence[Measurement]:
    """Return the measurements of a file that has to be there.

    Raises:
        ResultsError: it is missing, or a line is no measurement.
    """
    if not file.is_file():
        raise ResultsError(f"there is no file {file}")
    return Results(file).measurements


def put_aside(file: pathlib.Path) -> None:
    """Give a file of results, where there is one, the ending `.old`, in the place of an older one.

    Raises:
        ResultsError: it cannot be renamed.
    """
    try:
        if file.exists():
            file.replace(file.with_name(f"{file.name}.old"))
    except OSError as error:
        raise ResultsError(str(error)) from error


def _read(file: pathlib.Path) -> list[Measurement]:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            return []
        content = file.read_bytes()
        whole, _, rest = content.rpartition(b"\n")
        if rest:
            file.write_bytes(content[: len(content) - len(rest)])
    except OSError as error:
        raise ResultsError(str(error)) from error
    return [_decoded(file, number, line) for number, line in enumerate(whole.splitlines(), 1)]


def _decoded(file: pathlib.Path, number: int, line: bytes) -> Measurement:
    try:
        return msgspec.json.decode(line, type=Measurement)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}:{number}: this is no measurement: {error}") from error
