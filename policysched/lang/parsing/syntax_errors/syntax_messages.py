"""Choose the message and the fix for a syntax error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched import control_characters, spelling
from policysched.lang import source
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.foreign import foreign_words
from policysched.lang.parsing import scanner
from policysched.lang.parsing.syntax_errors import (
    fault_place,
    foreign_comments,
    sign_messages,
    syntax_idioms,
)
from policysched.lang.words import characters, kubernetes_names, syntax_words, vocabulary

_MAX_EXPECTED = 7
_OPERATOR_HELP = "operators are In, NotIn, Exists, DoesNotExist, Gt, Lt (also =, !=, >=, <=)"
_TAINT_HELP = "taint patterns are `key`, `key=value`, `key Gt 5` and `key Lt 5`"
_AMOUNT_WORDS = frozenset({"weight", "maxSkew", "minDomains", "minGroups", "maxGroups", "over"})
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "=", "==", "!="})
_CLUSTER_CLAUSES = frozenset({"MIN_GROUPS", "MAX_GROUPS", "CLUSTER"})
_OTHER_HOMES = frozenset({"metric", "clusterAffinity", "spreadConstraint"})
_SELECTING = frozenset({"for", "nodeAffinity required", "nodeAffinity preferred"})
_LITERAL_KINDS = {"string": "a string", "promql": "a query"}


def diagnose_syntax_error(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic:
    """Return the first diagnostic that applies, in the order of `_diagnose_by_first_match`.

    A fix stays safe only if the parser accepts the statement after the fix.
    """
    found, text = _diagnose_by_first_match(place), place.scan.source
    if found.fix is None:
        return found
    fix = fixes.pad_fix_with_blanks(found.fix, {text.name: text})
    is_safe = fix.safe and syntax_idioms.does_fixed_statement_parse(place, fix)
    return dataclasses.replace(found, fix=dataclasses.replace(fix, safe=is_safe))


def _diagnose_by_first_match(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic:
    """Return the first diagnostic that applies; by default, list the expected words."""
    for message in (
        _diagnose_foreign_character,
        foreign_comments.diagnose_foreign_comment,
        _diagnose_manifest_word,
        sign_messages.diagnose_effect_without_key,
        _diagnose_continued_selector,
        syntax_idioms.diagnose_foreign_idiom,
        sign_messages.diagnose_exclamation_mark,
        sign_messages.diagnose_foreign_sign,
        sign_messages.diagnose_unquoted_colon,
        _diagnose_comma_for_and,
        _diagnose_chained_comparison,
        _diagnose_keyword_as_amount,
        _diagnose_name_without_quotes,
        syntax_idioms.diagnose_missing_word,
        _diagnose_misspelt_keyword,
        _diagnose_stray_strength,
        _diagnose_misplaced_statement,
        _diagnose_clause_without_statement,
        _diagnose_missing_operator,
        _diagnose_missing_statement,
    ):
        found = message(place)
        if found is not None:
            return found
    return _diagnose_expected_words(place)


def _make_replacement_fix(span: source.Span, text: str, *, safe: bool) -> diagnostics.Fix:
    return diagnostics.Fix((diagnostics.TextEdit(span, text),), safe=safe)


def _diagnose_foreign_character(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a no-break space, a Cyrillic letter that looks Latin, or a typographic quote."""
    text = place.scan.source.text
    if place.offset >= place.chunk.end:
        return None
    if text[place.offset].isascii() and not control_characters.is_control_character(
        text[place.offset]
    ):
        return None
    start, end = characters.find_word_around(text, place.offset)
    span = place.scan.source.span(place.offset, place.offset + 1)
    ours = characters.replace_lookalikes(text[start:end])
    described = characters.describe_character(text[place.offset])
    advice, fix = "remove it, or put it between quotes if it is text", None
    if ours.isascii():
        whole = place.scan.source.span(start, end)
        plain = f"`{ours}`" if ours.strip() else "a space"
        advice = f"write {plain}"
        edits = (diagnostics.TextEdit(whole, ours),)
        fix = diagnostics.Fix(edits, safe=False, title=f"Replace {described} with {plain}")
    return diagnostics.Diagnostic(
        "PS003",
        f"{described} is not a character of this language",
        span,
        notes=("names, words and symbols are ASCII; strings and comments can contain any text",),
        help=advice,
        fix=fix,
    )


