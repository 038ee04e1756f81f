"""Fields of member clusters and of propagated resources, kept where labels are.

The columns of nodes hold clusters, too, one row a cluster, and a resource that is to be placed has
the shape of a pod. What such objects have besides labels stands among their labels under keys that
no label has: they begin with a character that Kubernetes refuses there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_MARK = "\0"


def make_field_label_key(field: str) -> str:
    """Return the key of a field that has one value, "" where it is unset."""
    return f"{_MARK}{field}"


def make_field_value_label_key(field: str, value: str) -> str:
    """Return the key of one value of a field that has several; an object that has it has the key.

    An object without any has that of the value "".
    """
    return f"{_MARK}{field}{_MARK}{value}"


def list_field_values(field: str, known: Iterable[str]) -> frozenset[str]:
    """Return the values of a field that has several, of objects with these keys."""
    beginning = make_field_value_label_key(field, "")
    return frozenset(each.removeprefix(beginning) for each in known if each.startswith(beginning))


def make_field_labels(
    own: Mapping[str, str], fields: Mapping[str, str], several: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """Return the labels of an object with its fields: `several` are those with several values."""
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
