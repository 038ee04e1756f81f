"""Idioms of other languages, and how this language writes them.

An idiom is a pattern for the text around a syntax error. `syntax_idioms` proposes a rewriting only
if the parser can read on behind it, so a pattern may be wider than the mistake, and one mistake may
have several rewritings: the one that lets the parser read furthest is proposed.
"""

from __future__ import annotations

from policysched.lang.foreign import (
    expression_idioms,
    idiom_patterns,
    selector_idioms,
    statement_idioms,
    text_idioms,
)

IDIOMS: tuple[idiom_patterns.ForeignIdiom, ...] = (
    *text_idioms.TEXTS,
    *text_idioms.NAMES,
    *selector_idioms.SELECTORS,
    *expression_idioms.EXPRESSIONS,
    *statement_idioms.STATEMENTS,
)
"""All idioms; of equally good rewritings the first one is proposed."""
