"""Formats the report of `ast --profiles` as text.

The text is made only from the JSON form (schemas/profiles.schema.json), so the two agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policysched.cli.render import output

Report: TypeAlias = Mapping[str, Any]

_INDENT = "  "
_HEADER = ("", "PLUGIN OR RULE", "FILTERS", "WEIGHT")
_REJECTING_POINTS = frozenset({"PreFilter", "Filter"})


def format_profiles_report(report: Report) -> str:
    """Format a table for each profile: the plugins and rules that filter nodes or give points."""
    return "\n\n".join(_format_profile(each) for each in report["profiles"])


def _format_profile(each: Report) -> str:
    lines = [f"profile {each['name']}", f"{_INDENT}{_describe_policies(each)}"]
    rows = _list_rows(each["members"])
    return "\n".join([*lines, "", output.format_table(_HEADER, rows, _INDENT)])


def _describe_policies(each: Report) -> str:
    used = [
        f"{name} (of all profiles)" if name in each["ofAllProfiles"] else name
        for name in each["policies"]
    ]
    others = {"in shadow mode": each["shadow"], "excluded": each["excluded"]}
    parts = [f"policies: {', '.join(used) or 'none'}"]
    parts += [f"{what}: {', '.join(names)}" for what, names in others.items() if names]
    return "; ".join(parts)


def _list_rows(members: Sequence[Report]) -> list[list[object]]:
    rows: list[list[object]] = []
    for member in members:
        filters = not _REJECTING_POINTS.isdisjoint(member["points"])
        if filters or member["weight"] is not None:
            weight = "" if member["weight"] is None else member["weight"]
            rows.append([len(rows) + 1, member["name"], "yes" if filters else "", weight])
    return rows
