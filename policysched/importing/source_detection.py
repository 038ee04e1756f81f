"""Finds sources of an import in a text: documents, Lists, ConfigMaps, containers' commands."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from policysched import errors
from policysched.importing import tas_policy
from policysched.importing.kube_scheduler import command_line, kube_scheduler_config, legacy_policy
from policysched.importing.reading import fields
from policysched.importing.result import findings
from policysched.importing.workloads import workload
from policysched.inputs import plain_yaml

CONFIG, POLICY, TAS, WORKLOAD, COMMAND = (
    *("kube-scheduler-config", "legacy-policy", "tas-policy", "workload"),
    "command-line",
)
KINDS = (CONFIG, COMMAND, POLICY, TAS, WORKLOAD)
_BLOCK = re.compile(r"[|>][0-9+-]*\s*(?:#.*)?$")


_Word: TypeAlias = tuple[str, findings.ValueLocation]
"""A word of a command line and its location."""


@dataclasses.dataclass(frozen=True, slots=True)
class DetectedSource:
    """An object or a command line that can be imported.

    Attributes:
        kind: one of `KINDS`.
        value: the object, or the words of a command line.
        key: the key of the ConfigMap that contains it; a command line may refer to it by this key.
            "" outside ConfigMaps.
    """

    kind: str
    value: plain_yaml.Value
    place: findings.ValueLocation
    key: str = ""


def detect_sources(
    text: str, where: str, report: findings.FindingCollector, forced: str | None = None
) -> list[DetectedSource]:
    """Return the sources in a text.

    Raises:
        InputError: the text is not YAML or JSON, a document is not an object, or a field has the
            wrong type.
    """
    if forced == COMMAND and not _is_manifest(text):
        return [make_command_source(_split_command_line(text, where), where)]
    # A tab is white space in JSON, but an error in YAML.
    plain = text.replace("\t", " ") if text.lstrip()[:1] == "{" else text
    finder = _SourceFinder(where, plain, report, forced)
    documents = list(plain_yaml.load_yaml_documents(plain, where, with_lines=True))
    found = [
        source
        for document in documents
        for source in finder.find_sources(document.value, findings.ValueLocation(where, document))
    ]
    return [each for each in found if forced in (None, each.kind)]


def make_command_source(words: list[str], where: str) -> DetectedSource:
    """Return the source for a command line outside a manifest."""
    return DetectedSource(
        COMMAND,
        [(word, findings.make_lineless_location(where, words)) for word in words],
        findings.make_lineless_location(where, words),
    )


def _is_manifest(text: str) -> bool:
    return re.search(r"^\s*[{\"]|^\s*(?:apiVersion|kind)\s*:", text, re.MULTILINE) is not None


@dataclasses.dataclass(frozen=True, slots=True)
class _SourceFinder:
    """Finds the sources in one text."""

    where: str
    text: str
    report: findings.FindingCollector
    forced: str | None

    def find_sources(
        self, value: plain_yaml.Value, place: findings.ValueLocation, key: str = ""
    ) -> Iterator[DetectedSource]:
        """Yield the sources in a value."""
        if not isinstance(value, Mapping):
            raise errors.InputError(
                f"{place.where}:{place.line}", "contains no object", help="see docs/import.md"
            )
        kind = value.get("kind")
        if str(kind).endswith("List") and isinstance(value.get("items"), list):
            for index, item in enumerate(value["items"]):
                yield from self.find_sources(item, place.locate_child("items", index), key)
        elif kind == "ConfigMap":
            yield from self._find_in_config_map(value, place)
        else:
            yield from self._find_in_unwrapped_object(value, place, key)

    def _find_in_unwrapped_object(
        self, value: Mapping[str, plain_yaml.Value], place: findings.ValueLocation, key: str
    ) -> Iterator[DetectedSource]:
        """Yield the source in an object; note an object that cannot be imported."""
        kind = _detect_source_kind(value, self.forced)
        if kind is not None:
            words = _find_scheduler_command(value, place) if kind == WORKLOAD else []
            if words:
                yield DetectedSource(COMMAND, words, words[0][1], key)
            else:
                yield DetectedSource(kind, value, place, key)
        elif self.forced is None:
            named = value.get("kind") or "an object without a kind"
            problem = f"{named} cannot be imported"
            self.report.note(place, problem, "it is left out")

    def _find_in_config_map(
        self, value: Mapping[str, plain_yaml.Value], place: findings.ValueLocation
    ) -> Iterator[DetectedSource]:
        """Yield the sources in all keys of a ConfigMap; note `binaryData`."""
        if value.get("binaryData"):
            at = place.locate_child("binaryData")
            self.report.note(
                at, "`binaryData` cannot be imported, because it is not text", "it is left out"
            )
        data = value.get("data")
        for key, text in data.items() if isinstance(data, Mapping) else ():
            at = place.locate_child("data", key)
            if not isinstance(text, str):
                raise errors.InputError(f"{at.where}:{at.line}", f"the key `{key}` is not text")
            yield from self._find_in_config_map_key(key, text, at)

    def _find_in_config_map_key(
        self, key: str, text: str, at: findings.ValueLocation
    ) -> Iterator[DetectedSource]:
        """Yield the sources in a key of a ConfigMap."""
        try:
            plain = text.replace("\t", " ") if text.lstrip()[:1] == "{" else text
            documents = list(plain_yaml.load_yaml_documents(plain, at.where, with_lines=True))
        except errors.InputError:
            documents = []
        offset = self._count_lines_before_scalar(at.line)
        known = [d for d in documents if isinstance(d.value, Mapping) and "kind" in d.value]
        if not known:
            problem = f"the key `{key}` contains nothing that can be imported"
            self.report.note(at, problem, "it is left out")
        for document in known:
            inner = findings.ValueLocation(at.where, document, offset=offset)
            yield from self.find_sources(document.value, inner, key)

    def _count_lines_before_scalar(self, line: int) -> int:
        """Return the number of lines before the content of a scalar that begins on `line`."""
        begins = self.text.splitlines()[line - 1] if line <= self.text.count("\n") + 1 else ""
        return line if _BLOCK.search(begins) else line - 1


def _detect_source_kind(value: Mapping[str, plain_yaml.Value], forced: str | None) -> str | None:
    """Return the kind of source that an object is, or None if it cannot be imported."""
    kind, api_version = value.get("kind"), str(value.get("apiVersion") or "")
    if not isinstance(kind, str | None):
        return None
    if kind == kube_scheduler_config.KIND:
        return CONFIG
    if kind == legacy_policy.KIND and api_version in legacy_policy.API_VERSIONS:
        return POLICY
    if kind == tas_policy.KIND and api_version.startswith(tas_policy.GROUP):
        return TAS
    if kind in workload.TEMPLATES:
        return WORKLOAD
    if kind is None and (forced == POLICY or "predicates" in value or "priorities" in value):
        return POLICY
    return None


def _find_scheduler_command(
    value: Mapping[str, plain_yaml.Value], place: findings.ValueLocation
) -> list[_Word]:
    """Return the command line of the container that runs kube-scheduler, or [] if there is none.

    Raises:
        InputError: a word is not text.
    """
    pod: plain_yaml.Value = value
    path = workload.TEMPLATES[str(value.get("kind"))]
    for key in path:
        pod = pod.get(key) if isinstance(pod, Mapping) else None
    spec = pod.get("spec") if isinstance(pod, Mapping) else None
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    for index, container in enumerate(containers if isinstance(containers, list) else []):
        if not isinstance(container, Mapping):
            continue
        at = place.locate_child(*path, "spec", "containers", index)
        given = fields.StrictFields(container, at, findings.FindingCollector())
        words = [
            (word, at.locate_child(name, number))
            for name in ("command", "args")
            for number, word in enumerate(given.read_texts(name))
        ]
        words = _unwrap_shell_command(words)
        if command_line.is_kube_scheduler_command([word for word, _ in words]):
            return words
    return []


def _unwrap_shell_command(words: list[_Word]) -> list[_Word]:
    """Return the command line of kube-scheduler within `sh -c "…"`; return others unchanged."""
    for text, at in words:
        if command_line.PROGRAM in text and " " in text:
            inner = [(each, at) for each in _split_command_line(text, f"{at.where}:{at.line}")]
            while inner and not command_line.is_kube_scheduler_command([inner[0][0]]):
                inner.pop(0)
            return inner or words
    return words


def _split_command_line(text: str, where: str) -> list[str]:
    """Return the words of a command line as a shell splits them.

    Raises:
        InputError: a quote is not closed.
    """
    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        raise errors.InputError(where, f"not a command line: {error}".lower()) from error
