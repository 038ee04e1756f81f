from __future__ import annotations

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from policysched import errors
from policysched.app import plain_yaml

PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def _load(text: str) -> plain_yaml.Value:
    return plain_yaml.load(text, "f.yaml").value


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
        pytest.param("a: 1\na: 2", "f.yaml:2:1: the key `a` is there twice", id="twice"),
        pytest.param("a: &x 1\nb: *x", "f.yaml:2:4: an alias is not supported", id="alias"),
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
        plain_yaml.load(text, "f.yaml")
    assert str(caught.value).startswith(message)


def test_each_value_knows_its_line() -> None:
    """A path leads to the line of its value, or of the nearest value around it."""
    document = plain_yaml.load("a:\n  b: 1\n  c:\n  - 1\n  - d: 2\ne: 3\n", "f.yaml")
    lines = [document.line(p) for p in [("a", "b"), ("a", "c", 1, "d"), ("e",), ("a", "c", 7)]]
    assert lines == [2, 5, 6, 4]
