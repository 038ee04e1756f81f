"""Describe violations of the configuration schema in the terms of the file's author."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import orjson

from policysched import _resources, spelling
from policysched.inputs import plain_yaml

if TYPE_CHECKING:
    import jsonschema

_FEW_NAMES = 20


class ConfigFault(NamedTuple):
    """An error on a line; `path` leads to the invalid value, or to the mapping that contains it."""

    line: int
    problem: str
    path: plain_yaml.Path


Violation: TypeAlias = "jsonschema.ValidationError"


@functools.cache
def load_config_schema() -> dict[str, Any]:
    """Return the parsed schemas/config.schema.json."""
    found: dict[str, Any] = orjson.loads(
        _resources.read_resource_text("schemas", "config.schema.json")
    )
    return found


def find_schema_violations(value: plain_yaml.Value) -> list[Violation]:
    """Return every schema violation of a configuration."""
    import jsonschema  # noqa: PLC0415 - a process without a configuration file needs none

    return list(jsonschema.Draft202012Validator(load_config_schema()).iter_errors(value))


def find_faulty_fields(found: Iterable[Violation]) -> set[str]:
    """Return the top-level fields that contain schema violations."""
    faulty: set[str] = set()
    for error in found:
        if error.absolute_path:
            faulty.add(str(error.absolute_path[0]))
        elif error.validator == "additionalProperties":
            faulty.update(_list_unknown_fields(error))
    return faulty


def describe_violation(
    error: Violation, document: plain_yaml.YamlDocument, whole: str = "the configuration"
) -> Iterable[ConfigFault]:
    """Yield the faults of a violation, one for each unknown field; `whole` names the document."""
    path = tuple(error.absolute_path)
    name = f"`{_format_field_path(path)}`" if path else whole
    if error.validator == "additionalProperties":
        for key in _list_unknown_fields(error):
            problem = f"{name} has no field `{key}`{_suggest_known_field(key, error)}"
            yield ConfigFault(document.line((*path, key)), problem, (*path, key))
        return
    meant = _choose_alternative(error)
    if meant:
        for each in meant:
            yield from describe_violation(each, document, whole)
        return
    in_words = _WORDS.get(str(error.validator))
    said = f"{name} {in_words(error)}" if in_words else f"{name}: {error.message}"
    title = _get_violated_schema(error).get("title")
    is_key = "propertyNames" in error.absolute_schema_path
    if error.validator == "pattern" and (is_key or title is None):
        expected = title or "letters, digits, `_` and `-`"
        said = f"`{error.instance}` is not a name; use {expected}"
    yield ConfigFault(document.line(path), said, path)


def _choose_alternative(error: Violation) -> list[Violation]:
    """Return the violations of the alternative of `anyOf` that the type of the value means."""
    alternatives: dict[int, list[Violation]] = {}
    if error.validator == "anyOf":
        for each in error.context or ():
            alternatives.setdefault(int(each.relative_schema_path[0]), []).append(each)
    for found in alternatives.values():
        if not any(each.validator == "type" and not each.relative_path for each in found):
            return found
    return []


def _get_violated_schema(error: Violation) -> Mapping[str, Any]:
    found: Any = error.schema
    return found if isinstance(found, Mapping) else {}


def _list_unknown_fields(error: Violation) -> list[str]:
    instance: Any = error.instance
    return [key for key in instance if key not in _get_violated_schema(error)["properties"]]


def _suggest_known_field(key: str, error: Violation) -> str:
    known: Collection[str] = _get_violated_schema(error)["properties"]
    advice = spelling.suggest_names(key, known)
    if not advice and len(known) <= _FEW_NAMES:
        advice = "there are " + ", ".join(f"`{name}`" for name in known)
    return f" ({advice})" if advice else ""


def _describe_missing_field(error: Violation) -> str:
    instance, expected = error.instance, error.validator_value
    missing = [
        f"`{key}`" for key in _convert_to_list(expected) if key not in _convert_to_list(instance)
    ]
    return f"lacks {spelling.join_alternatives(missing)}"


def _describe_duplicate(error: Violation) -> str:
    listed = _convert_to_list(error.instance)
    return f"has `{next(each for each in listed if listed.count(each) > 1)}` twice"


def _convert_to_list(value: Any) -> list[Any]:  # noqa: ANN401 - a list of a schema, or keys of a mapping
    return list(value)


def _describe_wrong_type(error: Violation) -> str:
    expected: Any = error.validator_value
    words = {"object": "a mapping", "array": "a list", "integer": "a whole number"}
    listed = [expected] if isinstance(expected, str) else expected
    return "must be " + spelling.join_alternatives(words.get(name, f"a {name}") for name in listed)


def _describe_wrong_choice(error: Violation) -> str:
    listed = _convert_to_list(error.validator_value)
    text = "is " + spelling.join_alternatives(f"`{one}`" for one in listed)
    is_bare = isinstance(error.instance, bool) and str(error.instance) in listed
    return f'{text}, in quotes: `"{error.instance}"`' if is_bare else text


_WORDS: Mapping[str, Callable[[Violation], str]] = {
    "type": _describe_wrong_type,
    "required": _describe_missing_field,
    "uniqueItems": _describe_duplicate,
    "const": lambda error: f"must be `{error.validator_value}`",
    "enum": _describe_wrong_choice,
    "minimum": lambda error: f"must be at least {error.validator_value}",
    "maximum": lambda error: f"must be at most {error.validator_value}",
    "exclusiveMinimum": lambda error: f"must be more than {error.validator_value}",
    "minLength": lambda _: "is empty",
    "maxLength": lambda error: f"has more than {error.validator_value} characters",
    "pattern": lambda error: f"must be {_get_violated_schema(error).get('title')}",
}
"""The message after the name of a field, keyed by schema keyword; a value can be a secret."""


def _format_field_path(path: plain_yaml.Path) -> str:
    """Return a path in the form `profiles[0].plugins`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")
