from __future__ import annotations

import copy
import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import _resources
from policysched.lang import source, text_limits
from policysched.lang.formatting import formatter
from policysched.lang.interchange import syntax_node_kinds, tree_json, tree_text
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr
from tests import report_schemas
from tests.fmt import policy_trees
from tests.lang import ast_schema

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHIPPED = sorted(_resources.find_resource_folder("policies").glob("*.policy"))
FMT_CASES = sorted((ROOT / "fmt" / "cases").glob("*.policy"))
LANGUAGE_CASES = sorted((ROOT / "lang" / "cases").glob("*.policy"))
MUTANTS = 10_000


def _texts(path: pathlib.Path) -> list[str]:
    return [each for part in path.read_text("utf-8").split("\n---\n") for each in _parts(part)]


def _parts(text: str) -> list[str]:
    return text.split("\n# output\n")


def _document(text: str) -> dict[str, Any] | None:
    return tree_text.encode_policy_text(source.SourceText("x.policy", text)).document


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_places(each) for name, each in value.items() if name != "at"}
    return [_without_places(each) for each in value] if isinstance(value, list) else value


def _fits_schema(document: object) -> bool:
    return report_schemas.load_validator("ast").is_valid({"version": 1, "texts": [document]})


def test_the_schema_is_that_of_the_tree() -> None:
    """`python -m tests.lang.ast_schema` writes it anew when the tree changes."""
    assert ast_schema.PATH.read_text("utf-8") == ast_schema.text()


def test_kinds_tell_the_members_of_every_union_apart() -> None:
    """So an object says by its `kind` which node it is wherever it may stand."""
    for node_type in syntax_node_kinds.list_syntax_node_types():
        for hint in syntax_node_kinds.get_syntax_node_fields(node_type).values():
            members = [
                each
                for each in syntax_node_kinds.list_union_members(hint)
                if isinstance(each, type)
            ]
            kinds = [syntax_node_kinds.get_syntax_node_kind(each) for each in members]
            assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(
    "path",
    [*SHIPPED, *FMT_CASES, *LANGUAGE_CASES],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_a_text_comes_back_as_fmt_leaves_it(path: pathlib.Path) -> None:
    """Comments and blank lines included; and the tree of that is the same again."""
    for text in _texts(path):
        formatted = formatter.format_text(source.SourceText("x.policy", text)).text
        document = _document(text)
        assert (document is None) == (formatted is None)
        if document is None or formatted is None:
            continue
        assert _fits_schema(document)
        through_json = json.loads(json.dumps(document))
        assert tree_text.decode_policy_text(through_json).text == formatted
        again = _document(formatted)
        assert _without_places(again) == _without_places(document)
        assert _document(tree_text.decode_policy_text(again).text) == again


@given(st.lists(policy_trees.rules, min_size=1, max_size=3))
def test_every_tree_comes_back(rules: list[syntax.Statement]) -> None:
    """JSON to text to JSON is the same, for trees that nobody has written as text."""
    name = syntax_expr.Value(policy_trees.SPAN, "p")
    policy = syntax.Policy(policy_trees.SPAN, "policy", name, tuple(rules))
    document = {"items": [tree_json.encode_tree(policy, lambda _: {})]}
    text = tree_text.decode_policy_text(document)
    assert parser.parse_policy_text(text).file.items == (policy,)
    again = _document(text.text)
    assert again is not None
    assert _without_places(_bare(again["items"])) == _without_places(document["items"])


def _bare(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in each.items() if k not in ("before", "end")} for each in items]


def test_places_are_those_of_the_text() -> None:
    """Line, column and offsets, of a key of a manifest those in the file around it."""
    origin = source.Origin("cm.yaml", 5, 4)
    text = source.SourceText("cm.yaml[p]", "# é\npolicy p {\n  for pods\n}\n", origin)
    document = tree_text.encode_policy_text(text).document
    assert document is not None
    (policy,) = document["items"]
    assert policy["at"] == {"line": 6, "column": 5, "start": 4, "end": 27}
    assert policy["statements"][0]["at"]["line"] == 7


