"""Policies in ConfigMap manifests: where they stand, and edits that leave everything else alone."""

from __future__ import annotations

import json
import re

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from policysched import errors
from policysched.inputs import manifests
from policysched.lang import source

POLICY = "version 1\n\npolicy web {\n  for pods where app = web\n}\n"
EDITED = "version 1\n\npolicy web {\n  for pods where app In (web, api)\n}\n"
BEFORE = "# Source: chart/templates/cm.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n"
BEFORE += "  name:   policies # odd spaces\ndata:\n  notes: |+\n    keep  \n\n"
AFTER = "  other: &anchor 'x'\n---\napiVersion: apps/v1\nkind: Deployment\n...\n"


def block(text: str, indent: str, line_end: str = "\n") -> str:
    """Return the lines of a block."""
    lines = [indent + line if line else "" for line in text.rstrip("\n").split("\n")]
    return line_end.join(lines) + line_end


def words_are_where_they_are_said_to_be(manifest: str, text: source.SourceText) -> None:
    """Every word of a text stands at its place in the file."""
    lines = manifest.split("\n")
    assert min(text.place(0)[1:]) >= 1
    for word in re.finditer(r"[\w=({})]+", text.text):
        _, line, column = text.place(word.start())
        assert lines[line - 1][column - 1 :].startswith(word[0])
        _, end_line, end_column = text.place(word.end())
        assert (end_line, end_column) == (line, column + len(word[0]))


STYLES = {
    "literal": "  a.policy: |\n" + block(POLICY, "    "),
    "deep": "  a.policy: |\n" + block(POLICY, "          "),
    "strip": "  a.policy: |-\n" + block(POLICY, "    ") + "\n\n",
    "keep": "  a.policy: |+\n" + block(POLICY, "    ") + "\n\n",
    "indentation-said": "  a.policy: |2\n" + block(POLICY, "    "),
    "anchor": "  a.policy: &text |\n" + block(POLICY, "    "),
    "comment": "  a.policy: | # a comment\n" + block(POLICY, "    "),
    "quoted-key": '  "a.policy": |\n' + block(POLICY, "    "),
    "explicit-key": "  ? a.policy\n  : |\n" + block(POLICY, "    "),
    "blank-first": "  a.policy: |\n\n    \n" + block(POLICY, "    "),
    "blank-lines-with-spaces": "  a.policy: |\n" + block(POLICY, "    ").replace("\n\n", "\n  \n"),
}
UNEDITABLE = {
    "folded": "  a.policy: >-\n" + block(POLICY, "    "),
    "folded-keep": "  a.policy: >2+\n" + block(POLICY, "    ").replace("\n\n", "\n\n\n") + "\n",
    "folded-blank-first": "  a.policy: >2+\n\n" + block(POLICY, "    "),
    "double": f"  a.policy: {json.dumps(POLICY)}\n",
    "double-over-lines": '  a.policy: "version 1\\n\\\n    \\npolicy web { for pods\n\n     }"\n',
    "single": "  a.policy: 'version 1\n\n\n    policy web {   for pods }'\n",
    "plain": "  a.policy: policy web\n    { for pods\n\n    }\n",
    "anchored-double": f"  a.policy: &text\n    {json.dumps(POLICY)}\n",
}


def manifest(body: str, line_end: str) -> str:
    """Return a manifest with other things around the policy."""
    return (BEFORE + body + AFTER).replace("\n", line_end)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("style", [*STYLES, *UNEDITABLE])
def test_places_are_those_of_the_file(style: str, line_end: str) -> None:
    """Whatever the style: block, folded, quoted, with indicators, over lines."""
    text = manifest((STYLES | UNEDITABLE)[style], line_end)
    (found,) = manifests.read_manifest_policies(text, "all.yaml")
    assert found.name == "all.yaml/a.policy"
    assert found.text == next(yaml.safe_load_all(text))["data"]["a.policy"]
    words_are_where_they_are_said_to_be(text, found)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("style", STYLES)
def test_an_edit_changes_its_lines_and_nothing_else(style: str, line_end: str) -> None:
    """All other bytes of the file stay: comments, spaces, line ends, other documents."""
    text = manifest(STYLES[style], line_end)
    (found,) = manifests.read_manifest_policies(text, "all.yaml")
    edited = found.text.replace("app = web", "app In (web, api)")
    after = manifests.rewrite_manifest_policies(text, "all.yaml", [(found, edited)])
    assert after == text.replace("app = web", "app In (web, api)")
    assert next(yaml.safe_load_all(after))["data"]["a.policy"] == edited


