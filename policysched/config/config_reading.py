"""Read a configuration and validate it strictly against schemas/config.schema.json."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from policysched import errors
from policysched.config import config, config_faults, config_schema
from policysched.inputs import manifests, object_lists, plain_yaml, policy_sources
from policysched.rollout import settings

HEAD = {"apiVersion": "policysched.io/v1alpha1", "kind": "PolicySchedulerConfiguration"}
"""The first fields of every configuration."""
ROLLOUT_KEY = "rollout.yaml"
"""Key of a ConfigMap of policies with the settings of rollouts."""


class FieldOverride(NamedTuple):
    """A command-line option that overrides a field of the configuration.

    Attributes:
        option: the option as users write it, such as `--log-level`.
        path: keys from the top level to the field.
        value: the value in the form of a configuration file; None removes the field.
    """

    option: str
    path: tuple[str, ...]
    value: Any


def read_config(path: str) -> config.Config:
    """Return the configuration in the file `path`.

    Raises:
        ConfigurationError: the file has errors; the message lists each of them with its line.
        InputError: the file cannot be read, or is not YAML.
    """
    return _convert_document_to_config(_load_checked_document(_read_config_text(path), path))


def parse_config(text: str, where: str) -> config.Config:
    """Return the configuration in a text; `where` is its name in errors."""
    return _convert_document_to_config(_load_checked_document(text, where))


def parse_rollout(
    text: str, configuration: config.Config | None, where: str = ROLLOUT_KEY
) -> settings.RolloutSettings:
    """Return the settings of rollouts in the key `rollout.yaml` of a ConfigMap.

    They replace `policies.rollout` of `configuration`, whose Prometheus servers guards can use;
    None for any servers. `where` is the name of the text in errors.

    Raises:
        ConfigurationError: the text has errors; the message lists each of them with its line.
        InputError: the text is not YAML.
    """
    own = plain_yaml.load_yaml_document(text, where)
    servers = _list_guard_sources(own.value) if configuration is None else configuration.prometheus
    around = {
        **HEAD,
        "prometheus": {name: {"url": "http://localhost"} for name in servers},
        "policies": {"configMap": "any/any", "rollout": own.value},
    }
    lines = {("policies", "rollout", *path): line for path, line in own.lines.items()}
    document = plain_yaml.YamlDocument(around, lines)
    faults = config_faults.find_config_faults(document)
    if faults:
        raise _make_config_error(where, faults)
    return config_faults.convert_config(around).policies.rollout


def read_manifest_rollouts(
    files: Iterable[policy_sources.PolicySourceFile], configuration: config.Config | None
) -> list[settings.RolloutSettings]:
    """Return the settings in the key `rollout.yaml` of ConfigMap manifests; see `parse_rollout`.

    Raises:
        ConfigurationError: such a text has errors; all errors of the first one are reported.
        InputError: such a text is not YAML.
    """
    return [
        parse_rollout(text, configuration, f"{file.name}/{ROLLOUT_KEY}")
        for file in files
        if file.is_manifest
        for text in manifests.read_manifest_key(file.content, file.name, ROLLOUT_KEY)
    ]


def _list_guard_sources(rollout: Any) -> list[str]:  # noqa: ANN401 - a value of YAML
    """Return the names of the Prometheus servers that guards use."""
    guards = rollout.get("guards") if isinstance(rollout, dict) else None
    named = [each.get("source") for each in guards or () if isinstance(each, dict)]
    return ["default", *(name for name in named if isinstance(name, str) and name)]


def read_effective_config(path: str | None, flags: Sequence[FieldOverride] = ()) -> config.Config:
    """Return the configuration of a file, if any, with the flags applied on top.

    What one field needs of another may be in the file or in the flags.

    Raises:
        ConfigurationError, InputError: the file is invalid; see `read_config`.
        UsageError: a flag has an invalid value, or contradicts the file or another flag.
    """
    if path is None and not flags:
        return config.Config()  # without the import of jsonschema, which takes 30 ms
    document = (
        plain_yaml.YamlDocument(dict(HEAD), {})
        if path is None
        else plain_yaml.load_yaml_document(_read_config_text(path), path)
    )
    own = config_faults.find_config_faults(document)
    if own and config_schema.find_schema_violations(document.value):
        raise _make_config_error(path or "", own)
    merged = plain_yaml.YamlDocument(_apply_overrides(document.value, flags), {})
    faults = config_faults.find_config_faults(merged)
    left = {(fault.path, fault.problem) for fault in faults}
    if not_mended := [fault for fault in own if (fault.path, fault.problem) in left]:
        raise _make_config_error(path or "", not_mended)
    for fault in faults:
        raise errors.UsageError(f"{_find_overriding_flag(fault.path, flags)}: {fault.problem}")
    return _convert_document_to_config(merged)


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


def _convert_document_to_config(document: plain_yaml.YamlDocument) -> config.Config:
    return config_faults.convert_config(document.value)


def _make_config_error(
    where: str, faults: list[config_schema.ConfigFault]
) -> errors.ConfigurationError:
    first, *rest = faults
    further = "".join(f"\n{where}:{fault.line}: {fault.problem}" for fault in rest)
    return errors.ConfigurationError(f"{where}:{first.line}", first.problem + further)


def _apply_overrides(value: dict[str, Any], flags: Sequence[FieldOverride]) -> dict[str, Any]:
    """Return a copy of the value with the flags applied, in order."""
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
    """Return the flags that set the field or its group; otherwise all flags of its section."""
    about = [flag.option for flag in flags if flag.path == path[: len(flag.path)]]
    near = [flag.option for flag in flags if flag.path[:1] == path[:1]]
    return ", ".join(dict.fromkeys(about or near)) or "options"
