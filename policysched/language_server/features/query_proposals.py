"""Proposals inside a query: PromQL words, series names, and params."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.syntax import syntax
from policysched.language_server.features import completion_words, proposals
from policysched.language_server.project import programs
from policysched.language_server.words import names
from policysched.promql import query_cursor, query_words


def _list_usable_query_params(
    program: programs.PolicyProgram, query: str
) -> Iterator[names.NameOccurrence]:
    """Yield the params that can follow `query`, the part of a query before the cursor."""
    is_range = query_cursor.is_inside_range(query)
    is_quoted = query_cursor.is_inside_string(query)
    for each in program.name_index.list_definitions("param"):
        kind = each.node.type.text if isinstance(each.node, syntax.Param) else ""
        if is_quoted or (kind == "duration" if is_range else kind != "string"):
            yield each


def propose_query_words(
    program: programs.PolicyProgram, text: str, start: int
) -> Iterator[proposals.CompletionProposal]:
    """Yield PromQL words, series names, and the params that a query can use."""
    written = program.check_result.texts[text].text
    query = written[written.rfind("`", 0, start) + 1 : start]
    if not query_cursor.is_inside_grouping(query):
        for each in _list_usable_query_params(program, query):
            doc = completion_words.format_definition(program, each)
            yield proposals.CompletionProposal(f"${each.symbol.name}", "name", "param", doc, rank=1)
    if written[start : start + 1] == "$" or not query_cursor.can_expression_follow(query):
        return
    for name in program.completion_words.series:
        yield proposals.CompletionProposal(
            name, "series", "series", program.completion_words.meanings.get(name, ""), rank=2
        )
    for name, detail in query_words.FUNCTIONS.items():
        yield proposals.CompletionProposal(name, "function", detail, rank=3)
    for name in query_words.KEYWORDS:
        yield proposals.CompletionProposal(name, "keyword", rank=4)
