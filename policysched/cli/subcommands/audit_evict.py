"""`audit --evict`: move violators of a running cluster through the Eviction API."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import re
from typing import TYPE_CHECKING

from policysched import booleans, errors
from policysched import clock as clocks
from policysched.cli.options import api_connection, durations, label_selectors
from policysched.cli.render import progress

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from policysched.auditing import moving, violations
    from policysched.offline import sessions

_RATE = re.compile(r"(\d{1,6})/([smh])")
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_NAME = re.compile(r"[^/]+/[^/]+")
_DEFAULT_GUARD = "kube-system/policysched-audit"
_DEFAULT_PAUSE_SECONDS = 10.0
_DEFAULT_WITHIN_SECONDS = 86_400.0
_DEPENDENT = {
    "is_dry_run": "dry-run",
    "rate": "rate",
    "max_moves": "max-moves",
    "max_per_workload": "max-per-workload",
    "exclude": "exclude",
    "include_system_pods": "include-system-pods",
    "guard": "guard",
    "not_again_within": "not-again-within",
}


def add_evict_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("moving violators of a running cluster")
    group.add_argument(
        "--evict",
        action="store_true",
        help="show the violators that could be moved to a node without violations, and with "
        "--dry-run=false evict them; needs --live",
    )
    group.add_argument(
        "--dry-run",
        dest="is_dry_run",
        nargs="?",
        const=True,
        type=_parse_boolean,
        metavar="BOOLEAN",
        help="true (the default) evicts no pod",
    )
    group.add_argument(
        "--rate", metavar="N/m", type=_parse_rate, help="evictions per s, m or h; default: 6/m"
    )
    group.add_argument(
        "--max-moves", metavar="N", type=_parse_count, help="moves in one run; default: 20"
    )
    group.add_argument(
        "--max-per-workload",
        metavar="N",
        type=_parse_count,
        help="moved pods of one workload in one run; default: 1",
    )
    group.add_argument(
        "--exclude",
        metavar="SELECTOR",
        type=label_selectors.parse_label_selector,
        help="labels of pods that are not moved, besides policysched.io/audit-evict=never",
    )
    group.add_argument(
        "--include-system-pods",
        action="store_true",
        default=None,
        help="move pods of the priority classes system-…, too",
    )
    group.add_argument(
        "--guard",
        metavar="NAMESPACE/NAME",
        help=f"ConfigMap in which the loop guard records moves; default: {_DEFAULT_GUARD}",
    )
    group.add_argument(
        "--not-again-within",
        metavar="DURATION",
        type=durations.parse_duration,
        help="time within which a workload is not moved again for the same rule; default: 24h",
    )


def check_evict_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other.

    Raises:
        UsageError: an option needs another one, or is invalid.
    """
    if args.evict and args.cluster is not None:
        raise errors.UsageError("--evict needs a running cluster: --live instead of --cluster")
    if args.evict and args.now is not None:
        raise errors.UsageError("--evict moves pods now; remove --at")
    if args.evict and args.output == "sarif":
        raise errors.UsageError("-o sarif has no moves; choose another form for --evict")
    for dest, option in _DEPENDENT.items():
        if not args.evict and getattr(args, dest) is not None:
            raise errors.UsageError(f"--{option} needs --evict")
    if args.guard is not None and not _NAME.fullmatch(args.guard):
        raise errors.UsageError(f"--guard must be NAMESPACE/NAME, not `{args.guard}`")


def is_dry_run(args: argparse.Namespace) -> bool:
    """Return whether no pod is evicted."""
    return args.is_dry_run is not False


def require_samples(decider: sessions.PodDecider, args: argparse.Namespace) -> None:
    """Refuse to move pods if a metric that the rules read has no sample.

    Raises:
        InputError: there is such a metric.
    """
    from policysched.auditing import missing_samples  # noqa: PLC0415 - most runs move nothing

    by_name, forced = decider.profiles.by_name, args.scheduler_name
    missing = missing_samples.list_metrics_without_samples(
        by_name.values() if forced is None else [by_name[forced]], decider.cluster.cache.snapshot()
    )
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        problem = f"no node has a valid sample of {names}, which the policies read"
        has_source = args.prometheus is not None or args.metrics is not None
        advice = "" if has_source else "give --prometheus URL or --metrics FILE"
        raise errors.InputError("--evict", problem, help=advice)


