"""The PromQL of alerts and dashboard: where it stands, and which metrics it reads."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import promql_parser
import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "components" / "monitoring"
OF_OTHERS = frozenset({"up", "kubelet_admission_rejections_total"})
"""What Prometheus and the kubelets tell."""
_VARIABLES = {"$__rate_interval": "5m", "$instance": "a", "$profile": "a"}
"""What Grafana puts in."""
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


def groups() -> dict[str, Any]:
    """Return the rule groups of the alerts, as a rule file of Prometheus."""
    spec: dict[str, Any] = yaml.safe_load((FOLDER / "alerts.yaml").read_bytes())["spec"]
    return spec


def alerts() -> dict[str, str]:
    """Return expressions by the name of their alert."""
    return {rule["alert"]: rule["expr"] for group in groups()["groups"] for rule in group["rules"]}


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    found: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_bytes())
    return found


def panels() -> dict[str, str]:
    """Return expressions, with variables filled in, by title of the panel and letter."""
    return {
        f"{panel['title']}/{target['refId']}": _filled(target["expr"])
        for panel in dashboard()["panels"]
        for target in panel.get("targets", [])
    }


def names(expression: str) -> set[str]:
    """Return the names of the metrics that an expression reads."""
    found: set[str] = set()

    def take(node: object) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.add(str(node.name))

    promql_parser.walk(promql_parser.parse(expression), take)
    return found


def served(page: str) -> set[str]:
    """Return the names of all series that a page of metrics has, or will have once they happen."""
    found: set[str] = set()
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            suffixes = _SUFFIXES.get(kind, ("",))
            found |= {name + suffix for suffix in suffixes}
    return found


def _filled(expression: str) -> str:
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression
