from __future__ import annotations

import pathlib

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from policysched import errors
from policysched.inputs import plain_yaml, yaml_aliases

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def _load(text: str) -> plain_yaml.Value:
    return plain_yaml.load_yaml_document(text, "f.yaml").value


@hypothesis.given(PLAIN_VALUES, st.booleans())
def test_what_was_dumped_is_read_back(value: plain_yaml.Value, flow: bool) -> None:
    """Whatever PyYAML writes means the same when it is read here."""
    text = yaml.safe_dump(value, default_flow_style=flow)
    assert _load(text) == value


@pytest.mark.parametrize(
    "text, value",
    [
        pytest.param("a: 1", {"a": 1}, id="integer"),
        pytest.param("a: 1.5", {"a": 1.5}, id="float"),
        pytest.param("a: 'true'", {"a": "true"}, id="quoted"),
        pytest.param("a: true\nb: no", {"a": True, "b": "no"}, id="only-true-and-false-are-bools"),
        pytest.param("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}, id="null"),
        pytest.param("1: a", {"1": "a"}, id="keys-are-text"),
        pytest.param("a: 2026-01-05T12:00:00Z", {"a": "2026-01-05T12:00:00Z"}, id="time-is-text"),
        pytest.param("a: 12:30", {"a": "12:30"}, id="no-sexagesimal-numbers"),
        pytest.param("a: 1e3", {"a": "1e3"}, id="versions-of-yaml-disagree"),
        pytest.param("a: 017", {"a": "017"}, id="no-octal-numbers"),
        pytest.param("a: |\n  b: 1\n", {"a": "b: 1\n"}, id="block-of-text"),
        pytest.param("", None, id="empty"),
        pytest.param("---\n---\na: 1\n...\n", {"a": 1}, id="empty-document-before"),
    ],
)
def test_scalars(text: str, value: plain_yaml.Value) -> None:
    """Plain scalars become numbers only where no version of YAML reads them differently."""
    assert _load(text) == value


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param("a: [1", "f.yaml:2:1: not YAML: did not find expected", id="syntax"),
        pytest.param("a: 1\na: 2", "f.yaml:2:1: the key `a` appears twice", id="twice"),
        pytest.param("a: *x", "f.yaml:1:4: no anchor `&x` precedes", id="no-anchor"),
        pytest.param("&x [1, *x]", "f.yaml:1:8: the alias `*x` refers to itself", id="endless"),
        pytest.param("a: &x 1\n*x : 2", "f.yaml:2:1: a key must be plain text", id="alias-as-key"),
        pytest.param("&x a: 1", "f.yaml:1:1: an anchor of a key is not supp", id="anchor-of-key"),
        pytest.param("a: &x {b: 1}\nc: {<<: *x}", "f.yaml:2:5: a merge key (`<<`)", id="merge"),
        pytest.param("a: 1.0e+999", "f.yaml:1:4: the number `1.0e+999` is too", id="huge-number"),
        pytest.param('a: "b\\0"', "f.yaml:1:4: the text has a NUL character", id="nul"),
        pytest.param("a: !!python/name:os.system", "f.yaml:1:4: the tag `tag:yaml", id="tag"),
        pytest.param("? [a]\n: 1", "f.yaml:1:3: a key must be plain text", id="list-as-key"),
        pytest.param("[" * 200_000, "f.yaml:1:101: nested deeper than 100", id="deep-flow"),
        pytest.param("- " * 50_000, "f.yaml:1:201: nested deeper than 100", id="deep-block"),
        pytest.param("a: \x01", "f.yaml: not YAML: unacceptable character", id="control-sign"),
        pytest.param("a: 1\n---\nb: 1", "f.yaml: has 2 documents", id="two-documents"),
    ],
)
def test_bad_text_is_one_error_with_its_place(text: str, message: str) -> None:
    """What is no YAML, or too clever, is named with line and column."""
    with pytest.raises(errors.InputError) as caught:
        plain_yaml.load_yaml_document(text, "f.yaml")
    assert str(caught.value).startswith(message)


def test_each_value_knows_its_line() -> None:
    """A path leads to the line of its value, or of the nearest value around it."""
    document = plain_yaml.load_yaml_document("a:\n  b: 1\n  c:\n  - 1\n  - d: 2\ne: 3\n", "f.yaml")
    lines = [document.line(p) for p in [("a", "b"), ("a", "c", 1, "d"), ("e",), ("a", "c", 7)]]
    assert lines == [2, 5, 6, 4]


