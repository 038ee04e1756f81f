"""Durations of `policysched lint` and related commands from a cold start, and of Python alone.

python -m benchmarks lint --repeat 10

Every run is a separate process, with compiled modules as in an installed package. On a machine with
other work the shortest run is the most reliable; CPU seconds are of the same run.
"""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import time

from benchmarks import options
from benchmarks.process import orphans

_HEADER = """\
version 1
param range: duration = 5m
metric cpu_busy: ratio = `1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[$range]))`
  node instance  refresh 15s  maxAge 2m
"""
_RULES = (
    "nodeAffinity required pool-{n} In (a, b, c) and zone-{n} Exists",
    "nodeAffinity preferred rack-{n} In (a, b) and not tainted(d{n}:NoSchedule) weight 7 as p{n}",
    "reject when cpu_busy > 8{m}% missing allow as hot{n}",
    "reject when requests(cpu) > 900m and node(disk-{n} In (ssd)) as r{n}",
    "score free(cpu) / allocatable(cpu) prefer high missing score 0 weight 5 as s{n}",
    "podAffinity preferred pods where app In (a{n}) topologyKey kubernetes.io/hostname weight 3",
    "tolerate dedicated-{n}=web:NoSchedule",
)
_RULES_PER_POLICY = 10


def make_text(rules: int) -> str:
    """Return policies of ten rules each, of several kinds; `rules` is the total."""
    policies = []
    for first in range(0, rules, _RULES_PER_POLICY):
        numbers = range(first, min(first + _RULES_PER_POLICY, rules))
        lines = [_RULES[n % len(_RULES)].format(n=n, m=n % 10) for n in numbers]
        head = f'policy p{first} {{\n  description "rules {first}"\n  owner "bench"\n'
        scope = f"  for pods where app = app-{first}\n"
        policies.append(head + scope + "".join(f"  {line}\n" for line in lines) + "}\n")
    return "\n".join([_HEADER, *policies])


def _read_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command: list[str], folder: pathlib.Path, repeat: int) -> tuple[float, float]:
    """Return wall and CPU seconds of the shortest run, after one that compiles the modules."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(repeat + 1):
        cpu_seconds, began = _read_cpu_seconds(), time.perf_counter()
        done = subprocess.run(command, check=False, capture_output=True, env=environment)
        times.append((time.perf_counter() - began, _read_cpu_seconds() - cpu_seconds))
        if done.returncode > 1:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.decode()}")
    return min(times[1:])


def main(argv: list[str]) -> int:
    """Measure all commands, and print a table."""
    parser = options.Parser(prog="python -m benchmarks lint", description=__doc__)
    parser.add_argument(
        "--repeat", type=options.at_least(1), default=10, help="runs of each command"
    )
    args = parser.parse_args(argv)
    python = [sys.executable, "-m", "policysched"]
    with orphans.folder_without_orphans() as folder:
        files = {rules: folder / f"rules-{rules}.policy" for rules in (1, 50, 1000)}
        for rules, file in files.items():
            file.write_text(make_text(rules), encoding="utf-8")
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "policysched --version": [*python, "--version"],
            "check, 1 rule": [*python, "check", str(files[1])],
            "lint, 1 rule": [*python, "lint", str(files[1])],
            "lint, 50 rules": [*python, "lint", str(files[50])],
            "lint, 1,000 rules": [*python, "lint", str(files[1000])],
        }
        print(f"{'':24}{'seconds':>9}{'CPU':>7}")
        for title, command in cases.items():
            wall, cpu = measure(command, folder, args.repeat)
            print(f"{title:24}{wall:9.3f}{cpu:7.3f}", flush=True)
    return 0
