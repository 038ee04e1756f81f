"""The command that compares policysched with kube-scheduler: plans, stored results, tables."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

from benchmarks import options, workload_files
from benchmarks.comparison import comparison, estimates, plans, schedulers
from benchmarks.process import orphans
from benchmarks.records import documents, goals, origins, ratios, report, results
from tests.realcluster import components

RESULTS = pathlib.Path(".bench")
"""Default folder of results, with one file for each plan."""
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
"""Pairs of options; one of each pair would be ignored."""


def main(words: Sequence[str], epilog: str) -> int:
    """Compare, list or report, and return the exit code."""
    parser = _make_parser(epilog)
    args = parser.parse_args(words)
    _reject_contradictions(parser, args)
    stored: results.Results | None = None
    try:
        goals.load()
        comparisons = plans.comparisons(
            _load_plan(args), _select_schedulers(args), has_base=args.base is not None
        )
        if args.list or args.report:
            return _list_or_report(args, comparisons)
        file = _get_results_file(args)
        if args.fresh and file is not None:
            results.put_aside(file)
        stored = _load_results(args)
        return _compare(args, comparisons, stored)
    except (workload_files.FileError, results.ResultsError) as error:
        _print_added(args, stored)
        _note(str(error))
        return options.EXIT_WRONG_INPUT
    except components.ComponentError as error:
        _note(str(error))
        return 1
    except KeyboardInterrupt:
        _print_added(args, stored)
        is_stored = _get_results_file(args) is not None
        _note(f"interrupted{'; the same command measures the missing runs' if is_stored else ''}")
        return 130


def _print_added(args: argparse.Namespace, stored: results.Results | None) -> None:
    """Print the report of the runs that were measured before an early end."""
    if stored is not None and stored.added:
        print(_format_report(args, stored))


def _reject_contradictions(parser: options.Parser, args: argparse.Namespace) -> None:
    if args.plan is not None and _is_own_case(args):
        parser.error("--plan and options of own cases contradict each other")
    for first, other in _CONTRADICTIONS:
        if getattr(args, first) and getattr(args, other):
            parser.error(f"--{first} and --{other} contradict each other")
    if args.report and _is_own_case(args):
        parser.error("--report shows all runs of a file; select it with --plan or --results")
    if args.fresh and _get_results_file(args) is None:
        parser.error("--fresh needs a results file; own cases have one only with --results")
    if args.all_versions and not args.report:
        parser.error("--all-versions needs --report")
    if args.results is None and _is_namesake(args.plan):
        name = pathlib.Path(args.plan).stem
        file = f"{RESULTS}/{name}.jsonl"
        parser.error(f"--results is required: {file} belongs to the shipped plan `{name}`")


def _is_namesake(plan: str | None) -> bool:
    """Return whether a plan is another file with the name of a shipped plan."""
    if plan is None or plan in plans.names():
        return False
    file = pathlib.Path(plan).resolve()
    return file.stem in plans.names() and file.parent != plans.FOLDER


def _list_or_report(args: argparse.Namespace, comparisons: Sequence[plans.Comparison]) -> int:
    """Print the list or the report; no file changes."""
    file = _get_results_file(args)
    if args.report and file is not None:
        results.require(file)
    stored = results.Results(file) if args.all_versions else _load_results(args)
    if args.list:
        print(_format_list(_load_plan(args), comparisons, stored))
        return 0
    print(_format_report(args, stored))
    return _get_exit_code(stored)


def _compare(
    args: argparse.Namespace, comparisons: Sequence[plans.Comparison], stored: results.Results
) -> int:
    run_options = _make_options(args)
    with stored.opened(), orphans.folder_without_orphans() as folder:
        for line in report.format_excluded(stored.excluded):
            _note(line)
        comparing = comparison.Comparing(stored, folder, run_options, _note)
        comparing.run(comparisons)
    print(_format_report(args, stored))
    if comparing.failed:
        _note("failed: " + "; ".join(str(case) for case in comparing.failed))
        return 1
    return _get_exit_code(stored)


def _load_results(args: argparse.Namespace) -> results.Results:
    """Return the results; only runs with the present inputs and machine count."""
    return results.Results(_get_results_file(args), origins.judge(_make_options(args)))


def _make_options(args: argparse.Namespace) -> schedulers.Options:
    """Return the settings of policysched.

    Raises:
        workload_files.FileError: the base is not a checkout with an environment.
    """
    base = None if args.base is None else pathlib.Path(args.base).resolve()
    options = schedulers.Options(args.flag, args.profile, base=base)
    if base is not None:
        schedulers.checkout(schedulers.BASE, options)
    return options


def _format_report(args: argparse.Namespace, stored: results.Results) -> str:
    form = documents.markdown if args.markdown else report.text
    return form(stored.measurements, stored.excluded)


def _get_exit_code(stored: results.Results) -> int:
    return 1 if ratios.broken_rules(stored.measurements) else 0


def _select_schedulers(args: argparse.Namespace) -> Sequence[str]:
    """Return the schedulers to run, or [] for all; only policysched can be profiled."""
    if not args.profile:
        return list(args.schedulers)
    return [schedulers.with_policy(name) for name in args.policies or ()] or [
        schedulers.POLICYSCHED
    ]


def _load_plan(args: argparse.Namespace) -> plans.Plan:
    """Return the selected plan, or a plan of the own cases."""
    if not _is_own_case(args):
        return plans.load(_get_plan_name(args))
    entry = plans.Entry(
        workloads=args.shapes or ["plain", "mixed"],
        nodes=args.nodes or [1000, 5000],
        pods=args.pods,
        arrivals_per_second=args.arrivals or [],
        policies=args.policies or [],
    )
    return plans.Plan("own cases", [entry], args.repeat or _REPEATS)


def _is_own_case(args: argparse.Namespace) -> bool:
    own = (args.shapes, args.nodes, args.pods, args.arrivals, args.policies, args.repeat)
    return any(value is not None for value in own)


def _get_plan_name(args: argparse.Namespace) -> str:
    return "full" if args.plan is None else str(args.plan)


def _get_results_file(args: argparse.Namespace) -> pathlib.Path | None:
    """Return the results file, if any; profiled runs are slower and are not stored."""
    if args.profile:
        return None
    if args.results is not None:
        return pathlib.Path(args.results)
    if _is_own_case(args):
        return None
    return RESULTS / f"{pathlib.Path(_get_plan_name(args)).stem}.jsonl"


def _format_list(
    plan: plans.Plan, comparisons: Sequence[plans.Comparison], stored: results.Results
) -> str:
    """Return a line for each case: runs done, and the estimated duration of the others."""
    done, total = stored.keys(), 0.0
    estimate = estimates.Estimate(stored.measurements)
    lines = [plan.description, f"{'':<58}{'done':>8}{'left':>14}"]
    for each in comparisons:
        turns = list(each.turns())
        left = [name for repeat, name in turns if (each.case, name, repeat) not in done]
        seconds = estimate.seconds(each.case, left) if left else 0.0
        total += seconds
        about = f"about {estimates.duration(seconds)}" if left else ""
        lines.append(f"{each.case!s:<58}{f'{len(turns) - len(left)}/{len(turns)}':>8}{about:>18}")
    lines += report.format_excluded(stored.excluded)
    return "\n".join([*lines, f"all missing runs: about {estimates.duration(total)}"])


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _make_parser(epilog: str) -> options.Parser:
    parser = options.Parser(
        prog="python -m benchmarks",
        description="Let kube-scheduler and policysched bind the same pods on the same real API "
        "server, in turn, and print ratios. Each run is stored when it ends; the same command "
        "continues with the missing runs.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_plan_options(parser)
    _add_case_options(parser)
    _add_scheduler_options(parser)
    return parser


def _add_plan_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plans and results")
    shipped = ", ".join(plans.names())
    group.add_argument(
        "--plan", metavar="NAME", help=f"{shipped}, or a file; default: full, which takes hours"
    )
    group.add_argument(
        "--quick",
        action="store_const",
        const="quick",
        dest="plan",
        help="the plan `quick`: a few minutes",
    )
    group.add_argument("--list", action="store_true", help="list cases and their duration")
    group.add_argument("--report", action="store_true", help="print the stored results")
    group.add_argument(
        "--all-versions",
        action="store_true",
        help="report all runs; by default, runs with other versions of a workload, policy or "
        "scheduler, other flags or another machine are excluded, and counted",
    )
    group.add_argument("--markdown", action="store_true", help="print Markdown tables")
    group.add_argument(
        "--results",
        metavar="FILE",
        help=f"results file; default: {RESULTS}/PLAN.jsonl, none for own cases",
    )
    group.add_argument(
        "--fresh",
        action="store_true",
        help="start a new results file; the existing one is renamed to .old, .old.2, …",
    )


def _add_case_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("own cases instead of a plan")
    workloads = ", ".join(workload_files.names())
    group.add_argument(
        "--shapes",
        type=options.words,
        metavar="A,B",
        help=f"workloads: {workloads}; default: plain,mixed",
    )
    group.add_argument("--nodes", type=options.numbers, metavar="N,N", help="default: 1000,5000")
    group.add_argument(
        "--pods",
        type=options.at_least(2),
        metavar="N",
        help="default: depends on workload and size",
    )
    group.add_argument(
        "--repeat", type=options.at_least(1, 100), metavar="N", help=f"default: {_REPEATS}"
    )
    group.add_argument(
        "--arrivals",
        type=options.numbers,
        metavar="N,N",
        help="pods per second, instead of a backlog",
    )
    group.add_argument(
        "--policies",
        type=options.words,
        metavar="A,B",
        help="compare policysched with policies of benchmarks/policies and without",
    )


def _add_scheduler_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("schedulers")
    group.add_argument(
        "--schedulers", type=options.words, default=[], metavar="A,B", help="run only these"
    )
    group.add_argument(
        "--base",
        metavar="FOLDER",
        help="also run policysched of another checkout (in its .venv), in turn with this one",
    )
    group.add_argument(
        "--flag", action="append", default=[], help="a further flag for policysched; repeatable"
    )
    group.add_argument(
        "--profile",
        action="store_true",
        help="sample policysched alone and print its CPU time by function; stores no results",
    )
