"""Places, edits and policies inside of documents."""

from __future__ import annotations

import random

import pytest

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.language_server.texts import (
    differences,
    documents,
    embedded_policies,
    manifests,
    positions,
)

SIGNS = ("a", "é", "中", "🚀", "\u2028", "\x0b", "\t", "\n", "\r\n", "\r")


@pytest.mark.parametrize("encoding, unit", [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)], ids=str)
def test_units_of_a_line_depend_on_the_encoding(encoding: str, unit: int) -> None:
    """An astral character has 4, 2 or 1 units; a place inside of it is its beginning."""
    index = positions.LineIndex("x\na🚀b", positions.PositionEncoding(encoding))
    assert index.find_position(4) == (1, unit)
    assert index.find_offset(1, unit) == 4
    assert index.find_offset(1, unit - 1) == 3
    assert index.find_offset(1, 99) == 5
    assert index.find_offset(9, 0) == 5


@pytest.mark.parametrize("encoding", positions.PositionEncoding)
def test_places_go_there_and_back(encoding: positions.PositionEncoding) -> None:
    """Every offset outside of a line end comes back as it was; lines end as the protocol says."""
    rng = random.Random(3)
    for _ in range(200):
        text = "".join(rng.choice(SIGNS) for _ in range(rng.randint(0, 30)))
        index = positions.LineIndex(text, encoding)
        assert index.line_count == len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        for offset in range(len(text) + 1):
            if text[offset - 1 : offset + 1] != "\r\n":
                assert index.find_offset(*index.find_position(offset)) == offset


def test_incremental_changes_are_those_of_the_text() -> None:
    """Random edits, told as an editor tells them, leave the text that they leave in a string."""
    rng = random.Random(5)
    document = documents.EditorDocument("a.policy", "", encoding=positions.PositionEncoding.UTF_16)
    for version in range(300):
        index = document.line_index
        start, end = sorted(rng.randint(0, len(document.text)) for _ in range(2))
        if "\r\n" in (document.text[start - 1 : start + 1], document.text[end - 1 : end + 1]):
            continue  # no editor has a cursor inside of a line end
        new = "".join(rng.choice(SIGNS) for _ in range(rng.randint(0, 5)))
        expected = document.text[:start] + new + document.text[end:]
        change = documents.ContentChange(new, index.find_position(start), index.find_position(end))
        document = document.apply_changes([change], version)
        assert document.text == expected


@pytest.mark.parametrize(
    "before, after",
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nc\n", "a\nb\nc\n"),
        ("a", "a\n"),
        ("a\n", "a"),
        ("a\n\n\n", "a\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("a\nb", "b"),
        ("a\nb", "a"),
    ],
)
def test_differences_make_one_text_of_another(before: str, after: str) -> None:
    """Edits of whole lines, at the beginning, in the middle and at the end."""
    text = source.SourceText("x", before)
    document = documents.EditorDocument("x", before)
    part = embedded_policies.EmbeddedPolicy.embed_whole_document(text)
    edits = [
        part.convert_edit_to_document(each) for each in differences.compute_text_edits(text, after)
    ]
    assert document.apply_edits(edits) == after


HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n"


@pytest.mark.parametrize(
    "yaml, texts",
    [
        (HEAD + "  a.policy: |\n    x\n      y\n\n    z\n", ["x\n  y\n\nz\n"]),
        (HEAD + "  a.policy: |-\n    x\n", ["x"]),
        (HEAD + "  a.policy: |+\n    x\n\n", ["x\n\n\n"]),
        (HEAD + "  a.policy: |2 # two further in\n      x\n    y\n", ["  x\ny\n"]),
        (HEAD + "  'a.policy': |\n    x\n  b.policy: |\n   y\n  c.txt: |\n    z\n", ["x\n", "y\n"]),
        (HEAD + "  c.txt: |\n    d.policy: |\n      z\n", []),
        (HEAD + "  a.policy: |\n", []),
        ("kind: Secret\ndata:\n  a.policy: |\n    x\n", []),
        ("metadata:\n  a.policy: |\n    x\nkind: ConfigMap\n", []),
        (
            "kind: Secret\n---\n" + HEAD + "  a.policy: |\r\n    x\r\n    y\r\n---\nkind: X\n",
            ["x\ny\n"],
        ),
        ("kind: List\nitems:\n- kind: ConfigMap\n  data:\n    a.policy: |\n      x\n", ["x\n"]),
        ("}{ broken: [\n" + HEAD + "  a.policy: |\n    x\n", ["x\n"]),
    ],
)
def test_policies_of_a_manifest_are_found(yaml: str, texts: list[str]) -> None:
    """Literal blocks below `data` of a ConfigMap, also where the rest is no YAML."""
    found, _ = manifests.find_embedded_policies("m.yaml", yaml)
    assert [part.text.text for part in found] == texts


