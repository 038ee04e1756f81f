"""Reading a configuration, strictly: schemas/config.schema.json says what may stand in it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from policysched import errors
from policysched.config import config, config_faults, config_schema
from policysched.inputs import object_lists, plain_yaml

HEAD = {"apiVersion": "policysched.io/v1alpha1", "kind": "PolicySchedulerConfiguration"}
"""What every configuration begins with."""


class FieldOverride(NamedTuple):
    """What an option of the command line says about a field.

    Attributes:
        option: as it is written, such as `--log-level`.
        path: of the field.
        value: as it would stand in a file; None takes away what the file says.
    """

    option: str
    path: tuple[str, ...]
    value: Any


def read_config(path: str) -> config.Config:
    """Return the configuration in the file `path`.

    Raises:
        ConfigurationError: it does not fit the schema; every fault is named with its line.
        InputError: it cannot be read, or is not YAML.
    """
    return _convert_document(_load_checked_document(_read_config_text(path), path))


def parse_config(text: str, where: str) -> config.Config:
    """Return the configuration that a text describes; see `read_config`."""
    return _convert_document(_load_checked_document(text, where))


def read_effective_config(path: str | None, flags: Sequence[FieldOverride] = ()) -> config.Config:
    """Return the configuration in a file, if there is one, with what the flags say over it.

    Raises:
        ConfigurationError, InputError: see `read_config`.
        UsageError: what the flags say does not fit, alone or with the file.
    """
    value = (
        dict(HEAD) if path is None else _load_checked_document(_read_config_text(path), path).value
    )
    merged = plain_yaml.YamlDocument(_merge_flags(value, flags), {})
    for fault in config_faults.find_config_faults(merged):
        raise errors.UsageError(f"{_find_overriding_flag(fault.path, flags)}: {fault.problem}")
    return _convert_document(merged)


def _read_config_text(path: str) -> str:
    try:
        return object_lists.read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InputError(path, "is not UTF-8 text") from error


def _load_checked_document(text: str, where: str) -> plain_yaml.YamlDocument:
    document = plain_yaml.load_yaml_document(text, where)
    faults = config_faults.find_config_faults(document)
    if faults:
        raise _make_config_error(where, faults)
    return document


def _convert_document(document: plain_yaml.YamlDocument) -> config.Config:
    return config_faults.convert_config(document.value)


def _make_config_error(
    where: str, faults: list[config_schema.ConfigFault]
) -> errors.ConfigurationError:
    first, *rest = faults
    further = "".join(f"\n{where}:{fault.line}: {fault.problem}" for fault in rest)
    return errors.ConfigurationError(f"{where}:{first.line}", first.problem + further)


def _merge_flags(value: dict[str, Any], flags: Sequence[FieldOverride]) -> dict[str, Any]:
    merged = copy.deepcopy(value)
    for flag in flags:
        *groups, field = flag.path
        group = merged
        for name in groups:
            group = group.setdefault(name, {})
        if flag.value is None:
            group.pop(field, None)
        else:
            group[field] = flag.value
    return merged


def _find_overriding_flag(path: plain_yaml.Path, flags: Sequence[FieldOverride]) -> str:
    """Return the flag that is about a field, or else those about the group in which it is."""
    about = [flag.option for flag in flags if flag.path == path[: len(flag.path)]]
    near = [flag.option for flag in flags if flag.path[:1] == path[:1]]
    return ", ".join(dict.fromkeys(about or near)) or "options"
