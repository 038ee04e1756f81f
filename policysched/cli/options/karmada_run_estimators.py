"""Options of `karmada run` for the estimators of member clusters, named as in karmada-scheduler."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from policysched import errors, int64
from policysched.cli.options import run_flags

if TYPE_CHECKING:
    import argparse

    from policysched.karmada_loop import options

_MAX_PORT = 65535


def add_estimator_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("estimators of member clusters")
    for name, text in (
        (
            "enable-scheduler-estimator",
            "query estimators for the number of replicas that fit (default: false)",
        ),
        (
            "disable-scheduler-estimator-in-pull-mode",
            "do not query estimators of clusters in pull mode",
        ),
        ("insecure-skip-estimator-verify", "encrypt, but accept any certificate"),
    ):
        group.add_argument(f"--{name}", default=False, help=text, **run_flags.SWITCH)
    for name, metavar, default, text in (
        ("timeout", "DURATION", "3s", "total time limit for all answers about one binding"),
        ("service-namespace", "NAMESPACE", "karmada-system", "namespace of their Services"),
        (
            "service-prefix",
            "PREFIX",
            "karmada-scheduler-estimator",
            "prefix of their names, `PREFIX-CLUSTER`",
        ),
        ("port", "PORT", "10352", "port of the Services"),
        (
            "ca-file",
            "FILE",
            "",
            "certificate authority of estimators; without one, connections are not encrypted",
        ),
        ("cert-file", "FILE", "", "client certificate for estimators"),
        ("key-file", "FILE", "", "key of the client certificate"),
    ):
        said = f"{text} (default: {default})" if default else text
        group.add_argument(
            f"--scheduler-estimator-{name}", metavar=metavar, default=default, help=said
        )


def read_estimator_options(args: argparse.Namespace) -> options.EstimatorOptions | None:
    """Return the values of the options; None if estimators are disabled.

    Raises:
        UsageError: an option is invalid.
        InputError: the package for the estimator protocol is not installed.
    """
    from policysched.karmada_loop import options  # noqa: PLC0415 - not needed for `--help`

    said = options.EstimatorOptions(
        timeout_seconds=_parse_timeout_seconds(args.scheduler_estimator_timeout),
        service_namespace=args.scheduler_estimator_service_namespace,
        service_prefix=args.scheduler_estimator_service_prefix,
        port=_parse_port(args.scheduler_estimator_port),
        with_pull_clusters=not args.disable_scheduler_estimator_in_pull_mode,
        ca_file=args.scheduler_estimator_ca_file,
        cert_file=args.scheduler_estimator_cert_file,
        key_file=args.scheduler_estimator_key_file,
        is_verified=not args.insecure_skip_estimator_verify,
    )
    if not args.enable_scheduler_estimator:
        return None
    if importlib.util.find_spec("grpclib") is None:
        raise errors.InputError(
            "--enable-scheduler-estimator",
            "needs grpclib, which is not installed",
            help='pip install "policysched[karmada]"',
        )
    return said


def find_estimator_warnings(args: argparse.Namespace) -> list[str]:
    """Return warnings about the encryption and authentication of estimators."""
    if not args.enable_scheduler_estimator:
        return []
    if args.insecure_skip_estimator_verify:
        said = ["--insecure-skip-estimator-verify: certificates of estimators are not verified"]
    elif not args.scheduler_estimator_ca_file:
        return ["connections to estimators are not encrypted without --scheduler-estimator-ca-file"]
    else:
        said = []
    if bool(args.scheduler_estimator_cert_file) != bool(args.scheduler_estimator_key_file):
        said.append(
            "no client certificate is used for estimators: give both "
            "--scheduler-estimator-cert-file and --scheduler-estimator-key-file"
        )
    return said


def _parse_timeout_seconds(text: str) -> float:
    from policysched import durations  # noqa: PLC0415 - not needed for `--help`

    seconds = 0.0 if text == "0" else durations.parse_duration_seconds(text)
    if seconds is None:
        raise errors.UsageError(
            f"--scheduler-estimator-timeout: `{text}` is not a duration such as `3s` or `500ms`"
        )
    return seconds


def _parse_port(text: str) -> int:
    port = int64.parse_unsigned_digits(text)
    if port is None or port > _MAX_PORT:
        raise errors.UsageError(
            f"--scheduler-estimator-port: `{text}` is not a port from 0 to {_MAX_PORT}"
        )
    return port
