"""What the language refuses of an import becomes a finding at its place; the rest is imported."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched import errors
from policysched.cli import main
from policysched.importing import importer
from tests import examples
from tests.importing import deciding

_PODS = """apiVersion: v1
kind: Pod
metadata: {name: good, namespace: prod, labels: {app: good}}
spec: {nodeSelector: {disk: ssd}}
---
apiVersion: v1
kind: Pod
metadata:
  name: bad
  namespace: prod
  labels:
    app: "not valid!"
spec: {nodeSelector: {disk: ssd}}
---
apiVersion: v1
kind: Pod
metadata: {name: half, namespace: prod, labels: {app: half}}
spec:
  nodeSelector:
    disk: "ssd or hdd"
  tolerations:
  - {key: x, operator: Exists, effect: NoSchedule}
"""
_VALUE = (
    "must consist of letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit"
)


def test_a_pod_with_an_invalid_label_does_not_keep_the_others_out(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finding names the input file, the line, the field and the pod; the exit code is 1."""
    file = tmp_path / "pods.yaml"
    file.write_text(_PODS, encoding="utf-8")
    assert main.main(["import", str(file)]) == errors.EXIT_FINDINGS
    out, err = capsys.readouterr()
    bad, half = err.splitlines()
    assert bad == (
        f"{file}:12: warning: `metadata.labels.app` of the Pod prod/bad: the label value "
        f"`not valid!` {_VALUE} (the policy is left out because it would select other pods)"
    )
    assert half == (
        f"{file}:20: warning: `spec.nodeSelector.disk` of the Pod prod/half: the label value "
        f"`ssd or hdd` {_VALUE} (it is left out)"
    )
    assert "policy good {" in out
    assert "policy bad {" not in out
    assert "tolerate x:NoSchedule" in out


def _pod(spec: dict[str, Any], **labels: str) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "prod", "labels": {"app": "web", **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _spread(**fields: Any) -> dict[str, Any]:
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }
    return _pod({"topologySpreadConstraints": [constraint]})


def _preferring(weight: int) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    terms = [{"weight": weight, "preference": term}]
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    return _pod({"affinity": {"nodeAffinity": {name: terms}}})


_CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a skew of 0": (_spread(maxSkew=0), "maxSkew:", "maxSkew must be a whole number from 1"),
    "a huge skew": (_spread(maxSkew=2**62), "maxSkew:", "maxSkew"),
    "an unknown word": (_spread(whenUnsatisfiable="Maybe"), "whenUnsatisfiable:", "`Maybe` is not"),
    "two words for one": (
        _spread(nodeTaintsPolicy="Honor Ignore"), "nodeTaintsPolicy:", "`Honor Ignore` is not",
    ),
    "words for a number": (
        _pod({"tolerations": [{"key": "k", "operator": "Gt", "value": "a b"}]}),
        "key:", "cannot express this",
    ),
    "a label key": (_pod({"nodeSelector": {"a b": "x"}}), "a b:", "the label key `a b`"),
    "a taint value": (
        _pod({"tolerations": [{"key": "k", "value": "a b", "effect": "NoSchedule"}]}),
        "value:", "the taint value `a b`",
    ),
    "a weight of 0": (_preferring(0), "weight:", "the weight 0 is not from 1 to 100; 1 is used"),
    "a weight over 100": (_preferring(101), "weight:", "the weight 101 is not from 1 to 100"),
    "a namespace": (
        {
            **_pod({"nodeSelector": {"a": "b"}}),
            "metadata": {"namespace": "A b", "labels": {"a": "b"}},
        },
        "namespace:", "the namespace `A b`",
    ),
    "a number for a text": (_pod({"nodeSelector": {"cores": 8}}), "cores:", "must be text"),
    "an unknown operator": (
        _spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]}),
        "operator:", "`Is` is not an operator",
    ),
    "a scheduler name": (
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "a_b"}],
        },
        "schedulerName:", "the profile `a_b`",
    ),
    "a label of a legacy Policy": (
        {
            "apiVersion": "v1",
            "kind": "Policy",
            "priorities": [
                {
                    "name": "P",
                    "weight": 1,
                    "argument": {"labelPreference": {"label": "a b", "presence": True}},
                }
            ],
        },
        "label:", "the label key `a b`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", _CASES)
def test_what_the_language_refuses_is_a_finding_at_its_line(case: str) -> None:
    """Beside it, a sound pod is imported, and what comes of both is accepted."""
    manifest, field, problem = _CASES[case]
    sound = _pod({"nodeSelector": {"disk": "ssd"}}, app="sound")
    text = deciding.as_yaml(manifest) + "---\n" + deciding.as_yaml(sound)
    imported = deciding.convert(text)
    deciding.require_accepted(imported)
    assert any("app = sound" in line for line in deciding.body(imported))
    (found,) = [each for each in imported.findings if problem in each.problem]
    line = text.splitlines()[found.line - 1].lstrip(" -")
    assert (found.where, line[: len(field)]) == ("input.yaml", field)
    assert imported.warning_count


def test_a_malformed_manifest_by_itself_is_an_error() -> None:
    """There is nothing else to import, so the first error is raised with its line."""
    text = deciding.as_yaml(_pod({"nodeSelector": {"cores": 8}}))
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(text)
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "cores" in each)
    assert str(caught.value) == f"input.yaml:{line}: `spec.nodeSelector.cores` must be text"


# ---------------------------------------------------------------------------- odd manifests

