"""Outcomes and requests of policysched beside those of kube-scheduler."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.conformance import compare
from tests.conformance.extenders import outcomes, script, server

_EXTENDER = "Extender"
_TEXT_OF_GO = re.compile(
    r'(Post "[^"]*": |context deadline exceeded|json: |invalid character |(unexpected )?EOF$).*',
    re.DOTALL,
)
"""Errors of Go's HTTP client and JSON decoder, whose words policysched does not imitate."""
_NODES_WITHOUT_VICTIMS = re.compile(r"preemption: \[(expected at least one victim [^\]]*)\]$")
"""kube-scheduler begins with any of these nodes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What a scheduler made of a case."""

    outcomes: Sequence[outcomes.PodOutcome]
    exchanges: Sequence[server.Exchange]


def find_differences(ours: Run, theirs: Run) -> Iterator[compare.Difference]:
    """Yield everything in which the runs of a case differ."""
    mine, its = [each.pod for each in ours.outcomes], [each.pod for each in theirs.outcomes]
    if mine != its:
        yield compare.Difference("order of pods", "", mine, its)
    else:
        for one, other in zip(ours.outcomes, theirs.outcomes, strict=True):
            yield from _compare_outcomes(one, other)
    yield from _compare_requests(ours.exchanges, theirs.exchanges)


# --- outcomes ------------------------------------------------------------------------------------


def _compare_outcomes(
    ours: outcomes.PodOutcome, theirs: outcomes.PodOutcome
) -> Iterator[compare.Difference]:
    for field in dataclasses.fields(ours):
        mine, its = getattr(ours, field.name), getattr(theirs, field.name)
        if field.name == "message":
            is_equal = _are_equal_messages(mine, its)
        elif field.name == "plugins" and _EXTENDER in its:
            is_equal = _EXTENDER in mine  # any event wakes the pod, whatever the other plugins
        elif isinstance(its, tuple):
            is_equal = tuple(mine) == its
        else:
            is_equal = mine == its
        if not is_equal:
            yield compare.Difference(field.name, ours.pod, mine, its)


def _are_equal_messages(ours: str, theirs: str) -> bool:
    """Return whether messages are equal but for the words of Go and for an order by chance."""
    of_go = _TEXT_OF_GO.search(theirs)
    if of_go is None:
        return _sort_nodes(ours) == _sort_nodes(theirs)
    before = theirs[: of_go.start()]
    return ours.startswith(before) and len(ours) > len(before)


def _sort_nodes(message: str) -> str:
    return _NODES_WITHOUT_VICTIMS.sub(
        lambda found: f"preemption: {sorted(found[1].split(', '))}", message
    )


# --- requests ------------------------------------------------------------------------------------


def _compare_requests(
    ours: Sequence[server.Exchange], theirs: Sequence[server.Exchange]
) -> Iterator[compare.Difference]:
    mine, its = [list(_in_order(exchanges)) for exchanges in (ours, theirs)]
    names, its_names = [_name(each) for each in mine], [_name(each) for each in its]
    if names != its_names:
        yield compare.Difference("order of requests", "", names, its_names)
        return
    for one, other in zip(mine, its, strict=True):
        for part in ("method", "content_type"):
            if getattr(one, part) != getattr(other, part):
                yield compare.Difference(
                    f"{part} of {one.verb}", _name(one), getattr(one, part), getattr(other, part)
                )
        yield from _compare_bodies(one, other)


def _compare_bodies(ours: server.Exchange, theirs: server.Exchange) -> Iterator[compare.Difference]:
    mine, its = _sort_lists_of_nodes(ours.body), _sort_lists_of_nodes(theirs.body)
    for field in sorted(mine.keys() | its.keys()):
        one, other = mine.get(field, "absent"), its.get(field, "absent")
        if one != other:
            path, *values = _first_difference(one, other)
            aspect = f"{field} in requests of {ours.verb}"
            yield compare.Difference(aspect, f"{_name(ours)} {field}{path}", *values)


def _in_order(exchanges: Sequence[server.Exchange]) -> Iterator[server.Exchange]:
    """Yield the requests; those of Prioritize are sent at once and arrive in any order."""
    grouped = itertools.groupby(
        exchanges, lambda each: (pod_of(each), each.verb == script.PRIORITIZE)
    )
    for (_, is_prioritize), group in grouped:
        requests = list(group)
        if is_prioritize:
            requests.sort(key=lambda each: each.extender)
        yield from requests


def _name(exchange: server.Exchange) -> str:
    return f"{pod_of(exchange)}: {exchange.verb} of extender {exchange.extender}"


def pod_of(exchange: server.Exchange) -> str:
    """Return the name of the pod that a request is about."""
    if exchange.verb == script.BIND:
        return str(exchange.body["PodName"])
    return str(exchange.body["Pod"]["metadata"]["name"])


def _sort_lists_of_nodes(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request whose nodes have an order: schedulers send them in any."""
    made = dict(body)
    if made.get("NodeNames"):
        made["NodeNames"] = sorted(made["NodeNames"])
    if made.get("Nodes"):
        items = sorted(made["Nodes"]["items"], key=lambda node: str(node["metadata"]["name"]))
        made["Nodes"] = {**made["Nodes"], "items": items}
    return made


def _first_difference(ours: Any, theirs: Any, path: str = "") -> tuple[str, object, object]:
    """Return where two JSON values differ first, and the two values there."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(key, "absent"), theirs.get(key, "absent")
            if one != other:
                return _first_difference(one, other, f"{path}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one != other:
                return _first_difference(one, other, f"{path}[{place}]")
    return path, json.dumps(ours), json.dumps(theirs)
