"""Find the labels that the selectors of a query match."""

from __future__ import annotations

import promql_parser

from policysched.promql import query_tree


def list_selector_labels(query: str) -> list[tuple[str, frozenset[str]]]:
    """Return the name and the matched labels of each selector, in text order.

    The name of a selector without a name is `{…}`.

    Raises:
        ValueError: the query is not PromQL; the first line of the message says why.
    """
    return [
        (selector.name or "{…}", frozenset(each.name for each in selector.matchers.matchers))
        for selector in query_tree.list_selectors(promql_parser.parse(query))
    ]