def move_violators(
    decider: sessions.PodDecider,
    found: Sequence[violations.Violation],
    args: argparse.Namespace,
    listed_at_seconds: float,
) -> list[moving.MoveResult]:
    """Return the outcome for each violator.

    The cluster was listed at `listed_at_seconds` on the monotonic clock or later.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
        InputError: the moves of the loop guard are invalid.
        RemoteError: they cannot be read.
    """
    import asyncio  # noqa: PLC0415 - most runs move nothing

    with progress.show_progress("moving violators"):
        return asyncio.run(_plan_and_move(decider, found, args, listed_at_seconds))


def find_error_code(results: Sequence[moving.MoveResult]) -> int:
    """Return the exit code if an eviction failed or the run was interrupted; otherwise 0.

    A refusal of the API server is no failure.
    """
    from policysched.auditing import moving  # noqa: PLC0415 - most runs move nothing

    outcomes = {each.outcome for each in results}
    if moving.MoveOutcome.FAILED in outcomes:
        return errors.EXIT_WRONG_INPUT
    return errors.EXIT_INTERRUPTED if moving.MoveOutcome.INTERRUPTED in outcomes else 0


async def _plan_and_move(
    decider: sessions.PodDecider,
    found: Sequence[violations.Violation],
    args: argparse.Namespace,
    listed_at_seconds: float,
) -> list[moving.MoveResult]:
    """Plan the moves, and carry them out."""
    from policysched.auditing import (  # noqa: PLC0415 - as above
        api_moves,
        loop_guard,
        move_exclusions,
        move_pace,
        move_planning,
        moving,
    )
    from policysched.cluster.objects import selectors  # noqa: PLC0415 - as above
    from policysched.kube import config_maps  # noqa: PLC0415 - as above

    limits = move_exclusions.MoveLimits(
        args.exclude or selectors.NOTHING,
        args.max_moves or 20,
        args.max_per_workload or 1,
        bool(args.include_system_pods),
        decider.extenders,
        {args.scheduler_name} if args.scheduler_name else set(decider.profiles.by_name),
    )
    cache = decider.cluster.cache
    async with api_connection.connect_to_api(args) as api:
        store = api_moves.ConfigMapGuardStore(
            config_maps.ConfigMapClient(api),
            args.guard or _DEFAULT_GUARD,
            is_required=not is_dry_run(args),
        )
        within = datetime.timedelta(seconds=args.not_again_within or _DEFAULT_WITHIN_SECONDS)
        planner = move_planning.MovePlanner(
            cache,
            decider.choice.choose_framework,
            move_exclusions.MoveExclusions(limits, cache.budgets),
            loop_guard.LoopGuard(await store.read(), within),
            args.now,
        )
        pause_seconds = args.rate or _DEFAULT_PAUSE_SECONDS
        clock = clocks.SystemClock()
        pace = move_pace.MovePace(clock, listed_at_seconds, pause_seconds, _make_wait())
        evictor = api_moves.ApiViolatorEvictor(api)
        mover = moving.PodMover(planner, store, evictor, pace, clock)
        return await mover.move(move_planning.list_violators(found), is_dry_run=is_dry_run(args))


def _make_wait() -> Callable[[float], Awaitable[bool]]:
    """Return a function that waits until a time is over or a signal interrupts the command.

    Without it, Ctrl-C would lose the report of the pods that were evicted before.
    """
    import asyncio  # noqa: PLC0415 - most runs move nothing

    from policysched import process  # noqa: PLC0415 - as above

    stopping = process.stop_on_signals()

    async def wait(seconds: float) -> bool:
        """Return whether the command was interrupted."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), seconds)
        return stopping.is_set()

    return wait


def _parse_boolean(text: str) -> bool:
    found = booleans.parse_boolean(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not a boolean; {booleans.HELP}")
    return found


def _parse_rate(text: str) -> float:
    """Return the seconds between two evictions."""
    match = _RATE.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a rate such as 6/m")
    return _UNIT_SECONDS[match[2]] / int(match[1])


def _parse_count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) <= 1_000_000:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 1 to 1000000")
    return int(text)
