"""policysched's answer beside that of kube-scheduler: everything in which they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the two say differently.

    Attributes:
        aspect: what it is about, without names of nodes and pods; shrinking keeps it.
        where: the pod, and the node if it is about one.
    """

    aspect: str
    where: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        return (
            f"{self.aspect}: {self.where}\n"
            f"  policysched     {self.ours}\n"
            f"  kube-scheduler  {self.theirs}"
        )


@dataclasses.dataclass(slots=True)
class Counts:
    """How much was compared."""

    clusters: int = 0
    pods: int = 0
    nodes: int = 0
    scores: int = 0
    placements: int = 0
    preemptions: int = 0
    reservations: int = 0

    def add(self, other: Counts) -> None:
        """Add what another run has compared."""
        for field in dataclasses.fields(self):
            total = getattr(self, field.name) + getattr(other, field.name)
            setattr(self, field.name, total)


def counts(theirs: Manifest) -> Counts:
    """Return how much there is to compare in an answer of the oracle."""
    verdicts = theirs.get("verdict") or ()
    return Counts(
        clusters=1,
        pods=len(verdicts),
        nodes=sum(len(v["nodes"]) for v in verdicts),
        scores=sum(len(_scores(v)) for v in verdicts),
        placements=len(theirs.get("place") or ()),
        preemptions=len(theirs.get("preempt") or ()),
        reservations=sum(len(each["nodes"]) for each in theirs.get("bind") or ()),
    )


def differences(ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    """Yield everything in which two answers about a case differ."""
    for asked, compare in _COMPARED.items():
        if asked not in theirs and asked not in ours:
            continue
        mine = {each["pod"]: each for each in ours.get(asked) or ()}
        its = {each["pod"]: each for each in theirs.get(asked) or ()}
        if list(mine) != list(its):
            yield Difference(f"{asked} order of pods", "", list(mine), list(its))
        for pod in mine.keys() & its.keys():
            yield from compare(pod, mine[pod], its[pod])


# --- verdicts ------------------------------------------------------------------------------------


def _verdict(pod: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    for field in ("gated", "prefilter"):
        mine, its = _refusal(ours.get(field)), _refusal(theirs.get(field))
        if mine != its:
            yield Difference(f"verdict {field} {_plugins(mine, its)}", pod, mine, its)
    if not theirs.get("prefilter"):
        yield from _nodes(pod, ours["nodes"], theirs["nodes"])
    mine_scores, its_scores = _scores(ours), _scores(theirs)
    for node, plugin in sorted(mine_scores.keys() | its_scores.keys()):
        points, expected = mine_scores.get((node, plugin)), its_scores.get((node, plugin))
        if points != expected:
            yield Difference(f"verdict scores {plugin}", f"{pod} on {node}", points, expected)
    for field in ("feasible", "best", "message"):
        if ours.get(field) != theirs.get(field) and (ours.get(field) or theirs.get(field)):
            yield Difference(f"verdict {field}", pod, ours.get(field), theirs.get(field))


def _nodes(pod: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    if ours.keys() != theirs.keys():
        yield Difference("verdict names of nodes", pod, sorted(ours), sorted(theirs))
    for node in sorted(ours.keys() & theirs.keys()):
        mine, its = _refusal(ours[node]), _refusal(theirs[node])
        if mine != its:
            yield Difference(f"verdict nodes {_plugins(mine, its)}", f"{pod} on {node}", mine, its)


def _refusal(answer: Manifest | None) -> Manifest | None:
    """Return plugin, code and reasons; None for a pod or node that passes.

    A refusal that no single plugin made has no plugin.
    """
    if not answer or answer.get("ok"):
        return None
    return {
        "plugin": answer.get("plugin", ""),
        "code": answer.get("code", ""),
        "reasons": list(answer.get("reasons") or ()),
    }


def _plugins(ours: Manifest | None, theirs: Manifest | None) -> str:
    said = [each["plugin"] or "-" if each else "passes" for each in (ours, theirs)]
    return said[0] if said[0] == said[1] else " for ".join(said)


def _scores(verdict: Manifest) -> dict[tuple[str, str], int]:
    return {
        (node, plugin): points
        for node, by_plugin in (verdict.get("scores") or {}).items()
        for plugin, points in by_plugin.items()
    }


# --- placements and preemption -------------------------------------------------------------------


def _place(pod: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    for field in ("node", "feasible", "best", "message"):
        mine, its = ours.get(field) or None, theirs.get(field) or None
        if mine != its:
            yield Difference(f"place {field}", pod, mine, its)


def _preempt(pod: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    mine, its = ours.get("message") or None, theirs.get("message") or None
    if mine != its:
        yield Difference("preempt message", pod, mine, its)
    for node in sorted(ours["candidates"].keys() | theirs["candidates"].keys()):
        one, other = ours["candidates"].get(node), theirs["candidates"].get(node)
        if one != other:
            yield Difference(f"preempt {_what_of(one, other)}", f"{pod} on {node}", one, other)
    node = ours["nominated"] or None
    if node not in (theirs["best"] or [None]):
        yield Difference("preempt nominated", pod, node, theirs["best"])
    elif node:
        expected = theirs["candidates"][node]["victims"]
        if ours["victims"] != expected:
            aspect = f"preempt {_what_of_victims(ours['victims'], expected)}"
            yield Difference(aspect, f"{pod} on {node}", ours["victims"], expected)


# --- claims --------------------------------------------------------------------------------------


def _bind(pod: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    if ours["node"] != theirs["node"]:
        yield Difference("bind node", pod, ours["node"], theirs["node"])
    if ours["nodes"].keys() != theirs["nodes"].keys():
        yield Difference("bind nodes", pod, sorted(ours["nodes"]), sorted(theirs["nodes"]))
    for node in sorted(ours["nodes"].keys() & theirs["nodes"].keys()):
        where = f"{pod} on {node}"
        yield from _parts("bind reserve", where, ours["nodes"][node], theirs["nodes"][node])
    for point in ("preBind", "postFilter"):
        yield from _parts(f"bind {point}", pod, ours.get(point) or {}, theirs.get(point) or {})


def _parts(what: str, where: str, ours: Manifest, theirs: Manifest) -> Iterator[Difference]:
    """Yield the parts of an answer that differ; what is empty is as good as absent."""
    for part in sorted(ours.keys() | theirs.keys()):
        one, other = _filled(ours.get(part)), _filled(theirs.get(part))
        if one != other:
            yield Difference(f"{what} {part}", where, one, other)


def _filled(value: object) -> object:
    """Return a value without what is empty in it."""
    if isinstance(value, dict):
        filled = {key: _filled(inner) for key, inner in value.items()}
        return {key: inner for key, inner in filled.items() if inner not in (None, {}, [], "")}
    if isinstance(value, list | tuple):
        return [_filled(inner) for inner in value]
    return value


_COMPARED = {"verdict": _verdict, "place": _place, "preempt": _preempt, "bind": _bind}
"""By what is asked."""


# --- victims -------------------------------------------------------------------------------------


def _what_of(ours: Manifest | None, theirs: Manifest | None) -> str:
    """Return in what two candidates differ."""
    if ours is None or theirs is None:
        return "candidates"
    if ours["victims"] != theirs["victims"]:
        return f"candidates' {_what_of_victims(ours['victims'], theirs['victims'])}"
    return "violated budgets"


def _what_of_victims(ours: list[str], theirs: list[str]) -> str:
    return "order of victims" if sorted(ours) == sorted(theirs) else "victims"
