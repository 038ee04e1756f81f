"""`karmada run`: schedule the bindings of a Karmada control plane until SIGTERM or SIGINT.

policysched karmada run --kubeconfig FILE [--scheduler-name N] [--leader-elect-resource-name N]
"""

from __future__ import annotations

import argparse
import logging
import math
import re
from typing import TYPE_CHECKING, Any

from policysched import errors, server_urls
from policysched.cli.options import (
    karmada_options,
    karmada_run_estimators,
    karmada_run_policies,
    offline_options,
    run_flags,
)
from policysched.observability import logs

if TYPE_CHECKING:
    from policysched.config import addresses, election_config
    from policysched.karmada.scheduler import work_queue
    from policysched.karmada_loop import options

_log = logging.getLogger("policysched")

_DESCRIPTION = """\
Schedule ResourceBindings and ClusterResourceBindings whose schedulerName is N, as karmada-scheduler
does, until SIGTERM or SIGINT. Options of karmada-scheduler have the same meaning as there.
"""
_EPILOG = """\
To run beside karmada-scheduler, give both --scheduler-name and --leader-elect-resource-name;
policies name the scheduler in spec.schedulerName.
"""

_DEFAULT_NAME = "default-scheduler"
_DEFAULT_LEASE = "karmada-scheduler"
_OFF = "0"
_ALL_OF_IPV4 = "0.0.0.0"  # noqa: S104 - `:PORT` requests it; it is not the default

_DEBUG_VERBOSITY = 4  # klog's convention
_REMOVED = ("bind-address", "secure-port")
"""Options that karmada-scheduler had until v1.11."""
_OF_GO = ("enable-pprof", "profiling-bind-address")

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_MAX_NAME_CHARACTERS = 128  # the source of an event; every version of the API accepts this length


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig of the Karmada API server; default: $KUBECONFIG, the pod's service "
        "account, or ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    parser.add_argument(
        "--master", metavar="URL", help="address of the API server; overrides the kubeconfig"
    )
    parser.add_argument(
        "--scheduler-name",
        metavar="N",
        default=_DEFAULT_NAME,
        help=f"schedulerName of the bindings to schedule (default: {_DEFAULT_NAME})",
    )
    karmada_options.add_karmada_options(parser)
    karmada_run_policies.add_policy_options(parser)
    karmada_run_estimators.add_estimator_options(parser)
    _add_election_options(parser)
    _add_rate_limit_options(parser)
    _add_address_options(parser)
    group = parser.add_argument_group("logs")
    group.add_argument("--log-level", choices=logs.LEVELS, default="info", help="default: info")
    group.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="default: text"
    )
    group.add_argument(
        "--v",
        "-v",
        metavar="N",
        type=int,
        default=0,
        help="log level of klog; 4 and more mean debug",
    )
    _add_ignored_options(parser)


def _add_election_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of leader election, with the defaults of karmada-scheduler."""
    group = parser.add_argument_group("leader election")
    group.add_argument(
        "--leader-elect",
        default=True,
        help="schedule only while holding a Lease (default: true)",
        **run_flags.SWITCH,
    )
    for name, metavar, default, text in (
        ("resource-name", "NAME", _DEFAULT_LEASE, "name of the Lease"),
        ("resource-namespace", "NAMESPACE", "karmada-system", "namespace of the Lease"),
        (
            "lease-duration",
            "15s",
            "15s",
            "time after the leader's last renewal after which another process takes over",
        ),
        (
            "renew-deadline",
            "10s",
            "10s",
            "time for which a leader retries renewal before it stops scheduling",
        ),
        (
            "retry-period",
            "2s",
            "2s",
            "interval at which the leader renews the lease, and others try to acquire it",
        ),
    ):
        group.add_argument(
            f"--leader-elect-{name}",
            metavar=metavar,
            default=default,
            help=f"{text} (default: {default})",
        )


def _add_rate_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that limit requests, retries and concurrent writes."""
    group = parser.add_argument_group("limits")
    for name, kind, default, text in (
        ("kube-api-qps", float, 40.0, "requests per second; -1 for no limit"),
        ("kube-api-burst", int, 60, "maximum number of requests at once"),
        ("rate-limiter-qps", int, 10, "failed bindings that are retried per second"),
        ("rate-limiter-bucket-size", int, 100, "maximum number of retries at once"),
    ):
        group.add_argument(
            f"--{name}", metavar="N", type=kind, default=default, help=f"{text} ({default:g})"
        )
    for pause, duration, text in (
        ("base-delay", "5ms", "delay after the first failure of a binding"),
        ("max-delay", "1000s", "longest delay"),
    ):
        group.add_argument(
            f"--rate-limiter-{pause}",
            metavar="DURATION",
            default=duration,
            help=f"{text} (default: {duration})",
        )
    group.add_argument(
        "--writes-at-once",
        metavar="N",
        type=int,
        default=64,
        help="maximum number of bindings written at once (default: 64)",
    )


