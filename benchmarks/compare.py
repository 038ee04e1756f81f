"""The comparison with kube-scheduler as a command: plans, results that are kept, tables."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

from benchmarks import (
    comparison,
    documents,
    estimates,
    goals,
    options,
    origins,
    orphans,
    plans,
    ratios,
    report,
    results,
    schedulers,
    workload_files,
)
from tests.realcluster import components

RESULTS = pathlib.Path(".bench")
"""Where results are kept by default, one file for each plan."""
_REPEATS = 3
_CONTRADICTIONS = (
    ("list", "report"),
    ("list", "fresh"),
    ("list", "markdown"),
    ("report", "fresh"),
    ("report", "schedulers"),
    ("profile", "list"),
    ("profile", "report"),
    ("profile", "markdown"),
    ("profile", "schedulers"),
    ("profile", "results"),
    ("profile", "base"),
)
"""Of each pair of options one would be ignored."""


def main(words: Sequence[str], epilog: str) -> int:
    """Compare, list or report what the command line asks for."""
    parser = _parser(epilog)
    args = parser.parse_args(words)
    _refuse_contradictions(parser, args)
    kept: results.Results | None = None
    try:
        goals.load()
        comparisons = plans.comparisons(_plan(args), _only(args), has_base=args.base is not None)
        if args.list or args.report:
            return _tell(args, comparisons)
        file = _results_file(args)
        if args.fresh and file is not None:
            results.put_aside(file)
        kept = _results(args)
        return _compare(args, comparisons, kept)
    except (workload_files.FileError, results.ResultsError) as error:
        _print_added(args, kept)
        _note(str(error))
        return options.EXIT_WRONG_INPUT
    except components.ComponentError as error:
        _note(str(error))
        return 1
    except KeyboardInterrupt:
        _print_added(args, kept)
        is_kept = _results_file(args) is not None
        _note(f"interrupted{'; the same command goes on with what is missing' if is_kept else ''}")
        return 130


def _print_added(args: argparse.Namespace, kept: results.Results | None) -> None:
    """Print what was measured before an early end."""
    if kept is not None and kept.added:
        print(_report(args, kept))


def _refuse_contradictions(parser: options.Parser, args: argparse.Namespace) -> None:
    if args.plan is not None and _is_own_case(args):
        parser.error("a plan says itself what is measured, at which sizes and how often")
    for one, other in _CONTRADICTIONS:
        if getattr(args, one) and getattr(args, other):
            parser.error(f"--{one} and --{other} contradict each other")
    if args.report and _is_own_case(args):
        parser.error("--report tells of all runs of a file, that of --plan or the one of --results")
    if args.fresh and _results_file(args) is None:
        parser.error("there is nothing to begin anew: own cases are kept where --results says")
    if args.all_versions and not args.report:
        parser.error("--all-versions is about --report")
    if args.results is None and _is_namesake(args.plan):
        name = pathlib.Path(args.plan).stem
        parser.error(f"--results is needed: {RESULTS}/{name}.jsonl is of the shipped plan `{name}`")


def _is_namesake(plan: str | None) -> bool:
    """Return whether this is a file with the name of a shipped plan that it is not."""
    if plan is None or plan in plans.names():
        return False
    file = pathlib.Path(plan).resolve()
    return file.stem in plans.names() and file.parent != plans.FOLDER


def _tell(args: argparse.Namespace, comparisons: Sequence[plans.Comparison]) -> int:
    """List or report; neither changes anything."""
    file = _results_file(args)
    if args.report and file is not None:
        results.require(file)
    kept = results.Results(file) if args.all_versions else _results(args)
    if args.list:
        print(_listed(_plan(args), comparisons, kept))
        return 0
    print(_report(args, kept))
    return _exit_code(kept)


def _compare(
    args: argparse.Namespace, comparisons: Sequence[plans.Comparison], kept: results.Results
) -> int:
    run_options = _options(args)
    with kept.opened(), orphans.folder_without_orphans() as folder:
        for line in report.left_out_notes(kept.left_out):
            _note(line)
        comparing = comparison.Comparing(kept, folder, run_options, _note)
        comparing.run(comparisons)
    print(_report(args, kept))
    if comparing.failed:
        _note("failed: " + "; ".join(str(case) for case in comparing.failed))
        return 1
    return _exit_code(kept)


def _results(args: argparse.Namespace) -> results.Results:
    """Return what has been measured by what is here now."""
    return results.Results(_results_file(args), origins.judge(_options(args)))


def _options(args: argparse.Namespace) -> schedulers.Options:
    """Return how policysched is run.

    Raises:
        workload_files.FileError: the base is no checkout with an environment.
    """
    base = None if args.base is None else pathlib.Path(args.base).resolve()
    options = schedulers.Options(args.flag, args.profile, base=base)
    if base is not None:
        schedulers.checkout(schedulers.BASE, options)
    return options


def _report(args: argparse.Namespace, kept: results.Results) -> str:
    form = documents.markdown if args.markdown else report.text
    return form(kept.measurements, kept.left_out)


def _exit_code(kept: results.Results) -> int:
    return 1 if ratios.broken_rules(kept.measurements) else 0


def _only(args: argparse.Namespace) -> Sequence[str]:
    """Return which schedulers run; of those that are profiled policysched alone."""
    if not args.profile:
        return list(args.schedulers)
    return [schedulers.with_policy(name) for name in args.policies or ()] or [
        schedulers.POLICYSCHED
    ]


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
    return "full" if args.plan is None else str(args.plan)


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
    plan: plans.Plan, comparisons: Sequence[plans.Comparison], kept: results.Results
) -> str:
    """Return a line for each case: what is done, and how long the rest takes."""
    made, total = kept.keys(), 0.0
    estimate = estimates.Estimate(kept.measurements)
    lines = [plan.description, f"{'':<58}{'done':>8}{'left':>14}"]
    for one in comparisons:
        turns = list(one.turns())
        left = [name for repeat, name in turns if (one.case, name, repeat) not in made]
        seconds = estimate.seconds(one.case, left) if left else 0.0
        total += seconds
        about = f"about {estimates.duration(seconds)}" if left else ""
        lines.append(f"{one.case!s:<58}{f'{len(turns) - len(left)}/{len(turns)}':>8}{about:>18}")
    lines += report.left_out_notes(kept.left_out)
    return "\n".join([*lines, f"all that is left: about {estimates.duration(total)}"])


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser(epilog: str) -> options.Parser:
    parser = options.Parser(
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
    what.add_argument(
        "--all-versions",
        action="store_true",
        help="report runs whatever they were made with; without it those of other workloads, "
        "policies, flags and versions of a scheduler are left out, and counted",
    )
    what.add_argument("--markdown", action="store_true", help="print tables for documents")
    what.add_argument(
        "--results",
        metavar="FILE",
        help=f"where results are kept; default: {RESULTS}/PLAN.jsonl, nowhere for own cases",
    )
    what.add_argument(
        "--fresh",
        action="store_true",
        help="begin anew; what there is gets the ending .old, .old.2, …",
    )


def _add_own_cases(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("own cases instead of a plan")
    workloads = ", ".join(workload_files.names())
    own.add_argument(
        "--shapes", type=options.words, metavar="A,B", help=f"of {workloads}; default: plain,mixed"
    )
    own.add_argument("--nodes", type=options.numbers, metavar="N,N", help="default: 1000,5000")
    own.add_argument(
        "--pods",
        type=options.at_least(2),
        metavar="N",
        help="default: what the workload says for the size",
    )
    own.add_argument(
        "--repeat", type=options.at_least(1, 100), metavar="N", help=f"default: {_REPEATS}"
    )
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
        "--base",
        metavar="FOLDER",
        help="also run policysched of another checkout (in its .venv), in turn with this one",
    )
    how.add_argument(
        "--flag", action="append", default=[], help="a further flag for policysched; repeatable"
    )
    how.add_argument(
        "--profile",
        action="store_true",
        help="run policysched alone, sampled, and say where its time goes; keeps no results",
    )
