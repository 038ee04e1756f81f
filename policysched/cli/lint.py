"""`policysched lint`: what policies surely or probably were not meant to say."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cli import offline_options, output, policy_texts, rewriting

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable

    from policysched.lang import checker, diagnostics, source
    from policysched.lint import cluster_facts, linter, settings

_FORMATS = ("full", "concise", "json", "github", "sarif")
_LEVELS = ("error", "warning", "info")
_DESCRIPTION = """\
Look for what policies surely or probably were not meant to say. All texts that are named are
looked at together, as the keys of one ConfigMap are. Rules are chosen by the beginning of their
code, here or in `.policysched.toml` or `[tool.policysched.lint]` of pyproject.toml.
"""
_EPILOG = (
    "exit codes: 0 fine, 1 findings at or above --fail-level, 2 errors or unreadable, 3 usage; "
    "`policysched explain rule PS203` tells about a rule"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    policy_texts.add_paths(parser)
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help="what `kubectl get nodes,pods,namespaces -o json` prints: rules that begin with PS5 "
        "compare policies with it",
    )
    parser.add_argument("--select", metavar="CODES", help="only rules whose codes begin so")
    parser.add_argument("--ignore", metavar="CODES", help="not the rules whose codes begin so")
    parser.add_argument(
        "--fail-level",
        choices=_LEVELS,
        help="exit with 1 from findings of this severity on (warning)",
    )
    parser.add_argument("--config", metavar="FILE", help="settings, instead of the nearest ones")
    parser.add_argument("--format", choices=_FORMATS, default="full", help="form of the findings")
    parser.add_argument("--fix", action="store_true", help="apply safe fixes to the files")
    parser.add_argument("--unsafe-fixes", action="store_true", help="apply unsafe fixes, too")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change")
    parser.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param; repeatable",
    )
    offline_options.add_now(parser)


def run(args: argparse.Namespace) -> int:
    """Lint the texts, and fix them where that is asked for."""
    from policysched.lang import checker  # noqa: PLC0415 - `--help` does without Lark
    from policysched.lint import fixing, linter  # noqa: PLC0415 - as above

    offline_options.refuse_empty(args, "config")
    offline_options.refuse_empty(args, "cluster")
    chosen, fail_level = _settings(args)
    texts = policy_texts.read(args.paths)
    params = offline_options.params(args.params or ())
    now = args.now or clocks.SystemClock().now()
    result = checker.check(texts, given=params, now=now.timestamp())
    cluster = _cluster(args.cluster, result, now)
    if args.fix or args.unsafe_fixes or args.diff:
        fixed = fixing.fix(texts, params, chosen, also_unsafe=args.unsafe_fixes, cluster=cluster)
        texts, has_changed = _deliver(texts, fixed, args)
        if args.diff:
            return errors.EXIT_FINDINGS if has_changed else errors.EXIT_OK
        result = checker.check(texts, given=params, now=now.timestamp())
    report = linter.lint(result, chosen, cluster)
    _write(report, args.format)
    if result.program is None:
        return errors.EXIT_WRONG_INPUT
    return errors.EXIT_FINDINGS if _fails(report, fail_level) else errors.EXIT_OK


def _cluster(
    path: str | None, result: checker.CheckResult, now: datetime.datetime
) -> cluster_facts.ClusterFacts | None:
    if path is None or result.program is None:
        return None
    from policysched.app import lint_cluster  # noqa: PLC0415 - brings NumPy

    return lint_cluster.read(path, result.program, now)


def _settings(args: argparse.Namespace) -> tuple[settings.Settings, diagnostics.Severity]:
    """Return what is asked for by options, and what is not by the settings."""
    from policysched.app import lint_settings  # noqa: PLC0415 - `--help` does without
    from policysched.lang import diagnostics  # noqa: PLC0415 - as above
    from policysched.lint import settings  # noqa: PLC0415 - as above

    if args.config:
        found, level = lint_settings.read(pathlib.Path(args.config))
    else:
        found, level = lint_settings.find(pathlib.Path.cwd())
    select = _codes(args.select, "--select")
    ignore = _codes(args.ignore, "--ignore")
    chosen = settings.Settings(
        select or found.select, (*found.ignore, *ignore), found.per_path, found.levels
    )
    if args.fail_level:
        level = diagnostics.Severity(args.fail_level)
    return chosen, level or diagnostics.Severity.WARNING


def _codes(option: str | None, name: str) -> tuple[str, ...]:
    from policysched.app import lint_settings  # noqa: PLC0415 - `--help` does without

    if option is None:
        return ()
    return lint_settings.codes([code.strip() for code in option.split(",")], name)


def _deliver(
    texts: list[source.SourceText], fixed: list[source.SourceText], args: argparse.Namespace
) -> tuple[list[source.SourceText], bool]:
    """Write or show what fixes have changed; return what the texts are then, and whether any."""
    changed = [(old, new) for old, new in zip(texts, fixed, strict=True) if old.text != new.text]
    for old, new in changed:
        if args.diff:
            sys.stdout.writelines(rewriting.diff(old, new.text, "fixed"))
        elif old.origin is not None or old.name == policy_texts.STDIN_NAME:
            output.note(f"`{old.name}` is no policy file and is not fixed; see --diff")
        else:
            rewriting.write(pathlib.Path(old.name), new.text)
            output.note(f"fixed {old.name}")
    is_written = {new.name for old, new in changed if _is_file(old) and not args.diff}
    after = [new if new.name in is_written else old for old, new in zip(texts, fixed, strict=True)]
    return after, bool(changed)


def _is_file(text: source.SourceText) -> bool:
    return text.origin is None and text.name != policy_texts.STDIN_NAME


def _fails(report: linter.Report, level: diagnostics.Severity) -> bool:
    from policysched.lint import settings  # noqa: PLC0415 - `--help` does without

    return any(settings.is_at_least(each.severity, level) for each in report.findings)


def _write(report: linter.Report, form: str) -> None:
    shown = _renderers()[form](report)
    if shown:
        output.write(shown)
    if form in {"full", "concise"}:
        _write_summary(report)


def _renderers() -> dict[str, Callable[[linter.Report], str]]:
    from policysched.lint.formats import (  # noqa: PLC0415 - `--help` does without
        concise,
        full,
        github,
        json_,
        sarif,
    )

    return {
        "full": full.render,
        "concise": concise.render,
        "json": lambda report: output.as_json(json_.as_json(report)),
        "github": github.render,
        "sarif": lambda report: output.as_json(sarif.as_json(report)),
    }


def _write_summary(report: linter.Report) -> None:
    from policysched.lang import rendering  # noqa: PLC0415 - `--help` does without

    parts = [rendering.summary(report.findings) or "no findings"]
    if report.silenced:
        parts.append(f"{report.silenced} ignored")
    fixable = sum(each.fix is not None and each.fix.safe for each in report.findings)
    if fixable:
        parts.append(f"{fixable} fixable by --fix")
    output.write(", ".join(parts), sys.stderr)