def _diagnose_manifest_word(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a word of Kubernetes manifests at or before the place."""
    for lexeme in (place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)):
        if lexeme is None or lexeme.text not in foreign_words.KUBERNETES_WORDS:
            continue
        ours = foreign_words.KUBERNETES_WORDS[lexeme.text]
        span = place.scan.source.span(lexeme.start, lexeme.end)
        return diagnostics.Diagnostic(
            "PS002",
            f"`{lexeme.text}` is a word from Kubernetes manifests",
            span,
            label=f"here it is `{ours}`" if ours else "not needed here",
            help=f"write `{ours}`"
            if ours
            else "write the requirement itself: `key In (a, b)`, `key Exists`",
            fix=_make_manifest_word_fix(place, lexeme, ours),
        )
    return None


def _make_manifest_word_fix(
    place: fault_place.ErrorPosition, word: scanner.Lexeme, ours: str
) -> diagnostics.Fix:
    """Return the fix that replaces a word of manifests, including a colon after it.

    The fix is safe if the parser stopped at the word and accepts the replacement there, and the
    replacement has the same meaning. A word before that place can be a label key.
    """
    after = place.scan.find_lexeme_at(word.end)
    end = after.end if after is not None and after.text == ":" else word.end
    is_ours = (
        word == place.lexeme_at_error and ours.split(" ", maxsplit=1)[0] in place.accepted_keywords
    )
    is_safe = is_ours and word.text not in foreign_words.NOT_THE_SAME
    return _make_replacement_fix(place.scan.source.span(word.start, end), ours, safe=is_safe)


def _diagnose_continued_selector(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose `zone = a` on the line after `nodeAffinity required disk = ssd`."""
    found, before = place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)
    if found is None or before is None or found.kind != "word" or "_AND" not in place.accepts:
        return None
    sign = place.scan.find_lexeme_at(found.end)
    if not place.scan.is_first_on_line(found.start) or not place.is_possible_statement_start:
        return None
    if (
        place.statement_and_strength not in _SELECTING
        or sign is None
        or sign.text not in ("=", "==", "!=")
    ):
        return None
    value = place.scan.find_lexeme_at(sign.end)
    if value is None or value.text[0].isdigit():  # `limit = 2` defines a name
        return None
    return diagnostics.Diagnostic(
        "PS001",
        f"expected `and` before `{found.text}`",
        place.span,
        notes=("requirements of one selector must be joined, even on separate lines",),
        help=f"write `and {found.text}`",
        fix=_make_replacement_fix(place.span, f"and {found.text}", safe=False),
    )


