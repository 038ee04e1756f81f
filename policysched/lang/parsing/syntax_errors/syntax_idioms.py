"""Recognise idioms of other languages in syntax errors, and propose replacements.

The module proposes a rewriting only if the parser accepts it and continues past the error.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

from policysched import spelling
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.foreign import foreign_words, idiom_patterns, idioms
from policysched.lang.parsing import lark_frontend, scanner
from policysched.lang.parsing.syntax_errors import fault_place
from policysched.lang.words import syntax_words

_MAX_TEXT = 1_000
"""Maximum number of characters after the error that patterns and trial parses read."""
_MAX_BEFORE = 20_000
"""Maximum characters of a statement before the error; longer ones are not parsed again."""
_MAX_LINE = 500
"""Maximum characters of a line before the error, because matching takes quadratic time."""
_KEYWORDS = sorted(syntax_words.ALL_KEYWORDS)
_BLOCKS = ("policy", "clusterPolicy", "profile")


@dataclasses.dataclass(frozen=True, slots=True)
class ReplacementCandidate:
    """A possible replacement for a range of the text.

    Attributes:
        start: offset of the range.
        end: offset after the range.
        text: the replacement; "" to remove the range, None if it is not known.
        idiom: the matching idiom; None for words and signs.
        message: the message of the idiom, or "".
        help: the help of the idiom, or "".
    """

    start: int
    end: int
    text: str | None
    idiom: idiom_patterns.ForeignIdiom | None = None
    message: str = ""
    help: str = ""


def diagnose_foreign_idiom(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for an idiom of another language, with its replacement."""
    if place.offset - _find_trial_start(place, place.offset) > _MAX_BEFORE:
        return None
    matches = list(_propose_idiom_rewritings(place))
    candidates = [
        *_propose_word_meanings(place),
        *(each for each in matches if each.text is not None),
    ]
    rewriting = _choose_furthest_rewriting(place, [*candidates, *_propose_sign_meanings(place)])
    if rewriting is None:
        rewriting = next((each for each in matches if each.text is None), None)
    return None if rewriting is None else _make_idiom_diagnostic(place, rewriting)


def does_fixed_statement_parse(place: fault_place.ErrorPosition, fix: diagnostics.Fix) -> bool:
    """Return whether the parser accepts the whole statement or item after the fix's first edit."""
    edit, chunk = fix.edits[0], place.chunk
    begin = min(_find_trial_start(place, edit.span.start), edit.span.start)
    starts = place.scan.find_statement_starts(chunk) if begin > chunk.start else ()
    closed = chunk.body_end if begin > chunk.start and chunk.body_end >= 0 else chunk.end
    end = min((start for start in starts if start > place.offset), default=closed)
    text = place.scan.source.text
    trial = f"{text[begin : edit.span.start]}{edit.replacement}{text[edit.span.end : end]}"
    if begin > chunk.start:
        trial = f"{chunk.word} x {{ {trial} }}"
    try:
        lark_frontend.parse_text_slice(trial, 0, len(trial))
    except lark_frontend.UnexpectedInput:
        return False
    return True


