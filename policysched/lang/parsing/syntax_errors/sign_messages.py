"""Diagnose signs at the place of a syntax error."""

from __future__ import annotations

from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.foreign import foreign_words
from policysched.lang.parsing import scanner
from policysched.lang.parsing.syntax_errors import fault_place
from policysched.lang.words import vocabulary


def diagnose_foreign_sign(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for a quote or symbol of another language, such as `&&`."""
    found = place.lexeme_at_error
    if found is None or found.kind != "sign":
        return None
    if found.text == "'":
        return diagnostics.Diagnostic(
            "PS003", "`'` does not quote here", place.span, help='write strings between `"`'
        )
    if found.text not in foreign_words.OTHER_SIGNS:
        return None
    if found.text == ";" and _does_value_follow(place, found):
        return diagnostics.Diagnostic(
            "PS003",
            "`;` is not a symbol of this language",
            place.span,
            help="separate values with `,`; statements have no end mark",
        )
    ours = foreign_words.OTHER_SIGNS[found.text]
    after = place.scan.find_lexeme_at(found.end)
    blank = " " if found.text == "!" and after is not None and after.start == found.end else ""
    return diagnostics.Diagnostic(
        "PS003",
        f"`{found.text}` is not a symbol of this language",
        place.span,
        help=f"write `{ours}`" if ours else "remove it: statements need no end mark",
        fix=diagnostics.Fix(
            (diagnostics.TextEdit(place.span, ours + blank),),
            safe=_is_meaning_accepted(place, found),
        ),
    )


def diagnose_exclamation_mark(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for the `!` in `as web!`, where it is not a negation."""
    found, before = place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)
    if found is None or found.text != "!" or before is None or before.kind != "word":
        return None
    if before.end < found.start:
        return None
    return diagnostics.Diagnostic(
        "PS003",
        f"`!` cannot be part of a name: `{before.text}!`",
        place.span,
        help="remove it",
        fix=fixes.make_replacement_fix(place.span, ""),
    )


def _is_meaning_accepted(place: fault_place.ErrorPosition, sign: scanner.Lexeme) -> bool:
    """Return whether the parser accepts the meaning of a foreign sign at this place."""
    if sign.text == "!":
        after = place.scan.find_lexeme_at(sign.end)  # `!x = y` can mean `(not x) = y`
        return "_NOT" in place.accepts and after is not None and after.text == "("
    if sign.text == ";":
        return _is_terminating_semicolon(place, sign)
    return {"&&": "_AND", "||": "_OR"}[sign.text] in place.accepts


def _is_terminating_semicolon(place: fault_place.ErrorPosition, sign: scanner.Lexeme) -> bool:
    """Return whether `;` ends a line or block; elsewhere it can mean `,` or a new statement."""
    after = place.scan.find_lexeme_at(sign.end)
    is_last = after is None or after.text == "}" or place.scan.is_first_on_line(after.start)
    is_behind = not place.scan.is_first_on_line(sign.start)
    return place.is_possible_statement_start and is_behind and is_last


def _does_value_follow(place: fault_place.ErrorPosition, sign: scanner.Lexeme) -> bool:
    """Return whether text other than a statement or item follows on the same line."""
    after = place.scan.find_lexeme_at(sign.end)
    if after is None or after.kind == "sign" or place.scan.is_first_on_line(after.start):
        return False
    return after.text not in scanner.STATEMENT_WORDS and after.text not in scanner.ITEM_WORDS


def diagnose_unquoted_colon(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for `image = nginx:1.25` without quotes."""
    found, before = place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)
    if found is None or found.text != ":" or before is None or before.kind != "word":
        return None
    after = place.scan.find_lexeme_at(found.end)
    if "_AND" not in place.accepts or after is None or after.start != found.end:
        return None
    span = place.scan.source.span(before.start, _find_unspaced_run_end(place.scan, after))
    whole = place.scan.source.slice(span)
    return diagnostics.Diagnostic(
        "PS003",
        f"`{whole}` is not one word",
        span,
        help=f'write `"{whole}"`',
        fix=diagnostics.Fix((diagnostics.TextEdit(span, f'"{whole}"'),), safe=" " not in whole),
    )


def _find_unspaced_run_end(scan: scanner.LexemeScan, lexeme: scanner.Lexeme) -> int:
    """Return the end of a run of words, colons and `@` without blanks."""
    following = scan.find_lexeme_at(lexeme.end)
    while following is not None and following.start == lexeme.end:
        if following.kind != "word" and following.text not in (":", "@"):
            break
        lexeme, following = following, scan.find_lexeme_at(following.end)
    return lexeme.end


def diagnose_effect_without_key(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for `tolerate :NoSchedule`."""
    found, before = place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)
    after = (
        place.scan.find_lexeme_at(found.end) if found is not None and found.text == ":" else None
    )
    if before is None or before.text not in ("tolerate", ",") or after is None:
        return None
    if after.text not in vocabulary.TAINT_EFFECTS or place.statement_and_strength != "tolerate":
        return None
    return diagnostics.Diagnostic(
        "PS001",
        f"expected the key of a taint before `:{after.text}`",
        place.span,
        help=f"name the taint: `tolerate dedicated:{after.text}`",
    )
