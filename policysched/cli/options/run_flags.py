"""Options of `run` that override fields of the configuration.

Options that kube-scheduler also has mean the same there.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from policysched import booleans, errors
from policysched.cli.options import offline_options
from policysched.observability import logs

if TYPE_CHECKING:
    from policysched.config import config_reading


def parse_boolean(text: str) -> bool:
    """Parse the value of a boolean flag.

    Raises:
        argparse.ArgumentTypeError: the text is not a boolean.
    """
    value = booleans.parse_boolean(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"`{text}` is neither `true` nor `false`; {booleans.HELP}")
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigurationOption:
    """An option that overrides one field of the configuration.

    Attributes:
        name: the name without dashes, optionally followed by a space and an alias.
        path: the path of the field in a configuration, separated by dots.
        help: the text in `--help`.
        parsing: the other arguments of `add_argument`.
    """

    name: str
    path: str
    help: str
    parsing: dict[str, Any]

    @property
    def dest(self) -> str:
        """The attribute in which argparse stores the value."""
        return self.name.split()[0].replace("-", "_")

    @property
    def flag_text(self) -> str:
        """The option as users write it, without an alias."""
        return f"--{self.name.split()[0]}"


def _make_configuration_option(
    name: str,
    path: str,
    text: str,
    **parsing: Any,  # noqa: ANN401 - arguments of `add_argument`
) -> ConfigurationOption:
    return ConfigurationOption(name, path, text, parsing)


SWITCH: dict[str, Any] = {
    "metavar": "true|false",
    "nargs": "?",
    "const": True,
    "type": parse_boolean,
}
OPTIONS: dict[str, list[ConfigurationOption]] = {
    "policies": [
        _make_configuration_option(
            "policy-configmap",
            "policies.configMap",
            "ConfigMap to follow, instead of --policies; its keys that end in .policy are read",
            metavar="NAMESPACE/NAME",
        ),
        _make_configuration_option(
            "on-bad-start",
            "policies.onBadStart",
            "if the policies are invalid at startup: refuse to start, or use the last good "
            "version in the history (lastGood); default: refuse",
            choices=("refuse", "lastGood"),
        ),
        _make_configuration_option(
            "lint-errors",
            "policies.lintErrors",
            "a version in which `policysched lint` reports errors is refused, or causes a "
            "warning; default: refuse",
            choices=("refuse", "warn"),
        ),
    ],
    "serving": [
        _make_configuration_option(
            "secure-address",
            "serving.secureAddress",
            "address of health, metrics and debug pages with TLS, such as 0.0.0.0:10259 "
            "(default: none)",
            metavar="HOST:PORT",
        ),
        _make_configuration_option(
            "cert-file tls-cert-file",
            "serving.certFile",
            "PEM certificate; default: a self-signed one, generated at startup",
            metavar="FILE",
        ),
        _make_configuration_option(
            "key-file tls-private-key-file",
            "serving.keyFile",
            "PEM key of the certificate",
            metavar="FILE",
        ),
        _make_configuration_option(
            "metrics-address",
            "serving.metricsAddress",
            "address of metrics and health without TLS, such as 127.0.0.1:9153 (default: none)",
            metavar="HOST:PORT",
        ),
    ],
    "leader election": [
        _make_configuration_option(
            "leader-elect",
            "leaderElection.leaderElect",
            "schedule only while holding a Lease; default: false",
            **SWITCH,
        ),
        *(
            _make_configuration_option(
                f"leader-elect-{name}", f"leaderElection.{field}", text, metavar=metavar
            )
            for name, field, metavar, text in (
                (
                    *("lease-duration", "leaseDuration", "15s"),
                    "time after the leader's last renewal after which another process takes over",
                ),
                (
                    *("renew-deadline", "renewDeadline", "10s"),
                    "time for which a leader retries renewal before it stops scheduling",
                ),
                (
                    "retry-period",
                    "retryPeriod",
                    "2s",
                    "interval at which the leader renews the lease, and others try to acquire it",
                ),
                (
                    "resource-name",
                    "resourceName",
                    "NAME",
                    "name of the Lease; default: policysched",
                ),
                (
                    *("resource-namespace", "resourceNamespace", "NAMESPACE"),
                    (
                        "namespace of the Lease; default: that of the pod; outside a cluster, "
                        "kube-system"
                    ),
                ),
            )
        ),
    ],
    "requests to the API server": [
        _make_configuration_option(
            "kube-api-qps",
            "clientConnection.qps",
            "limit of requests per second (default: none)",
            metavar="N",
            type=float,
        ),
        _make_configuration_option(
            "kube-api-burst",
            "clientConnection.burst",
            "maximum number of requests at once; default: twice the limit",
            metavar="N",
            type=int,
        ),
    ],
    "logs": [
        _make_configuration_option(
            "log-level", "logging.level", "default: info", choices=logs.LEVELS
        ),
        _make_configuration_option(
            "log-format", "logging.format", "default: text", choices=("text", "json")
        ),
    ],
}
"""The options, keyed by their group in `--help`."""


_OF_POLICIES = "policies"


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run` that override the configuration."""
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        if title == _OF_POLICIES:
            offline_options.add_policy_options(group)
        _add_options(group, options)
    parser.add_argument(
        "--feature-gates",
        metavar="NAME=true|false",
        action="append",
        help="switches of `features` in the configuration (repeatable, or separated by commas)",
    )
    add_prometheus_option(parser.add_argument_group("metrics"))


