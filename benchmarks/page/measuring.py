"""Costs of the page in a browser, with the goals of its design.

python -m benchmarks page --nodes 5000 --pods 5

Every figure is of `policysched ui` with a cluster file, a policy and metrics, on this machine.
"""

from __future__ import annotations

import copy
import json
import pathlib
import sys
from typing import Any

from benchmarks import options
from benchmarks.commands import explaining
from benchmarks.page import answers, browser_times, figures
from benchmarks.process import orphans
from tests.page import page_process
from tests.realcluster import browser as browsers

_POLICY = """
metric cpu_busy: ratio = `cpu` node instance
policy all {
  for pods
  nodeAffinity preferred topology.kubernetes.io/zone = zone-a weight 5 as near
  reject when cpu_busy > 80% missing allow as too-hot
  score cpu_busy prefer low normalize linear(0%, 100%) missing score 0 weight 2 as low-cpu
}
"""
_PODS = 5
"""Pods of each kind to ask about: those that fit, and those that are Pending."""


def main(argv: list[str]) -> int:
    """Measure the page, and print a table."""
    parser = options.Parser(prog="python -m benchmarks page", description=__doc__)
    parser.add_argument("--nodes", type=options.at_least(2), default=5000)
    parser.add_argument("--pods", type=options.at_least(1), default=5, help="placed pods per node")
    parser.add_argument(
        "--repeat", type=options.at_least(1), default=5, help="fresh pages for the first paint"
    )
    parser.add_argument(
        "--seconds", type=options.at_least(1), default=60, help="use of the page, for its memory"
    )
    args = parser.parse_args(argv)
    with orphans.folder_without_orphans() as folder:
        words = _write_inputs(folder, args.nodes, args.pods)
        print(f"{args.nodes:,} nodes, {args.nodes * args.pods:,} placed pods", flush=True)
        try:
            found = _measure(words, args.repeat, args.seconds)
        except browsers.BrowserError as error:
            print(error, file=sys.stderr)
            return options.EXIT_WRONG_INPUT
    print("\n".join(figures.format_figures(found)))
    return 0


def _measure(words: list[str], repeat: int, use_seconds: int) -> dict[str, float]:
    pods = [f"default/{kind}-{number}" for kind in ("fits", "pending") for number in range(_PODS)]
    with page_process.serve_page(*words) as url, browsers.launch_browser() as browser:
        # The answers first: the browser takes part of the machine's time.
        return {
            **answers.measure_answers(url, pods),
            **browser_times.measure_browser(browser, url, repeat, use_seconds),
        }


def _write_inputs(folder: pathlib.Path, nodes: int, pods_per_node: int) -> list[str]:
    """Write the inputs of `policysched ui`, and return its options."""
    cluster = explaining.dump(nodes, pods_per_node)
    *items, fits, pending = cluster["items"]
    for pod in (fits, pending):
        items += [_rename(pod, number) for number in range(_PODS)]
    paths = {name: folder / name for name in ("cluster.json", "page.policy", "metrics.json")}
    paths["cluster.json"].write_text(json.dumps({**cluster, "items": items}), encoding="utf-8")
    paths["page.policy"].write_text(_POLICY, encoding="utf-8")
    busy = {f"node-{number}": number % 90 / 100 for number in range(nodes)}
    paths["metrics.json"].write_text(json.dumps({"cpu_busy": busy}), encoding="utf-8")
    flags = ("--cluster", "--policies", "--metrics")
    return [word for pair in zip(flags, map(str, paths.values()), strict=True) for word in pair]


def _rename(pod: dict[str, Any], number: int) -> dict[str, Any]:
    renamed = copy.deepcopy(pod)
    renamed["metadata"]["name"] += f"-{number}"
    return renamed
