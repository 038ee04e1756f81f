"""Select a field or an item of a value. Source: cel-go `interpreter/attributes.go`."""

from __future__ import annotations

from policysched.cel.failures import EvaluationError
from policysched.cel.functions import conversions
from policysched.cel.values import NO_VALUE, Map, Optional, Uint, Value, get_type_name

_KEY_TYPES = frozenset({bool, int, Uint, float, str})


def get_item(value: Value, key: Value) -> Value:
    """Return the item of a map or a list; of an optional, the item as an optional.

    Raises:
        EvaluationError: there is none.
    """
    check_key(key)
    if type(value) is Map:
        found, is_found = value.find(key)
        if is_found:
            return found
        raise _fail(key)
    if type(value) is list:
        return value[_check_index(value, key)]
    if type(value) is Optional:
        return find_item(value, key)
    raise _fail(key)


def find_item(value: Value, key: Value) -> Optional:
    """Return the item as an optional, which has no value if there is none.

    Raises:
        EvaluationError: the value is a list, and the key is no number.
    """
    check_key(key)
    if type(value) is Optional:
        if not value.has_value:
            return NO_VALUE
        value = value.value
    if type(value) is Map:
        found, is_found = value.find(key)
        return Optional(found) if is_found else NO_VALUE
    if type(value) is list:
        index = _read_index(key)
        return Optional(value[index]) if 0 <= index < len(value) else NO_VALUE
    return NO_VALUE


def has_field(value: Value, field: str) -> bool:
    """Return whether there is an item of this name."""
    return find_item(value, field).has_value


def check_key(key: Value) -> None:
    """Check what is in brackets: a map can have other keys, but brackets do not find them.

    Raises:
        EvaluationError: values of this type find nothing.
    """
    if type(key) not in _KEY_TYPES:
        raise EvaluationError(f"invalid qualifier type: {get_type_name(key)}")


def _check_index(items: list[Value], key: Value) -> int:
    index = _read_index(key)
    if not 0 <= index < len(items):
        raise EvaluationError(f"index out of bounds: {index}")
    return index


def _read_index(key: Value) -> int:
    if type(key) in {int, Uint}:
        return int(key)
    if type(key) is float and key.is_integer():
        return int(key)
    raise EvaluationError(f"unsupported index type '{get_type_name(key)}' in list")


def _fail(key: Value) -> EvaluationError:
    if type(key) is bool:
        text = conversions.format_bool(key)
    else:
        text = conversions.format_double(key) if type(key) is float else str(key)
    return EvaluationError(f"no such key: {text}")