def add_policy_source_options(group: argparse._ActionsContainer) -> None:
    """Add the options that select the policies and how invalid versions are treated."""
    offline_options.add_policy_options(group)
    _add_options(group, OPTIONS[_OF_POLICIES])


def _add_options(group: argparse._ActionsContainer, options: Iterable[ConfigurationOption]) -> None:
    for option in options:
        names = [f"--{name}" for name in option.name.split()]
        group.add_argument(*names, dest=option.dest, help=option.help, **option.parsing)


def add_prometheus_option(group: argparse._ActionsContainer) -> None:
    """Add the option that names the Prometheus servers."""
    group.add_argument(
        "--prometheus",
        metavar="[NAME=]URL",
        action="append",
        help="Prometheus server for metrics (repeatable); NAME is the `source` of metrics; set "
        "credentials, TLS and headers in --config",
    )


def read_run_overrides(args: argparse.Namespace) -> list[config_reading.FieldOverride]:
    """Return the overrides from the options of `run`.

    Raises:
        UsageError: an option is empty or invalid.
    """
    from policysched.config import config_reading  # noqa: PLC0415 - not needed for `--help`

    found = read_policy_overrides(args)
    for name, switch in _split_feature_gates(args.feature_gates or ()):
        value = _parse_feature_gate(name, switch)
        found.append(config_reading.FieldOverride("--feature-gates", ("features", name), value))
    for title, options in OPTIONS.items():
        if title != _OF_POLICIES:
            found += _read_overrides(args, options)
    return found


def read_policy_overrides(args: argparse.Namespace) -> list[config_reading.FieldOverride]:
    """Return the overrides of policies, params and Prometheus servers; see `read_run_overrides`."""
    from policysched.config import config_reading  # noqa: PLC0415 - not needed for `--help`
    from policysched.promapi import settings  # noqa: PLC0415 - as above

    flag = config_reading.FieldOverride
    found = _read_policy_source_overrides(args)
    for name, value in offline_options.parse_param_values(args.params or ()).items():
        found.append(flag("--params", ("params", name), value))
    for text in args.prometheus or ():
        name, server = settings.parse_prometheus_option(text)
        found.append(flag("--prometheus", ("prometheus", name), {"url": server.url}))
    return found + _read_overrides(args, OPTIONS[_OF_POLICIES])


def _read_overrides(
    args: argparse.Namespace, options: Iterable[ConfigurationOption]
) -> list[config_reading.FieldOverride]:
    """Return the overrides from the given options.

    Raises:
        UsageError: an option is empty.
    """
    from policysched.config import config_reading  # noqa: PLC0415 - not needed for `--help`

    found = []
    for option in options:
        value = getattr(args, option.dest)
        if value == "":
            raise errors.UsageError(f"{option.flag_text} is empty")
        if value is not None:
            path = tuple(option.path.split("."))
            found.append(config_reading.FieldOverride(option.flag_text, path, value))
    return found


def _split_feature_gates(given: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield the names and values in `--feature-gates` options: NAME=BOOL, separated by commas.

    Raises:
        UsageError: a name has no value.
    """
    for text in (part for joined in given for part in joined.split(",")):
        name, equals, value = text.partition("=")
        if not equals or not name:
            problem = f"`{text}` is not a switch; write NAME=true or NAME=false"
            raise errors.UsageError(f"--feature-gates: {problem}")
        yield name, value


def _parse_feature_gate(name: str, text: str) -> bool:
    try:
        return parse_boolean(text)
    except argparse.ArgumentTypeError as error:
        raise errors.UsageError(f"--feature-gates: {name}: {error}") from error


def _read_policy_source_overrides(args: argparse.Namespace) -> list[config_reading.FieldOverride]:
    """Return the overrides that replace the policy source in the configuration file.

    Raises:
        UsageError: two sources are given, or a path is empty.
    """
    from policysched.config import config_reading  # noqa: PLC0415 - not needed for `--help`

    if args.policies and args.policy_configmap:
        raise errors.UsageError("give --policies or --policy-configmap, not both")
    if "" in (args.policies or ()):
        raise errors.UsageError("a path of policies is empty; `.` is the current folder")
    flag = config_reading.FieldOverride
    if args.policies:
        return [
            flag("--policies", ("policies", "configMap"), None),
            flag("--policies", ("policies", "paths"), list(args.policies)),
        ]
    if args.policy_configmap:
        return [flag("--policy-configmap", ("policies", "paths"), None)]
    return []
