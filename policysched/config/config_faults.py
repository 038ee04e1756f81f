"""Find the errors of a configuration: schema violations and semantic errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from policysched import control_characters, errors, server_urls
from policysched.config import (
    addresses,
    config,
    config_plugins,
    config_schema,
    election_faults,
    extender_faults,
    rollout_faults,
)
from policysched.inputs import plain_yaml
from policysched.promapi import settings

_MAX_CHARACTERS = 1000
_EXACT_FLOATS = 2.0**53
"""From this value on, every finite float is an integer."""


def find_config_faults(document: plain_yaml.YamlDocument) -> list[config_schema.ConfigFault]:
    """Return every error of a configuration, ordered by line.

    Semantic checks skip fields that violate the schema, because they would report the same mistake
    again.
    """
    violations = config_schema.find_schema_violations(document.value)
    faults = [
        fault for error in violations for fault in config_schema.describe_violation(error, document)
    ]
    if isinstance(document.value, dict):
        faults += _find_semantic_faults(document, config_schema.find_faulty_fields(violations))
    told = [fault._replace(problem=_shorten_to_line(fault.problem)) for fault in faults]
    return sorted(told, key=lambda fault: fault[:2])


def convert_config(value: Mapping[str, Any]) -> config.Config:
    """Convert a value that fits the schema into a configuration.

    The conversion is not strict: the schema, like Kubernetes, accepts `1.0` as an integer.
    """
    return msgspec.convert(_convert_large_floats(value), config.Config, strict=False)


def _convert_large_floats(value: Any) -> Any:  # noqa: ANN401 - a value of YAML
    """Convert large floats to integers, because msgspec converts only floats below 2**53."""
    if isinstance(value, Mapping):
        return {key: _convert_large_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_convert_large_floats(each) for each in value]
    is_large = isinstance(value, float) and abs(value) >= _EXACT_FLOATS and math.isfinite(value)
    return int(value) if is_large else value


def _shorten_to_line(text: str) -> str:
    """Return the text escaped and truncated for one log line; a key can contain any characters."""
    plain = control_characters.escape_unprintable_to_one_line(text)
    return plain if len(plain) <= _MAX_CHARACTERS else f"{plain[:_MAX_CHARACTERS]}…"


_Problems: TypeAlias = Iterable[tuple[plain_yaml.Path, str]]
"""The path of each invalid value and a description of its problem."""


def _find_semantic_faults(
    document: plain_yaml.YamlDocument, faulty: set[str]
) -> Iterable[config_schema.ConfigFault]:
    """Yield the errors that the schema cannot express, except in fields that violate the schema."""
    said = {key: value for key, value in document.value.items() if key not in faulty}
    given = convert_config(said)
    for fields, check in _CHECKS.items():
        if faulty.isdisjoint(fields):
            for path, problem in check(given):
                yield config_schema.ConfigFault(document.line(path), problem, path)


def _find_profile_faults(given: config.Config) -> _Problems:
    names: set[str] = set()
    for index, profile in enumerate(given.profiles):
        name = profile.scheduler_name
        if name in names:
            path = ("profiles", index, "schedulerName")
            yield path, f"the profile `{name}` appears twice"
        names.add(name)
    yield from config_plugins.find_plugin_problems(given.profiles)


def _find_extender_faults(given: config.Config) -> _Problems:
    return extender_faults.find_extender_problems(given.extenders)


def _find_rollout_faults(given: config.Config) -> _Problems:
    for path, problem in rollout_faults.find_rollout_problems(given):
        yield ("policies", "rollout", *path), problem


def _find_backoff_faults(given: config.Config) -> _Problems:
    """Yield a problem if the maximum backoff is below the initial backoff."""
    longest = given.pod_max_backoff_seconds
    if longest >= given.pod_initial_backoff_seconds:
        return
    problem = "`podMaxBackoffSeconds` is less than `podInitialBackoffSeconds`"
    if longest == config.Config().pod_max_backoff_seconds:  # the file may omit it
        advice = f"the default of `podMaxBackoffSeconds` is {longest:g}"
        yield ("podInitialBackoffSeconds",), f"{problem}; {advice}"
    else:
        yield ("podMaxBackoffSeconds",), problem


def _find_prometheus_faults(given: config.Config) -> _Problems:
    for name, source in given.prometheus.items():
        if problem := settings.find_source_problem(source):
            yield ("prometheus", name), f"`prometheus.{name}`: {problem}"


def _find_election_faults(given: config.Config) -> _Problems:
    for field, problem in election_faults.find_election_problems(given.leader_election):
        yield ("leaderElection", field), f"`leaderElection`: {problem}"


def _find_connection_faults(given: config.Config) -> _Problems:
    connection = given.client_connection
    if connection.burst is not None and connection.qps is None:
        yield ("clientConnection", "burst"), "`clientConnection.burst` has no effect without `qps`"


def _find_policy_source_faults(given: config.Config) -> _Problems:
    """Yield contradictions between the source of the policies and their history."""
    policies = given.policies
    if policies.paths and policies.config_map:
        yield ("policies", "configMap"), "`policies` has `paths` or `configMap`, not both"
    if policies.on_bad_start == "lastGood" and not policies.history_config_map:
        problem = "`policies.onBadStart: lastGood` needs `history`, which keeps earlier versions"
        yield ("policies", "onBadStart"), problem
    if policies.config_map and policies.history_config_map == policies.config_map:
        problem = "`policies.history` must not be the same ConfigMap as `policies.configMap`"
        yield ("policies", "history"), problem


def _find_serving_faults(given: config.Config) -> _Problems:
    """Yield invalid or equal addresses, and a certificate or key without the other."""
    serving = given.serving
    if bool(serving.cert_file) != bool(serving.key_file):
        there, missing = ("certFile", "keyFile") if serving.cert_file else ("keyFile", "certFile")
        yield ("serving", there), f"`serving.{there}` needs `{missing}`"
    for field, text in (
        ("secureAddress", serving.secure_address),
        ("metricsAddress", serving.metrics_address),
    ):
        try:
            addresses.parse_listen_address(text or "localhost:0")
        except errors.UsageError as error:
            yield ("serving", field), f"`serving.{field}`: {error}"
    if serving.secure_address and serving.secure_address == serving.metrics_address:
        problem = "`serving.metricsAddress` must differ from `serving.secureAddress`"
        yield ("serving", "metricsAddress"), problem
    if serving.page and not (serving.secure_address and serving.authorization.enabled):
        needed = "serving.authorization" if serving.secure_address else "serving.secureAddress"
        yield ("serving", "page"), f"`serving.page` needs `{needed}`"


def _find_tracing_faults(given: config.Config) -> _Problems:
    endpoint = given.tracing.endpoint
    parts = server_urls.split_server_url(endpoint)
    is_url = parts is not None and "@" not in parts.netloc  # a message would print the password
    if endpoint and not is_url:
        advice = "write http://HOST:4318 or https://HOST, without a user"
        yield ("tracing", "endpoint"), f"`tracing.endpoint` is not the URL of a collector; {advice}"


_CHECKS: Mapping[tuple[str, ...], Callable[[config.Config], _Problems]] = {
    ("profiles",): _find_profile_faults,
    ("extenders",): _find_extender_faults,
    ("podInitialBackoffSeconds", "podMaxBackoffSeconds"): _find_backoff_faults,
    ("prometheus",): _find_prometheus_faults,
    ("leaderElection",): _find_election_faults,
    ("clientConnection",): _find_connection_faults,
    ("policies",): _find_policy_source_faults,
    ("policies", "prometheus"): _find_rollout_faults,
    ("serving",): _find_serving_faults,
    ("tracing",): _find_tracing_faults,
}
"""Semantic checks, keyed by the top-level fields that each check reads."""
