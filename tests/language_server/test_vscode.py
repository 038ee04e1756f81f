"""The extension folder agrees with the language, with the server and with itself.

`npm test` there tokenises policies with VS Code's own engine; here is what needs no Node.js.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from policysched.lang.words import syntax_words, vocabulary
from policysched.language_server.project import editor_settings
from policysched.promql import query_words

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "editors" / "vscode"
GRAMMARS = sorted((FOLDER / "syntaxes").glob("*.json"))
WORDS = sorted({word for words in syntax_words.KEYWORDS.values() for word in words})


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def _patterns(node: Any) -> Iterator[str]:
    """Yield every regular expression of a grammar."""
    if isinstance(node, dict):
        yield from (node[key] for key in ("match", "begin", "end", "while") if key in node)
        for value in node.values():
            yield from _patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from _patterns(value)


def _rules(name: str) -> list[dict[str, Any]]:
    """Return the rules of a part of the grammar of policies."""
    part = _read("syntaxes/policysched.tmLanguage.json")["repository"][name]
    rules: list[dict[str, Any]] = part.get("patterns", [part])
    return rules


def _matching(word: str, *names: str) -> list[str]:
    """Return the scopes that a word has as a whole."""
    return [
        rule["name"] for name in names for rule in _rules(name) if re.fullmatch(rule["match"], word)
    ]


@pytest.mark.parametrize("path", GRAMMARS, ids=lambda path: path.name)
def test_patterns_are_sound(path: pathlib.Path) -> None:
    """Every pattern compiles, and none matches nothing, which would stall an editor."""
    patterns = list(_patterns(json.loads(path.read_text(encoding="utf-8"))))
    assert patterns
    for pattern in patterns:
        is_end = pattern in ('"|$', "`") or pattern.startswith("^(?:")
        # Oniguruma lets the condition of `while` refer to groups of `begin`.
        compiled = re.compile(pattern.replace(r"\1", " "))
        assert is_end or compiled.fullmatch("") is None, pattern


@pytest.mark.parametrize("word", WORDS)
def test_every_keyword_has_a_colour(word: str) -> None:
    """No word of the grammar is left out, and none is coloured in two ways."""
    assert len(_matching(word, "operator", "keyword")) == 1


@pytest.mark.parametrize("word", ["Inn", "weight50", "my-policy", "example.com/policy", "score.x"])
def test_a_longer_word_is_no_keyword(word: str) -> None:
    """Keywords end where a word ends, as in the grammar of the language."""
    patterns = [rule["match"] for name in ("operator", "keyword") for rule in _rules(name)]
    assert not any(re.search(pattern, word) for pattern in patterns)


def test_vocabulary_and_queries_have_colours() -> None:
    """Functions, units, fixed values, and words of PromQL."""
    functions = {*vocabulary.FUNCTIONS, *vocabulary.STRATEGIES, *vocabulary.NORMALIZATIONS}
    functions |= {*vocabulary.SELECTOR_FUNCTIONS, *vocabulary.POD_VALUE_FUNCTIONS} - {"tainted"}
    [function] = _rules("function")
    assert [each for each in functions if not re.match(function["match"], f"{each}(")] == []
    values = {*vocabulary.WHEN_UNSATISFIABLE, *vocabulary.TAINT_EFFECTS, *vocabulary.DIRECTIONS}
    values |= {*vocabulary.EXPRESSION_FIELDS, *vocabulary.ELAPSED_TIMES}
    assert [each for each in values if not _matching(each, "constant")] == []
    query = {rule["name"]: rule["match"] for rule in _rules("query")}
    known = query["support.function.promql"]
    assert [each for each in query_words.FUNCTIONS if not re.match(known, f"{each}(")] == []
    definitions = [rule["match"] for rule in _rules("definition")]
    for unit in vocabulary.PARAM_TYPES:
        assert any(re.match(each, f"param x: {unit}") for each in definitions)


def test_the_package_names_files_that_are_there() -> None:
    """Grammars, snippets, configuration and the client."""
    package = _read("package.json")
    given = package["contributes"]
    named = [package["main"], *(each["path"] for each in (*given["grammars"], *given["snippets"]))]
    named += [each["configuration"] for each in given["languages"]]
    assert [path for path in named if not (FOLDER / path).is_file()] == []
    scopes = {_read(each["path"])["scopeName"] for each in given["grammars"]}
    assert scopes == {each["scopeName"] for each in given["grammars"]}
    assert given["languages"][0]["extensions"] == [".policy"]


def test_settings_are_those_of_the_server() -> None:
    """Each setting of the server but the delay can be set in VS Code, with the same default."""
    properties = _read("package.json")["contributes"]["configuration"]["properties"]
    offered = {name.removeprefix("policysched.") for name in properties} - {"command"}
    known = {field.encode_name for field in msgspec.structs.fields(editor_settings.EditorSettings)}
    assert offered == known - {"delayMilliseconds"}
    defaults = {name: properties[f"policysched.{name}"]["default"] for name in offered}
    assert editor_settings.decode_settings(defaults) == editor_settings.DecodedSettings(
        editor_settings.EditorSettings()
    )
    client = (FOLDER / "client" / "extension.js").read_text(encoding="utf-8")
    assert [name for name in offered if f'"{name}"' not in client] == []


def test_snippets_are_policies() -> None:
    """Each begins with a word of the language."""
    for snippet in _read("snippets/policysched.json").values():
        body = snippet["body"]
        first = body if isinstance(body, str) else body[0]
        assert first.split()[0] in WORDS


def test_the_lock_pins_by_hash_and_names_no_address() -> None:
    """Whoever installs decides where from."""
    lock = _read("package-lock.json")
    assert "://" not in json.dumps({**lock, "packages": _without_funding(lock["packages"])})
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert packages
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    declared = _read("package.json")
    for name, version in (declared["dependencies"] | declared["devDependencies"]).items():
        assert packages[f"node_modules/{name}"]["version"] == version


def _without_funding(packages: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in each.items() if key != "funding"}
        for name, each in packages.items()
    }
