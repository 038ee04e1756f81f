"""Generates small random clusters from the words of policies, such as labels and taints."""

from __future__ import annotations

import dataclasses
import datetime
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policysched import release_version, units
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import glob_patterns, kubernetes_names, numerals, vocabulary
from policysched.policytests import fuzz_devices

_KEY = re.compile(r"([a-z0-9.-]{1,63}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_STRANGE = ("", "0", "7", "-1", "other")
_OWN = 0.7
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STATUSES = (*vocabulary.CONDITION_STATUSES, "")
_SHARES = (0.0, 0.2, 0.5, 0.8, 0.95, 1.0)
_WITHOUT_RANGE = 100.0
_PRIORITIES = (0, 100)
_SOME_VALUES = ("a", "b")
"""Values of labels that policies compare with each other, or use as topology."""
_TIMES = vocabulary.ELAPSED_TIMES
_MOST_NODES, _MOST_NAMED_NODES, _MOST_PLACED, _PODS = 6, 2, 5, 3


@dataclasses.dataclass(slots=True)
class PolicyVocabulary:
    """The words of policies that affect placement.

    Attributes:
        labels: label key -> the values with which policies compare the label.
        annotations: annotation key of nodes -> the values with which policies compare it.
        conditions: types of conditions of nodes.
        versions: kubelet versions.
        node_names: names of nodes.
        owners: names of the owners of pods.
        storage_classes: classes of claims.
        storage_sizes: sizes of claims, if policies read them.
        taints: taints in the form `key=value:Effect`.
        namespaces: the names of namespaces.
        metrics: the metrics with the ranges of their values.
        devices: names of classes, attributes and capacities of devices.
        priorities: the priorities of pods, if rules are about preemption.
        times_seconds: durations in expressions, if policies read how long pods wait or ages.
    """

    labels: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    annotations: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    conditions: set[str] = dataclasses.field(default_factory=set)
    versions: set[str] = dataclasses.field(default_factory=set)
    node_names: set[str] = dataclasses.field(default_factory=set)
    owners: set[str] = dataclasses.field(default_factory=set)
    storage_classes: set[str] = dataclasses.field(default_factory=set)
    storage_sizes: set[str] = dataclasses.field(default_factory=set)
    taints: set[str] = dataclasses.field(default_factory=set)
    namespaces: set[str] = dataclasses.field(default_factory=set)
    metrics: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    devices: fuzz_devices.DeviceNames = dataclasses.field(default_factory=fuzz_devices.DeviceNames)
    priorities: tuple[int, ...] = ()
    times_seconds: set[float] = dataclasses.field(default_factory=set)


def build_policy_vocabulary(
    texts: Iterable[source.SourceText], metrics: Iterable[checked.CheckedMetric]
) -> PolicyVocabulary:
    """Collect the words of policy texts from which clusters are generated."""
    found = PolicyVocabulary()
    nodes = [
        each for text in texts for each in _walk_syntax_tree(parser.parse_policy_text(text).file)
    ]
    for node in nodes:
        _add_words_of_syntax_node(found, node)
    if any(isinstance(node, syntax_expr.Ref) and node.name.text in _TIMES for node in nodes):
        found.times_seconds = {0.0, *_list_durations(nodes)}
    found.devices = fuzz_devices.collect_device_names(nodes)
    if any(_reads_storage(node) for node in nodes):
        found.storage_sizes = {"1", *_list_sizes(nodes)}
    for metric in metrics:
        low = metric.low if metric.low is not None else 0.0
        high = metric.high if metric.high is not None else max(low, _WITHOUT_RANGE)
        found.metrics[metric.name] = (low, high)
    return found


def _list_durations(nodes: Iterable[syntax_expr.SyntaxNode]) -> Iterator[float]:
    """Yield the seconds of every literal that can be a duration."""
    for node in nodes:
        if isinstance(node, syntax_expr.Numeral):
            literal = numerals.parse_numeral(node.text)
            if literal is not None and literal.seconds is not None:
                yield float(literal.seconds)


def _reads_storage(node: syntax_expr.SyntaxNode) -> bool:
    match node:
        case syntax_expr.Subject(name=name, argument=syntax_expr.Value(text=resource)):
            return (name.text, resource) == ("requests", units.STORAGE)
        case syntax_expr.Call(function=function, arguments=(syntax_expr.Argument(value=value),)):
            is_storage = isinstance(value, syntax_expr.Ref) and (value.name.text == units.STORAGE)
            return is_storage and function.text == "requests"
        case _:
            return False


def _list_sizes(nodes: Iterable[syntax_expr.SyntaxNode]) -> Iterator[str]:
    """Yield sizes around every literal that can be a number of bytes."""
    for node in nodes:
        if isinstance(node, syntax_expr.Numeral | syntax_expr.Value):
            literal = numerals.parse_numeral(node.text)
            if literal is not None and literal.is_binary and literal.quantity is not None:
                size = int(literal.quantity)
                yield from (str(size - 1), str(size), str(size + 1))


def _walk_syntax_tree(node: object) -> Iterator[syntax_expr.SyntaxNode]:
    if isinstance(node, tuple):
        for each in node:
            yield from _walk_syntax_tree(each)
    elif isinstance(node, syntax_expr.SyntaxNode):
        yield node
        for field in dataclasses.fields(node):
            yield from _walk_syntax_tree(getattr(node, field.name))


def _add_words_of_syntax_node(found: PolicyVocabulary, node: syntax_expr.SyntaxNode) -> None:
    """Add the labels, taints or namespaces that a node of a syntax tree names."""
    match node:
        case syntax_expr.Requirement():
            _add_requirement_words(found, node)
        case syntax_expr.PodValue(subject=subject) if subject.argument is None:
            if _KEY.fullmatch(subject.name.text):
                found.labels.setdefault(subject.name.text, set()).update(_SOME_VALUES)
        case syntax_expr.Toleration(key=key, value=value, effect=effect):
            if _KEY.fullmatch(key.text):
                effects = [effect.text] if effect is not None else _EFFECTS
                text = value.text if value is not None and _VALUE.fullmatch(value.text) else ""
                found.taints |= {f"{key.text}={text}:{each}" for each in effects}
        case syntax.NamespaceScope(names=names):
            found.namespaces |= _list_names({each.text for each in names})
        case syntax.Preempt() | syntax.Protect() | syntax_expr.WordClause(keyword="preemption"):
            found.priorities = _PRIORITIES
        case syntax_expr.WordClause(keyword="topologyKey", word=word):
            found.labels.setdefault(word.text, set()).update(_SOME_VALUES)
        case _:
            pass


def _add_requirement_words(found: PolicyVocabulary, node: syntax_expr.Requirement) -> None:
    subject = node.subject
    if subject.name.text == "storageClass":
        classes = _list_matching_texts({each.text for each in node.words})
        found.storage_classes |= {
            each for each in classes if not kubernetes_names.find_dns_subdomain_problem(each)
        }
    elif subject.argument is not None:
        _add_function_words(found, subject, {each.text for each in node.words})
    elif _KEY.fullmatch(subject.name.text):
        texts = {each.text for each in node.words}
        if subject.name.text == "nodeName":
            found.node_names |= _list_names(texts)
        known = found.labels.setdefault(subject.name.text, set())
        known |= set(filter(_VALUE.fullmatch, _list_matching_texts(texts)))
        known |= set(_SOME_VALUES if node.pod_values else ())


def _list_names(values: Iterable[str]) -> set[str]:
    """Return names of objects with which policies compare, and some that match their patterns."""
    matching = _list_matching_texts(values)
    return {each for each in matching if not kubernetes_names.find_dns_label_problem(each)}


def _list_matching_texts(values: Iterable[str]) -> Iterator[str]:
    """Yield values, and texts that match those that are patterns."""
    for value in values:
        if glob_patterns.is_pattern(value):
            yield from (value.replace("*", each) for each in ("", "1", "a"))
        else:
            yield value


def _add_function_words(
    found: PolicyVocabulary, subject: syntax_expr.Subject, values: set[str]
) -> None:
    """Add what a function reads of nodes or pods, and versions around those compared with."""
    key = subject.argument.text if subject.argument is not None else ""
    match subject.name.text:
        case "annotation":
            found.annotations.setdefault(key, set()).update(values)
        case "condition":
            found.conditions.add(key)
        case "owner":
            found.owners |= _list_names(values)
        case "nodeInfo":
            bounds = filter(None, map(release_version.parse_version_bound, values))
            found.versions |= {
                str(version) for bound in bounds for version in (bound.low, bound.end)
            }
        case _:
            pass


def generate_test_suite(
    words: PolicyVocabulary, rng: random.Random, now: datetime.datetime
) -> dict[str, Any]:
    """Return nodes, pods, metrics and tests at a time in the format of a test file."""
    names = [f"n{number}" for number in range(rng.randint(1, _MOST_NODES))]
    if words.node_names:
        named = rng.sample(sorted(words.node_names), min(len(words.node_names), _MOST_NAMED_NODES))
        names = [*names, *(name for name in named if name not in names)]
    pods = {f"p{number}": _generate_pod(words, rng, now) for number in range(_PODS)}
    placed = {
        f"q{number}": {**_generate_pod(words, rng, now), "node": rng.choice(names)}
        for number in range(rng.randint(0, _MOST_PLACED))
    }
    nodes = {name: _generate_node(words, rng, now) for name in names}
    suite = {
        "nodes": nodes,
        "metrics": {
            metric: {name: _generate_sample(low, high, rng) for name in names}
            for metric, (low, high) in sorted(words.metrics.items())
        },
        "pods": {**pods, **placed},
        "tests": [{"name": name, "pod": name, "expect": {}} for name in pods],
    }
    fuzz_devices.add_devices(nodes, {**pods, **placed}, words.devices, rng)
    return suite


def _generate_node(
    words: PolicyVocabulary, rng: random.Random, now: datetime.datetime
) -> dict[str, Any]:
    taints = [each for each in sorted(words.taints) if rng.random() < 0.2]  # noqa: PLR2004 - most nodes have none
    by_key = {each.partition("=")[0] + each.rpartition(":")[2]: each for each in taints}
    cpu = rng.choice([0, 1, 4, 64])
    node: dict[str, Any] = {
        "labels": _generate_labels(words.labels, rng),
        "cpu": cpu,
        "taints": list(by_key.values()),
        **_generate_times(words, rng, now, ("created",)),
    }
    if words.annotations:
        node["annotations"] = _generate_labels(words.annotations, rng)
    if words.conditions:
        statuses = {each: rng.choice(_STATUSES) for each in sorted(words.conditions)}
        node["conditions"] = {each: status for each, status in statuses.items() if status}
    if words.versions:
        node["kubeletVersion"] = rng.choice(["", *sorted(words.versions)])
    return node


def _generate_pod(
    words: PolicyVocabulary, rng: random.Random, now: datetime.datetime
) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "namespace": rng.choice(["default", *sorted(words.namespaces)]),
        "labels": _generate_labels(words.labels, rng),
        "requests": {"cpu": rng.choice([0, "100m", 1])},
        **_generate_times(words, rng, now, ("created", "firstTried")),
    }
    if words.owners:
        pod["owner"] = f"Job/{rng.choice(['other', *sorted(words.owners)])}"
    if words.storage_classes or words.storage_sizes:
        pod["claims"] = _generate_claims(words, rng)
    if words.priorities:
        pod["priority"] = rng.choice(words.priorities)
    return pod


