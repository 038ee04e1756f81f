"""Read annotations, conditions, the kubelet version and names of nodes as if they were labels.

Their keys begin with a character that Kubernetes does not allow in label keys, as those of
`fields_as_labels` do. The columns of labels therefore store all texts of nodes alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policysched.cluster.objects import objects

_ANNOTATION = "\0annotation\0"
_CONDITION = "\0condition\0"
KUBELET_VERSION = "\0kubeletVersion"
"""The key of `status.nodeInfo.kubeletVersion`, which is absent if a node does not report it."""
NODE_NAME = "\0nodeName"
"""The key of `metadata.name`."""

NodeTextReader: TypeAlias = Callable[[objects.Node], "str | None"]


def make_annotation_key(annotation: str) -> str:
    """Return the key of an annotation."""
    return _ANNOTATION + annotation


def make_condition_key(condition: str) -> str:
    """Return the key of a condition, whose text is its status."""
    return _CONDITION + condition


def describe_key(key: str) -> str:
    """Return a key for messages: `label disk`, `annotation example.com/rack`, `condition Ready`."""
    if not key.startswith("\0"):
        return f"label {key}"
    return key[1:].replace("\0", " ")


def make_node_text_reader(key: str) -> NodeTextReader:
    """Return a function that reads a label, or another text with such a key, of a node."""
    if key.startswith(_ANNOTATION):
        annotation = key.removeprefix(_ANNOTATION)
        return lambda node: node.metadata.annotations.get(annotation)
    if key.startswith(_CONDITION):
        condition = key.removeprefix(_CONDITION)
        return lambda node: read_condition_status(node, condition)
    if key == KUBELET_VERSION:
        return lambda node: node.status.node_info.kubelet_version or None
    if key == NODE_NAME:
        return lambda node: node.name
    return lambda node: node.metadata.labels.get(key)


def read_condition_status(node: objects.Node, condition: str) -> str | None:
    """Return the status of a condition, or None if the node does not have it."""
    return next((c.status for c in node.status.conditions if c.type == condition), None)
