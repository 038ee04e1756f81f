"""Convert the plugin arguments of a profile into validated structs."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from policysched import spelling

Arguments: TypeAlias = Mapping[str, object]
"""Arguments of one plugin, in the form of kube-scheduler's `pluginConfig[].args`."""

_IGNORED = ("apiVersion", "kind")


class ArgumentError(ValueError):
    """An argument of a plugin is unknown or invalid; the message names it and the problem."""


class ArgumentStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of all argument structs: camelCase names; unknown fields are rejected."""


StructT = TypeVar("StructT", bound=ArgumentStruct)


def decode_arguments(args: Arguments, kind: type[StructT]) -> StructT:
    """Convert `args` to a struct of the type `kind`.

    Raises:
        ArgumentError: an argument is unknown, missing or of the wrong type.
    """
    given = _convert_to_plain_containers(
        {key: value for key, value in args.items() if key not in _IGNORED}
    )
    try:
        made = msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        problem = _find_wrong_choice(given, kind) or _reword_decoding_error(str(error))
        raise ArgumentError(problem) from error
    _refuse_unknown_fields(given, msgspec.inspect.type_info(kind), "")
    return made


def refuse_any_arguments(args: Arguments) -> None:
    """Raise if a plugin that has no arguments received any.

    Raises:
        ArgumentError: there is an argument.
    """
    decode_arguments(args, ArgumentStruct)


def require_range(where: str, value: int, low: int, high: int) -> None:
    """Raise unless `low` ≤ `value` ≤ `high`; `where` is the name of the argument.

    Raises:
        ArgumentError: the value is out of range.
    """
    if not low <= value <= high:
        msg = f"`{where}` is {value}, but must be from {low} to {high}"
        raise ArgumentError(msg)


def _refuse_unknown_fields(value: object, kind: msgspec.inspect.Type, where: str) -> None:
    """Reject fields that a nested struct of the arguments does not have.

    Structs of API objects ignore unknown fields, because the API server can send newer ones. In
    arguments, which users write, an unknown field is an error.
    """
    match kind:
        case msgspec.inspect.UnionType():
            for option in kind.types:
                _refuse_unknown_fields(value, option, where)
        case msgspec.inspect.VarTupleType() if isinstance(value, Sequence):
            for i, item in enumerate(value):
                _refuse_unknown_fields(item, kind.item_type, f"{where}[{i}]")
        case msgspec.inspect.StructType() if isinstance(value, Mapping):
            fields = {field.encode_name: field.type for field in kind.fields}
            for name, item in value.items():
                if name not in fields:
                    msg = f"object contains unknown field `{name}`"
                    raise ArgumentError(f"{msg}, at `{where}`" if where else msg)
                _refuse_unknown_fields(item, fields[name], f"{where}.{name}" if where else name)


def _convert_to_plain_containers(value: object) -> object:
    """Convert mappings and sequences to dicts and lists, recursively."""
    if isinstance(value, Mapping):
        return {str(key): _convert_to_plain_containers(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_convert_to_plain_containers(item) for item in value]
    return value


def _find_wrong_choice(given: object, kind: type[ArgumentStruct]) -> str:
    """Return the problem of the first argument that is none of its permitted words, or ""."""
    if not isinstance(given, Mapping):
        return ""
    for field in msgspec.structs.fields(kind):
        words = _list_permitted_words(field.type)
        value = given.get(field.encode_name)
        if words and isinstance(value, str) and value not in words:
            choices = spelling.join_alternatives(f"`{each}`" for each in words)
            return f"`{field.encode_name}` is `{value}`, but must be {choices}"
    return ""


def _list_permitted_words(kind: object) -> list[str]:
    """Return the values of an enumeration; none for other types."""
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return []
    return [str(each.value) for each in kind]


def _reword_decoding_error(text: str) -> str:
    """Reword an error from msgspec in lower case, with the path of the argument as `a.b`."""
    problem, _, place = text.partition(" - at ")
    problem = problem[:1].lower() + problem[1:].replace("Object", "object")
    where = place.strip("`").removeprefix("$").removeprefix(".")
    return f"{problem}, at `{where}`" if where else problem
