"""Compares policysched with kube-scheduler on one real API server, or times the algorithm alone.

python -m benchmarks                                  what `make bench` runs
python -m benchmarks --nodes 1000 --shapes mixed --repeat 1
python -m benchmarks algorithm --profile
python -m benchmarks metrics --minutes 10             queries to Prometheus, cost of metric scores
python -m benchmarks stalls                           how long big answers hold up the event loop
python -m benchmarks policies                         what 10 and 100 rules and metrics cost a cycle
python -m benchmarks reloads                          how long reloads of policies do
python -m benchmarks shadow                           what a shadow policy costs a cycle
python -m benchmarks explain                          how long `explain pod` takes on a dump
python -m benchmarks lint                             how long `lint` takes from a cold start
python -m benchmarks plan                             how long `plan` takes on a dump
python -m benchmarks karmada                          bindings a second beside karmada-scheduler
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

from benchmarks import comparison, options, report, schedulers, workload_files


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark that the command line asks for."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["algorithm"]:
        from benchmarks import algorithm  # noqa: PLC0415 - the comparison never imports the engine

        return algorithm.main(words[1:])
    if words[:1] == ["metrics"]:
        from benchmarks import metrics  # noqa: PLC0415 - as above

        return metrics.main(words[1:])
    if words[:1] == ["stalls"]:
        from benchmarks import stalls  # noqa: PLC0415 - as above

        return stalls.main(words[1:])
    if words[:1] == ["policies"]:
        from benchmarks import policy_costs  # noqa: PLC0415 - as above

        return policy_costs.main(words[1:])
    if words[:1] == ["reloads"]:
        from benchmarks import reloads  # noqa: PLC0415 - as above

        return reloads.main(words[1:])
    if words[:1] == ["shadow"]:
        from benchmarks import shadow  # noqa: PLC0415 - as above

        return shadow.main(words[1:])
    if words[:1] == ["explain"]:
        from benchmarks import explaining  # noqa: PLC0415 - as above

        return explaining.main(words[1:])
    if words[:1] == ["plan"]:
        from benchmarks import planning  # noqa: PLC0415 - as above

        return planning.main(words[1:])
    if words[:1] == ["karmada"]:
        from benchmarks import karmada  # noqa: PLC0415 - as above

        return karmada.main(words[1:])
    if words[:1] == ["lint"]:
        from benchmarks import linting  # noqa: PLC0415 - as above

        return linting.main(words[1:])
    args = _parser().parse_args(words)
    plan = comparison.Plan(
        [comparison.Case(shape, nodes, args.pods) for shape in args.shapes for nodes in args.nodes],
        [schedulers.POLICYSCHED] if args.profile else args.schedulers,
        args.repeat,
        schedulers.Options(args.flag, args.profile),
    )
    with tempfile.TemporaryDirectory(prefix="policysched-bench-") as folder:
        return _compare(plan, pathlib.Path(folder), args.out)


def _compare(plan: comparison.Plan, folder: pathlib.Path, out: pathlib.Path | None) -> int:
    made = []
    try:
        for one in comparison.run(plan, folder, _note):
            made.append(one)
            _note(f"{one.scheduler}: {one.pods_per_second:.0f} pods/s ({one.case.workload})")
    except comparison.BenchmarkError as error:
        _note(str(error))
        return 1
    finally:
        if out is not None:
            out.write_bytes(report.json(made))
        if made:
            print(report.text(made))
    return 0


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Bind the same backlogs with kube-scheduler and policysched in turn.",
        epilog="`algorithm` as the first word times the scheduling cycle alone, without a server.",
    )
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument(
        "--shapes",
        type=options.words,
        default=["plain", "mixed"],
        metavar="A,B",
        help=f"workloads: {', '.join(workload_files.names())}",
    )
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--schedulers", type=options.words, default=list(schedulers.NAMES), metavar="A,B"
    )
    parser.add_argument("--out", type=pathlib.Path, help="write every measurement as JSON")
    parser.add_argument(
        "--flag", action="append", default=[], help="a further flag for policysched; repeatable"
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="run policysched alone and under cProfile, and say where its time goes",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
