"""Plugin arguments: values of a profile are converted to a checked struct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

Arguments: TypeAlias = Mapping[str, object]
"""Arguments of one plugin, in the shape of its YAML (`pluginConfig[].args` of kube-scheduler)."""

_IGNORED = ("apiVersion", "kind")


class ArgumentError(ValueError):
    """An unknown or invalid argument of a plugin; the text names it and the problem."""


class ArgumentStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of all argument structs: camelCase names, unknown fields are rejected."""


StructT = TypeVar("StructT", bound=ArgumentStruct)


def decode_arguments(args: Arguments, kind: type[StructT]) -> StructT:
    """Return `args` as a struct.

    Raises:
        ArgumentError: an argument is unknown, missing or of the wrong type.
    """
    given = _convert_to_plain_containers(
        {key: value for key, value in args.items() if key not in _IGNORED}
    )
    try:
        made = msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ArgumentError(_reword_decoding_error(str(error))) from error
    _refuse_unknown_fields(given, msgspec.inspect.type_info(kind), "")
    return made


def refuse_any_arguments(args: Arguments) -> None:
    """Check that a plugin that has no arguments received none.

    Raises:
        ArgumentError: an argument is present.
    """
    decode_arguments(args, ArgumentStruct)


def require_range(where: str, value: int, low: int, high: int) -> None:
    """Check that `low` ≤ `value` ≤ `high`.

    Raises:
        ArgumentError: the value is out of range.
    """
    if not low <= value <= high:
        msg = f"`{where}` is {value}, but must be from {low} to {high}"
        raise ArgumentError(msg)


def _refuse_unknown_fields(value: object, kind: msgspec.inspect.Type, where: str) -> None:
    """Reject fields that a nested struct of the arguments does not have.

    Structs of API objects ignore unknown fields, because the API server may send newer ones. In
    arguments, which a user wrote, an unknown field is an error.
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
    """Return the value with mappings and sequences converted to dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): _convert_to_plain_containers(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_convert_to_plain_containers(item) for item in value]
    return value


def _reword_decoding_error(text: str) -> str:
    """Return msgspec's message in the style of this project: lower case, `a.b` for the place."""
    problem, _, place = text.partition(" - at ")
    problem = problem[:1].lower() + problem[1:].replace("Object", "object")
    where = place.strip("`").removeprefix("$").removeprefix(".")
    return f"{problem}, at `{where}`" if where else problem
