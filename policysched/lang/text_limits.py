"""Limits on the work for parsing and checking policy texts; the checker reports them as PS004."""

from __future__ import annotations

MAX_TEXT_BYTES = 1024 * 1024
"""Maximum size of a text in bytes of UTF-8; equal to the limit of a ConfigMap, 1 MiB."""

MAX_DEPTH = 64
"""Maximum nesting of a selector, expression or plugin argument."""

MAX_STATEMENTS = 10_000
"""Maximum number of items and statements in all texts that are checked together."""

MAX_WORDS = 200_000
"""Maximum number of lexemes, including comments, in all texts that are checked together. A lexeme
uses about 1 KiB of memory until the check ends, and takes 20 to 100 µs."""

MAX_TEXTS = 1000
"""Maximum number of texts that are checked together."""

MAX_EXPANDED_NODES = 10_000
"""Maximum number of nodes in one selector or expression after lets are substituted."""

MAX_DIAGNOSTICS = 100
"""Maximum number of diagnostics for one text; the parser then stops searching."""

MAX_REPARSED_FACTOR = 3
REPARSED_BYTES = 256 * 1024
"""Budget for parsing one text, in characters: `MAX_REPARSED_FACTOR` times its length, plus
`REPARSED_BYTES`. Recovery from errors stops when it is used up."""

MAX_EXPANDED_DEPTH = 100
"""Maximum nesting of one selector or expression after lets are substituted."""

MAX_LET_CHAIN = 32
"""Maximum length of a chain in which each let uses the next one."""

MAX_QUERY_WORDS = 2000
"""Maximum number of tokens in one PromQL query, because its parser recurses without a limit."""

MAX_QUERY_DEPTH = 100
"""Maximum nesting of one PromQL query; each operator is a level."""
