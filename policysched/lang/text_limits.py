"""Limits on the work that a policy text causes in the checker; each has a diagnostic (PS004)."""

from __future__ import annotations

MAX_TEXT_BYTES = 1024 * 1024
"""Largest text in bytes of UTF-8; equal to the 1 MiB limit of a ConfigMap."""

MAX_DEPTH = 64
"""Deepest nesting of a selector, expression or plugin argument."""

MAX_STATEMENTS = 10_000
"""Most items and statements in all texts that are checked together."""

MAX_WORDS = 200_000
"""Most lexemes, including comments, in all texts that are checked together. Each takes about a
KiB until the check ends, and 20 to 100 µs."""

MAX_TEXTS = 1000
"""Most texts that are checked together."""

MAX_EXPANDED_NODES = 10_000
"""Most nodes of one selector or expression after lets are substituted."""

MAX_DIAGNOSTICS = 100
"""Most diagnostics for one text; later problems are not searched for."""

MAX_REPARSED_FACTOR = 3
REPARSED_BYTES = 256 * 1024
"""Budget for parsing one text, in characters: `MAX_REPARSED_FACTOR` times its length, plus
`REPARSED_BYTES`. Recovery from errors stops when it is used up."""

MAX_EXPANDED_DEPTH = 100
"""Deepest nesting of one selector or expression after lets are substituted."""

MAX_LET_CHAIN = 32
"""Longest chain of lets that each use the next."""

MAX_QUERY_WORDS = 2000
"""Most tokens of one PromQL query. Its parser recurses and has no limit of its own."""

MAX_QUERY_DEPTH = 100
"""Deepest nesting of one PromQL query; each operator is a level."""
