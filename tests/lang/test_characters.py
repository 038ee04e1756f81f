"""Characters that are not what they look like, and values that no object has."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics

HOLDERS = {
    "comment": "# {}",
    "description": 'description "a{}b"',
    "owner": 'owner "a{}b"',
    "value": 'reject when pod(annotation(x) = "{}")',
}


def _found(statement: str, head: str = "") -> tuple[diagnostics.Diagnostic, ...]:
    text = f"{head}policy a {{\n  for pods\n  {statement}\n}}\n"
    return checker.check([source.SourceText("x.policy", text)]).diagnostics


@pytest.mark.parametrize("char", ["\x1b", "\x00", "\x7f", "\x9b"])
@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS.keys())
def test_a_control_character_is_an_error(holder: str, char: str) -> None:
    """No comment or string holds what a terminal would obey; the message names it."""
    finding = _found(holder.format(char))[0]
    assert (finding.code, finding.severity) == ("PS003", diagnostics.Severity.ERROR)
    assert f"control character U+{ord(char):04X} " in finding.message


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200f"])
@pytest.mark.parametrize("holder", ["# {}", 'description "a{}b"'], ids=["comment", "string"])
def test_a_bidirectional_character_is_a_warning(holder: str, char: str) -> None:
    """What changes the direction of text is warned of, by code point."""
    (finding,) = _found(holder.format(char))
    assert (finding.code, finding.severity) == ("PS807", diagnostics.Severity.WARNING)
    assert f"U+{ord(char):04X} " in finding.message


def test_each_line_has_one_finding_about_characters() -> None:
    """A line full of them is one finding."""
    assert len(_found("# \u202e\u202c\u202e")) == 1


def test_text_of_other_languages_is_fine_in_strings_and_comments() -> None:
    """Umlauts, Chinese and emoji are text, and an escaped line end is too."""
    assert _found('description "ü 世界 👨\u200d👩 \\n" # ü\u00a0世界') == ()


IMPOSSIBLE = {
    "node": ("nodeAffinity required nodeName = {}", ["Web-*", "Web_1", "a,b", "a?", "-*"]),
    "node-list": ("nodeAffinity required nodeName In (a, {})", ["web-*/"]),
    "node-not": ("nodeAffinity required nodeName != {}", ["web.-*"]),
    "priority-class": ("reject when pod(priorityClassName = {})", ["High*"]),
    "service-account": ("reject when pod(serviceAccountName = {})", ["ci_*"]),
    "owner-kind": ("reject when pod(ownerKind = {})", ["* Set"]),
    "owner-name": ("reject when pod(owner(name) = {})", ["web-[0-9]*"]),
    "image": ("reject when pod(image = {})", ["nginx:1.2?", "nginx:[0-9]", "a b"]),
}


@pytest.mark.parametrize(
    "statement, value",
    [
        pytest.param(statement, value, id=f"{name}-{value}")
        for name, (statement, values) in IMPOSSIBLE.items()
        for value in values
    ],
)
def test_a_value_that_a_field_never_has_is_an_error(statement: str, value: str) -> None:
    """A name that Kubernetes refuses, also as a pattern, would match nothing."""
    (finding,) = _found(statement.format(f'"{value}"'))
    assert (finding.code, finding.severity) == ("PS107", diagnostics.Severity.ERROR)
    assert f"`{value}`" in finding.message


def test_zones_take_no_patterns() -> None:
    """A cluster has several zones, so they are no texts of a column."""
    text = 'clusterPolicy a { for resources clusterAffinity required zone = "eu-*" }'
    (finding,) = checker.check([source.SourceText("x.policy", text)]).diagnostics
    assert finding.code == "PS107"


@pytest.mark.parametrize(
    "statement",
    [
        'nodeAffinity required nodeName = "ip-10-0-0-1.eu-west-1.compute.internal"',
        'reject when pod(image In ("ghcr.io/acme/*", "nginx:1.25@sha256:0a"))',
        'reject when pod(priorityClassName = "" and ownerKind = ReplicaSet)',
        'nodeAffinity required "nodeName" = label',
    ],
)
def test_a_value_that_a_field_can_have_is_fine(statement: str) -> None:
    """Names, patterns, and unset fields stay what they are."""
    assert _found(statement) == ()


def test_a_list_in_one_string_is_taken_apart() -> None:
    """Names joined by commas are several names."""
    (finding,) = _found('nodeAffinity required nodeName = "a,b"')
    assert finding.help == "write `nodeName In (a, b)`"