@pytest.mark.parametrize("text", ["call", "args", "not"])
def test_the_deepest_texts_go_both_ways(text: str) -> None:
    """As deep as the language allows is no deeper than JSON can say."""
    deep = text_limits.MAX_DEPTH // 2 - 2
    body = {
        "call": "policy p {\n  for pods\n  score "
        + "f(" * deep
        + "1"
        + ")" * deep
        + " weight 1\n}\n",
        "args": "profile p {\n  plugin X args {" + " a: {" * deep + "}" * deep + "}\n}\n",
        "not": "policy p {\n  for pods\n  reject when " + "not " * deep + "a missing allow\n}\n",
    }[text]
    document = _document(body)
    assert document is not None
    assert (
        tree_text.decode_policy_text(document).text
        == formatter.format_text(source.SourceText("x", body)).text
    )


# ---------------------------------------------------------------------------- what is refused

POLICY = """\
# about
let hot = 80%
policy p {
  for pods
  nodeAffinity required zone In (a, b) and not disk = hdd as near  # why
  reject when cpu > hot missing allow as busy
}
"""


def _changed(path: list[Any], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(_document(POLICY))
    assert document is not None
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


AFFINITY = ["items", 1, "statements", 1]
REFUSED = [
    pytest.param([], "$", "is not an object", id="no-object"),
    pytest.param(_changed(["nam"], "x"), "$", "has no field `nam`", id="field"),
    pytest.param(_changed(["items"], {}), "$.items", "is not a list", id="items"),
    pytest.param(
        _changed(["items", 0, "kind"], "lett"), "$.items[0].kind", "is `lett`, not", id="kind"
    ),
    pytest.param(_changed(["items", 0, "kind"], None), "$.items[0]", "lacks `kind`", id="no-kind"),
    pytest.param(_changed(["items", 0, "name"], None), "$.items[0]", "lacks `name`", id="lacks"),
    pytest.param(
        _changed(["items", 0, "name"], "hot"),
        "$.items[0].name",
        "is the text `hot`, not an object",
        id="type",
    ),
    pytest.param(
        _changed(["items", 0, "at"], 3), "$.items[0].at", "is a number, not an object", id="at"
    ),
    pytest.param(
        _changed([*AFFINITY, "strengh"], "x"),
        "$.items[1].statements[1]",
        "a `nodeAffinity` has no field `strengh` (did you mean `strength`?)",
        id="misspelt",
    ),
    pytest.param(
        _changed([*AFFINITY, "strength"], "must"),
        "$.items[1].statements[1].strength",
        "is `must`, not `required` or `preferred`",
        id="choice",
    ),
    pytest.param(
        _changed([*AFFINITY, "selector", "operands"], []),
        "$.items[1].statements[1].selector.operands",
        "has 0 items, but needs at least 2",
        id="too-few",
    ),
    pytest.param(
        _changed([*AFFINITY, "selector", "operands", 0, "values"], []),
        "$.items[1].statements[1]",
        "no policy text has this tree: ",
        id="no-values",
    ),
    pytest.param(
        _changed(["items", 1, "name", "text"], "a b"),
        "$.items[1]",
        "no policy text has this tree: ",
        id="blank",
    ),
    pytest.param(
        _changed(["items", 0, "name", "quoted"], 1),
        "$.items[0].name.quoted",
        "is a number, not true or false",
        id="bool",
    ),
    pytest.param(
        _changed([*AFFINITY, "behind"], "no comment"),
        "$.items[1].statements[1].behind",
        "is not a comment",
        id="comment",
    ),
    pytest.param(
        _changed(["items", 0, "before"], ["# a\npolicy q {}"]),
        "$.items[0].before[0]",
        "is not a comment",
        id="break-out",
    ),
    pytest.param(
        _changed(["items", 0, "before"], "#"),
        "$.items[0].before",
        "is not a list of lines",
        id="lines",
    ),
]


@pytest.mark.parametrize("document, path, problem", REFUSED)
def test_a_wrong_tree_is_refused_with_its_path(document: object, path: str, problem: str) -> None:
    """One error that says where in the JSON, and what is wrong there."""
    with pytest.raises(tree_json.InvalidSyntaxTreeError) as raised:
        tree_text.decode_policy_text(document)
    assert raised.value.path == path
    assert str(raised.value).startswith(problem)


def test_a_tree_that_is_too_deep_is_refused() -> None:
    """Before recursion could fail."""
    inner: dict[str, Any] = {"kind": "name", "name": {"kind": "word", "text": "a"}}
    for _ in range(2000):
        inner = {"kind": "negate", "operand": inner}
    item = {"kind": "let", "name": {"kind": "word", "text": "a"}, "expr": inner}
    with pytest.raises(tree_json.InvalidSyntaxTreeError, match="nested deeper than 64 levels"):
        tree_text.decode_policy_text({"items": [item]})


# ---------------------------------------------------------------------------- damaged documents


def _bases() -> list[dict[str, Any]]:
    texts = [text for path in [*LANGUAGE_CASES, *FMT_CASES] for text in _texts(path)]
    found = [_document(text) for text in texts if len(text) < 120]
    return [each for each in found if each is not None]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    steps = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for step in list(steps):
        yield value, step
        yield from _places(value[step])


_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, "", "a", "a b", '"', "`", "#", "\n", "\x00", "é"),
    *(
        [],
        {},
        [[]],
        {"kind": "word"},
        {"kind": "word", "text": "x"},
        {"kind": "numeral", "text": "5"},
    ),
    *("In", "policy", "required", "and", "{", "}", "0x", "\u2028", ["# a", ""], ["x"]),
)


