"""Cluster policies made at random, and samples of their metrics."""

from __future__ import annotations

from tests.conformance.generate import draw

METRICS = """\
metric errors: ratio = `sum by (cluster) (rate(errors_total[5m]))` cluster cluster
metric power: number = `sum by (cluster) (power)` cluster cluster fallback 7
"""
_ABOUT = (
    "",
    " in namespace (default, prod)",
    " where kind = Deployment",
    " where not (kind In (Job, ConfigMap)) or requests(cpu) > 0",
    " where priority >= 0 and apiVersion != v2 and resourceName Exists",
)
_SELECTORS = (
    "region In (eu, us)",
    "region NotIn (eu) and provider Exists",
    "provider != gcp",
    "zone In (a, c) or env = test",
    "zone NotIn (a)",
    "zone Exists",
    "zone DoesNotExist and region DoesNotExist",
    "not tainted(dedicated) and rank Gt 3",
    "tainted(maintenance:NoExecute) or tier = gold",
    "clusterName NotIn (m00, m03)",
)
_CONDITIONS = (
    "errors > 5%",
    "errors > 5% or free(cpu) < requests(cpu)",
    "not (errors < 1% and cluster({selector}))",
    "free(pods) / allocatable(pods) < 30%",
    "power >= 3 and requested(memory) > 1Gi",
    "label(rank) < 6 or cluster({selector})",
    "cluster({selector})",
)
_NUMBERS = (
    "errors prefer low",
    "errors prefer high normalize linear(0%, 10%)",
    "power prefer low normalize minmax(2)",
    "power prefer high normalize max",
    "free(memory) prefer high normalize rank",
    "min(free(cpu), allocatable(cpu) / 2) prefer high",
    "label(rank) + power normalize shape(0: 0, 5: 100, 20: 10)",
)
_DIVISIONS = (
    "",
    "Duplicated",
    "Divided Aggregated",
    "Divided Weighted (m00: 2, m01: 1)",
    "Divided Weighted AvailableReplicas",
    "Divided Weighted by score",
)


def policies(d: draw.Draw) -> str:
    """Return a text of one to three cluster policies."""
    return METRICS + "\n".join(_policy(d, f"p{n}") for n in range(d.number(1, 3)))


def _policy(d: draw.Draw, name: str) -> str:
    lines = [f"for resources{d.pick(_ABOUT)}"]
    if d.chance(0.3):
        lines.append(f"clusterAffinity required {d.pick(_SELECTORS)}")
    lines.append(f"clusterAffinity preferred {d.pick(_SELECTORS)} weight {d.number(1, 20)}")
    for condition in d.some(_CONDITIONS, 0, 2):
        missing = d.pick(("allow", "reject"))
        text = condition.replace("{selector}", d.pick(_SELECTORS))
        lines.append(f"reject when {text} missing {missing}")
    lines += [
        f"score {value} missing score {d.number(0, 100)} weight {d.number(1, 100)}"
        for value in d.some(_NUMBERS, 0, 3)
    ]
    if division := d.pick(_DIVISIONS):
        lines.append(f"replicas {division}")
    if d.chance(0.3):
        lines.append(f"clusterGroup one where {d.pick(_SELECTORS)}")
        lines.append(f"clusterGroup two where {d.pick(_SELECTORS)}")
    if d.chance(0.3):
        lines.append("tolerate dedicated, maintenance=x:NoSchedule")
    if d.chance(0.3):
        lines.append(f"spreadConstraint by cluster minGroups 1 maxGroups {d.number(1, 4)}")
    return f"clusterPolicy {name} {{\n  " + "\n  ".join(lines) + "\n}\n"


def values(d: draw.Draw, names: list[str]) -> dict[str, dict[str, float]]:
    """Return values of the metrics on some of the clusters, in the scale of their queries."""
    found: dict[str, dict[str, float]] = {}
    for metric, step in (("errors", 0.01), ("power", 1.0)):
        is_out = d.chance(0.15)
        found[metric] = {
            name: step * d.number(0, 15) for name in names if not is_out and d.chance(0.8)
        }
    return found
