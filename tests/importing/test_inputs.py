"""What is found in a text, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysched import errors
from tests import examples
from tests.importing import deciding

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
TAS = """\
apiVersion: telemetry.intel.com/v1alpha1
kind: TASPolicy
metadata: {name: load}
spec: {strategies: {scheduleonmetric: {rules: [{metricname: load, operator: LessThan}]}}}
"""


def _config_map(*texts: str) -> str:
    keys = {f"key-{number}.yaml": text for number, text in enumerate(texts)}
    return deciding.as_yaml({"apiVersion": "v1", "kind": "ConfigMap", "data": keys})


def test_policies_act_in_every_profile_that_is_imported_with_them() -> None:
    """A policy in no profile would do nothing."""
    profiles = "profiles: [{schedulerName: a}, {schedulerName: b}]\n"
    imported = deciding.convert(f"{CONFIG}{profiles}---\n{TAS}")
    lines = deciding.body(imported)
    assert lines.count("policies load") == 2
    assert (
        lines.count('plugin NodeResourcesFit args { ignoredResources: ["telemetry/scheduling"] }')
        == 2
    )
    deciding.require_accepted(imported)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{CONFIG}---\n{TAS}", id="documents"),
        pytest.param(_config_map(CONFIG, TAS), id="ConfigMap"),
        pytest.param(_config_map(f"{CONFIG}---\n{TAS}"), id="documents-in-a-key"),
        pytest.param(
            json.dumps(
                deciding.listed(
                    json.loads(json.dumps({"kind": "ConfigMap", "data": {"a": CONFIG, "b": TAS}}))
                )
            ),
            id="list-of-ConfigMaps",
        ),
    ],
)
def test_where_sources_stand(text: str) -> None:
    """Documents, Lists and keys of ConfigMaps are the same."""
    imported = deciding.convert(text)
    assert "policies load" in deciding.body(imported)


@pytest.mark.parametrize(
    "style, line",
    [
        pytest.param("k: |\n    {kind}\n    {rest}\n", 6, id="block"),
        pytest.param("k: |2-\n    {kind}\n    {rest}\n", 6, id="block-with-indicators"),
        pytest.param('k: "{kind}\\n{rest}"\n', 4, id="quoted"),
    ],
)
def test_lines_within_a_config_map_are_those_of_the_file(style: str, line: int) -> None:
    """Of a block of text exactly; of a quoted text it is the first line and on."""
    text = style.format(kind="kind: Policy", rest="priorities: [{name: Nonsense, weight: 1}]")
    imported = deciding.convert(f"apiVersion: v1\nkind: ConfigMap\ndata:\n  {text}")
    (warning,) = deciding.warnings(imported)
    assert int(warning.partition(":")[0]) in (line, line + 1)
    if "|" in style:
        assert warning.startswith(f"{line}:")


@pytest.mark.parametrize(
    "text, problem",
    [
        pytest.param("", "contains nothing that can be imported", id="empty"),
        pytest.param("just text", "contains no object", id="text"),
        pytest.param("[1]", "contains no object", id="list"),
        pytest.param("kind: Service", "Service cannot be imported", id="other-kind"),
        pytest.param("a: 1", "an object without a kind cannot be imported", id="no-kind"),
        pytest.param("kind: ConfigMap\ndata: {a: b}", "key `a` contains nothing", id="ConfigMap"),
        pytest.param("kind: ConfigMap\ndata: {a: 1}", "the key `a` is not text", id="no-text"),
        pytest.param("kind: ConfigMap\ndata: {a: '[x'}", "key `a` contains nothing", id="no-yaml"),
        pytest.param("kind: Policy\napiVersion: policy/v1", "Policy cannot be", id="other-Policy"),
        pytest.param("kind: [Pod]", "cannot be imported", id="kind-of-a-list"),
        pytest.param("kind: {a: b}", "cannot be imported", id="kind-of-a-mapping"),
        pytest.param("kind: Pod", "has no placement rules", id="Pod"),
    ],
)
def test_nothing_to_import_is_one_error(text: str, problem: str) -> None:
    """It says what was found instead."""
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(text)
    assert problem in str(caught.value)


def test_what_is_no_source_is_told_beside_what_is() -> None:
    """A note, with the line."""
    imported = deciding.convert(f"{TAS}---\nkind: Service\n")
    assert "note 6: Service cannot be imported" in deciding.told(imported)


def test_what_is_no_text_is_told() -> None:
    """Of a ConfigMap, `binaryData`; items of any List are looked at."""
    config_map = {"kind": "ConfigMap", "data": {"a": TAS}, "binaryData": {"b": "AA=="}}
    text = deciding.as_yaml({"kind": "ConfigMapList", "items": [config_map]})
    told = [each.partition(": ")[2] for each in deciding.told(deciding.convert(text))]
    assert "`binaryData` cannot be imported, because it is not text" in told


def test_a_kind_that_is_asked_for_is_the_only_one_taken() -> None:
    """`--from` leaves the rest alone."""
    imported = deciding.convert(f"{CONFIG}---\n{TAS}", "kube-scheduler-config")
    assert deciding.body(imported) == ["profile default-scheduler {", "}"]


WORDS = st.sampled_from(
    (
        *("In", "NotIn", "in", "and", "or", "not", "tainted", "where", "weight", "all", "self"),
        *("pods", "pod", "node", "priority", "nodeName", "image", "Exists", "Gt", "for", "as"),
        *("zone", "region", "true", "null", "1", "1.5", "0x1", "5m", "a_b", "A-1", "namespace"),
        *("topologyKey", "namespaces", "namespaceSelector", "required", "NoSchedule", "label"),
    )
)


@pytest.mark.slow
@given(key=WORDS, other=WORDS, value=WORDS)
@settings(max_examples=examples.scale(150), deadline=None)
def test_no_word_is_taken_for_another_thing(key: str, other: str, value: str) -> None:
    """Labels, values, taints, topology keys and arguments may be words of the language."""
    selector = {"matchLabels": {key: value}}
    term = {"topologyKey": other, "labelSelector": selector, "matchLabelKeys": [key]}
    spec: dict[str, Any] = {
        "nodeSelector": {key: value, "fixed": other},
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    term | {"namespaces": ["a", "default"]},
                    term | {"namespaceSelector": selector},
                ]
            }
        },
        "tolerations": [
            {"key": key, "value": value, "effect": "NoSchedule"},
            {"key": other, "operator": "Exists", "effect": "PreferNoSchedule"},
        ],
    }
    pod = deciding.pod("p", {key: value}, **spec)
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": key, "operator": "In", "values": [value, other]}]}
            ]
        }
    }
    args = {"name": "NodeAffinity", "args": {"addedAffinity": affinity}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [args]}],
    }
    imported = deciding.convert(deciding.as_yaml(deciding.listed(pod, config)))
    deciding.require_accepted(imported)
    assert deciding.warnings(imported) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 20000)
    | st.text(max_size=6)
    | st.sampled_from(
        ("*", "score", "NodeResourcesFit", "InterPodAffinity", "MostAllocated", "anyOf", "In")
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *(
                        "plugins",
                        "pluginConfig",
                        "name",
                        "args",
                        "weight",
                        "enabled",
                        "disabled",
                        "score",
                    ),
                    *(
                        "multiPoint",
                        "filter",
                        "schedulerName",
                        "predicates",
                        "priorities",
                        "argument",
                    ),
                    *(
                        "labelPreference",
                        "label",
                        "strategies",
                        "dontschedule",
                        "rules",
                        "metricname",
                    ),
                    *(
                        "operator",
                        "target",
                        "spec",
                        "metadata",
                        "template",
                        "affinity",
                        "nodeAffinity",
                    ),
                    *(
                        "tolerations",
                        "key",
                        "extenders",
                        "urlPrefix",
                        "containers",
                        "command",
                        "data",
                    ),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)
HEADS = st.sampled_from(
    [
        {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"},
        {"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration"},
        {"apiVersion": "v1", "kind": "Policy"},
        {"apiVersion": "telemetry.intel.com/v1alpha1", "kind": "TASPolicy"},
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"kind": "List"},
    ]
)


@given(
    head=HEADS,
    rest=st.dictionaries(
        st.sampled_from(
            (
                "profiles",
                "spec",
                "metadata",
                "predicates",
                "priorities",
                "extenders",
                "data",
                "items",
                "leaderElection",
                "clientConnection",
                "podMaxBackoffSeconds",
                "parallelism",
            )
        ),
        VALUES,
        max_size=4,
    ),
)
@settings(max_examples=examples.scale(400), deadline=None)
def test_whatever_stands_in_an_object_is_imported_told_or_refused(
    head: dict[str, Any], rest: dict[str, Any]
) -> None:
    """Never a traceback, and what is written is accepted by the checker."""
    try:
        imported = deciding.convert(json.dumps(head | rest))
    except errors.InputError:
        return
    deciding.require_accepted(imported)