def _add_address_options(parser: argparse.ArgumentParser) -> None:
    """Add the addresses of the metrics and health pages."""
    group = parser.add_argument_group(
        "pages", "addresses: HOST:PORT, :PORT for all IPv4 addresses, or 0 for none"
    )
    for name, default, text in (
        ("metrics-bind-address", "127.0.0.1:8080", "metrics"),
        ("health-probe-bind-address", "127.0.0.1:10351", "/healthz, /livez and /readyz"),
    ):
        group.add_argument(
            f"--{name}", metavar="ADDRESS", default=default, help=f"{text} (default: {default})"
        )


def _add_ignored_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("option of karmada-scheduler without effect here")
    for name in (*_REMOVED, *_OF_GO):
        group.add_argument(f"--{name}", nargs="?", const="true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Schedule until the process receives SIGTERM or SIGINT."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.app import karmada_process  # noqa: PLC0415 - as above

    offline_options.refuse_empty_options(args, "kubeconfig", "context", "master")
    said = read_karmada_run_options(args)
    algorithm = karmada_options.make_binding_algorithm(args)
    clock = clocks.SystemClock()
    level = "debug" if args.v >= _DEBUG_VERBOSITY else args.log_level
    logs.configure_logging(clock, level, form=args.log_format)
    for warning in find_ignored_option_warnings(args):
        _log.warning("%s", warning)
    asyncio.run(karmada_process.KarmadaSchedulerProcess(said, algorithm, clock).run())
    return errors.EXIT_OK


def read_karmada_run_options(args: argparse.Namespace) -> options.KarmadaSchedulerOptions:
    """Return the values of the options.

    Raises:
        UsageError: an option is invalid.
    """
    from policysched.karmada import gates  # noqa: PLC0415 - not needed for `--help`
    from policysched.karmada_loop import options  # noqa: PLC0415 - not needed for `--help`

    name = args.scheduler_name
    if len(name) > _MAX_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"--scheduler-name `{name}` is not a name; use letters, digits, `-`, `_` and `.`"
        )
    if not _is_server_url(args.master):
        raise errors.UsageError(
            f"--master: {server_urls.format_url_for_message(args.master)} is not the address of a "
            "server; write https://HOST:PORT"
        )
    is_rate = math.isfinite(args.kube_api_qps) and args.kube_api_qps != 0.0
    if not is_rate or args.kube_api_burst < 1 or args.writes_at_once < 1:
        raise errors.UsageError(
            "--kube-api-qps, --kube-api-burst and --writes-at-once must be more than 0; "
            "`--kube-api-qps=-1` means no limit"
        )
    return options.KarmadaSchedulerOptions(
        kubeconfig=args.kubeconfig,
        context=args.context,
        master=args.master,
        scheduler_name=name,
        election=_read_election_options(args),
        qps=None if args.kube_api_qps < 0 else args.kube_api_qps,
        burst=args.kube_api_burst,
        retry=_read_retry_limits(args),
        writes_at_once=args.writes_at_once,
        metrics_address=_parse_listen_address("--metrics-bind-address", args.metrics_bind_address),
        health_address=_parse_listen_address(
            "--health-probe-bind-address", args.health_probe_bind_address
        ),
        configuration=karmada_run_policies.read_policy_configuration(args),
        metrics_file=args.metrics_file,
        estimators=karmada_run_estimators.read_estimator_options(args),
        by_priority=gates.parse_karmada_feature_gates(args.feature_gates).priorities,
    )