_ODD = 'web|a|disk|zone|a b||Exists|nodeName|and|-x|0|1e5|true|a/b/c|/x|ü|\u00a0|\u202e|\n|\t|"|`'
_ODDER = "\\|#|a,b|(x)|x:y|9223372036854775808|-5|3.5|web-*|$x|${x}|{}|self|metadata.name|\x7f"
_words = strategies.sampled_from([*_ODD.split("|"), *_ODDER.split("|"), "x" * 64, "x" * 300])
_numbers = strategies.sampled_from((-(10**30), -1, 0, 1, 2, 50, 100, 101, 2**31, 2**63, 10**30))
_operators = strategies.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
_labels = strategies.dictionaries(_words, _words, max_size=2)
_expressions = strategies.lists(
    strategies.fixed_dictionaries(
        {"key": _words, "operator": _operators},
        optional={"values": strategies.lists(_words, max_size=3)},
    ),
    max_size=2,
)
_selectors = strategies.fixed_dictionaries(
    {}, optional={"matchLabels": _labels, "matchExpressions": _expressions}
)
_node_terms = strategies.fixed_dictionaries(
    {}, optional={"matchExpressions": _expressions, "matchFields": _expressions}
)
_pod_terms = strategies.fixed_dictionaries(
    {"topologyKey": _words},
    optional={
        "labelSelector": _selectors,
        "namespaces": strategies.lists(_words, max_size=2),
        "namespaceSelector": _selectors,
        "matchLabelKeys": strategies.lists(_words, max_size=2),
    },
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _weighted(name: str, terms: strategies.SearchStrategy[Any]) -> Any:
    return strategies.lists(
        strategies.fixed_dictionaries({"weight": _numbers, name: terms}), max_size=2
    )


_pod_affinity = strategies.fixed_dictionaries(
    {},
    optional={
        _REQUIRED: strategies.lists(_pod_terms, max_size=2),
        _PREFERRED: _weighted("podAffinityTerm", _pod_terms),
    },
)
_specs = strategies.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": _labels,
        "affinity": strategies.fixed_dictionaries(
            {},
            optional={
                "nodeAffinity": strategies.fixed_dictionaries(
                    {},
                    optional={
                        _REQUIRED: strategies.fixed_dictionaries(
                            {"nodeSelectorTerms": strategies.lists(_node_terms, max_size=2)}
                        ),
                        _PREFERRED: _weighted("preference", _node_terms),
                    },
                ),
                "podAffinity": _pod_affinity,
                "podAntiAffinity": _pod_affinity,
            },
        ),
        "tolerations": strategies.lists(
            strategies.fixed_dictionaries(
                {},
                optional={
                    "key": _words,
                    "operator": strategies.sampled_from(("Equal", "Exists", "Gt", "Lt")),
                    "value": _words,
                    "effect": strategies.sampled_from(("NoSchedule", "PreferNoSchedule", "")),
                },
            ),
            max_size=2,
        ),
        "topologySpreadConstraints": strategies.lists(
            strategies.fixed_dictionaries(
                {"topologyKey": _words, "maxSkew": _numbers, "whenUnsatisfiable": _words},
                optional={"labelSelector": _selectors, "minDomains": _numbers},
            ),
            max_size=2,
        ),
    },
)
_pods = strategies.builds(
    lambda name, namespace, labels, spec: {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    },
    _words,
    _words,
    _labels,
    _specs,
)
_legacy = strategies.fixed_dictionaries(
    {"kind": strategies.just("Policy"), "apiVersion": strategies.just("v1")},
    optional={
        "hardPodAffinitySymmetricWeight": _numbers,
        "predicates": strategies.lists(
            strategies.fixed_dictionaries(
                {"name": _words},
                optional={
                    "argument": strategies.builds(
                        lambda labels: {"labelsPresence": {"labels": labels, "presence": True}},
                        strategies.lists(_words, max_size=2),
                    )
                },
            ),
            max_size=2,
        ),
        "priorities": strategies.lists(
            strategies.fixed_dictionaries(
                {
                    "name": strategies.sampled_from(("LeastRequestedPriority", "a b", "X")),
                    "weight": _numbers,
                },
                optional={
                    "argument": strategies.builds(
                        lambda label, score: {
                            "labelPreference": {"label": label, "presence": True},
                            "requestedToCapacityRatioArguments": {
                                "shape": [{"utilization": 0, "score": score}],
                                "resources": [{"name": label, "weight": score}],
                            },
                        },
                        _words,
                        _numbers,
                    )
                },
            ),
            max_size=3,
        ),
    },
)


def _converted(text: str) -> importer.ImportResult | errors.InputError:
    try:
        return deciding.convert(text)
    except errors.InputError as error:
        return error


@hypothesis.settings(max_examples=examples.scale(60), deadline=None)
@hypothesis.given(strategies.lists(strategies.one_of(_pods, _legacy), min_size=1, max_size=3))
@hypothesis.example(
    [{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "\u202e\x9b"}]}]
)
def test_odd_manifests_are_imported_or_refused_at_a_line(manifests: list[dict[str, Any]]) -> None:
    """Whatever comes is accepted by the checker; every finding names a line of the input."""
    text = "\n---\n".join(json.dumps(each, indent=1) for each in manifests)
    imported = _converted(text)
    if isinstance(imported, errors.InputError):
        assert imported.where.partition(":")[0] == "input.yaml"
        return
    deciding.require_accepted(imported)
    lines = text.count("\n") + 1
    assert all(1 <= each.line <= lines for each in imported.findings)
    assert all("\n" not in str(each) for each in imported.findings)
