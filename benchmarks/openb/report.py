"""Schedules the openb trace under several profiles and prints the tables of docs/openb.md.

    python -m benchmarks.openb.report FOLDER

FOLDER is the one of benchmarks.openb.convert. Every row is one `policysched simulate` in a separate
process; seconds include the start of Python and the reading of the cluster file.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import orjson

from benchmarks.openb import convert

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEW_CORES = 2000
"""Milli-CPU; hardly any GPU pod of the trace requests less."""
RUN_COLUMNS = (
    "profile",
    "variant",
    "pods placed",
    "GPUs allocated",
    "left pending",
    "seconds",
    "CPU",
)
LEFT_COLUMNS = (
    "profile",
    "GPUs free",
    "beside under 2 cores",
    "in rests of devices",
    "pending pods by GPUs",
)
_COUNTED_REASON = re.compile(r"(?:^|, )(?P<count>\d+) (?P<reason>.*?)(?=, \d+ |$)")


Answer: TypeAlias = dict[str, Any]
"""The output of `policysched simulate -o json`."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """A profile to simulate; without a file, policysched without policies."""

    title: str
    file: pathlib.Path | None = None


PROFILES = (
    Profile("default profile"),
    Profile("MostAllocated, GPU weight 5", ROOT / "benchmarks" / "openb" / "most-allocated.policy"),
    Profile("gpu-packing.policy", ROOT / "policies" / "gpu-packing.policy"),
)


@dataclasses.dataclass(frozen=True)
class Seconds:
    """Wall and CPU time of a run; busy processes beside it increase only the wall time."""

    wall: float
    cpu: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The placements of one run.

    Attributes:
        gpu_milli: thousandths of devices allocated.
        pending: number of pending pods, by the reason that excludes most nodes.
    """

    placed: int
    gpu_milli: int
    pending: Counter[str]
    seconds: Seconds


def simulate(
    profile: Profile, cluster_file: pathlib.Path, seed: int | None
) -> tuple[Answer, Seconds]:
    """Run `policysched simulate`, and return its answer and its duration.

    Without a seed, ties are broken by name.
    """
    command = [sys.executable, "-m", "policysched", "simulate", "--cluster", str(cluster_file)]
    command += ["-o", "json"]
    command += ["--policies", str(profile.file)] if profile.file else []
    command += ["--deterministic"] if seed is None else ["--seed", str(seed)]
    started_seconds, cpu_before = time.monotonic(), _read_children_cpu_seconds()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    seconds = Seconds(time.monotonic() - started_seconds, _read_children_cpu_seconds() - cpu_before)
    return orjson.loads(done.stdout), seconds


def _read_children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def summarise(answer: Answer, seconds: Seconds, requested: dict[str, int]) -> Outcome:
    """Summarise an answer; `requested` is each pod's thousandths of devices."""
    placed = [p["pod"] for p in answer["placements"] if p["node"] is not None]
    pending = [p for p in answer["placements"] if p["node"] is None]
    reasons = Counter(find_main_reason(p["message"]) for p in pending)
    return Outcome(len(placed), sum(requested[pod] for pod in placed), reasons, seconds)


def find_main_reason(message: str) -> str:
    """Return the reason that excludes most nodes in a `0/N nodes are available: …` message."""
    _, _, text = message.partition("available: ")
    counts = {m["reason"]: int(m["count"]) for m in _COUNTED_REASON.finditer(text.rstrip("."))}
    most = max(counts.values(), default=0)
    reasons = sorted(reason for reason, count in counts.items() if count == most) or [message]
    return " and ".join(reasons).replace("alibabacloud.com/", "")


def format_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head, *body = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(make_row, widths, strict=True)) + " |"
        for make_row in rows
    ]
    yield head
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from body


def make_row(title: str, variant: str, outcome: Outcome, total_gpu_milli: int) -> list[str]:
    """Return the cells of one run."""
    pending = "; ".join(f"{count} {reason}" for reason, count in outcome.pending.most_common())
    return [
        title,
        variant,
        f"{outcome.placed:,}",
        f"{100 * outcome.gpu_milli / total_gpu_milli:.1f} %",
        f"{sum(outcome.pending.values())}" + (f": {pending}" if pending else ""),
        f"{outcome.seconds.wall:.1f}",
        f"{outcome.seconds.cpu:.1f}",
    ]


