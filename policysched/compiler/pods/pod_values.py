"""Values of the incoming pod with which rules compare labels of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_fields
from policysched.lang.checked import checked_expr, checked_selector

_ON_NO_NODE = -2.0
"""Differs from the number of every label value, and from -1, which stands for no label."""


def read_pod_value(
    value: checked_selector.IncomingPodValue, shape: pod_shape.PodShape, snap: snapshot.Snapshot
) -> str | None:
    """Return the value of the pod, or None if it is missing."""
    if value.kind == "namespaceLabel":
        return snap.counts.namespaces.get(shape.namespace, {}).get(value.key)
    return read_own_value(value, shape)


def read_own_value(
    value: checked_selector.IncomingPodValue, shape: pod_shape.PodShape
) -> str | None:
    """Return a value that is not of the pod's namespace, or None if it is missing.

    Raises:
        TypeError: a label of the namespace, which the checker does not allow here.
    """
    match value.kind:
        case "label":
            return shape.labels.get(value.key)
        case "annotation":
            return shape.annotations.get(value.key)
        case "namespace":
            return shape.namespace
        case "namespaceLabel":
            msg = f"the label {value.key} of a namespace is not part of a pod"
            raise TypeError(msg)
        case _:
            return pod_fields.values(shape, value.kind)[0] or None


def format_pod_value(
    value: checked_selector.IncomingPodValue, shape: pod_shape.PodShape, snap: snapshot.Snapshot
) -> str:
    """Return the value of the pod for messages: `pod tenant=a`, `pod without tenant`."""
    text = read_pod_value(value, shape, snap)
    return f"pod without {value.text}" if text is None else f"pod {value.text}={text}"


def make_label_id_reader(
    expr: checked_expr.NodeLabelIsPodValue,
) -> Callable[[pod_shape.PodShape, snapshot.Snapshot], float]:
    """Return a function that numbers the pod's value as the column of the node label does.

    It returns NaN if the pod has no value, and -2 if no node has this value.
    """
    key, value = expr.key, expr.value

    def read(shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> float:
        text = read_pod_value(value, shape, snap)
        if text is None:
            return math.nan
        number = snap.nodes.get_label_column(key).values.find(text)
        return _ON_NO_NODE if number is None else float(number)

    return read
