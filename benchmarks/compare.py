"""The comparison with kube-scheduler as a command: plans, results that are kept, tables."""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys
import tempfile
from collections.abc import Sequence

from benchmarks import (
    comparison,
    estimates,
    measurements,
    options,
    plans,
    report,
    schedulers,
    workload_files,
)
from tests.realcluster import components

RESULTS = pathlib.Path(".bench")
"""Where results are kept by default, one file for each plan."""
_REPEATS = 3


def main(words: Sequence[str], epilog: str) -> int:
    """Compare, list or report what the command line asks for."""
    parser = _parser(epilog)
    args = parser.parse_args(words)
    if args.plan and _is_own_case(args):
        parser.error("a plan says itself which workloads it measures, at which sizes")
    try:
        plan = _plan(args)
        only = [schedulers.POLICYSCHED] if args.profile else args.schedulers
        comparisons = plans.comparisons(plan, only)
        file = _results_file(args)
        if args.fresh and file is not None and not (args.list or args.report):
            measurements.put_aside(file)
        results = measurements.Results(file)
        if args.list:
            print(_listed(plan, comparisons, results))
            return 0
        if args.report:
            print(report.markdown(results.measurements) if args.markdown else _told(results))
            return 0
        return _compare(args, comparisons, results)
    except (workload_files.FileError, measurements.ResultsError) as error:
        _note(str(error))
        return 2
    except components.ComponentError as error:
        _note(str(error))
        return 1
    except KeyboardInterrupt:
        is_kept = _results_file(args) is not None
        _note(f"interrupted{'; the same command goes on with what is missing' if is_kept else ''}")
        return 130


def _compare(
    args: argparse.Namespace,
    comparisons: Sequence[plans.Comparison],
    results: measurements.Results,
) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that servers are ended, too
    _warn_of_other_sources(results)
    run_options = schedulers.Options(args.flag, args.profile)
    with tempfile.TemporaryDirectory(prefix="policysched-bench-") as folder:
        comparing = comparison.Comparing(results, pathlib.Path(folder), run_options, _note)
        comparing.run(comparisons)
    print(report.markdown(results.measurements) if args.markdown else _told(results))
    if comparing.failed:
        _note("failed: " + "; ".join(str(case) for case in comparing.failed))
        return 1
    return 0


def _told(results: measurements.Results) -> str:
    return report.text(results.measurements)


def _warn_of_other_sources(results: measurements.Results) -> None:
    sources = {one.source for one in results.measurements if one.scheduler != "kube-scheduler"}
    if sources - {schedulers.source()}:
        _note("some results are of another version of policysched; --fresh begins anew")


def _plan(args: argparse.Namespace) -> plans.Plan:
    """Return the plan that is named, or the one that the options make."""
    if not _is_own_case(args):
        return plans.load(_plan_name(args))
    entry = plans.Entry(
        workloads=args.shapes or ["plain", "mixed"],
        nodes=args.nodes or [1000, 5000],
        pods=args.pods,
        arrivals_per_second=args.arrivals or [],
        policies=args.policies or [],
    )
    return plans.Plan("as the options say", [entry], args.repeat or _REPEATS)


def _is_own_case(args: argparse.Namespace) -> bool:
    own = (args.shapes, args.nodes, args.pods, args.arrivals, args.policies, args.repeat)
    return any(one is not None for one in own)


def _plan_name(args: argparse.Namespace) -> str:
    return args.plan or "full"


def _results_file(args: argparse.Namespace) -> pathlib.Path | None:
    """Return where results are kept; profiled runs are slower and are not kept."""
    if args.profile:
        return None
    if args.results is not None:
        return pathlib.Path(args.results)
    if _is_own_case(args):
        return None
    return RESULTS / f"{pathlib.Path(_plan_name(args)).stem}.jsonl"


def _listed(
    plan: plans.Plan, comparisons: Sequence[plans.Comparison], results: measurements.Results
) -> str:
    """Return a line for each case: what is done, and how long the rest takes."""
    made, total = results.keys(), 0.0
    estimate = estimates.Estimate(results.measurements)
    lines = [plan.description, f"{'':<58}{'done':>8}{'left':>14}"]
    for one in comparisons:
        turns = list(one.turns())
        left = [name for repeat, name in turns if (one.case, name, repeat) not in made]
        seconds = estimate.seconds(one.case, left) if left else 0.0
        total += seconds
        about = f"about {estimates.duration(seconds)}" if left else ""
        lines.append(f"{one.case!s:<58}{f'{len(turns) - len(left)}/{len(turns)}':>8}{about:>18}")
    return "\n".join([*lines, f"all that is left: about {estimates.duration(total)}"])


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser(epilog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Let kube-scheduler and policysched bind the same pods on the same real API "
        "server, in turn, and print ratios. Results are kept case by case; the same command goes "
        "on with what is missing.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser)
    _add_own_cases(parser)
    _add_how(parser)
    return parser


def _add_what(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what is measured")
    shipped = ", ".join(plans.names())
    what.add_argument(
        "--plan", metavar="NAME", help=f"{shipped}, or a file; default: full, which takes hours"
    )
    what.add_argument(
        "--quick",
        action="store_const",
        const="quick",
        dest="plan",
        help="the plan `quick`: a few minutes",
    )
    what.add_argument("--list", action="store_true", help="list cases, and how long they take")
    what.add_argument("--report", action="store_true", help="print what has been measured")
    what.add_argument("--markdown", action="store_true", help="print a table for documents")
    what.add_argument(
        "--results",
        metavar="FILE",
        help=f"where results are kept; default: {RESULTS}/PLAN.jsonl, nowhere for own cases",
    )
    what.add_argument(
        "--fresh", action="store_true", help="begin anew; what there is gets the ending .old"
    )


def _add_own_cases(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("own cases instead of a plan")
    workloads = ", ".join(workload_files.names())
    own.add_argument(
        "--shapes", type=options.words, metavar="A,B", help=f"of {workloads}; default: plain,mixed"
    )
    own.add_argument("--nodes", type=options.numbers, metavar="N,N", help="default: 1000,5000")
    own.add_argument(
        "--pods", type=int, metavar="N", help="default: what the workload says for the size"
    )
    own.add_argument("--repeat", type=int, metavar="N", help=f"default: {_REPEATS}")
    own.add_argument(
        "--arrivals", type=options.numbers, metavar="N,N", help="pods a second, not a backlog"
    )
    own.add_argument(
        "--policies",
        type=options.words,
        metavar="A,B",
        help="compare policysched with itself under policies of benchmarks/policies",
    )


def _add_how(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("how")
    how.add_argument(
        "--schedulers", type=options.words, default=[], metavar="A,B", help="only some of them"
    )
    how.add_argument(
        "--flag", action="append", default=[], help="a further flag for policysched; repeatable"
    )
    how.add_argument(
        "--profile",
        action="store_true",
        help="run policysched alone, sampled, and say where its time goes; keeps no results",
    )