@pytest.mark.parametrize("style", UNEDITABLE)
def test_what_is_no_literal_block_is_not_edited(style: str) -> None:
    """The error says which key, where, and what to do."""
    text = manifest(UNEDITABLE[style], "\n")
    (found,) = manifests.read_manifest_policies(text, "all.yaml")
    with pytest.raises(errors.InputError, match=r"all\.yaml:10: .* `a\.policy` is not a literal"):
        manifests.rewrite_manifest_policies(text, "all.yaml", [(found, EDITED)])


def test_lines_come_and_go_in_several_keys() -> None:
    """Each block grows or shrinks by itself, with the indentation that it has."""
    item = "- kind: ConfigMap\n  metadata: {{name: {0}}}\n  data:\n    a.policy: |\n"
    head = "kind: List\nitems:\n"
    one, two = item.format("one"), item.format("two")
    text = head + one + block(POLICY, "      ") + two + block(POLICY, " " * 12) + "x: y\n"
    first, second = manifests.read_manifest_policies(text, "-")
    assert [first.name, second.name] == ["-/default/one/a.policy", "-/default/two/a.policy"]
    longer = POLICY.replace("}\n", '  owner "me"\n\n  description "x"\n}\n')
    shorter = "version 1\n"
    after = manifests.rewrite_manifest_policies(text, "-", [(first, longer), (second, shorter)])
    wanted = head + one + block(longer, "      ") + two + block(shorter, " " * 12) + "x: y\n"
    assert after == wanted


@pytest.mark.parametrize(
    "header, ending", [("|", "\n"), ("|-", ""), ("|+", "\n\n\n")], ids=["clip", "strip", "keep"]
)
def test_how_a_text_ends_is_up_to_the_manifest(header: str, ending: str) -> None:
    """Chomping indicators decide about final line ends, so these are no reason for an edit."""
    text = f"kind: ConfigMap\ndata:\n  a.policy: {header}\n" + block(POLICY, "    ") + "\n\n"
    (found,) = manifests.read_manifest_policies(text, "a.yaml")
    assert found.text == POLICY.rstrip("\n") + ending
    assert found.fitted(POLICY) == found.text
    assert manifests.rewrite_manifest_policies(text, "a.yaml", [(found, POLICY)]) == text


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param("   version 1\npolicy web {}\n", id="first-line-indented"),
        pytest.param("version 1 # \x00\n", id="not-sayable"),
    ],
)
def test_an_edit_that_would_not_be_read_back_is_refused(edited: str) -> None:
    """Nothing is written that means something else."""
    text = manifest(STYLES["literal"], "\n")
    (found,) = manifests.read_manifest_policies(text, "all.yaml")
    with pytest.raises(errors.InputError, match="would not contain exactly the edited policies"):
        manifests.rewrite_manifest_policies(text, "all.yaml", [(found, edited)])


@pytest.mark.parametrize(
    "text, problem",
    [
        pytest.param("kind: Secret\n", "a.yaml: contains no ConfigMap", id="no-config-map"),
        pytest.param("kind: ConfigMap\n", "has no key that ends in `.policy`", id="no-key"),
        pytest.param(
            "kind: ConfigMap\n---\nkind: ConfigMap\n", "no ConfigMap has a key", id="no-keys"
        ),
        pytest.param(
            "kind: ConfigMap\ndata:\n  a.policy: 3\n", "a.yaml:3: the key `a.policy`", id="number"
        ),
        pytest.param(
            "kind: ConfigMap\nbinaryData:\n  a.policy: eA==\n",
            "a.yaml:3: the key `a.policy` of the ConfigMap is in `binaryData`",
            id="binary",
        ),
        pytest.param("y: *a\n", "a.yaml:1:4: no anchor `&a` precedes", id="alias"),
        pytest.param("kind: !!str ConfigMap\n", "a.yaml:1:7: the tag", id="tag"),
        pytest.param("kind: {{ .Kind }}\n", "not YAML|a key must be plain text", id="template"),
        pytest.param("a: |\n\tb\n  c", "a.yaml:2:1: not YAML", id="tab"),
    ],
)
def test_hostile_yaml_is_one_clear_error(text: str, problem: str) -> None:
    """Where, what, and never a traceback."""
    with pytest.raises(errors.InputError, match=problem):
        manifests.read_manifest_policies(text, "a.yaml")


def test_other_config_maps_do_not_matter() -> None:
    """`kustomize build` prints those of other programs, too."""
    text = "kind: ConfigMap\ndata: {x: y}\n---\nkind: ConfigMap\ndata: {a.policy: version 1}\n"
    assert [found.name for found in manifests.read_manifest_policies(text, "-")] == ["-/a.policy"]


