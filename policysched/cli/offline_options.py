"""Options that `explain` and `simulate` share: a cluster from a file, policies, metrics, a time."""

from __future__ import annotations

import argparse
import datetime
import re
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cli import output

if TYPE_CHECKING:
    from policysched.app import offline

_PARAMS = re.compile(r",(?=[A-Za-z_]\w*=)")
_PROFILES = """\
A pod is decided by the profile that its schedulerName names. Where no profile has that name, the
only profile decides, or the one called `policysched`; of several others none does, and the pod is
left out, as `run` would leave it to another scheduler. --scheduler-name N decides all pods by
profile N. Without policies, and for policies without a profile, there is one profile, called
`policysched` or N: kube-scheduler's default plugins and all policies.
"""


def add(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Add the options; `is_again` for a form of a command that has them already."""
    parser.epilog = _PROFILES
    group = parser.add_argument_group("what to decide on")
    default = {"default": argparse.SUPPRESS} if is_again else {}
    group.add_argument(
        "--cluster",
        metavar="FILE",
        help="what `kubectl get nodes,pods -A -o json` (or yaml) prints, namespaces, services and "
        "workloads too if wanted; `-` reads it from stdin, or JSON lines, one List a line",
        **default,
    )
    group.add_argument(
        "--policies",
        metavar="PATH",
        action="append",
        help="a .policy file, a folder of such files, or a ConfigMap manifest; repeatable",
        **default,
    )
    group.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param of the policies; repeatable",
        **default,
    )
    group.add_argument(
        "--metrics",
        metavar="FILE",
        help="values of metrics, as YAML or JSON: `cpu_busy: {node-1: 91%%, node-2: _}`",
        **default,
    )
    group.add_argument(
        "--now",
        metavar="TIME",
        type=_time,
        help="the time that policies go by, such as 2026-03-02T10:00:00+01:00; default: now",
        **default,
    )
    group.add_argument(
        "--scheduler-name", metavar="N", help="profile that stands for all pods", **default
    )
    if not is_again:
        output.add_option(parser)


def inputs(args: argparse.Namespace) -> offline.Inputs:
    """Return what the options ask for.

    Raises:
        UsageError: an option is missing or has no such form.
    """
    from policysched.app import offline  # noqa: PLC0415 - `--help` does without NumPy

    if not args.cluster:
        raise errors.UsageError("--cluster is missing: a file, or `-` for stdin")
    return offline.Inputs(
        cluster=args.cluster,
        policies=tuple(args.policies or ()),
        params=params(args.params or ()),
        metrics=args.metrics,
        now=args.now or clocks.SystemClock().now(),
        scheduler_name=args.scheduler_name,
    )


def params(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Return `name=value` texts as a mapping; several may stand in one, joined by commas.

    Raises:
        UsageError: one of them has no `=`, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in (part for joined in given for part in _PARAMS.split(joined)):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise errors.UsageError(f"`{text}` is no param; write --params name=value")
        if name in found:
            raise errors.UsageError(f"the param `{name}` is given twice")
        found[name] = value
    return found


def _time(text: str) -> datetime.datetime:
    """Return an ISO time; without an offset it is UTC."""
    time = datetime.datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
