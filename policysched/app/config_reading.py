"""Reading a configuration file, strictly: schemas/config.schema.json says what may stand in it."""

from __future__ import annotations

import msgspec

from policysched import errors
from policysched.app import cluster_file, config, config_faults, plain_yaml


def read(path: str) -> config.Config:
    """Return the configuration in the file `path`.

    Raises:
        ConfigurationError: it does not fit the schema; every fault is named with its line.
        InputError: it cannot be read, or is not YAML.
    """
    try:
        text = cluster_file.read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InputError(path, "is not UTF-8 text") from error
    return parse(text, path)


def parse(text: str, where: str) -> config.Config:
    """Return the configuration that a text describes; see `read`."""
    document = plain_yaml.load(text, where)
    faults = config_faults.find(document)
    if faults:
        raise _as_error(where, faults)
    return msgspec.convert(document.value, config.Config)


def _as_error(where: str, faults: list[config_faults.Fault]) -> errors.ConfigurationError:
    first, *rest = faults
    further = "".join(f"\n{where}:{fault.line}: {fault.problem}" for fault in rest)
    return errors.ConfigurationError(f"{where}:{first.line}", first.problem + further)
