"""The configuration file of `run`: schemas/config.schema.json says what may stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema
import msgspec
import orjson

from policysched import _resources, errors
from policysched.app import cluster_file, plain_yaml
from policysched.app import election as elections
from policysched.lang import spelling
from policysched.promapi import settings


class PluginConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin that is switched on, weighted or given arguments."""

    name: str
    weight: int | None = None
    args: dict[str, Any] | None = None


class ProfileConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one profile, on top of what the policies say about it."""

    scheduler_name: str
    plugins: tuple[PluginConfig, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_scores: tuple[str, ...] = ()


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    """How the API server is spoken to.

    Attributes:
        qps: requests a second, None for no limit of our own.
        burst: how many may come at once, None for twice as many as in a second.
    """

    qps: float | None = None
    burst: int | None = None


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """A configuration; the defaults are those of kube-scheduler where it has them."""

    params: dict[str, str | int | float] = {}
    profiles: tuple[ProfileConfig, ...] = ()
    pod_initial_backoff_seconds: float = 1.0
    pod_max_backoff_seconds: float = 10.0
    pod_max_in_unschedulable_pods_seconds: float = 300.0
    parallel_binds: int = 128
    prometheus: dict[str, settings.PrometheusSource] = {}
    leader_election: elections.LeaderElectionConfig = elections.LeaderElectionConfig()
    client_connection: ClientConnection = ClientConnection()


def read(path: str) -> Config:
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


def parse(text: str, where: str) -> Config:
    """Return the configuration that a text describes; see `read`."""
    document = plain_yaml.load(text, where)
    schema = orjson.loads(_resources.text("schemas", "config.schema.json"))
    found = jsonschema.Draft202012Validator(schema).iter_errors(document.value)
    faults = [fault for error in found for fault in _faults(error, document)]
    if not faults:
        faults = list(_semantic_faults(document))
    if faults:
        raise _as_error(where, sorted(faults))
    return msgspec.convert(document.value, Config)


_Fault = tuple[int, str]
"""(line, problem)."""


def _as_error(where: str, faults: list[_Fault]) -> errors.ConfigurationError:
    (line, problem), *rest = faults
    further = "".join(f"\n{where}:{line}: {problem}" for line, problem in rest)
    return errors.ConfigurationError(f"{where}:{line}", problem + further)


def _faults(error: jsonschema.ValidationError, document: plain_yaml.Document) -> Iterable[_Fault]:
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
                    yield document.line((*path, key)), problem
        case "type":
            yield line, f"{name} must be {_article(expected)}"
        case "required":
            missing = [key for key in expected if key not in instance]
            yield line, f"{name} lacks {spelling.alternatives(f'`{key}`' for key in missing)}"
        case "const":
            yield line, f"{name} must be `{expected}`"
        case "minimum" | "maximum" | "exclusiveMinimum":
            words = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
            yield line, f"{name} must be {words[error.validator]} {expected}"
        case "pattern":  # of names alone; values may be secret
            yield line, f"`{instance}` is no name; use letters, digits, `_` and `-`"
        case "enum":
            yield line, f"{name} is {spelling.alternatives(f'`{one}`' for one in expected)}"
        case _:
            yield line, f"{name}: {error.message}"


def _semantic_faults(document: plain_yaml.Document) -> Iterable[_Fault]:
    """Yield what a schema cannot say."""
    value: Mapping[str, Any] = document.value
    names: set[str] = set()
    for index, profile in enumerate(value.get("profiles", [])):
        name = profile["schedulerName"]
        if name in names:
            path = ("profiles", index, "schedulerName")
            yield document.line(path), f"the profile `{name}` is there twice"
        names.add(name)
    config = msgspec.convert(value, Config)
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        line = document.line(("podMaxBackoffSeconds",))
        yield line, "`podMaxBackoffSeconds` is less than `podInitialBackoffSeconds`"
    for name, source in config.prometheus.items():
        problem = settings.problem(source)
        if problem:
            yield document.line(("prometheus", name)), f"`prometheus.{name}`: {problem}"
    election = value.get("leaderElection", {})
    for field, problem in elections.problems(config.leader_election):
        said = (field,) if field in election else ()
        yield document.line(("leaderElection", *said)), f"`leaderElection`: {problem}"
    connection = value.get("clientConnection", {})
    if "burst" in connection and "qps" not in connection:
        line = document.line(("clientConnection", "burst"))
        yield line, "`clientConnection.burst` has no meaning without `qps`"


def _dotted(path: tuple[str | int, ...]) -> str:
    """Return a path as `profiles[0].plugins`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def _article(type_names: str | list[str]) -> str:
    words = {"object": "a mapping", "array": "a list", "integer": "a whole number"}
    listed = [type_names] if isinstance(type_names, str) else type_names
    return spelling.alternatives(words.get(name, f"a {name}") for name in listed)