def test_keys_of_other_styles_are_told() -> None:
    """A folded or quoted text cannot be mapped; its key is told apart."""
    yaml = HEAD + '  a.policy: >\n    x\n  b.policy: "y"\n'
    found, unread = manifests.find_embedded_policies("m.yaml", yaml)
    assert found == []
    assert [(each.key, yaml[each.start : each.end]) for each in unread] == [
        ("a.policy", "a.policy"),
        ("b.policy", "b.policy"),
    ]


@pytest.mark.parametrize(
    "yaml, keys",
    [
        (HEAD.replace("data:", "data: &d") + "  a.policy: |\n    x\nother: *d\n", ["a.policy"]),
        (
            "items:\n- &m\n  kind: ConfigMap\n  data:\n    a.policy: |\n      x\n- *m\n",
            ["a.policy"],
        ),
        (HEAD + "  a.policy: &t |\n    x\n  b.policy: *t\n", ["a.policy", "b.policy"]),
        (HEAD.replace("data:", "data: &d") + "  a.policy: |\n    x\n", []),
    ],
)
def test_texts_that_an_alias_repeats_are_not_edited(yaml: str, keys: list[str]) -> None:
    """Their keys are told apart; an anchor without an alias is none."""
    found, unread = manifests.find_embedded_policies("m.yaml", yaml)
    assert [each.key for each in unread] == keys
    assert len(found) == (0 if keys else 1)


POLICY = 'policy web {\n  for pods where app = web\n\n  description "🚀"\n}\n'
MANIFEST = (
    HEAD
    + "  a.policy: |\n"
    + "".join(f"    {line}\n" if line else "\n" for line in POLICY.splitlines())
    + "  z: 1\n"
)


def test_places_in_a_manifest_go_there_and_back() -> None:
    """Every offset of a policy is a place of its document, and comes back."""
    [part] = documents.EditorDocument("m.yaml", MANIFEST).policies
    assert part.text.text == POLICY
    for offset in range(len(POLICY)):
        place = part.map_to_document(offset)
        assert part.map_to_text(place) == offset
        if POLICY[offset] != "\n":
            assert MANIFEST[place] == POLICY[offset]
    assert part.map_to_text(MANIFEST.index("a.policy")) is None
    assert part.map_to_text(MANIFEST.index("z: 1")) is None


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(
    "find, new",
    [
        ("web {", "api {"),
        ("  description", '  owner "x"\n  description'),
        ("  for pods where app = web\n", ""),
        ("\n\n", "\n"),
        ("\n  description", "  mode shadow\n\n  description"),
        ("}\n", "}\n\npolicy other {\n}\n"),
        ("policy web", "# a comment\n\npolicy web"),
        (POLICY, "let x = 5\n"),
    ],
)
def test_edits_in_a_manifest_keep_its_indentation(find: str, new: str, line_end: str) -> None:
    """After an edit the manifest holds the edited policy, and all else is as it was."""
    document = documents.EditorDocument("m.yaml", MANIFEST.replace("\n", line_end))
    [part] = document.policies
    start = POLICY.index(find)
    edit = diagnostics.TextEdit(part.text.span(start, start + len(find)), new)
    after = document.apply_edits([part.convert_edit_to_document(edit)])
    assert after.count("\n") == after.count(line_end)
    after = after.replace(line_end, "\n")
    [part_after] = documents.EditorDocument("m.yaml", after).policies
    assert part_after.text.text == POLICY.replace(find, new, 1)
    assert after.startswith(HEAD + "  a.policy: |\n")
    assert after.endswith("\n  z: 1\n")