LINES = st.lists(
    st.text("ab :#'\"\\-{}é\N{GRINNING FACE}\t", max_size=12).map(lambda line: line.rstrip()),
    max_size=8,
)


@hypothesis.given(
    LINES,
    st.sampled_from(["|", ">", "'", '"', None]),
    st.integers(4, 30),
    st.booleans(),
)
def test_places_are_right_whatever_the_text(
    lines: list[str], style: str | None, width: int, is_unicode: bool
) -> None:
    """PyYAML writes the manifest; every character that stands as it is, is found."""
    data = {"kind": "ConfigMap", "data": {"a.policy": "\n".join(lines)}}
    text = yaml.safe_dump(data, default_style=style, width=width, allow_unicode=is_unicode)
    (found,) = manifests.read_manifest_policies(text, "a.yaml")
    shown = text.split("\n")
    assert found.origin is not None
    if found.origin.runs or found.origin.indent is not None:
        for offset, character in enumerate(found.text):
            if character in "ab:#{}-":
                _, line, column = found.place(offset)
                assert shown[line - 1][column - 1] == character
    else:
        assert not found.text.strip()


@hypothesis.given(LINES, LINES)
def test_any_edit_is_read_back_or_refused(lines: list[str], edited: list[str]) -> None:
    """What is written says what was wanted, with the line ends that the block gives it."""
    old, new = "\n".join([*lines, "x"]), "\n".join([*edited, "y\n"])
    text = "a: b\nkind: ConfigMap\ndata:\n  a.policy: |-1\n" + block(old, "   ") + "z: 1\n"
    (found,) = manifests.read_manifest_policies(text, "a.yaml")
    assert found.text == old
    after = manifests.rewrite_manifest_policies(text, "a.yaml", [(found, new)])
    assert yaml.safe_load(after)["data"]["a.policy"] == new.rstrip("\n")
    assert after.startswith("a: b\nkind: ConfigMap\ndata:\n  a.policy: |-1\n")
    assert after.endswith("\nz: 1\n")


ALIASED = """\
kind: ConfigMap
metadata: {name: one}
data: &data
  a.policy: &text |
    policy web { for pods }
  b.policy: *text
  c.policy: |
    policy other { for pods }
---
kind: ConfigMap
metadata: {name: two}
data:
  d.policy: |
    policy third { for pods }
"""
"""The anchor of `data` has no alias."""


def test_an_aliased_text_is_read_at_its_place() -> None:
    """What is wrong with it is reported where it is written."""
    found = {each.key: each for each in manifests.read_manifest_policies(ALIASED, "all.yaml")}
    assert found["b.policy"].text == found["a.policy"].text == "policy web { for pods }\n"
    assert found["b.policy"].place(7) == ("all.yaml", 5, 12)


@pytest.mark.parametrize("key, line", [("a.policy", 4), ("b.policy", 4)])
def test_an_aliased_text_is_not_edited(key: str, line: int) -> None:
    """An edit would change all of its places; texts beside it are edited."""
    found = {each.key: each for each in manifests.read_manifest_policies(ALIASED, "all.yaml")}
    with pytest.raises(errors.InputError) as caught:
        manifests.rewrite_manifest_policies(
            ALIASED, "all.yaml", [(found[key], "policy new { for pods }\n")]
        )
    assert str(caught.value) == (
        f"all.yaml:{line}: an alias repeats the key `{key}`, so it cannot be edited "
        "(write the text out in place of the alias)"
    )
    changes = [(found[each], "policy new { for pods }\n") for each in ("c.policy", "d.policy")]
    assert manifests.rewrite_manifest_policies(ALIASED, "all.yaml", changes) == ALIASED.replace(
        "policy other", "policy new"
    ).replace("policy third", "policy new")


def test_a_config_map_that_an_alias_repeats_is_not_edited() -> None:
    """Neither through its anchor nor through its alias."""
    text = "kind: List\nitems:\n- &one\n  kind: ConfigMap\n  metadata: {name: one}\n  data:\n"
    text += "    a.policy: |\n      policy web { for pods }\n"
    twice = (
        text
        + "- kind: ConfigMap\n  metadata: {name: two}\n  data: {b.policy: version 1}\n- - *one\n"
    )
    found = manifests.read_manifest_policies(twice, "all.yaml")[0]
    with pytest.raises(errors.InputError, match=r"all.yaml:7: an alias repeats the key `a.policy`"):
        manifests.rewrite_manifest_policies(twice, "all.yaml", [(found, "version 1\n")])
