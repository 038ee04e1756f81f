"""Selectors of pods and nodes over the labels that `cluster` gives."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

Manifest = cluster.Manifest


def label_selector(source: draw.Draw, *, absent: float = 0.04) -> Manifest | None:
    """Return a label selector; sometimes none at all, sometimes an empty one."""
    if source.chance(absent):
        return None
    if source.chance(0.04):
        return {}
    made: Manifest = {}
    if source.chance(0.7):
        keys = source.some(tuple(cluster.POD_LABELS), 1, 2)
        made["matchLabels"] = {key: source.pick(cluster.POD_LABELS[key]) for key in keys}
    if not made or source.chance(0.3):
        made["matchExpressions"] = source.many(1, 2, lambda: pod_expression(source))
    return made


def pod_expression(source: draw.Draw) -> Manifest:
    """Return an element of `matchExpressions` about labels of pods."""
    key = source.pick((*cluster.POD_LABELS, "absent"))
    values = cluster.POD_LABELS.get(key, ("x",))
    return _expression(source, key, values, ("In", "NotIn", "Exists", "DoesNotExist"))


def namespace_selector(source: draw.Draw) -> Manifest:
    """Return a selector of namespaces; an empty one means all."""
    if source.chance(0.3):
        return {}
    if source.chance(0.5):
        return {"matchLabels": {"team": source.pick(("x", "y"))}}
    operator = source.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    return {"matchExpressions": [_expression(source, "team", ("x", "y"), (operator,))]}


def node_term(source: draw.Draw, node_names: list[str]) -> Manifest:
    """Return a node selector term; about one in twenty is empty and matches nothing."""
    made: Manifest = {}
    if source.chance(0.75):
        made["matchExpressions"] = source.many(1, 3, lambda: node_expression(source))
    if source.chance(0.25):
        made["matchFields"] = source.many(1, 2, lambda: node_field(source, node_names))
    return made


def node_expression(source: draw.Draw) -> Manifest:
    """Return an element of `matchExpressions` about labels of nodes, numbers among them."""
    if source.chance(0.25):
        operator = source.pick(("Gt", "Lt"))
        value = source.pick(("1", "2", "5", "0", "007", "9223372036854775807"))
        return {"key": "generation", "operator": operator, "values": [value]}
    key = source.pick((*cluster.NODE_LABELS, cluster.HOSTNAME, "absent"))
    values = cluster.NODE_LABELS.get(key, ("n0", "n1", "n2"))
    return _expression(source, key, values, ("In", "In", "NotIn", "Exists", "DoesNotExist"))


def node_field(source: draw.Draw, node_names: list[str]) -> Manifest:
    """Return an element of `matchFields`: the name of a node, which need not exist."""
    operator = source.weighted({"In": 4, "NotIn": 1})
    name = source.pick([*node_names, "gone"])
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def _expression(
    source: draw.Draw, key: str, values: tuple[str, ...], operators: tuple[str, ...]
) -> Manifest:
    operator = source.pick(operators)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": source.some(values, 1, 2)}