def _diagnose_comma_for_and(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a comma between conditions, where `and` is needed."""
    if (
        place.lexeme_at_error is None
        or place.lexeme_at_error.text != ","
        or "_AND" not in place.accepts
    ):
        return None
    after = place.scan.find_lexeme_at(place.lexeme_at_error.end)
    starts = place.scan.find_statement_starts(place.chunk)
    is_last = after is None or after.text in ("}", ")") or after.start in starts
    return diagnostics.Diagnostic(
        "PS003",
        "`,` does not join conditions",
        place.span,
        help="remove it, or add the missing part after it" if is_last else "write `and`",
        fix=_make_replacement_fix(place.span, "" if is_last else " and", safe=False),
    )


def _diagnose_chained_comparison(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a comparison with a third side, such as `1 < x < 2`."""
    found = place.lexeme_at_error
    if found is None or found.text not in _COMPARISONS or "_AND" not in place.accepts:
        return None
    return diagnostics.Diagnostic(
        "PS001",
        f"a comparison has two sides; `{found.text}` begins a third",
        place.span,
        help="write two comparisons joined by `and`",
    )


def _diagnose_keyword_as_amount(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose `maxSkew whenUnsatisfiable x`, where the parser read the keyword as a number."""
    name = place.scan.find_lexeme_before(place.offset)
    keyword = place.scan.find_lexeme_before(name.start) if name else None
    if (
        name is None
        or keyword is None
        or name.kind != "word"
        or name.text not in syntax_words.CLAUSE_WORDS
    ):
        return None
    if keyword.text not in _AMOUNT_WORDS:
        return None
    return diagnostics.Diagnostic(
        "PS001",
        f"expected a number after `{keyword.text}`, not `{name.text}`",
        place.scan.source.span(name.start, name.end),
    )


def _diagnose_name_without_quotes(
    place: fault_place.ErrorPosition,
) -> diagnostics.Diagnostic | None:
    """Diagnose `free(nvidia.com/gpu)`, where an unquoted name ends at the first dot."""
    found = place.lexeme_at_error
    if found is None or found.kind != "word" or found.start >= place.offset:
        return None
    if not found.text[0].isalpha():
        return None
    opening = place.scan.find_lexeme_before(found.start)
    function = (
        place.scan.find_lexeme_before(opening.start) if opening and opening.text == "(" else None
    )
    is_argument = opening is not None and opening.text in ("(", ",")
    call = f'{function.text}("{found.text}")' if function else f'"{found.text}"'
    return diagnostics.Diagnostic(
        "PS001",
        f"`{found.text}` needs quotes in an expression",
        place.span,
        notes=("names in expressions consist of letters, digits and `_`",),
        help=f"write `{call}`" if is_argument else f'for a label, write `label("{found.text}")`',
        fix=_make_quotes_fix(place, found) if is_argument else None,
    )


def _make_quotes_fix(place: fault_place.ErrorPosition, name: scanner.Lexeme) -> diagnostics.Fix:
    """Return the fix that quotes a name; it is safe only in functions that take names."""
    depth = 0
    for lexeme in reversed(place.scan.list_lexemes_between(place.chunk.start, name.start)):
        depth += (lexeme.text == ")") - (lexeme.text == "(")
        if depth < 0:
            function = place.scan.find_lexeme_before(lexeme.start)
            return _make_replacement_fix(
                place.span, f'"{name.text}"', safe=_does_function_accept_name(function, name)
            )
    return _make_replacement_fix(place.span, f'"{name.text}"', safe=False)


def _does_function_accept_name(function: scanner.Lexeme | None, name: scanner.Lexeme) -> bool:
    """Return whether the function takes names and Kubernetes accepts the name."""
    if function is None or function.text not in vocabulary.TAKING_NAMES:
        return False
    is_key = function.text in ("label", "annotation")
    problem = (
        kubernetes_names.find_label_key_problem
        if is_key
        else kubernetes_names.find_resource_name_problem
    )
    return not problem(name.text)


def _diagnose_stray_strength(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose `nodeAffinity required a = b` and, on the next line, `preferred c = d`."""
    found = place.lexeme_at_error
    if found is None or found.kind != "word" or not place.is_possible_statement_start:
        return None
    near = spelling.find_nearest_names(found.text, syntax_words.STRENGTHS["STRENGTH"])
    keyword = place.statement_and_strength.split(" ")[0]
    if not near or f"{keyword} {near[0]}" not in syntax_words.ALLOWED_CLAUSES:
        return None
    return diagnostics.Diagnostic(
        "PS001",
        f"`{found.text}` does not begin a statement",
        place.span,
        help=f"write `{keyword} {near[0]}`; each term is a separate statement",
    )


def _diagnose_misspelt_keyword(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a word that is similar to an accepted keyword."""
    suggestions = place.similar_keywords
    if not suggestions or place.lexeme_at_error is None:
        return None
    nearest = suggestions[0]
    is_operator = (nearest,) in syntax_words.LABEL_OPERATORS.values()
    return diagnostics.Diagnostic(
        "PS001",
        f"`{place.lexeme_at_error.text}` is not {_describe_keyword_kind(nearest)}",
        place.span,
        label=spelling.suggest_names(place.lexeme_at_error.text, suggestions),
        help=_OPERATOR_HELP if is_operator else f"write `{nearest}`",
        fix=fixes.make_respelling_fix(
            place.span, place.lexeme_at_error.text, nearest, place.accepted_keywords
        ),
    )


def _describe_keyword_kind(word: str) -> str:
    """Return the kind of a keyword in words, for messages."""
    kinds = (
        (syntax_words.LABEL_OPERATORS, "a label operator"),
        (syntax_words.STRENGTHS, "`required` or `preferred`"),
        (syntax_words.POLICY_STATEMENTS, "a statement"),
        (syntax_words.CLUSTER_STATEMENTS, "a statement"),
        (syntax_words.PROFILE_STATEMENTS, "a statement"),
        (syntax_words.CLAUSES, "a clause"),
        (syntax_words.METRIC_OPTIONS, "an option of a metric"),
        (syntax_words.ITEMS, "an item of a policy text"),
    )
    for words, kind in kinds:
        if any(word in spelled for spelled in words.values()):
            return kind
    return "a word that is allowed here"


def _diagnose_misplaced_statement(
    place: fault_place.ErrorPosition,
) -> diagnostics.Diagnostic | None:
    """Diagnose a statement that belongs in another kind of block."""
    if place.lexeme_at_error is None or not place.is_possible_statement_start:
        return None
    homes = (
        ("a policy", syntax_words.POLICY_STATEMENTS),
        ("a clusterPolicy", syntax_words.CLUSTER_STATEMENTS),
        ("a profile", syntax_words.PROFILE_STATEMENTS),
        ("a text, outside of policies and profiles", syntax_words.ITEMS),
    )
    belongs = [
        home
        for home, words in homes
        if any(place.lexeme_at_error.text in each for each in words.values())
    ]
    if not belongs:
        return None
    return diagnostics.Diagnostic(
        "PS108",
        f"`{place.lexeme_at_error.text}` does not belong in a {place.chunk.word}",
        place.span,
        help=f"it belongs in {spelling.join_alternatives(belongs)}",
    )


def _diagnose_clause_without_statement(
    place: fault_place.ErrorPosition,
) -> diagnostics.Diagnostic | None:
    """Diagnose `during "…"` on its own line after `for pods`."""
    found = place.lexeme_at_error
    if (
        found is None
        or not place.is_possible_statement_start
        or found.text not in syntax_words.CLAUSE_WORDS
    ):
        return None
    homes = dict.fromkeys(
        each.split(" ")[0] for each, of in syntax_words.ALLOWED_CLAUSES.items() if found.text in of
    )
    listed = spelling.join_alternatives(f"`{each}`" for each in homes if each not in _OTHER_HOMES)
    return diagnostics.Diagnostic(
        "PS108",
        f"`{found.text}` is a clause, but no statement before it can have this clause",
        place.span,
        help=f"write it after one of these statements: {listed}",
    )


def _diagnose_missing_operator(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a word in place of an operator: `disktype ssd`."""
    found = place.lexeme_at_error
    before = place.scan.find_lexeme_before(place.offset)
    if found is None or before is None or found.kind != "word" or "EXISTS" not in place.accepts:
        return None
    if place.scan.is_first_on_line(found.start):
        return None
    if any(found.text in words for words in syntax_words.LABEL_OPERATORS.values()):
        message = f"`{found.text}` is not an operator for taints"
        return diagnostics.Diagnostic("PS001", message, place.span, help=_TAINT_HELP)
    return diagnostics.Diagnostic(
        "PS001",
        f"`{found.text}` is not a label operator",
        place.span,
        help=f"{_OPERATOR_HELP}: `{before.text} = {found.text}`",
    )


def _diagnose_missing_statement(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Diagnose a word that begins neither a statement nor an item."""
    found = place.lexeme_at_error
    if found is None or found.kind != "word":
        return None
    if place.is_possible_statement_start:
        home = place.chunk.word
        tables = {
            "profile": syntax_words.PROFILE_STATEMENTS,
            "clusterPolicy": syntax_words.POLICY_STATEMENTS | syntax_words.CLUSTER_STATEMENTS,
        }
        words = tables.get(home, syntax_words.POLICY_STATEMENTS)
        return diagnostics.Diagnostic(
            "PS001",
            f"`{found.text}` is neither a clause nor a statement of a {home}",
            place.span,
            help=f"statements are {_join_alternatives(words)}",
        )
    if "_POLICY" in place.accepts:
        return diagnostics.Diagnostic(
            "PS001",
            f"`{found.text}` does not begin an item",
            place.span,
            help=f"a policy text contains {_join_alternatives(syntax_words.ITEMS)}",
        )
    return None


def _join_alternatives(words: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(word for each in words.values() for word in each)


def _diagnose_expected_words(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic:
    """Return the general diagnostic, which lists the expected words."""
    before, found = place.scan.find_lexeme_before(place.offset), place.lexeme_at_error
    if before is not None and before.start < place.chunk.start:
        before = None
    span, label = place.span, ""
    if found is None:
        label = f"`{place.chunk.word or 'the text'}` is not complete"
    elif before is not None and place.scan.is_first_on_line(found.start):
        span, found = place.scan.source.span(before.end, before.end), None
    help_text, fix = "", None
    if found is None and "RPAR" in place.accepts and before is not None:
        help_text = "add the missing `)`"
        fix = fixes.make_replacement_fix(place.scan.source.span(before.end, before.end), ")")
    after = f" after `{_quote_lexeme(before)}`" if before else ""
    instead = f", not {_LITERAL_KINDS.get(found.kind, f'`{found.text}`')}" if found else ""
    return diagnostics.Diagnostic(
        "PS001",
        f"expected {spelling.join_alternatives(_list_accepted_words(place))}{after}{instead}",
        span,
        label=label,
        help=help_text,
        fix=fix,
    )


def _quote_lexeme(lexeme: scanner.Lexeme) -> str:
    return lexeme.text.split("\n")[0][:40]


def _list_accepted_words(place: fault_place.ErrorPosition) -> list[str]:
    """Return a short list of the words that the parser accepts at the place."""
    elsewhere = frozenset() if place.chunk.word == "clusterPolicy" else _CLUSTER_CLAUSES
    left = set(place.accepts - elsewhere)
    groups: Iterable[tuple[set[str], str]] = (
        ({"NAME", "NUMERAL", "LPAR", "NODE", "POD", "STRING", "MINUS", "_NOT"}, "an expression"),
        ({"WORD", "STRING", "LPAR", "_TAINTED", "_NOT"}, "a selector"),
        (set(syntax_words.POLICY_STATEMENTS), "a statement"),
        (set(syntax_words.PROFILE_STATEMENTS), "a statement"),
        (set(syntax_words.CLAUSES) - elsewhere, "a clause"),
        (set(syntax_words.METRIC_OPTIONS), "an option of the metric"),
        (set(syntax_words.ITEMS), "another item"),
        (set(syntax_words.LABEL_OPERATORS), "a label operator"),
        ({"PLUS", "MINUS", "STAR", "SLASH"}, "an arithmetic operator"),
    )
    found = []
    for members, name in groups:
        if members <= left:
            found.append(name)
            left -= members
    left -= {"$END", *syntax_words.CLUSTER_STATEMENTS, *syntax_words.POLICY_STATEMENTS}
    for terminal in sorted(left):
        words = syntax_words.KEYWORDS.get(terminal)
        found.append(
            spelling.join_alternatives(f"`{word}`" for word in words)
            if words
            else syntax_words.SIGNS.get(terminal, terminal)
        )
    return found[:_MAX_EXPECTED] or ["the end of the text"]
