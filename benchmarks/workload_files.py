"""Workloads: the YAML files of `benchmarks/workloads`, made into nodes and pods.

A file has `zones`, and lists of `nodes` and `pods`. Every entry of a list gets its `share` of all
nodes or pods. The entries are dealt out in turn, so that the kinds are mixed evenly.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tests.realcluster import manifests

FOLDER = pathlib.Path(__file__).resolve().parent / "workloads"
NAMESPACE = "benchmark"


@dataclasses.dataclass(frozen=True)
class Workload:
    """A kind of cluster and a kind of backlog, of any size."""

    name: str
    zones: Sequence[str]
    node_kinds: Sequence[Mapping[str, Any]]
    pod_kinds: Sequence[Mapping[str, Any]]

    def nodes(self, count: int) -> list[dict[str, Any]]:
        """Return `count` nodes."""
        kinds = _dealt(self.node_kinds, count)
        return [self._node(number, kind) for number, kind in enumerate(kinds)]

    def pods(self, count: int, scheduler_name: str) -> list[dict[str, Any]]:
        """Return `count` pods for a scheduler."""
        numbers = dict.fromkeys((kind["name"] for kind in self.pod_kinds), 0)
        made = []
        for kind in _dealt(self.pod_kinds, count):
            made.append(_pod(kind, numbers[kind["name"]], scheduler_name))
            numbers[kind["name"]] += 1
        return made

    def _node(self, number: int, kind: Mapping[str, Any]) -> dict[str, Any]:
        zone = self.zones[number % len(self.zones)]
        return manifests.node(
            f"node-{number:05}",
            labels={manifests.ZONE: zone} | kind.get("labels", {}),
            resources=kind.get("resources"),
            taints=[tuple(taint) for taint in kind.get("taints", [])],
        )


def load(name: str) -> Workload:
    """Return the workload in `workloads/<name>.yaml`.

    Raises:
        FileNotFoundError: there is no such file.
    """
    document = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return Workload(name, document["zones"], document["nodes"], document["pods"])


def names() -> list[str]:
    """Return the names of all workloads."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def _dealt(kinds: Sequence[Mapping[str, Any]], count: int) -> Iterator[Mapping[str, Any]]:
    """Give `count` entries so that each kind has its share at every moment, as near as can be."""
    total = sum(kind["share"] for kind in kinds)
    given = [0] * len(kinds)
    for number in range(1, count + 1):
        lacking = [kind["share"] * number / total - given[i] for i, kind in enumerate(kinds)]
        turn = lacking.index(max(lacking))
        given[turn] += 1
        yield kinds[turn]


def _pod(kind: Mapping[str, Any], number: int, scheduler_name: str) -> dict[str, Any]:
    app = f"{kind['name']}-{number % kind.get('apps', 1)}"
    return manifests.pod(
        f"{kind['name']}-{number}",
        scheduler_name=scheduler_name,
        requests=kind.get("requests"),
        labels=_filled_in(kind.get("labels", {}), app),
        spec=_filled_in(kind.get("spec", {}), app),
    )


def _filled_in(value: Any, app: str) -> Any:  # noqa: ANN401 - any part of a YAML document
    match value:
        case dict():
            return {key: _filled_in(one, app) for key, one in value.items()}
        case list():
            return [_filled_in(one, app) for one in value]
        case "$app":
            return app
        case _:
            return value
