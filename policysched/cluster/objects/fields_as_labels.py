"""Fields of member clusters and of propagated resources, stored as labels.

The columns of nodes also hold member clusters, one row for each, and a resource to be placed has
the shape of a pod. Their other fields are stored among their labels, under keys that cannot be
label keys: they begin with a character that Kubernetes does not allow there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_MARK = "\0"


def make_field_label_key(field: str) -> str:
    """Return the key of a field with a single value; the label is "" if the field is unset."""
    return f"{_MARK}{field}"


def make_field_value_label_key(field: str, value: str) -> str:
    """Return the key of one value of a multi-valued field; objects with this value have the key.

    An object without any value has the key of the value "".
    """
    return f"{_MARK}{field}{_MARK}{value}"


def list_field_values(field: str, known: Iterable[str]) -> frozenset[str]:
    """Return the values of a multi-valued field that occur in `known`, a set of label keys."""
    beginning = make_field_value_label_key(field, "")
    return frozenset(each.removeprefix(beginning) for each in known if each.startswith(beginning))


def make_field_labels(
    own: Mapping[str, str], fields: Mapping[str, str], several: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """Return the labels of an object with its fields; `several` are the multi-valued ones."""
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
