"""Alerts and dashboard: their PromQL is right, and each fires when it should."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import promql_parser
import pytest
import yaml

from tests.deploy import kubectl, queries
from tests.realcluster import components

CASES = pathlib.Path(__file__).resolve().parent / "alerts.test.yaml"
EXPRESSIONS = {**queries.alerts(), **queries.panels()}


def _promtool(*arguments: str, folder: pathlib.Path) -> str:
    """Return what promtool says, run where the alerts lie as a rule file."""
    rules = folder / "alerts.yaml"
    rules.write_text(yaml.safe_dump(queries.groups()), encoding="utf-8")
    command = [str(components.binary("promtool")), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_every_expression_is_promql(expression: str) -> None:
    """It parses, and reads the series of no other job."""
    queries.names(expression)
    found: list[promql_parser.VectorSelector] = []

    def take(node: object) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(expression), take)
    if found[0].name not in queries.OF_OTHERS - {"up"}:
        assert 'job="policysched"' in str(found[0])


@pytest.mark.e2e
def test_prometheus_takes_the_alerts(tmp_path: pathlib.Path) -> None:
    """Also the linter of promtool has nothing to say."""
    said = _promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml", folder=tmp_path)
    assert f"{len(queries.alerts())} rules found" in said


@pytest.mark.e2e
def test_alerts_fire_when_they_should(tmp_path: pathlib.Path) -> None:
    """Prometheus' own engine evaluates them over series of a day that went well, and of others."""
    shutil.copy(CASES, tmp_path)
    _promtool("test", "rules", CASES.name, folder=tmp_path)


def test_every_alert_is_seen_firing_and_silent() -> None:
    """The cases leave out none of them."""
    text = CASES.read_text(encoding="utf-8")
    for name in queries.alerts():
        assert f"alertname: {name}}}" in text, name  # silent
        assert f'alertname="{name}"' in text or f"alertname: {name}\n" in text, name


def test_every_alert_says_what_to_do() -> None:
    """It has a severity, a summary and a description."""
    for group in queries.groups()["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("critical", "warning", "info")
            assert set(rule["annotations"]) == {"summary", "description"}


def test_panels_of_the_dashboard_lie_beside_each_other() -> None:
    """None overlaps another, all have an id of their own, a description and a data source."""
    panels = queries.dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"]
            assert panel["datasource"]["uid"] == "${datasource}"


@pytest.mark.e2e
def test_grafana_finds_the_dashboard() -> None:
    """kustomize puts the file into a ConfigMap with the label of Grafana's sidecar."""
    objects = kubectl.rendered(kubectl.EVERYTHING)
    found = kubectl.find(objects, "ConfigMap", "policysched-dashboard")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["data"]["dashboard.json"] == (queries.FOLDER / "dashboard.json").read_text()
