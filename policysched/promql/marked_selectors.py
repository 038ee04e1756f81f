"""Find selectors of a query that lack a matcher for a label."""

from __future__ import annotations

import promql_parser

from policysched.promql import query_tree


def find_selector_without_label(query: str, label: str) -> str | None:
    """Return the name of the first selector without a matcher for `label`; None if all have one.

    The name of a selector without a name is `{…}`.

    Raises:
        ValueError: the query is not PromQL; the first line of the message says why.
    """
    for selector in query_tree.list_selectors(promql_parser.parse(query)):
        if all(each.name != label for each in selector.matchers.matchers):
            return selector.name or "{…}"
    return None
