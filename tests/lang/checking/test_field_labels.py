"""PS808: the checker warns of label keys that are named like fields."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from tests.lang import mistakes


def _warnings(rule: str) -> list[diagnostics.Diagnostic]:
    text = f"policy web {{\n  for pods where app = web\n  {rule}\n}}\n"
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None
    return list(result.diagnostics)


@pytest.mark.parametrize(
    "rule, help_start",
    [
        ("nodeAffinity required name = n1", "write `nodeName`; for the label, write `"),
        ("reject when node(name = n1)", "write `nodeName`; "),
        ("reject when pod(namespace = prod)", "select pods with `for pods in namespace (a, b)`; "),
        ("reject when pod(metadata.namespace = prod)", "select pods with "),
        ("reject when pod(spec.nodeName = n1)", "`nodeName` is a field of nodes: use it in "),
        ("reject when node(qosClass = BestEffort)", "`qosClass` is a field of pods: "),
        ("reject when pod(priorityClass = high)", "write `priorityClassName`; "),
        ("reject when pod(metadata.labels.app = web)", "write `app`; "),
        ("reject when node(spec.unschedulable = true)", "fields of a node are nodeName; "),
        ("podAffinity required pods where namespace = prod topologyKey zone", "select pods with "),
        ("reject when pod(pod.labels.app = web)", "write `app`; "),
        ("reject when pod(annotations.tier = gold)", "write `annotation(tier)`; "),
        ("reject when pod(resources.requests.cpu > 2)", "write `requests(cpu)`; "),
        ("reject when node(pod.labels.app = web)", "`app` is a field or label of pods: use it in "),
        ("nodeAffinity required node.labels.disk = ssd", "write `disk`; "),
        ("nodeAffinity required tenant = pod(labels.tenant) missing allow", "write `tenant`; "),
        ("reject when node(labels.tenant = pod(tenant)) missing allow", "write `tenant`; "),
        ("nodeAffinity required disk = null", "write `disk DoesNotExist`; "),
        ("reject when pod(tier != none)", "write `tier Exists`; "),
        ("tolerate NoSchedule", "name the taint, as in `dedicated:NoSchedule`; "),
        ("tolerate web, NoExecute", "name the taint, as in `dedicated:NoSchedule`; "),
        ("tolerate Exists", "name the taint, as in `dedicated`; "),
        ("tolerate all", "name the taint, as in `dedicated`; "),
    ],
)
def test_a_label_key_that_is_named_like_a_field_has_a_warning(rule: str, help_start: str) -> None:
    """The program is valid, and the help names what the field is called here."""
    (finding,) = _warnings(rule)
    assert (finding.code, finding.severity) == ("PS808", diagnostics.Severity.WARNING)
    assert finding.help.startswith(help_start)


def test_the_fix_of_a_label_key_asks_for_the_field() -> None:
    """The suggestion replaces the key alone, and is none that is applied unasked."""
    rule = "nodeAffinity required name = n1"
    (finding,) = _warnings(rule)
    assert finding.fix is not None
    assert not finding.fix.safe
    text = f"policy web {{\n  for pods where app = web\n  {rule}\n}}\n"
    assert "nodeAffinity required nodeName = n1" in mistakes.apply_fix(text, finding.fix)


@pytest.mark.parametrize(
    "rule",
    [
        'nodeAffinity required "name" = n1',
        "nodeAffinity required nodeName = n1",
        "nodeAffinity required priority = high and image = ubuntu",
        "nodeAffinity required namespace = prod",
        "reject when pod(name = web or kind = Job)",
    ],
)
def test_other_keys_have_no_warning(rule: str) -> None:
    """Quotes say that the label is meant, and common keys of labels are no fields."""
    assert _warnings(rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        'nodeAffinity required disk = "null"',
        "nodeAffinity required disk In (ssd, none)",
        "nodeAffinity required node.kubernetes.io/instance-type = large",
        'tolerate "all"',
        "tolerate all=web",
        "reject when pod(ownerKind = Rollout)",
    ],
)
def test_a_word_that_is_meant_has_no_warning(rule: str) -> None:
    """Quotes, a list or a value show that the text itself is meant; other kinds may own pods."""
    assert _warnings(rule) == []


@pytest.mark.parametrize(
    "kind, meant",
    [("Deployment", "ReplicaSet"), ("CronJob", "Job"), ("replicaset", "ReplicaSet")],
)
def test_a_kind_that_controls_no_pods_has_a_warning(kind: str, meant: str) -> None:
    """Deployments create ReplicaSets, and kinds have their case."""
    (finding,) = _warnings(f"reject when pod(ownerKind In (Job, {kind}))")
    assert (finding.code, finding.severity) == ("PS107", diagnostics.Severity.WARNING)
    assert finding.help == f"write `{meant}`"