def _mutate(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    damaged: dict[str, Any] = json.loads(json.dumps(document))
    for _ in range(rng.randint(1, 3)):
        places = list(_places(damaged))
        if not places:
            break
        holder, step = rng.choice(places)
        other, other_step = rng.choice(places)
        match rng.randrange(5):
            case 0:
                del holder[step]
            case 1:
                holder[step] = copy.deepcopy(rng.choice(_JUNK))
            case 2:
                holder[step] = copy.deepcopy(other[other_step])
            case 3 if isinstance(holder, dict):
                holder[rng.choice(["kind", "text", "at", "x", "before", "values"])] = holder.pop(
                    step
                )
            case _:
                holder[step] = [copy.deepcopy(holder[step])] * rng.randint(1, 3)
    return damaged


@pytest.mark.slow
def test_damaged_documents_are_refused_or_mean_what_they_say() -> None:
    """Ten thousand of them: a text whose tree is the document, or one error; never anything else.

    What the schema refuses is refused.
    """
    rng = random.Random(7)
    bases = _bases()
    accepted, told = 0, []
    for _ in range(MUTANTS):
        document = _mutate(rng.choice(bases), rng)
        try:
            text = tree_text.decode_policy_text(document)
        except tree_json.InvalidSyntaxTreeError as error:
            told.append((error.path, str(error)))
            continue
        accepted += 1
        if accepted % 10 == 0:
            items = [_stripped(each) for each in document.get("items", [])]
            wanted = tuple(tree_json.decode_tree(syntax.Item, each, "$") for each in items)
            assert parser.parse_policy_text(text).file.items == wanted
            assert _fits_schema(document)
    assert accepted > MUTANTS / 50
    assert all(path.startswith("$") and problem for path, problem in told)


def _stripped(item: dict[str, Any]) -> dict[str, Any]:
    names = ("before", "behind", "opening", "end")
    bare = {name: value for name, value in item.items() if name not in names}
    if isinstance(bare.get("statements"), list):
        inner = [{k: v for k, v in each.items() if k not in names} for each in bare["statements"]]
        bare["statements"] = inner
    return bare


def test_every_kind_is_on_the_page() -> None:
    """docs/ast.md names all kinds of nodes, and no others."""
    page = (ROOT.parent / "docs" / "ast.md").read_text("utf-8")
    rows = [
        line.split("|")[1].strip().strip("`")
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    assert sorted(rows) == sorted(
        {
            syntax_node_kinds.get_syntax_node_kind(each)
            for each in syntax_node_kinds.list_syntax_node_types()
        }
    )


def test_parentheses_that_fmt_keeps_come_back() -> None:
    """A program that rewrites policies does not lose them."""
    text = "policy a {\n  for pods where not (a = b)\n  reject when (label(x) else 0) > 5\n}\n"
    document = _document(text)
    assert document is not None
    assert tree_text.decode_policy_text(document).text == text
