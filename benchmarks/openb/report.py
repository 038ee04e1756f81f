"""Schedules the openb trace under several profiles and prints the table of docs/openb.md.

    python -m benchmarks.openb.report FOLDER [--repeat N]

FOLDER is that of benchmarks.openb.convert. Every row is `policysched simulate` in a process of its
own, with ties broken by name or, with N seeds, at random. Seconds include the start of Python and
the reading of the cluster file.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
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
_COUNTED_REASON = re.compile(r"(?:^|, )(?P<count>\d+) (?P<reason>.*?)(?=, \d+ |$)")


Answer: TypeAlias = dict[str, Any]
"""What `policysched simulate -o json` prints."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """A row of the table; without a file it is policysched without policies."""

    title: str
    file: pathlib.Path | None = None


PROFILES = (
    Profile("default profile"),
    Profile("MostAllocated, GPU weight 5", ROOT / "benchmarks" / "openb" / "most-allocated.policy"),
    Profile("gpu-packing.policy", ROOT / "policies" / "gpu-packing.policy"),
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one run placed.

    Attributes:
        gpu_milli: thousandths of devices allocated.
        pending: pods left, by the reason that excludes most nodes.
    """

    placed: int
    gpu_milli: int
    pending: Counter[str]
    seconds: float


def simulate(
    profile: Profile, cluster_file: pathlib.Path, seed: int | None
) -> tuple[Answer, float]:
    """Return the answer of `policysched simulate` and the seconds that it took.

    Ties are broken by name without a seed.
    """
    command = [sys.executable, "-m", "policysched", "simulate", "--cluster", str(cluster_file)]
    command += ["-o", "json"]
    command += ["--policies", str(profile.file)] if profile.file else []
    command += ["--deterministic"] if seed is None else ["--seed", str(seed)]
    started_seconds = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    return orjson.loads(done.stdout), time.monotonic() - started_seconds


def outcome(answer: Answer, seconds: float, requested: dict[str, int]) -> Outcome:
    """Return what an answer amounts to; `requested` is each pod's thousandths of devices."""
    placed = [p["pod"] for p in answer["placements"] if p["node"] is not None]
    pending = [p for p in answer["placements"] if p["node"] is None]
    reasons = Counter(main_reason(p["message"]) for p in pending)
    return Outcome(len(placed), sum(requested[pod] for pod in placed), reasons, seconds)


def main_reason(message: str) -> str:
    """Return the reason that excludes most nodes in a `0/N nodes are available: …` message."""
    _, _, text = message.partition("available: ")
    counts = {m["reason"]: int(m["count"]) for m in _COUNTED_REASON.finditer(text.rstrip("."))}
    most = max(counts.values(), default=0)
    return " and ".join(sorted(r for r, count in counts.items() if count == most)) or message


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head, *body = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    yield head
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from body


def row(title: str, ties: str, found: Outcome, total_gpu_milli: int) -> list[str]:
    """Return the cells of one run."""
    pending = "; ".join(f"{count} {reason}" for reason, count in found.pending.most_common())
    return [
        title,
        ties,
        f"{found.placed:,}",
        f"{100 * found.gpu_milli / total_gpu_milli:.1f} %",
        f"{sum(found.pending.values())}" + (f": {pending}" if pending else ""),
        f"{found.seconds:.1f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Schedule the openb trace under several profiles.")
    parser.add_argument("folder", type=convert.folder, help="where the two CSV files lie")
    parser.add_argument("--repeat", type=int, default=2, help="runs with ties broken at random")
    args = parser.parse_args()
    nodes = convert.rows(args.folder / convert.NODES_FILE)
    pods = convert.rows(args.folder / convert.PODS_FILE)
    requested = {f"default/{pod['name']}": convert.gpu_milli(pod) for pod in pods}
    total_gpu_milli = 1000 * sum(int(node["gpu"]) for node in nodes)
    demand = sum(requested.values()) / total_gpu_milli
    rows = [["profile", "ties", "pods placed", "GPUs allocated", "left pending", "seconds"]]
    with tempfile.TemporaryDirectory() as folder:
        cluster_file = pathlib.Path(folder) / "cluster.json"
        cluster_file.write_bytes(orjson.dumps(convert.cluster(args.folder)))
        for profile in PROFILES:
            for seed in (None, *range(1, args.repeat + 1)):
                answer, seconds = simulate(profile, cluster_file, seed)
                found = outcome(answer, seconds, requested)
                ties = "by name" if seed is None else f"seed {seed}"
                rows.append(row(profile.title, ties, found, total_gpu_milli))
    print(f"{len(nodes):,} nodes, {len(pods):,} pods, demand {demand:.1%} of the GPUs\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
