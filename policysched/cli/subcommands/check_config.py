"""`policysched check --config`: check a configuration and its profiles."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.config import config
    from policysched.inputs import policy_sources
    from policysched.lang.checking import checker


def read_checked_configuration(path: str) -> config.Config:
    """Return the configuration in a file, after writing its warnings to stderr.

    Raises:
        ConfigurationError: the configuration has faults; all of them are reported.
    """
    from policysched.config import config_reading, extender_faults  # noqa: PLC0415 - not needed for `--help`

    configuration = config_reading.read_config(path)
    for warning in extender_faults.find_extender_warnings(configuration.extenders):
        output.write_report(f"{path}: warning: {warning}", sys.stderr)
    return configuration


def check_manifest_rollouts(
    files: Sequence[policy_sources.PolicySourceFile], configuration: config.Config | None
) -> None:
    """Check the key `rollout.yaml` of ConfigMaps with policies.

    Raises:
        ConfigurationError: such a text has errors; all errors of the first one are reported.
    """
    if any(file.is_manifest for file in files):
        from policysched.config import config_reading  # noqa: PLC0415 - few policies are in manifests

        config_reading.read_manifest_rollouts(files, configuration)


def get_configured_params(configuration: config.Config) -> dict[str, str]:
    """Return the values of policy params in the configuration."""
    return {name: str(value) for name, value in configuration.params.items()}


def apply_lint_gate(
    result: checker.CheckResult, configuration: config.Config
) -> checker.CheckResult:
    """Return the result for a scheduler with this configuration, including lint errors."""
    from policysched.profiles import lint_gate  # noqa: PLC0415 - not needed for `--help`

    return lint_gate.choose_lint_error_handler(configuration.policies.lint_errors)(result)


def check_configuration_alone(args: argparse.Namespace, configuration: config.Config | None) -> int:
    """Check a configuration that names no policy files; it can name a ConfigMap.

    Raises:
        UsageError: there is nothing to check.
        ConfigurationError: a profile could not start.
    """
    if configuration is None:
        raise errors.UsageError("nothing to check; give a PATH, or a configuration with --config")
    from policysched.profiles import policies  # noqa: PLC0415 - `--help` does not need NumPy

    policy_set = policies.load_policy_set((), {}, None, _remove_params(configuration))
    policies.verify_profile_creation(policy_set)
    if args.output == output.JSON:
        nothing = {"files": [], "errors": 0, "warnings": 0, "diagnostics": []}
        output.write_text(output.encode_json({"ok": True, "hash": None, **nothing}))
    else:
        profiles = output.format_count(len(policy_set.specs), "profile")
        output.write_report(f"{args.config}: {profiles}, no policies in files")
    return errors.EXIT_OK


def _remove_params(configuration: config.Config) -> config.Config:
    """Return the configuration without params; the policies that declare them are not read."""
    import msgspec  # noqa: PLC0415 - not needed for `--help`

    return msgspec.structs.replace(configuration, params={})
