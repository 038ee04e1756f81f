"""`policysched check`: report every error in policy texts that are loaded together."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from policysched import clock as clocks
from policysched import errors
from policysched.cli.options import offline_options
from policysched.cli.policy_files import plugin_checks, policy_texts
from policysched.cli.render import finding_formats, output, progress
from policysched.cli.subcommands import check_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.lang import source
    from policysched.lang.checking import checker

_MAX_SHOWN = 100
_DESCRIPTION = """\
Check policy texts and report all errors at once, each with its location, its code and a suggested
edit. All named texts are checked together, like the keys of one ConfigMap.
"""
_EPILOG = (
    "exit codes: 0 success, 2 errors or unreadable input, 3 invalid usage; docs/language.md "
    "describes the language. A scheduler, and --config, also refuse policies in which "
    "`policysched lint` reports errors."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    policy_texts.add_paths_argument(parser, is_required=False)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="also check this PolicySchedulerConfiguration with the plugins of its profiles, "
        "and lint the policies according to its `policies.lintErrors`; without PATH, "
        "check the policies in its `policies.paths`",
    )
    parser.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param (repeatable)",
    )
    offline_options.add_now_option(parser)
    finding_formats.add_format_option(parser)


def run(args: argparse.Namespace) -> int:
    """Check the texts and print the findings."""
    from policysched.lang.checking import checker  # noqa: PLC0415 - `--help` does not need Lark

    offline_options.refuse_empty_options(args, "config")
    form = finding_formats.choose_finding_format(args)
    configuration = check_config.read_checked_configuration(args.config) if args.config else None
    paths = args.paths or (configuration.policies.paths if configuration else ())
    if not paths:
        return check_config.check_configuration_alone(args, configuration)
    with progress.show_reading_progress("reading policies", paths):
        files = policy_texts.read_policy_files(paths)
    texts = [text for file in files for text in file.texts]
    check_config.check_manifest_rollouts(files, configuration)
    params = offline_options.parse_param_values(args.params or ())
    if configuration is not None:
        params = check_config.get_configured_params(configuration) | params
    now = args.now or clocks.SystemClock().now()
    with progress.show_progress("checking policies"):
        plugins = plugin_checks.find_installed_plugin_names(texts)
        result = checker.check(texts, given=params, plugins=plugins, now=now.timestamp())
    if configuration is not None:
        result = check_config.apply_lint_gate(result, configuration)
    if plugins is not None or configuration is not None:
        result = plugin_checks.check_plugin_arguments(result, texts, params, configuration)
    if form == finding_formats.JSON:
        output.write_text(output.encode_json(_as_json(texts, result)))
    elif form != finding_formats.FULL:
        _write_findings(result, form)
    else:
        _print_check_result(texts, result)
    return errors.EXIT_OK if result.program is not None else errors.EXIT_WRONG_INPUT


def _write_findings(result: checker.CheckResult, form: str) -> None:
    """Print the errors and warnings in the given format, as `lint` does."""
    from policysched.lint import linter  # noqa: PLC0415 - not needed in most runs

    report = linter.LintResult(result.diagnostics, result.texts, 0)
    shown = finding_formats.render_finding_report(report, form)
    if shown:
        finding_formats.write_finding_report(shown, form)


def _print_check_result(texts: Sequence[source.SourceText], result: checker.CheckResult) -> None:
    """Print the findings on stderr, then the policy and profile counts and the content hash."""
    from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - not needed for `--help`

    for finding in result.diagnostics[:_MAX_SHOWN]:
        output.write_findings(rendering.render_diagnostic(finding, result.texts) + "\n", sys.stderr)
    hidden = len(result.diagnostics) - _MAX_SHOWN
    if hidden > 0:
        output.write_report(f"… and {hidden:,} more", sys.stderr)
    if result.diagnostics:
        output.write_report(rendering.summarise_findings(result.diagnostics), sys.stderr)
    if result.program is not None:
        program = result.program
        policies = len(program.policies) + len(program.cluster_policies)
        profiles = len(program.profiles)
        output.write_report(
            f"{output.format_count(len(texts), 'text')}: "
            f"{policies} {'policy' if policies == 1 else 'policies'}, "
            f"{output.format_count(profiles, 'profile')}, hash {result.program.content_hash}"
        )


def _as_json(texts: Sequence[source.SourceText], result: checker.CheckResult) -> dict[str, Any]:
    """Return the result in the form of schemas/check.schema.json."""
    from policysched.lang.diagnostics import diagnostics, rendering  # noqa: PLC0415 - not needed for `--help`

    severities = [finding.severity for finding in result.diagnostics]
    return {
        "ok": result.program is not None,
        "hash": result.program.content_hash if result.program is not None else None,
        "files": [text.name for text in texts],
        "errors": severities.count(diagnostics.Severity.ERROR),
        "warnings": severities.count(diagnostics.Severity.WARNING),
        "diagnostics": [
            rendering.encode_diagnostic(finding, result.texts) for finding in result.diagnostics
        ],
    }
