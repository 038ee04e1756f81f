"""The examples of each rule: a folder of files in tests/lint/rules/.

failing.policy   what the rule reports...
expected.txt     ...as `LINE:COLUMN SEVERITY MESSAGE`, one finding a line
fixed.policy     failing.policy with all fixes of the rule applied; only where it has any
passing.policy   what no rule reports at warning or above, close to failing.policy
cluster.yaml     a cluster; without it tests/lint/cluster.yaml stands for rules of clusters
prometheus.json  what a Prometheus has said of metrics by name, for rules that ask one
"""

from __future__ import annotations

import dataclasses
import datetime
import pathlib

import msgspec

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, rule_input, settings
from policysched.lint.facts import cluster_facts, prometheus_facts
from policysched.offline import lint_cluster

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
    found = lint_cluster.read_cluster_facts(str(file), result.program, NOW)
    members = found.members and dataclasses.replace(found.members, name=file.name)
    return dataclasses.replace(found, name=file.name, members=members)


class _Said(msgspec.Struct):
    """What prometheus.json holds, see `prometheus_facts.PrometheusFacts`."""

    queries: dict[str, prometheus_facts.QueryFacts] = {}
    selectors: dict[str, tuple[prometheus_facts.SeriesSelectorFacts, ...]] = {}
    scrape_seconds: dict[str, float] = {}
    recordings: dict[str, str] = {}


def prometheus(code: str, result: checker.CheckResult) -> prometheus_facts.PrometheusFacts | None:
    """Return what a Prometheus says in a rule's examples; None for rules that ask none."""
    file = FOLDER / code.lower() / "prometheus.json"
    if not file.exists():
        return None
    assert result.program is not None
    said = msgspec.json.decode(file.read_bytes(), type=_Said)
    about = rule_input.LintInput(result.program, result.parsed, result.texts)
    texts = {each.metric.name: each.query.text for each in about.metric_queries}
    return prometheus_facts.PrometheusFacts(
        name="http://prometheus:9090",
        queries={texts[name]: facts for name, facts in said.queries.items() if name in texts},
        selectors={texts[name]: facts for name, facts in said.selectors.items() if name in texts},
        scrape_seconds=said.scrape_seconds,
        recordings=said.recordings,
    )


def lint(
    code: str, policies: str, chosen: settings.LintSettings
) -> tuple[diagnostics.Diagnostic, ...]:
    """Return what is found in a text, with all that the rule's examples are linted with."""
    result = checked(policies)
    known = cluster(code, result), prometheus(code, result)
    return linter.lint_program(result, chosen, *known).findings


def told(findings: tuple[diagnostics.Diagnostic, ...]) -> str:
    """Return findings as expected.txt has them."""
    return "".join(
        f"{each.span.line}:{each.span.column} {each.severity} {each.message}\n" for each in findings
    )