@pytest.mark.parametrize(
    "text, value",
    [
        pytest.param("a: &x 1\nb: *x", {"a": 1, "b": 1}, id="scalar"),
        pytest.param(
            "a: &x {b: [1]}\nc: [*x, 2]", {"a": {"b": [1]}, "c": [{"b": [1]}, 2]}, id="tree"
        ),
        pytest.param("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}, id="anchor-again"),
        pytest.param(
            "a: &x [1]\nb: &y [*x]\nc: *y", {"a": [1], "b": [[1]], "c": [[1]]}, id="nested"
        ),
        pytest.param('a: {"<<": 1}', {"a": {"<<": 1}}, id="quoted-merge-key"),
    ],
)
def test_an_alias_stands_for_a_copy(text: str, value: plain_yaml.Value) -> None:
    """What an alias repeats is there again, with the lines of its text, and shares nothing."""
    document = plain_yaml.load_yaml_document(text, "f.yaml")
    assert document.value == value
    (without_lines,) = plain_yaml.load_yaml_documents(text, "f.yaml")
    assert without_lines.value == value
    collections = [each for each in _values(document.value) if isinstance(each, list | dict)]
    assert len({id(each) for each in collections}) == len(collections)


def _values(value: plain_yaml.Value) -> list[plain_yaml.Value]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for one in inner for each in _values(one))]


def test_places_of_what_an_alias_repeats() -> None:
    """An error within it points at the text, and editors know that the text has several places."""
    document = plain_yaml.load_yaml_document("a: &x\n  b: 1\n  c: 2\nd: [*x]\ne: 3\n", "f.yaml")
    assert [document.line(path) for path in [("d", 0, "c"), ("d",), ("e",)]] == [3, 4, 5]
    aliased = [("a",), ("a", "b"), ("d",), ("d", 0, "c"), ()]
    assert [document.is_aliased(path) for path in aliased] == [True] * 5
    assert not document.is_aliased(("e",))


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            "x: &x [1, 2, 3, 4, 5, 6, 7, 8, 9]\ny: [" + "*x, " * 9_999 + "*x]\n",
            "",
            id="at-the-limit",
        ),
        pytest.param(
            "x: &x [1, 2, 3, 4, 5, 6, 7, 8, 9]\ny: [" + "*x, " * 10_000 + "*x]\n",
            "aliases expand to more than 100,000 values (replace the aliases by their values)",
            id="many",
        ),
        pytest.param(
            f"x: &x {'a' * 1_000_000}\ny: [{'*x, ' * 10}]\n",
            "aliases expand to more than 100,000 values (replace the aliases by their values)",
            id="long-text",
        ),
        pytest.param(
            "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200)),
            "aliases nest values deeper than 100 levels (replace the aliases by their values)",
            id="deep",
        ),
    ],
)
@pytest.mark.parametrize("with_lines", [False, True])
def test_what_aliases_stand_for_is_bounded(text: str, message: str, with_lines: bool) -> None:
    """A small text does not become a huge value; the limits are those of docs/security.md."""
    problem = ""
    try:
        list(plain_yaml.load_yaml_documents(text, "f.yaml", with_lines=with_lines))
    except errors.InputError as error:
        problem = str(error).partition(": ")[2]
    assert problem == message
    page = (pathlib.Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    assert f"{yaml_aliases.MAX_VALUES:,} values" in page


def test_documents_share_the_limit_of_aliases() -> None:
    """Many documents of one text are no way around it."""
    document = "x: &x [1, 2, 3, 4, 5, 6, 7, 8, 9]\ny: [" + "*x, " * 999 + "*x]\n"
    assert len(list(plain_yaml.load_yaml_documents("---\n".join([document] * 10), "f.yaml"))) == 10
    with pytest.raises(errors.InputError, match="more than 100,000 values"):
        list(plain_yaml.load_yaml_documents("---\n".join([document] * 11), "f.yaml"))


def test_octal_integers_of_kubernetes_objects_are_read_as_kubectl_reads_them() -> None:
    """Elsewhere they stay text, as do quoted ones and those with another digit."""
    text = "[010, -017, '010', 08, 010Mi, 0]"
    (read,) = plain_yaml.load_yaml_documents(text, "a.yaml", has_octals=True)
    assert read.value == [8, -15, "010", "08", "010Mi", 0]
    assert plain_yaml.load_yaml_document(text, "a.yaml").value == [
        "010",
        "-017",
        "010",
        "08",
        "010Mi",
        0,
    ]
