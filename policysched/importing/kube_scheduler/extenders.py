"""Imports extenders: servers that take part in the decisions of kube-scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from policysched.config import config_faults, config_reading
from policysched.extenders import settings
from policysched.importing.facts import config_fields
from policysched.importing.reading import fields
from policysched.importing.result import findings, import_draft
from policysched.inputs import plain_yaml

_TAS_ADVICE = "import its TASPolicy objects instead, or keep the extender"
_RESTRICT_ADVICE = "`--out DIR` writes it into config.yaml; restrict access to this file"
_VERBS = ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb")
_TLS_TEXTS = ("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")


def import_extenders(
    given: fields.StrictFields, made: import_draft.ImportDraft, *, is_legacy: bool = False
) -> tuple[str, ...]:
    """Add the extenders to the configuration, and return the resources that profiles must ignore.

    Args:
        given: the mapping with the field `extenders`.
        made: the result to which the extenders are added.
        is_legacy: whether the fields have the names and types of a legacy Policy.

    Raises:
        InputError: an extender has settings with which kube-scheduler could not call it.
    """
    listed = given.read_objects("extenders")
    converted = [_convert_extender(each, is_legacy=is_legacy) for each in listed]
    _require_valid_extenders(converted, given.place)
    extenders = msgspec.convert(converted, tuple[settings.ExtenderSettings, ...], strict=False)
    for source, extender in zip(listed, extenders, strict=True):
        _note_extender(source, extender)
    together = {"extenders": [*made.config.get("extenders", ()), *converted]}
    problem = config_fields.find_config_fields_problem(together)
    if problem is not None:
        told = f"these extenders are left out, because others exist already: {problem}"
        made.report.warn(given.locate_field("extenders"), told, "import the two separately")
        return ()
    if converted:
        made.config |= together
    return settings.list_ignored_resources(extenders)


def _convert_extender(extender: fields.StrictFields, *, is_legacy: bool) -> dict[str, Any]:
    """Return the fields of an extender as the configuration of policysched has them."""
    made: dict[str, Any] = {"urlPrefix": extender.read_text("urlPrefix")}
    made |= _read_given_texts(extender, _VERBS)
    if "weight" in extender:
        made["weight"] = extender.read_integer("weight")
    if is_legacy and "enableHttps" in extender:
        made["enableHTTPS"] = extender.read_boolean("enableHttps", default=False)
    made |= _read_given_booleans(extender, ("enableHTTPS", "nodeCacheCapable", "ignorable"))
    tls = extender.read_object("tlsConfig")
    if tls is not None:
        made["tlsConfig"] = _read_given_booleans(tls, ("insecure",))
        made["tlsConfig"] |= _read_given_texts(tls, _TLS_TEXTS)
    if "httpTimeout" in extender:
        made["httpTimeout"] = _read_timeout(extender, is_legacy=is_legacy)
    resources = extender.read_objects("managedResources")
    if resources:
        made["managedResources"] = [_convert_managed_resource(each) for each in resources]
    return made


def _read_given_texts(given: fields.StrictFields, names: Sequence[str]) -> dict[str, str]:
    return {name: given.read_text(name) for name in names if name in given}


def _read_given_booleans(given: fields.StrictFields, names: Sequence[str]) -> dict[str, bool]:
    return {name: given.read_boolean(name, default=False) for name in names if name in given}


def _convert_managed_resource(resource: fields.StrictFields) -> dict[str, Any]:
    return {
        "name": resource.read_text("name"),
        "ignoredByScheduler": resource.read_boolean("ignoredByScheduler", default=False),
    }


def _read_timeout(extender: fields.StrictFields, *, is_legacy: bool) -> str:
    """Return the time limit of a call; a legacy Policy has it in nanoseconds."""
    if is_legacy:
        nanoseconds = extender.read_integer("httpTimeout") or 0
        seconds = f"{nanoseconds / 1e9:.9f}".rstrip("0").rstrip(".")
        return f"{seconds}s"
    text = extender.read_text("httpTimeout")
    return "0s" if text == "0" else text


def _require_valid_extenders(
    converted: list[dict[str, Any]], place: findings.ValueLocation
) -> None:
    """Raise for the first extender that the configuration refuses, and name all problems."""
    document = plain_yaml.YamlDocument(config_reading.HEAD | {"extenders": converted}, {})
    faults = config_faults.find_config_faults(document)
    located = sorted(
        ((place.locate_child(*fault.path), fault.problem) for fault in faults),
        key=lambda each: each[0].line,
    )
    if located:
        (first, problem), *rest = located
        further = "".join(f"\n{at.where}:{at.line}: {told}" for at, told in rest)
        raise findings.MalformedFieldError(first, problem + further)


def _note_extender(source: fields.StrictFields, extender: settings.ExtenderSettings) -> None:
    """Note what the reader must know about an extender that is kept."""
    if "tas-service" in extender.name or "telemetry" in extender.name:
        problem = f"the extender `{extender.name}` seems to be Telemetry Aware Scheduling"
        source.report.note(source.place, problem, _TAS_ADVICE)
    if extender.name != extender.url_prefix:
        problem = f"the comments hide the user in the URL of the extender `{extender.name}`"
        source.report.note(source.locate_field("urlPrefix"), problem, _RESTRICT_ADVICE)
    if extender.tls_config is not None and extender.tls_config.key_data:
        problem = f"the comments hide `keyData` of the extender `{extender.name}`"
        source.report.note(source.locate_field("tlsConfig"), problem, _RESTRICT_ADVICE)
