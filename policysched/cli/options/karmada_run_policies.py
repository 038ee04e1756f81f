"""Options of `karmada run` that select its cluster policies and the sources of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import offline_options, run_flags

if TYPE_CHECKING:
    import argparse

    from policysched.config import config

_FIELDS = ("policies", "params", "prometheus")
"""The configuration fields that `karmada run` reads; others concern pods or are options here."""


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("cluster policies")
    run_flags.add_policy_source_options(group)
    run_flags.add_prometheus_option(group)
    group.add_argument(
        "--metrics-file",
        metavar="FILE",
        help="values of metrics, in the form of `karmada simulate --metrics`; read again when "
        "the file changes",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="a PolicySchedulerConfiguration with only policies, params and prometheus; "
        "options override it",
    )


def read_policy_configuration(args: argparse.Namespace) -> config.Config:
    """Return the policy configuration from the options and the file of `--config`.

    Raises:
        UsageError: an option is invalid.
        InputError: the file cannot be read or is invalid.
    """
    from policysched.config import config, config_reading  # noqa: PLC0415 - not needed for `--help`

    offline_options.refuse_empty_options(args, "config", "metrics_file")
    if args.metrics_file and args.prometheus:
        raise errors.UsageError("give --metrics-file or --prometheus, not both")
    flags = run_flags.read_policy_overrides(args)
    said = config_reading.read_effective_config(args.config, flags)
    for field in config.Config.__struct_fields__:
        if field not in _FIELDS and getattr(said, field) != getattr(config.Config(), field):
            name = _convert_to_camel_case(field)
            problem = f"{name} is not allowed for `karmada run`, which has options for it"
            known = ", ".join(_FIELDS)
            raise errors.ConfigurationError(str(args.config), problem, help=f"leave only {known}")
    has_policies = said.policies.paths or said.policies.config_map
    if not has_policies and (args.metrics_file or flags):
        raise errors.UsageError(
            "params and metrics need policies; give --policies or --policy-configmap"
        )
    return said


def _convert_to_camel_case(field: str) -> str:
    first, *rest = field.split("_")
    return f"`{first}{''.join(word.capitalize() for word in rest)}`"