def diagnose_missing_word(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for a missing word, if the rest of the line parses with it."""
    found = place.lexeme_at_error
    if (
        found is None
        or place.scan.is_first_on_line(found.start)
        or _is_misspelt_keyword(place, found)
    ):
        return None
    if "EXISTS" in place.accepts:
        return None  # the operator of a label is missing
    following = place.scan.find_lexeme_at(_find_line_end(place, found.start))
    least = following.start + 1 if following is not None else found.end
    for word in foreign_words.MISSING:
        rewriting = ReplacementCandidate(found.start, found.start, f"{word} ")
        if _is_accepted_keyword(place, word) and _measure_parse_reach(place, rewriting) >= least:
            message = _format_expected_word_message(place, f"`{word}`", found)
            return _make_idiom_diagnostic(place, dataclasses.replace(rewriting, message=message))
    return None


def _is_misspelt_keyword(place: fault_place.ErrorPosition, found: scanner.Lexeme) -> bool:
    """Return whether one edit changes the word into an accepted keyword."""
    folded = found.text.casefold()
    return any(
        spelling.compute_edit_distance(folded, each.casefold()) == 1
        for each in place.similar_keywords
    )


def _is_accepted_keyword(place: fault_place.ErrorPosition, word: str) -> bool:
    """Return whether the parser accepts a word or sign at the place as a keyword, not a name."""
    signs = (syntax_words.SIGNS.get(terminal) for terminal in place.accepts)
    return word.split(maxsplit=1)[0] in place.accepted_keywords or f"`{word}`" in signs


def _format_expected_word_message(
    place: fault_place.ErrorPosition, expected: str, instead: scanner.Lexeme
) -> str:
    before = place.scan.find_lexeme_before(instead.start)
    after = f" after `{before.text}`" if before is not None else ""
    return f"expected {expected}{after}, not `{instead.text}`"


def _choose_furthest_rewriting(
    place: fault_place.ErrorPosition, rewritings: Iterable[ReplacementCandidate]
) -> ReplacementCandidate | None:
    """Return the rewriting that gets the parser furthest; if several do, the longest of them.

    Return None if no rewriting gets past the error.
    """
    best, furthest = None, (-1.0, 0)
    for each in rewritings:
        rewriting = _pad_rewriting_with_blanks(place, each)
        reach = _measure_parse_reach(place, rewriting)
        least = rewriting.end
        if rewriting.end <= place.offset or rewriting.idiom is None:
            following = place.scan.find_lexeme_at(rewriting.end)
            least = max(place.offset, following.start if following else rewriting.end) + 1
        rank = (reach, rewriting.end - rewriting.start)
        if reach >= least and rank > furthest:
            best, furthest = rewriting, rank
    return best


def _pad_rewriting_with_blanks(
    place: fault_place.ErrorPosition, rewriting: ReplacementCandidate
) -> ReplacementCandidate:
    """Add the blanks that the fix will add, so that words do not merge in the trial parse."""
    text, start, end = place.scan.source.text, rewriting.start, rewriting.end
    ours = fixes.pad_replacement_with_blanks(text, start, end, rewriting.text or "")
    return dataclasses.replace(rewriting, text=ours)


def _propose_word_meanings(place: fault_place.ErrorPosition) -> Iterator[ReplacementCandidate]:
    """Yield the likely meanings of foreign words at and before the error."""
    for lexeme in (place.lexeme_at_error, place.scan.find_lexeme_before(place.offset)):
        if (
            lexeme is None
            or lexeme.kind != "word"
            or lexeme.start < _find_rewritable_range(place)[0]
        ):
            continue
        is_first = place.scan.is_first_on_line(lexeme.start)
        meanings = sorted(
            _find_word_meanings(lexeme.text), key=lambda each: _begins_statement(each) != is_first
        )
        for ours in (*_find_policy_start_meanings(place, lexeme), *meanings):
            if not (is_first and ours in ("and", "or", ",")):
                message = _format_word_message(place, lexeme, ours)
                yield ReplacementCandidate(lexeme.start, lexeme.end, ours, None, message)


def _find_word_meanings(word: str) -> list[str]:
    """Return the likely meanings of a word: keywords that differ only in case, and translations."""
    folded = word.lower()
    cased = [each for each in _KEYWORDS if each.lower() == folded and each != word]
    key = word if word in foreign_words.WORDS or word in _KEYWORDS else folded
    return list(dict.fromkeys((*cased, *foreign_words.WORDS.get(key, ()))))


def _find_policy_start_meanings(
    place: fault_place.ErrorPosition, word: scanner.Lexeme
) -> list[str]:
    """Return the meaning that a word has only at the start of a policy."""
    before = place.scan.find_lexeme_before(word.start)
    is_start = before is not None and before.text == "{" and place.chunk.word == "policy"
    ours = foreign_words.FIRST_WORDS.get(word.text) if is_start else None
    return [ours] if ours else []


def _begins_statement(words: str) -> bool:
    """Return whether the first word of `words` is the keyword of a statement."""
    return words.split(" ", maxsplit=1)[0] in scanner.STATEMENT_WORDS


def _format_word_message(
    place: fault_place.ErrorPosition, lexeme: scanner.Lexeme, ours: str
) -> str:
    if place.is_possible_statement_start and lexeme is place.lexeme_at_error:
        return f"`{lexeme.text}` is neither a clause nor a statement of a {place.chunk.word}"
    return _format_expected_word_message(place, f"`{ours}`", lexeme) if ours else ""


def _propose_sign_meanings(place: fault_place.ErrorPosition) -> Iterator[ReplacementCandidate]:
    """Yield the likely meanings of a sign, and words with quotes added or removed."""
    found = place.lexeme_at_error
    if found is None:
        return
    for ours in foreign_words.SIGNS.get(found.text, ()):
        if ours != "," or "RPAR" in place.accepts:
            message = _format_sign_message(place, found, ours)
            yield ReplacementCandidate(found.start, found.end, ours or " ", None, message)
    if found.kind == "string" and "STRING" not in place.accepts:
        message = f"`{found.text}` takes no quotes here"
        yield ReplacementCandidate(found.start, found.end, found.text[1:-1], None, message)
    if found.kind == "word" and "STRING" in place.accepts and found.start == place.offset:
        message = _format_expected_word_message(place, 'a string between `"`', found)
        yield ReplacementCandidate(found.start, found.end, f'"{found.text}"', None, message)


def _format_sign_message(place: fault_place.ErrorPosition, sign: scanner.Lexeme, ours: str) -> str:
    before = place.scan.find_lexeme_before(sign.start)
    if ours or before is None or sign.text == ",":
        return f"`{sign.text}` is not allowed here"
    return f"`{before.text}` takes its value without `{sign.text}`"


def _find_line_end(place: fault_place.ErrorPosition, offset: int) -> int:
    """Return the end of the last lexeme on the line."""
    text = place.scan.source.text
    end = text.find("\n", offset)
    last = place.scan.find_lexeme_before(len(text) if end < 0 else end)
    return last.end if last is not None else offset


def _propose_idiom_rewritings(place: fault_place.ErrorPosition) -> Iterator[ReplacementCandidate]:
    """Yield the rewritings of idioms that match text at the error."""
    before, found = place.scan.find_lexeme_before(place.offset), place.lexeme_at_error
    low = before.end if before is not None else place.offset
    high = found.end if found is not None else place.offset
    text = place.scan.source.text
    begin = text.rfind("\n", 0, before.start if before is not None else place.offset) + 1
    if high - begin > _MAX_LINE:
        return
    region = _blank_comments(place)[begin : max(high, min(place.chunk.end, high + _MAX_TEXT))]
    floor, ceiling = _find_rewritable_range(place)
    for idiom in idioms.IDIOMS:
        for match in idiom.regex.finditer(region):
            start, end = begin + match.start(), begin + match.end()
            if floor <= start <= place.offset and low <= end <= ceiling:
                ours = idiom.rewrite(match)
                if ours == match[0]:
                    continue
                if ours is not None or idiom.help:
                    message, advice = match.expand(idiom.message), match.expand(idiom.help)
                    yield ReplacementCandidate(start, end, ours, idiom, message, advice)


def _blank_comments(place: fault_place.ErrorPosition) -> str:
    """Return the text with blanks in place of comments near the error."""
    text = place.scan.source.text
    for comment in place.scan.comments:
        if abs(comment.start - place.offset) < _MAX_BEFORE:
            blanks = " " * (comment.end - comment.start)
            text = text[: comment.start] + blanks + text[comment.end :]
    return text


def _find_rewritable_range(place: fault_place.ErrorPosition) -> tuple[int, int]:
    """Return the range that can be rewritten; for an error in braces, the text between them."""
    chunk = place.chunk
    if chunk.word not in _BLOCKS or not chunk.body_start <= place.offset <= chunk.body_end:
        return chunk.start, chunk.end
    if place.is_possible_statement_start and place.scan.is_first_on_line(place.offset):
        line_start = place.scan.source.text.rfind("\n", 0, place.offset) + 1
        return max(line_start, chunk.body_start), chunk.body_end  # the text before is valid
    return chunk.body_start, chunk.body_end


def _find_trial_start(place: fault_place.ErrorPosition, start: int) -> int:
    """Return the start of a trial parse: the start of the statement, or of the item."""
    chunk = place.chunk
    if chunk.body_start < 0 or start < chunk.body_start or chunk.word not in _BLOCKS:
        return chunk.start
    limit = start + 1 if place.is_possible_statement_start else start
    starts = (each for each in place.scan.find_statement_starts(chunk) if each < limit)
    return max(starts, default=chunk.body_start)


def _measure_parse_reach(
    place: fault_place.ErrorPosition, rewriting: ReplacementCandidate
) -> float:
    """Return the offset up to which the parser accepts the text with the rewriting."""
    begin = min(_find_trial_start(place, rewriting.start), rewriting.start)
    is_inside = begin > place.chunk.start
    head = f"{place.chunk.word} x {{ " if is_inside else ""
    text = place.scan.source.text
    before = f"{head}{text[begin : rewriting.start]}{rewriting.text}"
    if _is_on_line_before_fault(place, rewriting):
        after = text[rewriting.end : place.offset] + ("}" if is_inside else "")
    else:
        end = max(place.offset, min(place.chunk.end, rewriting.end + _MAX_TEXT))
        after = text[rewriting.end : end]
    trial = before + after
    try:
        lark_frontend.parse_text_slice(trial, 0, len(trial))
    except lark_frontend.UnexpectedInput as fault:
        if fault.offset >= len(trial):
            return math.inf
        return rewriting.end + fault.offset - len(before)
    return math.inf


def _is_on_line_before_fault(
    place: fault_place.ErrorPosition, rewriting: ReplacementCandidate
) -> bool:
    """Return whether a rewriting changes the line before the line where the parser stopped."""
    found = place.lexeme_at_error
    is_on_new_line = found is None or place.scan.is_first_on_line(found.start)
    return is_on_new_line and rewriting.end <= place.offset and rewriting.start < place.offset


def _make_idiom_diagnostic(
    place: fault_place.ErrorPosition, rewriting: ReplacementCandidate
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a rewriting, with a fix if the replacement is known."""
    span = place.scan.source.span(rewriting.start, rewriting.end)
    written = " ".join(place.scan.source.slice(span).split())
    message = rewriting.message or f"`{written}` is written differently here"
    idiom = rewriting.idiom
    code = "PS001" if idiom is None else idiom.code
    advice = rewriting.help
    if rewriting.text is None:
        return diagnostics.Diagnostic(code, message, span, help=advice)
    ours = " ".join(rewriting.text.split())
    advice = advice or (f"write `{ours}`" if ours else "remove it")
    if idiom is None:
        fix = fixes.make_respelling_fix(span, written, rewriting.text, place.accepted_keywords)
    else:
        fix = diagnostics.Fix((diagnostics.TextEdit(span, rewriting.text),), safe=idiom.safe)
    return diagnostics.Diagnostic(code, message, span, help=advice, fix=fix)
