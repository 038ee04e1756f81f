"""What is wrong with a configuration: first what its schema forbids, then what makes no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import jsonschema
import msgspec
import orjson

from policysched import _resources
from policysched.app import config, plain_yaml
from policysched.app import election as elections
from policysched.lang import spelling
from policysched.promapi import settings


class Fault(NamedTuple):
    """What is wrong on a line; `path` is that of the value, or of the mapping around it."""

    line: int
    problem: str
    path: plain_yaml.Path


def find(document: plain_yaml.Document) -> list[Fault]:
    """Return everything that is wrong with a configuration, by line."""
    schema = orjson.loads(_resources.text("schemas", "config.schema.json"))
    violations = list(jsonschema.Draft202012Validator(schema).iter_errors(document.value))
    faults = [fault for error in violations for fault in _schema_faults(error, document)]
    if isinstance(document.value, dict):
        faults += _semantic_faults(document, _faulty_fields(violations))
    return sorted(faults, key=lambda fault: fault[:2])


# --- what the schema forbids ----------------------------------------------------------------------


def _schema_faults(
    error: jsonschema.ValidationError, document: plain_yaml.Document
) -> Iterable[Fault]:
    """Yield what a violation of the schema means to who wrote the file."""
    path = tuple(error.absolute_path)
    instance: Any = error.instance
    expected: Any = error.validator_value
    line = document.line(path)
    name = f"`{_dotted(path)}`" if path else "the configuration"
    match error.validator:
        case "additionalProperties":
            schema: Any = error.schema
            known = schema["properties"]
            for key in instance:
                if key not in known:
                    advice = spelling.did_you_mean(key, known)
                    problem = f"{name} has no field `{key}`" + (f" ({advice})" if advice else "")
                    yield Fault(document.line((*path, key)), problem, (*path, key))
        case "type":
            yield Fault(line, f"{name} must be {_article(expected)}", path)
        case "required":
            missing = [key for key in expected if key not in instance]
            lacks = spelling.alternatives(f"`{key}`" for key in missing)
            yield Fault(line, f"{name} lacks {lacks}", path)
        case "const":
            yield Fault(line, f"{name} must be `{expected}`", path)
        case "minimum" | "maximum" | "exclusiveMinimum":
            words = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
            yield Fault(line, f"{name} must be {words[error.validator]} {expected}", path)
        case "pattern":  # of what is no secret alone
            yield Fault(line, _mismatch(name, instance, error), path)
        case "enum":
            yield Fault(
                line, f"{name} is {spelling.alternatives(f'`{one}`' for one in expected)}", path
            )
        case _:
            yield Fault(line, f"{name}: {error.message}", path)


def _mismatch(name: str, instance: str, error: jsonschema.ValidationError) -> str:
    schema: Any = error.schema
    if "title" in schema:
        return f"{name} must be {schema['title']}"
    return f"`{instance}` is no name; use letters, digits, `_` and `-`"


def _dotted(path: tuple[str | int, ...]) -> str:
    """Return a path as `profiles[0].plugins`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def _article(type_names: str | list[str]) -> str:
    words = {"object": "a mapping", "array": "a list", "integer": "a whole number"}
    listed = [type_names] if isinstance(type_names, str) else type_names
    return spelling.alternatives(words.get(name, f"a {name}") for name in listed)


# --- what makes no sense --------------------------------------------------------------------------


def _faulty_fields(violations: Iterable[jsonschema.ValidationError]) -> set[str]:
    """Return the fields of the document in which something violates the schema, itself or inside.

    What they say with others is not judged: it would be told twice.
    """
    faulty: set[str] = set()
    for error in violations:
        if error.absolute_path:
            faulty.add(str(error.absolute_path[0]))
        elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
            schema: Any = error.schema
            faulty.update(key for key in error.instance if key not in schema["properties"])
    return faulty


_Problems: TypeAlias = Iterable[tuple[plain_yaml.Path, str]]
"""Each with the path of the value that is wrong."""


def _semantic_faults(document: plain_yaml.Document, faulty: set[str]) -> Iterable[Fault]:
    """Yield what a schema cannot say, of the fields that fit it."""
    said = {key: value for key, value in document.value.items() if key not in faulty}
    given = msgspec.convert(said, config.Config)
    for fields, check in _CHECKS.items():
        if faulty.isdisjoint(fields):
            for path, problem in check(given):
                yield Fault(document.line(path), problem, path)


def _profiles(given: config.Config) -> _Problems:
    names: set[str] = set()
    for index, profile in enumerate(given.profiles):
        name = profile.scheduler_name
        if name in names:
            path = ("profiles", index, "schedulerName")
            yield path, f"the profile `{name}` is there twice"
        names.add(name)


def _backoff(given: config.Config) -> _Problems:
    if given.pod_max_backoff_seconds < given.pod_initial_backoff_seconds:
        problem = "`podMaxBackoffSeconds` is less than `podInitialBackoffSeconds`"
        yield ("podMaxBackoffSeconds",), problem


def _prometheus(given: config.Config) -> _Problems:
    for name, source in given.prometheus.items():
        if problem := settings.problem(source):
            yield ("prometheus", name), f"`prometheus.{name}`: {problem}"


def _leader_election(given: config.Config) -> _Problems:
    for field, problem in elections.problems(given.leader_election):
        yield ("leaderElection", field), f"`leaderElection`: {problem}"


def _client_connection(given: config.Config) -> _Problems:
    connection = given.client_connection
    if connection.burst is not None and connection.qps is None:
        yield ("clientConnection", "burst"), "`clientConnection.burst` has no meaning without `qps`"


def _policies(given: config.Config) -> _Problems:
    policies = given.policies
    if policies.paths and policies.config_map:
        yield ("policies", "configMap"), "`policies` has `paths` or `configMap`, not both"
    if policies.on_bad_start == "lastGood" and not policies.history_config_map:
        problem = "`policies.onBadStart: lastGood` needs `history`, which keeps former versions"
        yield ("policies", "onBadStart"), problem
    if policies.config_map and policies.history_config_map == policies.config_map:
        problem = "`policies.history` must be another ConfigMap than `policies.configMap`"
        yield ("policies", "history"), problem


def _serving(given: config.Config) -> _Problems:
    serving = given.serving
    if bool(serving.cert_file) != bool(serving.key_file):
        there, missing = ("certFile", "keyFile") if serving.cert_file else ("keyFile", "certFile")
        yield ("serving", there), f"`serving.{there}` needs `{missing}`"
    if serving.secure_address and serving.secure_address == serving.metrics_address:
        problem = "`serving.metricsAddress` must be another address than `serving.secureAddress`"
        yield ("serving", "metricsAddress"), problem


_CHECKS: Mapping[tuple[str, ...], Callable[[config.Config], _Problems]] = {
    ("profiles",): _profiles,
    ("podInitialBackoffSeconds", "podMaxBackoffSeconds"): _backoff,
    ("prometheus",): _prometheus,
    ("leaderElection",): _leader_election,
    ("clientConnection",): _client_connection,
    ("policies",): _policies,
    ("serving",): _serving,
}
"""Checks by the fields that they are about."""
