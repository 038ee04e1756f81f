"""`run`: schedule pods on a cluster until told to stop (SIGTERM or SIGINT)."""

from __future__ import annotations

import argparse
import re

from policysched import errors
from policysched.app import logs
from policysched.cli import offline_options

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME_CHARACTERS = 253
_EPILOG = """\
Without configuration and policies it does what kube-scheduler does by default, for pods whose
schedulerName is `policysched`, or N; `--scheduler-name default-scheduler` takes the place of
kube-scheduler. Profiles that policies declare serve the pods that name them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="default: $KUBECONFIG, the pod's service account, or ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    parser.add_argument(
        "--scheduler-name",
        metavar="N",
        help="name of the profile where the policies declare none (default: policysched)",
    )
    parser.add_argument("--config", metavar="FILE", help="a PolicySchedulerConfiguration")
    offline_options.add_policies(parser)
    parser.add_argument(
        "--metrics-file",
        metavar="FILE",
        help="values of metrics, as `explain --metrics` reads them; read again when it changes",
    )
    parser.add_argument(
        "--prometheus",
        metavar="[NAME=]URL",
        action="append",
        help="where metrics come from; repeatable, NAME is what `source` of a metric says; "
        "credentials, TLS and headers are in --config",
    )
    _add_leader_election(parser)
    parser.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        help="where to serve metrics of its own, such as 127.0.0.1:9153 (default: nowhere)",
    )
    parser.add_argument("--log-level", choices=logs.LEVELS, default="info", help="default: info")


def _add_leader_election(parser: argparse.ArgumentParser) -> None:
    """Add kube-scheduler's options of that name."""
    group = parser.add_argument_group("leader election", "one of several processes schedules")
    group.add_argument(
        "--leader-elect",
        metavar="true|false",
        nargs="?",
        const=True,
        type=_truth,
        help="schedule only while holding a Lease; default: false",
    )
    for option, metavar, text in (
        ("lease-duration", "15s", "after so long without a sign of the leader another takes over"),
        ("renew-deadline", "10s", "so long a leader goes on that cannot renew its lease"),
        ("retry-period", "2s", "how often the leader renews, and others try"),
        ("resource-name", "NAME", "name of the Lease; default: policysched"),
        ("resource-namespace", "NAMESPACE", "default: the pod's own, else kube-system"),
    ):
        group.add_argument(f"--leader-elect-{option}", metavar=metavar, help=text)


_ELECTION_FIELDS = {
    "leader_elect": "leader_elect",
    "leader_elect_lease_duration": "lease_duration",
    "leader_elect_renew_deadline": "renew_deadline",
    "leader_elect_retry_period": "retry_period",
    "leader_elect_resource_name": "resource_name",
    "leader_elect_resource_namespace": "resource_namespace",
}
"""Fields of the configuration, by option."""


def _leader_election(args: argparse.Namespace) -> dict[str, str | bool]:
    given = {field: getattr(args, option) for option, field in _ELECTION_FIELDS.items()}
    return {field: value for field, value in given.items() if value is not None}


def _truth(text: str) -> bool:
    """Return what a word means to Go's flags (strconv.ParseBool)."""
    words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"`{text}` is neither `true` nor `false`")
    return words[text.lower()]


def run(args: argparse.Namespace) -> int:
    """Schedule until the process is told to stop."""
    import asyncio  # noqa: PLC0415 - `--help` does without all of these

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.app import http_server, wiring  # noqa: PLC0415 - as above

    offline_options.refuse_empty(
        args, "kubeconfig", "context", "config", "metrics_file", "metrics_address"
    )
    offline_options.refuse_empty(args, *_ELECTION_FIELDS)
    _check_name(args.scheduler_name)
    clock = clocks.SystemClock()
    logs.configure(clock, args.log_level)
    options = wiring.RunOptions(
        kubeconfig=args.kubeconfig,
        context=args.context,
        config=args.config,
        policies=tuple(args.policies or ()),
        params=offline_options.params(args.params or ()),
        scheduler_name=args.scheduler_name,
        metrics_file=args.metrics_file,
        prometheus=tuple(args.prometheus or ()),
        metrics_address=http_server.address(args.metrics_address) if args.metrics_address else None,
        leader_election=_leader_election(args),
    )
    service = wiring.Service(options, clock)
    asyncio.run(service.run())
    return errors.EXIT_OK


def _check_name(name: str | None) -> None:
    """Refuse a name that events and bindings could not bear.

    Raises:
        UsageError: it is no DNS subdomain.
    """
    is_name = name is None or (len(name) <= _MAX_NAME_CHARACTERS and _SUBDOMAIN.fullmatch(name))
    if not is_name:
        raise errors.UsageError(
            f"--scheduler-name `{name}` is no name; use lowercase letters, digits, `-` and `.`"
        )
