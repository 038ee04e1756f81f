"""Series whose scrapes are known, and queries over them with the times that went into each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeAlias

from hypothesis import strategies as st

NOW = 1_700_000_007.0
SCRAPE_SECONDS = 10.0
LOOKBACK_SECONDS = 20.0
"""Short, so that a node that is not scraped any more is gone from instant vectors at once."""
MAX_AGE_SECONDS = 120.0

# node → when its last scrape was, seconds before NOW
NODES = {"n0": 0.0, "n1": 3.25, "n2": 9.0, "n3": 41.0, "n4": 77.5, "n5": 155.0, "n6": 260.0}
DEVICES = ("sda", "sdb")
FAMILIES = ("disk_total", "disk_size", "load")

Labels: TypeAlias = frozenset[tuple[str, str]]
Times: TypeAlias = dict[Labels, float]
"""Series → time of its newest sample, moved by offsets."""


@dataclasses.dataclass(frozen=True)
class Query:
    """PromQL and what it should say of the times: `times(t)` at evaluation time t."""

    text: str
    times: Callable[[float], Times]
    has_devices: bool

    def __repr__(self) -> str:
        """Show the query alone."""
        return self.text


def scrapes(node: str) -> list[float]:
    """Return when a node was scraped, oldest first, over fifteen minutes."""
    last = NOW - NODES[node]
    return [last - SCRAPE_SECONDS * back for back in range(90, -1, -1)]


def openmetrics() -> str:
    """Return all series as OpenMetrics text."""
    lines = []
    for family in FAMILIES:
        lines.append(f"# TYPE {family} gauge")
        for labels in _series(family):
            node = dict(labels)["instance"]
            text = ",".join(f'{key}="{value}"' for key, value in sorted(labels))
            for count, at in enumerate(scrapes(node)):
                lines.append(f"{family}{{{text}}} {count + 1} {at:.3f}")
    return "\n".join([*lines, "# EOF", ""])


def _series(family: str) -> Iterator[Labels]:
    for node in NODES:
        if family == "load":
            yield frozenset({("instance", node)})
        else:
            yield from (frozenset({("instance", node), ("device", d)}) for d in DEVICES)


def _within(family: str, at: float, window: float, least: int = 1) -> Times:
    """Return the newest sample of each series that has `least` samples in (at - window, at]."""
    found: Times = {}
    for labels in _series(family):
        inside = [t for t in scrapes(dict(labels)["instance"]) if at - window < t <= at + 1e-6]
        if len(inside) >= least:
            found[labels] = inside[-1]
    return found


# --- leaves -----------------------------------------------------------------------------------


def _instant(family: str, offset: float) -> Query:
    def times(at: float) -> Times:
        found = _within(family, at - offset, LOOKBACK_SECONDS)
        return {labels: time + offset for labels, time in found.items()}

    text = family + (f" offset {offset:.0f}s" if offset else "")
    return Query(text, times, family != "load")


_WINDOW_FUNCTIONS = {
    "rate({})": 2,
    "avg_over_time({})": 1,
    "last_over_time({})": 1,
    "quantile_over_time(0.9, {})": 1,
    "deriv({})": 2,
    "changes({})": 1,
    "predict_linear({}, 60)": 2,
}


def _window(family: str, function: str, window: float, shift: str, offset: float) -> Query:
    least = _WINDOW_FUNCTIONS[function]

    def times(at: float) -> Times:
        found = _within(family, at - offset, window, least)
        return {labels: time + offset for labels, time in found.items()}

    selector = f"{family}[{window:.0f}s]{shift}"
    return Query(function.format(selector), times, family != "load")


@st.composite
def _leaves(draw: st.DrawFn) -> Query:
    family = draw(st.sampled_from(FAMILIES))
    if draw(st.booleans()):
        return _instant(family, draw(st.sampled_from([0.0, 0.0, 30.0, 300.0])))
    function = draw(st.sampled_from(sorted(_WINDOW_FUNCTIONS)))
    window = draw(st.sampled_from([60.0, 300.0, 600.0]))
    shift, offset = draw(
        st.sampled_from([("", 0.0), ("", 0.0), (" offset 30s", 30.0), (f" @ {NOW - 60}", 60.0)])
    )
    return _window(family, function, window, shift, offset)


# --- what is built on them --------------------------------------------------------------------


def _by_instance(times: Times, choose: Callable[[float, float], float] = max) -> Times:
    found: Times = {}
    for labels, time in times.items():
        key = frozenset(pair for pair in labels if pair[0] == "instance")
        found[key] = choose(found.get(key, time), time)
    return found


def _aggregation(inner: Query, text: str) -> Query:
    return Query(text.format(inner), lambda at: _by_instance(inner.times(at)), has_devices=False)


def _kept(inner: Query, text: str) -> Query:
    return Query(text.format(inner), inner.times, inner.has_devices)


def _both(left: Query, right: Query, operator: str) -> Query:
    """Join by node; the side with devices is the many-side, whose labels stay."""
    if left.has_devices and right.has_devices:
        matching = ""
    elif left.has_devices:
        matching = " on (instance) group_left ()"
    elif right.has_devices:
        matching = " ignoring (device) group_right ()"
    else:
        matching = " on (instance)"

    def times(at: float) -> Times:
        ours, theirs = left.times(at), right.times(at)
        if left.has_devices and right.has_devices:
            return {key: min(ours[key], theirs[key]) for key in ours.keys() & theirs.keys()}
        many, one = (ours, theirs) if left.has_devices else (theirs, ours)
        found: Times = {}
        for labels, time in many.items():
            key = frozenset(pair for pair in labels if pair[0] == "instance")
            if key in one:
                found[labels] = min(time, one[key])
        return found

    return Query(
        f"({left}) {operator}{matching} ({right})", times, left.has_devices or right.has_devices
    )


def _set(left: Query, right: Query, operator: str) -> Query:
    def times(at: float) -> Times:
        ours, theirs = left.times(at), right.times(at)
        if operator == "or":
            return theirs | ours
        named = {frozenset(p for p in key if p[0] == "instance") for key in theirs}
        is_in = operator == "and"
        return {
            key: time
            for key, time in ours.items()
            if (frozenset(p for p in key if p[0] == "instance") in named) is is_in
        }

    matching = "" if operator == "or" else " on (instance)"
    return Query(
        f"({left}) {operator}{matching} ({right})", times, left.has_devices or right.has_devices
    )


_KEEPING = (
    "-({})",
    "({})",
    "1 - ({})",
    "({}) / 8",
    "abs({})",
    "clamp_max({}, 5)",
    "({}) * scalar(vector(2))",
    "({}) > bool 3",
    "({}) > -1e9",
    "topk(1000, {})",
    'label_replace({}, "zone", "z", "instance", "none")',
    "sort_desc({})",
)
_GROUPING = (
    "sum by (instance) ({})",
    "avg({}) by (instance)",
    "max without (device) ({})",
    "quantile without (device, mode) (0.5, {})",
    "count by (instance) ({})",
)


@st.composite
def _built(draw: st.DrawFn, inner: st.SearchStrategy[Query]) -> Query:
    kind = draw(st.sampled_from(["keep", "group", "both", "set"]))
    first = draw(inner)
    if kind == "keep":
        return _kept(first, draw(st.sampled_from(_KEEPING)))
    if kind == "group":
        return _aggregation(first, draw(st.sampled_from(_GROUPING)))
    second = draw(inner)
    if kind == "both":
        return _both(first, second, draw(st.sampled_from(["+", "/", "-", "*", "> bool", "atan2"])))
    operator = draw(st.sampled_from(["and", "unless", "or"]))
    if operator == "or" and first.has_devices != second.has_devices:
        second = first
    return _set(first, second, operator)


queries: st.SearchStrategy[Query] = st.recursive(_leaves(), _built, max_leaves=5)
