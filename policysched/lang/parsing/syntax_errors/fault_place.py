"""The place of a syntax error, with the lexeme there and the expected words."""

from __future__ import annotations

import dataclasses

from policysched import spelling
from policysched.lang import source
from policysched.lang.parsing import scanner
from policysched.lang.words import syntax_words


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorPosition:
    """The place at which the parser stopped.

    Attributes:
        scan: scan of the original text.
        chunk: the item that is being parsed.
        offset: offset of the text that the parser refused.
        accepts: terminals that the parser would accept at the offset.
    """

    scan: scanner.LexemeScan
    chunk: scanner.ItemRange
    offset: int
    accepts: frozenset[str]

    @property
    def lexeme_at_error(self) -> scanner.Lexeme | None:
        """The lexeme at the place; None at the end of the item."""
        lexeme = self.scan.find_lexeme_at(self.offset)
        return None if lexeme is None or lexeme.start >= self.chunk.end else lexeme

    @property
    def is_possible_statement_start(self) -> bool:
        """Whether the parser would accept a statement at the place."""
        return "_DISABLE" in self.accepts

    @property
    def accepted_keywords(self) -> list[str]:
        """The keywords that are allowed at the place; clauses only if the statement allows them."""
        terminals = self.accepts & syntax_words.KEYWORDS.keys()
        words = [word for terminal in terminals for word in syntax_words.KEYWORDS[terminal]]
        allowed = syntax_words.ALLOWED_CLAUSES.get(self.statement_and_strength)
        if allowed is None:
            return words
        return [word for word in words if word not in syntax_words.CLAUSE_WORDS or word in allowed]

    @property
    def statement_and_strength(self) -> str:
        """The statement and its strength, a key of `ALLOWED_CLAUSES` if it has clauses."""
        if self.chunk.word == "metric":
            return "metric"
        starts = [
            start for start in self.scan.find_statement_starts(self.chunk) if start < self.offset
        ]
        members = self.scan.list_lexemes_between(starts[-1], self.chunk.end)[:2] if starts else ()
        words = [each.text for each in members]
        with_strength = " ".join(words)
        return (
            with_strength if with_strength in syntax_words.ALLOWED_CLAUSES else "".join(words[:1])
        )

    @property
    def similar_keywords(self) -> list[str]:
        """The accepted keywords that are similar to the word at the place."""
        found = self.lexeme_at_error
        return (
            spelling.find_nearest_names(found.text, self.accepted_keywords)
            if found and found.kind == "word"
            else []
        )

    @property
    def span(self) -> source.Span:
        """The range of the lexeme at the place, or else the end of the last lexeme."""
        found = self.lexeme_at_error
        if found is not None:
            return self.scan.source.span(found.start, found.end)
        before = self.scan.find_lexeme_before(self.offset)
        end = before.end if before else self.offset
        return self.scan.source.span(end, end)
