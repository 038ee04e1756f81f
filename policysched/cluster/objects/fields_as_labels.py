"""Encode fields of member clusters and of propagated resources as labels.

The node columns also store member clusters, one row for each, and a propagated resource is
represented as a pod. Fields without a counterpart in nodes or pods are stored as labels, with keys
that begin with a character that Kubernetes does not allow in label keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_MARK = "\0"


def make_field_label_key(field: str) -> str:
    """Return the label key of a single-valued field; the label is "" if the field is unset."""
    return f"{_MARK}{field}"


def make_field_value_label_key(field: str, value: str) -> str:
    """Return the label key of one value of a multi-valued field.

    An object has the key of each of its values; without values, it has the key of the value "".
    """
    return f"{_MARK}{field}{_MARK}{value}"


def list_field_values(field: str, known: Iterable[str]) -> frozenset[str]:
    """Return the values of a multi-valued field that occur in `known`, a set of label keys."""
    beginning = make_field_value_label_key(field, "")
    return frozenset(each.removeprefix(beginning) for each in known if each.startswith(beginning))


def make_field_labels(
    own: Mapping[str, str], fields: Mapping[str, str], several: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """Return the labels of an object and its fields; `several` has the multi-valued fields."""
    members = [
        make_field_value_label_key(field, value)
        for field, values in several.items()
        for value in values or ("",)
    ]
    return {
        **own,
        **{make_field_label_key(f): value for f, value in fields.items()},
        **dict.fromkeys(members, ""),
    }