def _is_server_url(address: str | None) -> bool:
    return address is None or server_urls.split_server_url(address) is not None


def _read_election_options(args: argparse.Namespace) -> election_config.LeaderElectionConfig:
    """Return the leader election configuration.

    Raises:
        UsageError: the Lease has no name or namespace, or the durations are inconsistent.
    """
    from policysched.config import election_config, election_faults  # noqa: PLC0415 - not needed for `--help`

    config = election_config.LeaderElectionConfig(
        leader_elect=args.leader_elect,
        lease_duration=args.leader_elect_lease_duration,
        renew_deadline=args.leader_elect_renew_deadline,
        retry_period=args.leader_elect_retry_period,
        resource_name=args.leader_elect_resource_name,
        resource_namespace=args.leader_elect_resource_namespace,
    )
    if config.leader_elect and not (config.resource_name and config.resource_namespace):
        raise errors.UsageError("the Lease needs a name and a namespace")
    for _, problem in election_faults.find_election_problems(config):
        raise errors.UsageError(f"leader election: {problem}")
    return config


def _read_retry_limits(args: argparse.Namespace) -> work_queue.RetryLimits:
    """Return the limits for retrying failed bindings.

    Raises:
        UsageError: a limit is invalid.
    """
    from policysched import durations  # noqa: PLC0415 - not needed for `--help`
    from policysched.karmada.scheduler import work_queue  # noqa: PLC0415 - as above

    base = durations.parse_duration_seconds(args.rate_limiter_base_delay)
    longest = durations.parse_duration_seconds(args.rate_limiter_max_delay)
    if not base or not longest or base > longest:
        raise errors.UsageError(
            "--rate-limiter-base-delay and --rate-limiter-max-delay must be durations such as "
            "`5ms` and `1000s`, and the first must be shorter"
        )
    if args.rate_limiter_qps < 1 or args.rate_limiter_bucket_size < 1:
        raise errors.UsageError(
            "--rate-limiter-qps and --rate-limiter-bucket-size must be more than 0"
        )
    return work_queue.RetryLimits(
        base, longest, float(args.rate_limiter_qps), args.rate_limiter_bucket_size
    )


def _parse_listen_address(option: str, text: str) -> addresses.ListenAddress | None:
    from policysched.config import addresses  # noqa: PLC0415 - not needed for `--help`

    if text in ("", _OFF):
        return None
    try:
        return addresses.parse_listen_address(_ALL_OF_IPV4 + text if text.startswith(":") else text)
    except errors.UsageError as error:
        raise errors.UsageError(f"{option}: {error}") from error


def find_ignored_option_warnings(args: argparse.Namespace) -> list[str]:
    """Return warnings about options that have no effect, or an unexpected effect."""
    given = _find_given_options(args)
    said = [
        f"--{name} is ignored: karmada-scheduler removed it in v1.12"
        for name in _REMOVED
        if name in given
    ]
    said += [
        f"--{name} is ignored: it configures Go's profiler" for name in _OF_GO if name in given
    ]
    said += karmada_options.find_plugin_name_warnings(args)
    said += karmada_run_estimators.find_estimator_warnings(args)
    is_second = args.scheduler_name != _DEFAULT_NAME
    if args.leader_elect and is_second and args.leader_elect_resource_name == _DEFAULT_LEASE:
        said.append(
            f"the Lease {_DEFAULT_LEASE} belongs to {_DEFAULT_NAME}, so only one of the two "
            "schedules at a time; give --leader-elect-resource-name"
        )
    return said


def _find_given_options(args: argparse.Namespace) -> set[str]:
    values: dict[str, Any] = vars(args)
    return {name.replace("_", "-") for name, value in values.items() if value is not None}