def _generate_claims(words: PolicyVocabulary, rng: random.Random) -> dict[str, Any]:
    """Return up to two claims, with classes and sizes from the policies."""
    return {
        claim: {
            "class": rng.choice(["", "other", *sorted(words.storage_classes)]),
            "storage": rng.choice(sorted(words.storage_sizes or {"1Gi"})),
        }
        for claim in ("data", "logs")
        if rng.random() < 0.5  # noqa: PLR2004 - some pods have none, one or two
    }


def _generate_times(
    words: PolicyVocabulary, rng: random.Random, now: datetime.datetime, fields: tuple[str, ...]
) -> dict[str, str]:
    """Return some of the fields, with times at which answers of policies change, or nearly."""
    if not words.times_seconds:
        return {}
    found = {}
    for field in fields:
        ago_seconds = rng.choice(sorted(words.times_seconds)) + rng.choice((-1, 0, 1))
        if rng.random() < _OWN:
            found[field] = (now - datetime.timedelta(seconds=ago_seconds)).isoformat()
    return found


def _generate_labels(words: Mapping[str, set[str]], rng: random.Random) -> dict[str, str]:
    """Return random labels, with values from the policies and with unusual values."""
    return {
        key: rng.choice(sorted(values) if values and rng.random() < _OWN else _STRANGE)
        for key, values in sorted(words.items())
        if rng.random() < 0.7  # noqa: PLR2004 - most labels are present
    }


def _generate_sample(low: float, high: float, rng: random.Random) -> object:
    share = rng.choice([*_SHARES, None, "stale"])
    if share is None:
        return "_"
    return share if isinstance(share, str) else round(low + share * (high - low), 9)
