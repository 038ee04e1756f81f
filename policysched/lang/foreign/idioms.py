"""Idioms of other languages, with their equivalents in this language.

An idiom is a pattern for the text around a syntax error. `syntax_idioms` proposes a rewriting only
if the parser can continue after it. A pattern can therefore match more than the mistake, and a
mistake can have several rewritings. `syntax_idioms` proposes the rewriting with which the parser
continues furthest.
"""

from __future__ import annotations

from policysched.lang.foreign import (
    expression_idioms,
    idiom_patterns,
    preemption_idioms,
    selector_idioms,
    statement_idioms,
    text_idioms,
)

IDIOMS: tuple[idiom_patterns.ForeignIdiom, ...] = (
    *text_idioms.TEXTS,
    *text_idioms.NAMES,
    *selector_idioms.SELECTORS,
    *expression_idioms.EXPRESSIONS,
    *preemption_idioms.PREEMPTION,
    *statement_idioms.STATEMENTS,
)
"""All idioms; among equally good rewritings, `syntax_idioms` proposes the first one."""
