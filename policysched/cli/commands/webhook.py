"""`webhook`: refuse ConfigMaps with broken policies when they are applied."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from policysched import errors
from policysched.cli.options import offline_options
from policysched.observability import logs

_NAME = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
_LABEL = re.compile(r"([^=\s]+)=([^=\s]*)")
_DESCRIPTION = """\
Serve a validating admission webhook: the API server refuses a ConfigMap whose policies have errors,
and returns the diagnostics of `policysched check`. The webhook sends no requests to the cluster and
needs no rights there.
"""
_EPILOG = """\
Without --policy-configmap and --label, all ConfigMaps with keys that end in `.policy` are checked.
The API server posts to https://SERVICE/validate; /livez and /readyz are for probes. For the
ValidatingWebhookConfiguration, see docs/policy-versions.md.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument(
        "--secure-address",
        metavar="HOST:PORT",
        required=True,
        help="address to listen on, such as 0.0.0.0:9443",
    )
    for name, text in (("cert", "PEM certificates, the server's own first"), ("key", "PEM key")):
        parser.add_argument(
            f"--{name}-file",
            metavar="FILE",
            required=True,
            help=f"{text}; read again when it changes",
        )
    parser.add_argument(
        "--policy-configmap",
        metavar="NAMESPACE/NAME",
        action="append",
        help="check this ConfigMap, which must contain policies (repeatable)",
    )
    parser.add_argument(
        "--label",
        metavar="KEY=VALUE",
        action="append",
        help="check ConfigMaps with this label, which must contain policies (repeatable)",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="configuration of the scheduler; its params, profiles and plugins are used",
    )
    parser.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param of the policies (repeatable)",
    )
    parser.add_argument(
        "--scheduler-name", metavar="N", help="the --scheduler-name of `run`, if it has one"
    )
    parser.add_argument("--log-level", choices=logs.LEVELS, default="info", help="default: info")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="default: text"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the process receives SIGTERM or SIGINT."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.app import webhook  # noqa: PLC0415 - as above
    from policysched.config import addresses, config_reading  # noqa: PLC0415 - as above
    from policysched.reload import admission  # noqa: PLC0415 - as above

    offline_options.refuse_empty_options(args, "cert_file", "key_file", "config", "scheduler_name")
    chosen = admission.ConfigMapFilter(
        _parse_configmap_names(args.policy_configmap or ()), _parse_labels(args.label or ())
    )
    flags = [
        config_reading.FieldOverride("--params", ("params", name), value)
        for name, value in offline_options.parse_param_values(args.params or ()).items()
    ]
    options = webhook.WebhookOptions(
        address=addresses.parse_listen_address(args.secure_address),
        cert_file=args.cert_file,
        key_file=args.key_file,
        configuration=config_reading.read_effective_config(args.config, flags),
        scheduler_name=args.scheduler_name,
        chosen=chosen,
    )
    clock = clocks.SystemClock()
    logs.configure_logging(clock, args.log_level, form=args.log_format)

    async def serve() -> None:
        await webhook.PolicyWebhookServer(options, clock).run()

    asyncio.run(serve())
    return errors.EXIT_OK


def _parse_configmap_names(given: Sequence[str]) -> frozenset[str]:
    for name in given:
        if not _NAME.fullmatch(name):
            raise errors.UsageError(f"--policy-configmap `{name}` is not NAMESPACE/NAME")
    return frozenset(given)


def _parse_labels(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for label in given:
        match = _LABEL.fullmatch(label)
        if match is None:
            raise errors.UsageError(f"--label `{label}` is not KEY=VALUE")
        found[match[1]] = match[2]
    return found
