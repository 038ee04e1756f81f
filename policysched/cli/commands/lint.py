"""`policysched lint`: report constructs in policies that are certainly or probably unintended."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import pathlib
import sys
from typing import TYPE_CHECKING, TextIO

from policysched import clock as clocks
from policysched import errors
from policysched.cli.options import cluster_options, offline_options
from policysched.cli.policy_files import plugin_checks, policy_texts
from policysched.cli.render import finding_formats, output, progress

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping, Sequence

    from policysched.inputs import live_cluster, policy_sources
    from policysched.lang import source
    from policysched.lang.checking import checker
    from policysched.lang.diagnostics import diagnostics
    from policysched.lint import linter, settings
    from policysched.lint.facts import cluster_facts, prometheus_facts
    from policysched.promapi import settings as prom_settings

_LEVELS = ("error", "warning", "info")
_DESCRIPTION = """\
Find certain and probable mistakes in valid policies. All named texts are examined together, like
the keys of one ConfigMap. Rules are selected by prefixes of their codes, by options, in
`.policysched.toml` or in `[tool.policysched.lint]` of pyproject.toml.
"""
_EPILOG = (
    "exit codes: 0 success, 1 findings at or above --fail-level, 2 errors or unreadable input, "
    "3 invalid usage; `policysched explain rule PS203` describes a rule"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    policy_texts.add_paths_argument(parser)
    cluster_options.add_cluster_options(
        parser,
        "the output of `kubectl get nodes,pods,namespaces -A -o json`, or at a Karmada API "
        "server of `kubectl get clusters,resourcebindings -A -o json`; `-` reads it from "
        "stdin; rules PS5xx compare the policies with it",
    )
    parser.add_argument(
        "--prometheus",
        metavar="URL",
        help="the server whose metrics the policies read; rules PS6xx query it",
    )
    parser.add_argument(
        "--select", metavar="CODES", help="run only rules whose codes begin with one of these"
    )
    parser.add_argument(
        "--ignore", metavar="CODES", help="do not run rules whose codes begin with one of these"
    )
    parser.add_argument(
        "--fail-level",
        choices=_LEVELS,
        help="lowest severity of findings that cause exit code 1 (default: warning)",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="settings file, instead of the nearest one"
    )
    finding_formats.add_format_option(parser)
    parser.add_argument("--fix", action="store_true", help="apply safe fixes to the files")
    parser.add_argument("--unsafe-fixes", action="store_true", help="also apply unsafe fixes")
    parser.add_argument(
        "--diff", action="store_true", help="show the changes that --fix would make"
    )
    parser.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param (repeatable)",
    )
    offline_options.add_now_option(parser)


@dataclasses.dataclass(frozen=True)
class _LintOptions:
    """The values of the options, with the settings files applied."""

    form: str
    chosen: settings.LintSettings
    fail_level: diagnostics.Severity
    params: Mapping[str, str]
    now: datetime.datetime
    cluster: str | live_cluster.LiveClusterReference | None
    prometheus: prom_settings.PrometheusSource | None

    def check_texts(self, texts: Sequence[source.SourceText]) -> checker.CheckResult:
        """Check the texts with the params; the result contains the program or the errors."""
        from policysched.lang.checking import checker  # noqa: PLC0415 - `--help` does not need Lark

        plugins = plugin_checks.find_installed_plugin_names(texts)
        result = checker.check(texts, given=self.params, plugins=plugins, now=self.now.timestamp())
        profiles = result.program.profiles if result.program else ()
        if any(each.plugins or each.disabled for each in profiles):
            return plugin_checks.check_plugin_arguments(result, texts, self.params)
        return result


@dataclasses.dataclass(frozen=True)
class _ClusterAndPrometheusFacts:
    """The facts to compare with the policies; None for facts that are not requested."""

    cluster: cluster_facts.ClusterFacts | None
    prometheus: prometheus_facts.PrometheusFacts | None


def run(args: argparse.Namespace) -> int:
    """Lint the texts, and fix them if the options request it."""
    gc.disable()  # collecting start-up objects takes a tenth of the time of a short run
    try:
        asked = _read_options(args)
        with progress.show_reading_progress("reading policies", args.paths):
            files = policy_texts.read_policy_files(args.paths)
        texts = [text for file in files for text in file.texts]
        known = _ClusterAndPrometheusFacts(
            _read_cluster_facts(asked, texts), _read_prometheus_facts(asked, texts)
        )
        if args.fix or args.unsafe_fixes or args.diff:
            return _fix_and_lint_texts(asked, files, known, args)
        return _lint_texts(asked, texts, known)
    finally:
        gc.enable()


def _read_options(args: argparse.Namespace) -> _LintOptions:
    """Return the values of the options, with the settings files applied.

    Raises:
        UsageError: the options are inconsistent.
        InputError: the settings cannot be read.
    """
    offline_options.refuse_empty_options(args, "config")
    offline_options.refuse_empty_options(args, "prometheus")
    form = finding_formats.choose_finding_format(args)
    cluster = cluster_options.choose_cluster_source(args)
    if "-" in args.paths and cluster == "-":
        raise errors.UsageError(
            "both the cluster and the policies are `-`; name a file for one of them"
        )
    if "-" in args.paths and _should_write_fixes(args) and form not in finding_formats.FOR_PEOPLE:
        raise errors.UsageError(
            f"fixed policies from stdin are printed to stdout; remove --format {form}"
        )
    chosen, level = _choose_lint_settings(args)
    params = offline_options.parse_param_values(args.params or ())
    now = args.now or clocks.SystemClock().now()
    return _LintOptions(form, chosen, level, params, now, cluster, _read_prometheus_source(args))


def _read_prometheus_source(args: argparse.Namespace) -> prom_settings.PrometheusSource | None:
    """Return the Prometheus server to query; None without `--prometheus`.

    Raises:
        InputError: the address or the settings of the server are invalid.
    """
    if args.prometheus is None:
        return None
    from policysched.inputs import lint_settings  # noqa: PLC0415 - imports an HTTP client
    from policysched.offline import lint_prometheus  # noqa: PLC0415 - imports an HTTP client

    file = pathlib.Path(args.config) if args.config else None
    return lint_prometheus.make_prometheus_source(
        args.prometheus, lint_settings.read_prometheus_settings(file, pathlib.Path.cwd())
    )


def _should_write_fixes(args: argparse.Namespace) -> bool:
    return (args.fix or args.unsafe_fixes) and not args.diff


def _read_cluster_facts(
    asked: _LintOptions, texts: Sequence[source.SourceText]
) -> cluster_facts.ClusterFacts | None:
    """Return the cluster to compare with; None if it is not named or the texts have errors."""
    if asked.cluster is None:
        return None
    from policysched.offline import lint_cluster  # noqa: PLC0415 - imports NumPy

    with progress.show_progress("reading the cluster") as bar:
        program = asked.check_texts(texts).program
        if program is None:
            return None

        def tell(resource: str, count: int) -> None:
            bar.what, bar.done = f"reading {resource}", count

        return lint_cluster.read_cluster_facts(asked.cluster, program, asked.now, tell)


def _read_prometheus_facts(
    asked: _LintOptions, texts: Sequence[source.SourceText]
) -> prometheus_facts.PrometheusFacts | None:
    """Return the facts of a Prometheus server about the queries; None without a server."""
    if asked.prometheus is None:
        return None
    from policysched.offline import lint_prometheus  # noqa: PLC0415 - imports an HTTP client

    with progress.show_progress("querying Prometheus") as bar:

        def tell(done: int, total: int) -> None:
            bar.done, bar.total = done, total

        now = (
            clocks.SystemClock().now()
        )  # the real time: the server has recent data, regardless of --now
        found = lint_prometheus.survey_prometheus(
            asked.prometheus, asked.check_texts(texts), now, tell
        )
    if found.left_out:
        output.print_note_to_stderr(
            f"{found.left_out} metrics were not checked against Prometheus: there are too many"
        )
    return found.facts


def _lint_texts(
    asked: _LintOptions,
    texts: Sequence[source.SourceText],
    known: _ClusterAndPrometheusFacts,
    stream: TextIO | None = None,
) -> int:
    """Print the findings in the texts; return the exit code."""
    from policysched.lint import linter, settings  # noqa: PLC0415 - not needed for `--help`

    with progress.show_progress("linting policies"):
        result = asked.check_texts(texts)
        report = linter.lint_program(result, asked.chosen, known.cluster, known.prometheus)
    shown = finding_formats.render_finding_report(report, asked.form)
    if shown:
        finding_formats.write_finding_report(shown, asked.form, stream)
    if asked.form in finding_formats.FOR_PEOPLE:
        _write_summary(report, asked.params)
    if result.program is None:
        return errors.EXIT_WRONG_INPUT
    fails = any(
        settings.is_severity_at_least(each.severity, asked.fail_level) for each in report.findings
    )
    return errors.EXIT_FINDINGS if fails else errors.EXIT_OK


def _fix_and_lint_texts(
    asked: _LintOptions,
    files: Sequence[policy_sources.PolicySourceFile],
    known: _ClusterAndPrometheusFacts,
    args: argparse.Namespace,
) -> int:
    """Apply the fixes or show their diff, lint the result, and return the exit code."""
    from policysched.cli.subcommands import lint_fixes  # noqa: PLC0415 - most runs fix nothing
    from policysched.lint import fixing  # noqa: PLC0415 - as above

    with progress.show_progress("fixing policies"):
        fixed = fixing.apply_fixes(
            [text for file in files for text in file.texts],
            asked.params,
            asked.chosen,
            also_unsafe=args.unsafe_fixes,
            cluster=known.cluster,
            prometheus=known.prometheus,
            now=asked.now.timestamp(),
        )
    new = {text.name: text.text for text in fixed}
    if args.diff:
        return max(lint_fixes.print_fix_diff(files, new), _print_remaining_errors(asked, fixed))
    stream = sys.stderr if any(file.is_stdin for file in files) else None
    texts, exit_code = lint_fixes.write_fixed_files(files, new)
    return max(exit_code, _lint_texts(asked, texts, known, stream))


def _print_remaining_errors(asked: _LintOptions, texts: Sequence[source.SourceText]) -> int:
    """Print the errors that prevent fixes; return the exit code."""
    if asked.check_texts(texts).program is not None:
        return errors.EXIT_OK
    form = asked.form if asked.form in finding_formats.FOR_PEOPLE else finding_formats.FULL
    return _lint_texts(
        dataclasses.replace(asked, form=form),
        texts,
        _ClusterAndPrometheusFacts(None, None),
        sys.stderr,
    )


def _choose_lint_settings(
    args: argparse.Namespace,
) -> tuple[settings.LintSettings, diagnostics.Severity]:
    """Return the settings and the fail level; options override the settings files."""
    from policysched.inputs import lint_settings  # noqa: PLC0415 - not needed for `--help`
    from policysched.lang.diagnostics import diagnostics  # noqa: PLC0415 - as above

    if args.config:
        found = lint_settings.read_lint_settings(pathlib.Path(args.config))
    else:
        found = lint_settings.find_lint_settings(pathlib.Path.cwd())
    chosen, level = found
    select = _parse_lint_codes(args.select, "--select")
    chosen = dataclasses.replace(
        chosen,
        select=select or chosen.select,
        ignore=(*chosen.ignore, *_parse_lint_codes(args.ignore, "--ignore")),
    )
    if args.fail_level:
        level = diagnostics.Severity(args.fail_level)
    return chosen, level or diagnostics.Severity.WARNING


def _parse_lint_codes(option: str | None, name: str) -> tuple[str, ...]:
    """Parse the rule code prefixes in an option, separated by commas.

    Raises:
        UsageError: a prefix matches no rule.
    """
    from policysched.inputs import lint_settings  # noqa: PLC0415 - not needed for `--help`

    if option is None:
        return ()
    try:
        return lint_settings.parse_rule_code_prefixes(
            [code.strip() for code in option.split(",")], name
        )
    except errors.InputError as error:  # an input error only in a settings file
        raise errors.UsageError(str(error)) from None


def _write_summary(report: linter.LintResult, params: Mapping[str, str]) -> None:
    """Print the numbers of findings, ignored findings and findings that `--fix` can fix."""
    from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - not needed for `--help`
    from policysched.lint import fixing  # noqa: PLC0415 - as above

    parts = [rendering.summarise_findings(report.findings) or "no findings"]
    if report.silenced:
        parts.append(f"{report.silenced} ignored")
    fixable = fixing.count_safe_fixes(list(report.texts.values()), report.findings, params)
    if fixable:
        parts.append(f"{fixable} fixable by --fix")
    output.write_report(", ".join(parts), sys.stderr)
