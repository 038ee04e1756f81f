"""PS808: the checker warns of label keys that are named like fields."""

from __future__ import annotations

import pytest

from policysched.lang import checker, diagnostics, source
from tests.lang import mistakes


def _warnings(rule: str) -> list[diagnostics.Diagnostic]:
    text = f"policy web {{\n  for pods where app = web\n  {rule}\n}}\n"
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None
    return list(result.diagnostics)


@pytest.mark.parametrize(
    "rule, help_start",
    [
        ("nodeAffinity required name = n1", "write `nodeName`; for the label write `"),
        ("reject when node(name = n1)", "write `nodeName`; "),
        ("reject when pod(namespace = prod)", "choose pods by `for pods in namespace (a, b)`; "),
        ("reject when pod(metadata.namespace = prod)", "choose pods by "),
        ("reject when pod(spec.nodeName = n1)", "`nodeName` is a field of nodes: ask for it in "),
        ("reject when node(qosClass = BestEffort)", "`qosClass` is a field of pods: "),
        ("reject when pod(priorityClass = high)", "write `priorityClassName`; "),
        ("reject when pod(metadata.labels.app = web)", "write `app`; "),
        ("reject when node(spec.unschedulable = true)", "fields of a node are nodeName; "),
        ("podAffinity required pods where namespace = prod topologyKey zone", "choose pods by "),
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
