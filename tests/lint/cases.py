"""The examples of each rule: a folder of files in tests/lint/rules/.

failing.policy   what the rule reports...
expected.txt     ...as `LINE:COLUMN SEVERITY MESSAGE`, one finding a line
fixed.policy     failing.policy with all fixes of the rule applied; only where it has any
passing.policy   what no rule reports at warning or above, close to failing.policy
cluster.yaml     a cluster; without it tests/lint/cluster.yaml stands for rules of clusters
prometheus.json  what a Prometheus has said, for rules that ask one
"""

from __future__ import annotations

import dataclasses
import datetime
import pathlib

from policysched.app import lint_cluster
from policysched.lang import checker, diagnostics, source
from policysched.lint import cluster_facts, linter, settings

FOLDER = pathlib.Path(__file__).parent / "rules"
CLUSTER = pathlib.Path(__file__).parent / "cluster.yaml"
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
CODES = sorted(diagnostics.LINT_CODES)


def text(code: str, name: str) -> str:
    """Return one of the files of a rule."""
    return (FOLDER / code.lower() / name).read_text(encoding="utf-8")


def checked(policies: str) -> checker.CheckResult:
    """Return the meaning of a text that has no errors."""
    result = checker.check([source.SourceText("x.policy", policies)])
    assert result.program is not None, result.diagnostics
    return result


def cluster(code: str, result: checker.CheckResult) -> cluster_facts.ClusterFacts | None:
    """Return the cluster of a rule's examples; None for rules that need none."""
    own = FOLDER / code.lower() / "cluster.yaml"
    if not own.exists() and not code.startswith("PS5"):
        return None
    assert result.program is not None
    file = own if own.exists() else CLUSTER
    found = lint_cluster.read(str(file), result.program, NOW)
    return dataclasses.replace(found, name=file.name)


def lint(code: str, policies: str, chosen: settings.Settings) -> tuple[diagnostics.Diagnostic, ...]:
    """Return what is found in a text, with all that the rule's examples are linted with."""
    result = checked(policies)
    return linter.lint(result, chosen, cluster(code, result)).findings


def told(findings: tuple[diagnostics.Diagnostic, ...]) -> str:
    """Return findings as expected.txt has them."""
    return "".join(
        f"{each.span.line}:{each.span.column} {each.severity} {each.message}\n" for each in findings
    )