@dataclasses.dataclass(frozen=True)
class Variant:
    """The orders of ties and of arrivals; None is by name, and by creation."""

    title: str
    tie_seed: int | None = None
    shuffle_seed: int | None = None


VARIANTS = (
    Variant("ties by name"),
    Variant("ties at random, seed 1", tie_seed=1),
    Variant("ties at random, seed 2", tie_seed=2),
    Variant("arrivals shuffled, seed 1", shuffle_seed=1),
    Variant("arrivals shuffled, seed 2", shuffle_seed=2),
)


def make_rest_row(title: str, answer: Answer, trace: Trace) -> list[str]:
    """Return the cells of the second table: free devices and pending pods."""
    cpu_milli, gpu_milli = Counter(trace.cpu_milli), Counter(trace.gpu_milli)
    pending_by_gpus: Counter[str] = Counter()
    for placement in answer["placements"]:
        pod, node = trace.pods[placement["pod"]], placement["node"]
        if node is None:
            pending_by_gpus[pod["num_gpu"]] += 1
        else:
            cpu_milli[node] -= int(pod["cpu_milli"])
            gpu_milli[node] -= convert.gpu_milli(pod)
    without_cores = sum(free for node, free in gpu_milli.items() if cpu_milli[node] < FEW_CORES)
    return [
        title,
        f"{sum(gpu_milli.values()) / 1000:.0f}",
        f"{without_cores / 1000:.0f}",
        f"{sum(free % 1000 for free in gpu_milli.values()) / 1000:.0f}",
        ", ".join(f"{count} request {gpus}" for gpus, count in pending_by_gpus.most_common()),
    ]


class Trace:
    """The nodes and pods of the two CSV files.

    Attributes:
        pods: rows by `namespace/name`.
        cpu_milli, gpu_milli: allocatable amounts by node.
        requested: thousandths of devices by pod.
        total_gpu_milli: allocatable thousandths of devices of all nodes.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        """Read the files."""
        nodes = convert.rows(folder / convert.NODES_FILE)
        self.pods = {f"default/{p['name']}": p for p in convert.rows(folder / convert.PODS_FILE)}
        self.cpu_milli = {node["sn"]: int(node["cpu_milli"]) for node in nodes}
        self.gpu_milli = {node["sn"]: 1000 * int(node["gpu"]) for node in nodes}
        self.requested = {name: convert.gpu_milli(pod) for name, pod in self.pods.items()}
        self.total_gpu_milli = sum(self.gpu_milli.values())


def main() -> None:
    """Print two tables: all variants, and the free devices with ties broken by name."""
    parser = argparse.ArgumentParser(description="Schedule the openb trace under several profiles.")
    parser.add_argument("folder", type=convert.folder, help="folder of the two CSV files")
    args = parser.parse_args()
    trace = Trace(args.folder)
    runs = [list(RUN_COLUMNS)]
    rests = [list(LEFT_COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        cluster_file = pathlib.Path(folder) / "cluster.json"
        for profile in PROFILES:
            for variant in VARIANTS:
                items = convert.cluster(args.folder, variant.shuffle_seed)
                cluster_file.write_bytes(orjson.dumps(items))
                answer, seconds = simulate(profile, cluster_file, variant.tie_seed)
                outcome = summarise(answer, seconds, trace.requested)
                runs.append(make_row(profile.title, variant.title, outcome, trace.total_gpu_milli))
                if variant is VARIANTS[0]:
                    rests.append(make_rest_row(profile.title, answer, trace))
    demand = sum(trace.requested.values()) / trace.total_gpu_milli
    print(f"{len(trace.gpu_milli):,} nodes, {len(trace.pods):,} pods, demand {demand:.1%}")
    for each in (runs, rests):
        print("", *format_table(each), sep="\n")


if __name__ == "__main__":
    main()
