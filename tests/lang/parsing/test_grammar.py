from __future__ import annotations

import json
import pathlib

import pytest

from policysched import _resources
from policysched.lang import source
from policysched.lang.parsing import build, lark_frontend, parser
from policysched.lang.words import syntax_words

GRAMMAR = _resources.read_resource_text("grammar", lark_frontend.GRAMMAR_FILE)
POLICIES = sorted(_resources.find_resource_folder("policies").glob("*.policy"))


@pytest.mark.slow
def test_the_shipped_table_is_that_of_the_grammar() -> None:
    """A stale table is rebuilt at every start; `lark_frontend` as a program writes a new one."""
    shipped = json.loads(_resources.read_resource_text("grammar", lark_frontend.TABLES_FILE))
    fresh = json.loads(lark_frontend.make_parser_table_content(GRAMMAR))
    assert shipped["made_from"] == fresh["made_from"]


def test_the_grammar_is_free_of_conflicts_and_of_colliding_terminals() -> None:
    """LALR(1) without conflicts; Lark's strict mode proves that no two terminals match alike."""
    lark_frontend.build_parser(GRAMMAR, strict=True)


@pytest.mark.slow
def test_a_stale_table_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that was made from another grammar never decides what the language is."""
    expected = lark_frontend.parse_text_slice("version 1", 0, 9)
    monkeypatch.setattr(
        _resources,
        "read_resource_text",
        lambda _folder, name: GRAMMAR if name.endswith(".lark") else '{"made_from": "another"}',
    )
    lark_frontend.get_parser.cache_clear()
    try:
        assert lark_frontend.parse_text_slice("version 1", 0, 9) == expected
    finally:
        lark_frontend.get_parser.cache_clear()


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_items_parsed_one_by_one_are_the_text_parsed_at_once(path: pathlib.Path) -> None:
    """Cutting a text into items changes nothing about it."""
    text = source.SourceText(path.name, path.read_text(encoding="utf-8"))
    tree = lark_frontend.parse_text_slice(text.text, 0, len(text.text))
    at_once = lark_frontend.transform_parse_tree(tree, build.PolicyTreeBuilder(text).visit)
    assert parser.parse_policy_text(text).file.items == at_once


def test_every_keyword_of_the_grammar_is_known_to_the_messages() -> None:
    """A keyword that the messages do not know would be shown by its internal name."""
    terminals = {terminal.name for terminal in lark_frontend.get_parser().terminals}
    unknown = terminals - syntax_words.KEYWORDS.keys() - syntax_words.SIGNS.keys()
    assert unknown == {"COMMENT", "WHITESPACE"}
    assert syntax_words.KEYWORDS.keys() <= terminals


def test_every_rule_of_the_grammar_has_a_builder() -> None:
    """The tree builder has a method for each rule or alias that Lark may call."""
    names = {
        rule.alias or rule.options.template_source or str(rule.origin.name)
        for rule in lark_frontend.get_parser().rules
    }
    visible = {name for name in names if not name.startswith("_")}
    inlined = {"word", "selector", "expr"}
    assert [name for name in visible - inlined if not hasattr(build.PolicyTreeBuilder, name)] == []
