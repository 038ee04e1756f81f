"""Hover: documentation of words and codes, definitions of names, facts about labels."""

from __future__ import annotations

import dataclasses
import re

from policysched import errors
from policysched.lang.checked import checked_selector
from policysched.lang.diagnostics import diagnostic_pages, diagnostics
from policysched.lang.parsing import scanner
from policysched.lang.words import vocabulary as language_words
from policysched.language_server.features import completion_words, device_words, selector_matches
from policysched.language_server.project import programs
from policysched.language_server.words import names, vocabulary, word_docs
from policysched.promql import query_words

_MAX_VALUES = 10
_CODE = re.compile(r"\bPS\d{3}\b")
_QUERY_WORD = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")


@dataclasses.dataclass(frozen=True, slots=True)
class HoverContent:
    """The hover text, and the range of the policy text to which it applies."""

    start: int
    end: int
    markdown: str


def build_hover(program: programs.PolicyProgram, text: str, offset: int) -> HoverContent | None:
    """Return the hover content at an offset of a text, or None."""
    scan = program.get_lexeme_scan(text)
    comment = next((each for each in scan.comments if each.start <= offset <= each.end), None)
    if comment is not None:
        return _describe_diagnostic_code(comment, offset)
    named = program.name_index.find_name_at(text, offset)
    if named is not None and named.symbol.kind != "text":
        return HoverContent(named.span.start, named.span.end, _describe_name(program, named.symbol))
    lexeme = scan.find_lexeme_at(offset)
    if lexeme is None or not lexeme.start <= offset <= lexeme.end:
        lexeme = scan.find_lexeme_before(offset)
    if lexeme is None or not lexeme.start <= offset <= lexeme.end:
        return None
    if lexeme.kind in ("promql", "open_promql"):
        return _describe_query_word(program, lexeme, offset)
    return _describe_word(program, scan, lexeme)


def read_diagnostic_page(code: str) -> str:
    """Return the documentation of a diagnostic as Markdown, or "" without a page for the code."""
    if code not in diagnostics.CODES and code not in diagnostics.LINT_CODES:
        return ""
    try:
        return diagnostic_pages.read_diagnostic_code_page(code)
    except errors.MissingResourceError:
        return ""


def _describe_diagnostic_code(comment: scanner.Lexeme, offset: int) -> HoverContent | None:
    for match in _CODE.finditer(comment.text):
        start, end = comment.start + match.start(), comment.start + match.end()
        if start <= offset <= end and (shown := read_diagnostic_page(match.group())):
            return HoverContent(start, end, shown)
    return None


# ---------------------------------------------------------------------------- names


def _describe_name(program: programs.PolicyProgram, symbol: names.NamedSymbol) -> str:
    """Return the hover text of a name: its kind, facts, number of uses and definition."""
    definition = program.name_index.find_definition(symbol)
    if definition is None:
        return f"{symbol.kind} `{symbol.own_name}`: not defined"
    uses = len(program.name_index.find_occurrences(symbol)) - 1
    facts = [f"**{symbol.kind}** `{symbol.own_name}`", *_describe_symbol_facts(program, symbol)]
    facts.append(f"used {uses} time{'' if uses == 1 else 's'}")
    shown = completion_words.format_definition(program, definition)
    return ", ".join(facts) + f"\n\n{shown}"


def _describe_symbol_facts(program: programs.PolicyProgram, symbol: names.NamedSymbol) -> list[str]:
    """Return facts about a checked metric, param or policy; none while the program has errors."""
    checked = program.check_result.program
    if checked is None:
        return []
    if symbol.kind == "metric":
        metric = next((each for each in checked.metrics if each.name == symbol.name), None)
        if metric is not None:
            age = f"missing when older than {metric.max_age_seconds:g} s"
            return [f"in {metric.unit}", f"every {metric.refresh_seconds:g} s", age]
    if symbol.kind == "param":
        param = next((each for each in checked.params if each.name == symbol.name), None)
        if param is not None:
            return [param.type]
    if symbol.kind == "policy":
        return selector_matches.describe_policy_matches(program, symbol.name)
    return []


# ---------------------------------------------------------------------------- words


def _describe_query_word(
    program: programs.PolicyProgram, lexeme: scanner.Lexeme, offset: int
) -> HoverContent | None:
    """Return the documentation of the PromQL function or series at an offset."""
    for match in _QUERY_WORD.finditer(lexeme.text):
        start, end = lexeme.start + match.start(), lexeme.start + match.end()
        if start <= offset <= end:
            word = match.group()
            doc = query_words.FUNCTIONS.get(word) or program.completion_words.meanings.get(word, "")
            if not doc and word in program.known.words.series:
                doc = "a series that Prometheus has"
            return HoverContent(start, end, f"`{word}`: {doc}") if doc else None
    return None


def _describe_word(
    program: programs.PolicyProgram, scan: scanner.LexemeScan, lexeme: scanner.Lexeme
) -> HoverContent | None:
    """Return the documentation of a word, with the match count of its requirement."""
    before = scan.find_lexeme_before(lexeme.start)
    if before is not None and before.text == "(":
        function = scan.find_lexeme_before(before.start)
        device = device_words.describe_device_name(
            program.known.words, function.text if function else "", lexeme.text.strip('"')
        )
        if device:
            return HoverContent(lexeme.start, lexeme.end, device)
    doc = word_docs.describe_word(lexeme.text, before.text if before is not None else "")
    found = selector_matches.find_requirement(program, scan.source.name, lexeme.start)
    if found is None:
        return HoverContent(lexeme.start, lexeme.end, doc) if doc else None
    is_operator = lexeme.text in word_docs.OPERATORS
    is_function = lexeme.text in language_words.SELECTOR_FUNCTIONS
    lines = [doc] if doc and (is_operator or is_function) else []
    counted = selector_matches.describe_match_count(program, found)
    if counted:
        lines.append(f"`{selector_matches.extract_requirement_text(program, found)}`: {counted}")
    lines += _describe_label_requirement(program, found)
    start, end = (lexeme.start, lexeme.end) if is_operator else (found.span.start, found.span.end)
    return HoverContent(start, end, "\n\n".join(lines)) if lines else None


def _describe_label_requirement(
    program: programs.PolicyProgram, found: selector_matches.RequirementOccurrence
) -> list[str]:
    """Return the known values of the label in a requirement, as one line."""
    requirement = found.selector
    domain = _LABELLED.get(found.about)
    if not isinstance(requirement, checked_selector.LabelRequirement) or domain is None:
        return []
    values = program.known.words.get_labels(domain).get(requirement.key)
    if values is None:
        return []
    shown = ", ".join(f"`{each}`" for each in sorted(values)[:_MAX_VALUES])
    more = ", …" if len(values) > _MAX_VALUES else ""
    return [f"Values of `{requirement.key}` on the {found.about}: {shown}{more}"]


_LABELLED: dict[str, vocabulary.Domain] = {"nodes": "node", "clusters": "cluster"}
"""Selected objects -> the domain of their labels."""
