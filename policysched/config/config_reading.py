"""Reading a configuration, strictly: schemas/config.schema.json says what may stand in it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from policysched import errors
from policysched.config import config, config_faults
from policysched.inputs import object_lists, plain_yaml

HEAD = {"apiVersion": "policysched.io/v1alpha1", "kind": "PolicySchedulerConfiguration"}
"""What every configuration begins with."""


class Flag(NamedTuple):
    """What an option of the command line says about a field.

    Attributes:
        option: as it is written, such as `--log-level`.
        path: of the field.
        value: as it would stand in a file; None takes away what the file says.
    """

    option: str
    path: tuple[str, ...]
    value: Any


def read(path: str) -> config.Config:
    """Return the configuration in the file `path`.

    Raises:
        ConfigurationError: it does not fit the schema; every fault is named with its line.
        InputError: it cannot be read, or is not YAML.
    """
    return _converted(_checked(_text(path), path))


def parse(text: str, where: str) -> config.Config:
    """Return the configuration that a text describes; see `read`."""
    return _converted(_checked(text, where))


def effective(path: str | None, flags: Sequence[Flag] = ()) -> config.Config:
    """Return the configuration in a file, if there is one, with what the flags say over it.

    Raises:
        ConfigurationError, InputError: see `read`.
        UsageError: what the flags say does not fit, alone or with the file.
    """
    value = dict(HEAD) if path is None else _checked(_text(path), path).value
    merged = plain_yaml.Document(_merged(value, flags), {})
    for fault in config_faults.find(merged):
        raise errors.UsageError(f"{_option(fault.path, flags)}: {fault.problem}")
    return _converted(merged)


def _text(path: str) -> str:
    try:
        return object_lists.read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InputError(path, "is not UTF-8 text") from error


def _checked(text: str, where: str) -> plain_yaml.Document:
    document = plain_yaml.load(text, where)
    faults = config_faults.find(document)
    if faults:
        raise _as_error(where, faults)
    return document


def _converted(document: plain_yaml.Document) -> config.Config:
    return config_faults.convert(document.value)


def _as_error(where: str, faults: list[config_faults.Fault]) -> errors.ConfigurationError:
    first, *rest = faults
    further = "".join(f"\n{where}:{fault.line}: {fault.problem}" for fault in rest)
    return errors.ConfigurationError(f"{where}:{first.line}", first.problem + further)


def _merged(value: dict[str, Any], flags: Sequence[Flag]) -> dict[str, Any]:
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


def _option(path: plain_yaml.Path, flags: Sequence[Flag]) -> str:
    """Return the flag that is about a field, or else those about the group in which it is."""
    about = [flag.option for flag in flags if flag.path == path[: len(flag.path)]]
    near = [flag.option for flag in flags if flag.path[:1] == path[:1]]
    return ", ".join(dict.fromkeys(about or near)) or "options"
