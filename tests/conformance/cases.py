"""Cases with verdicts of the real kube-scheduler 1.36.3, and our own framework asked the same.

`data/<family>.jsonl.gz` has a generated cluster a line: `cluster` (a v1 List), `verdict` (what the
real framework says of each pending pod considered alone) and `place` (the pending pods scheduled
one after the other, ties to the smallest name).

Not compared yet: pods that use volumes. Pods that name resource claims or belong to a pod group
are the stated exception: policysched keeps them waiting with reasons of its own.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec

from policysched import clock
from policysched.cluster import (
    cache,
    objects,
    owner_objects,
    owner_selectors,
    pod_shape,
)
from policysched.framework import explanation, interface, profile, runtime, score_table, status
from policysched.plugins import defaults, registry
from tests import builders

DATA = pathlib.Path(__file__).parent / "data"
FAMILIES = sorted(path.name.partition(".")[0] for path in DATA.glob("*.jsonl.gz"))

_OWNER_KINDS = {kind.value[1]: kind for kind in owner_selectors.OwnerKind}
Verdict = dict[str, Any]


class NoBinder:
    """Binds nothing: decisions are all that is compared."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> interface.BindError | None:
        """Refuse."""
        return interface.BindError(f"{pod.key} is not bound to {node_name}")


@dataclasses.dataclass
class Case:
    """One recorded cluster."""

    name: str
    cache: cache.Cache
    pending: dict[str, pod_shape.PodInfo]
    verdicts: list[Verdict]
    placements: list[Verdict]

    def framework(self) -> runtime.Framework:
        """Return the default profile; ties go to the smallest name."""
        return runtime.Framework(default_profile(self.cache.owners), None)

    def is_comparable(self, pod: pod_shape.PodInfo) -> bool:
        """Whether the pod uses only what policysched schedules already."""
        spec = pod.shape.spec
        uses_volumes = any(_is_checked(v) for v in spec.volumes)
        return not (uses_volumes or spec.resource_claims or spec.scheduling_group)


def default_profile(owners: owner_selectors.OwnerSelectors) -> profile.Profile:
    """Return the default plugins with their default weights."""
    known = registry.built_in()
    handle = interface.Handle(NoBinder(), owners)
    plugins = [known.create(p.name, None, handle) for p in defaults.DEFAULT_PLUGINS]
    made = tuple(p for p in plugins if not isinstance(p, registry.PluginError))
    assert len(made) == len(plugins)
    return profile.Profile("default-scheduler", made, defaults.DEFAULT_WEIGHTS)


def load(family: str) -> Iterator[Case]:
    """Return the cases of a family."""
    with gzip.open(DATA / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield _case(record)


def _case(record: dict[str, Any]) -> Case:
    found = cache.Cache(clock.ManualClock(builders.EPOCH))
    shapes = pod_shape.PodShapes()
    pending = {}
    for item in record["cluster"]["items"]:
        _add(found, item)
    for item in record["cluster"]["items"]:
        if item["kind"] == "Pod":
            info = shapes.info(msgspec.convert(item, objects.Pod))
            if not info.pod.spec.node_name:
                pending[info.key] = info
                found.nominated.nominate(info, info.pod.status.nominated_node_name)
            elif not info.pod.is_terminal:
                found.add_pod(info)
    return Case(record["name"], found, pending, record["verdict"], record["place"])


def _add(found: cache.Cache, item: dict[str, Any]) -> None:
    kind = item["kind"]
    if kind == "Node":
        found.set_node(msgspec.convert(item, objects.Node))
    elif kind == "Namespace":
        meta = msgspec.convert(item, objects.Namespace).metadata
        found.set_namespace(meta.name, meta.labels)
    elif kind in _OWNER_KINDS:
        owner = msgspec.convert(item, owner_objects.WIRE_TYPES[_OWNER_KINDS[kind]])
        meta = owner.metadata
        found.owners.set(_OWNER_KINDS[kind], meta.namespace, meta.name, owner.selector)


def _is_checked(volume: objects.Volume) -> bool:
    """Whether kube-scheduler has a plugin that looks at the volume."""
    given = msgspec.to_builtins(volume)
    return bool(given.keys() - {"name", "image"})


# --- the recorded form ---------------------------------------------------------------------------


def verdict_of(explained: explanation.Explanation, names: list[str]) -> Verdict:
    """Return an explanation in the form of the recorded verdicts."""
    by_node = {} if explained.pre_filter else {v.name: _node(v.first) for v in explained.verdicts}
    return {
        "pod": explained.pod.key,
        "gated": _refusal(explained.gate),
        "prefilter": _refusal(explained.pre_filter),
        "nodes": by_node,
        "feasible": explained.feasible_count,
        "scores": _scores(explained.scores, names),
        "best": explained.best,
        "message": explained.message,
    }


def recorded(verdict: Verdict) -> Verdict:
    """Return a recorded verdict with all keys."""
    return {
        "pod": verdict["pod"],
        "gated": verdict.get("gated"),
        "prefilter": verdict["prefilter"],
        "nodes": {} if verdict["prefilter"] else verdict["nodes"],
        "feasible": verdict["feasible"],
        "scores": verdict["scores"],
        "best": verdict["best"],
        "message": verdict.get("message", ""),
    }


def _node(answer: status.Status) -> dict[str, Any]:
    return {"ok": True} if answer.is_success else {"ok": False, **(_refusal(answer) or {})}


def _refusal(answer: status.Status | None) -> dict[str, Any] | None:
    """Return plugin, code and reasons; a refusal that no single plugin made has no plugin."""
    if answer is None:
        return None
    refusal = {"plugin": answer.plugin, "code": answer.code.value, "reasons": list(answer.reasons)}
    return {key: value for key, value in refusal.items() if value != ""}


def _scores(table: score_table.ScoreTable | None, names: list[str]) -> dict[str, Any]:
    if table is None:
        return {}
    columns = {**table.by_plugin, "total": table.totals}
    return {
        names[row]: {key: score_table.points(int(column[i])) for key, column in columns.items()}
        for i, row in enumerate(table.rows.tolist())
    }
