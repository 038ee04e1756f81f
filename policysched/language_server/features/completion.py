"""Completion at the cursor: words of the language, names, and words of the cluster.

Words of the language are the terminals that the parser accepts at the cursor, except terminals that
are useless in the statement. All other proposals depend on the words before the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import syntax_words, vocabulary
from policysched.language_server.features import (
    completion_words,
    function_words,
    proposals,
    query_proposals,
)
from policysched.language_server.project import programs
from policysched.language_server.words import cursor_contexts, word_docs

_ONCE = frozenset({"description", "owner", "mode", "for"})
"""Statements that a policy can contain only once."""
MAX_ITEMS = 500
_STATEMENT_TERMINALS = frozenset(
    {
        *syntax_words.POLICY_STATEMENTS,
        *syntax_words.CLUSTER_STATEMENTS,
        *syntax_words.PROFILE_STATEMENTS,
    }
)
_CLAUSE_WORDS = frozenset(
    word
    for table in (syntax_words.CLAUSES, syntax_words.METRIC_OPTIONS)
    for words in table.values()
    for word in words
)
TRIGGERS = (" ", "(", ",", "=", ":", "$", "`", "[", '"')
"""Characters after which an editor requests completion automatically."""


def propose_completions(
    program: programs.PolicyProgram, text: str, offset: int
) -> proposals.CompletionProposals:
    """Return the completion proposals at an offset of a text."""
    context = cursor_contexts.find_cursor_context(program.get_lexeme_scan(text), offset)
    found = {each.text: each for each in _list_proposals(program, text, context, offset)}
    ordered = sorted(found.values(), key=lambda each: (each.rank, each.text))
    return proposals.CompletionProposals(context.start, context.end, tuple(ordered[:MAX_ITEMS]))


def _list_proposals(
    program: programs.PolicyProgram, text: str, context: cursor_contexts.CursorContext, offset: int
) -> Iterator[proposals.CompletionProposal]:
    """Yield the proposals for the kind of text at the cursor."""
    match context.inside:
        case "comment":
            yield from _propose_codes_to_ignore(program, text, offset)
        case "query":
            yield from query_proposals.propose_query_words(program, text, context.start)
        case "string":
            yield from completion_words.propose_string_content(program, context)
        case _:
            expected = list(completion_words.propose_expected_words(program, context))
            yield from expected
            if not completion_words.expects_only_names(context):
                yield from _propose_keywords(context)


def _propose_codes_to_ignore(
    program: programs.PolicyProgram, text: str, offset: int
) -> Iterator[proposals.CompletionProposal]:
    """Yield the codes for `ignore[…]`; codes of findings in the text rank first."""
    before = program.check_result.texts[text].text[:offset].rpartition("\n")[2]
    if before.rfind("ignore[") <= before.rfind("]"):
        return
    here = {each.code for each in program.lint_result.findings if each.span.file == text}
    for code, title in (diagnostics.CODES | diagnostics.LINT_CODES).items():
        yield proposals.CompletionProposal(code, "code", title, rank=0 if code in here else 5)


def _propose_keywords(
    context: cursor_contexts.CursorContext,
) -> Iterator[proposals.CompletionProposal]:
    """Yield the keywords and operators that the grammar accepts and the context permits."""
    for terminal in sorted(context.accepts):
        for word in syntax_words.KEYWORDS.get(terminal, ()):
            if _fits_context(context, terminal, word):
                is_operator = terminal in syntax_words.LABEL_OPERATORS
                yield proposals.CompletionProposal(
                    word,
                    "operator" if is_operator else "keyword",
                    doc=word_docs.describe_word(word, context.statement),
                    rank=2 if is_operator else _rank_keyword(context, word),
                )


def _fits_context(context: cursor_contexts.CursorContext, terminal: str, word: str) -> bool:
    """Return whether a word that the grammar accepts here is useful here."""
    if not _is_allowed_in_item(context, terminal, word):
        return False
    takes = syntax_words.ALLOWED_CLAUSES.get(_get_clause_table_key(context))
    starts_statement = terminal in _STATEMENT_TERMINALS and word not in (takes or ())
    if starts_statement and context.before and not _continues_statement(context, word):
        return context.is_first_on_line or context.get_preceding_word() in ("{", "}")
    if word not in _CLAUSE_WORDS or takes is None:
        return True
    used = {each.text for each in context.before}
    return word in takes and (word not in used or word == "missing")


def _is_allowed_in_item(context: cursor_contexts.CursorContext, terminal: str, word: str) -> bool:
    """Return whether `check` accepts a word in this item; the grammar alone is less strict."""
    if word == "version":
        return context.is_at_start
    if terminal == "_POD_VALUE":
        return context.domain == "node" and not function_words.find_function(context)
    if terminal == "_COUNT":
        return False  # proposed with the functions
    if word in _ONCE and terminal in _STATEMENT_TERMINALS:
        return word not in context.statements
    used = {each.text for each in context.before}
    if context.item == "metric" and word in ("node", "cluster"):
        is_option = "NAME" not in context.accepts
        return not is_option or used.isdisjoint({"node", "cluster"})
    is_about_clusters = context.item == "clusterPolicy"
    if "NAME" in context.accepts and terminal in ("NODE", "POD", "CLUSTER"):
        return context.item not in ("policy", "clusterPolicy") or (
            (terminal == "CLUSTER") == is_about_clusters
        )
    return True


def _continues_statement(context: cursor_contexts.CursorContext, word: str) -> bool:
    """Return whether a statement keyword continues this statement, as in `missing score`."""
    return (context.get_preceding_word(), word) in {("missing", "score"), ("by", "score")}


def _rank_keyword(context: cursor_contexts.CursorContext, word: str) -> int:
    return 3 if word in syntax_words.ALLOWED_CLAUSES.get(_get_clause_table_key(context), ()) else 4


def _get_clause_table_key(context: cursor_contexts.CursorContext) -> str:
    """Return the key under which the clauses of the statement are listed."""
    if context.item == "metric":
        return "metric"
    if context.enclosing[0] == "count":
        return "count"
    if (
        context.statement == "score"
        and context.get_preceding_word(len(context.before) - 1) in vocabulary.STRATEGIES
    ):
        return "score strategy"
    return context.statement
