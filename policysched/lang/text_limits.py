"""Limits on what a policy text may ask of the checker; each has a clear diagnostic (PS004)."""

from __future__ import annotations

MAX_TEXT_BYTES = 1024 * 1024
"""Largest text, in UTF-8; the size limit of a ConfigMap is the same 1 MiB."""

MAX_DEPTH = 64
"""Deepest nesting of a selector, expression or plugin argument."""

MAX_STATEMENTS = 10_000
"""Most items and statements in all texts that are checked together."""

MAX_WORDS = 200_000
"""Most words and signs in all texts that are checked together; each takes about a KiB until the
check ends, and 20 to 100 µs."""

MAX_TEXTS = 1000
"""Most texts that are checked together."""

MAX_EXPANDED_NODES = 10_000
"""Most nodes of one selector or expression after lets are substituted."""

MAX_DIAGNOSTICS = 100
"""Most diagnostics for one text; what lies behind them is not looked for."""

MAX_REPARSED_FACTOR = 3
REPARSED_BYTES = 256 * 1024
"""Characters that recovery from errors may parse: the text so often, and this many more."""

MAX_EXPANDED_DEPTH = 100
"""Deepest nesting of one selector or expression after lets are substituted."""

MAX_LET_CHAIN = 32
"""Most lets that may be defined through each other in a row."""

MAX_QUERY_WORDS = 2000
"""Most words and signs of one PromQL query: its parser recurses, and has no limit of its own."""

MAX_QUERY_DEPTH = 100
"""Deepest nesting of one PromQL query; each operator is a level."""
