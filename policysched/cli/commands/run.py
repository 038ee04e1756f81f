"""`run`: schedule pods on a cluster until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import re

from policysched import errors
from policysched.cli.options import offline_options, run_flags
from policysched.cli.render import output
from policysched.observability import logs

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME_CHARACTERS = 253
_EPILOG = """\
Without configuration and policies, it decides as kube-scheduler does by default, for pods whose
schedulerName is `policysched`, or N. With `--scheduler-name default-scheduler` it replaces
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
        help="name of the profile if the policies declare none (default: policysched)",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a PolicySchedulerConfiguration; the options below override it",
    )
    parser.add_argument(
        "--metrics-file",
        metavar="FILE",
        help=(
            "values of metrics, in the form of `explain --metrics`; read again when the file "
            "changes"
        ),
    )
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the effective configuration, with all defaults and options but without "
        "secrets, and exit",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing: decide about the pods that another scheduler serves, and report "
        "differences; use --scheduler-name default-scheduler for those of kube-scheduler",
    )
    run_flags.add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    """Schedule until the process receives SIGTERM or SIGINT."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched import process  # noqa: PLC0415 - as above

    with process.pause_garbage_collection():  # saves 5 % of the start-up time
        from policysched.app import scheduler_process  # noqa: PLC0415 - as above
        from policysched.config import config_printing, config_reading  # noqa: PLC0415 - as above

    offline_options.refuse_empty_options(args, "kubeconfig", "context", "config", "metrics_file")
    _check_scheduler_name(args.scheduler_name)
    if args.metrics_file and args.prometheus:
        raise errors.UsageError("give --metrics-file or --prometheus, not both")
    configuration = config_reading.read_effective_config(
        args.config, run_flags.read_run_overrides(args)
    )
    if args.print_config:
        output.write_text(config_printing.format_config_yaml(configuration).rstrip())
        return errors.EXIT_OK
    clock = clocks.SystemClock()
    logs.configure_logging(clock, configuration.logging.level, form=configuration.logging.format)
    options = scheduler_process.RunOptions(
        kubeconfig=args.kubeconfig,
        context=args.context,
        scheduler_name=args.scheduler_name,
        metrics_file=args.metrics_file,
        dry_run=args.dry_run,
    )
    service = scheduler_process.SchedulerProcess(options, configuration, clock)
    asyncio.run(service.run())
    return errors.EXIT_OK


def _check_scheduler_name(name: str | None) -> None:
    """Refuse a name that is invalid in events and bindings.

    Raises:
        UsageError: the name is not a DNS subdomain.
    """
    is_name = name is None or (len(name) <= _MAX_NAME_CHARACTERS and _SUBDOMAIN.fullmatch(name))
    if not is_name:
        raise errors.UsageError(
            f"--scheduler-name `{name}` is not a name; use lowercase letters, digits, `-` and `.`"
        )
