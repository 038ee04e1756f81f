"""Fresh control planes every time, decided by policysched and by Karmada's own algorithm."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import msgspec

from policysched.karmada import algorithm, decide, errors, objects, registry, snapshot
from tests.karmada import cases, oracle_process

SEED = int(os.environ.get("CONFORMANCE_SEED", random.SystemRandom().randrange(10**6)))
"""Any, unless a failure is to be seen again: it is part of the seeds of the cases."""

CASES = int(os.environ.get("KARMADA_CASES", "250"))
"""Control planes; each has 8 bindings."""


def test_placements_equal_those_of_karmada() -> None:
    """Clusters, replicas, errors and observed affinities agree on every binding."""
    ours = algorithm.Algorithm(registry.chosen(registry.built_in(), ["*"]))
    compared = 0
    with oracle_process.running() as ask:
        for number in range(CASES):
            plane = cases.control_plane(f"{SEED}-{number}")
            for (binding, decision), theirs in zip(_decide(ours, plane), ask(plane), strict=True):
                told = f"seed {SEED}-{number}: {json.dumps(plane)}"
                divided = _is_divided(binding)
                assert _normal(_as_json(binding, decision), divided) == _normal(theirs, divided), (
                    told
                )
                compared += 1
    assert compared == CASES * 8


def _decide(
    ours: algorithm.Algorithm, plane: dict[str, Any]
) -> list[tuple[objects.Binding, decide.Decision]]:
    items = plane["items"]
    clusters = [msgspec.convert(i, objects.Cluster) for i in items if i["kind"] == "Cluster"]
    bindings = [msgspec.convert(i, objects.Binding) for i in items if i["kind"] != "Cluster"]
    at_once = snapshot.of(clusters, bindings)
    return [(binding, decide.decide(ours, binding, at_once)) for binding in bindings]


def _as_json(binding: objects.Binding, decision: decide.Decision) -> dict[str, Any]:
    failure = decision.result if isinstance(decision.result, errors.Failure) else None
    targets = () if isinstance(decision.result, errors.Failure) else decision.result
    return {
        "binding": binding.key,
        "clusters": [{"name": each.name, "replicas": each.replicas} for each in targets],
        "errorKind": failure.kind if failure else "",
        "error": failure.text if failure else "",
        "observedAffinity": decision.observed_affinity,
    }


def _is_divided(binding: objects.Binding) -> bool:
    placement = binding.spec.placement
    return placement is not None and placement.scheduling_type == objects.DIVIDED


def _normal(result: dict[str, Any], is_divided: bool) -> dict[str, Any]:
    """Return what must be equal: Karmada's order is random where replicas are divided.

    So is which of several filters tells its reason about a cluster.
    """
    clusters = result["clusters"]
    if is_divided:
        clusters = sorted(clusters, key=lambda cluster: cluster["name"])
    error = "" if result["errorKind"] == "fit" else result["error"]
    return result | {"clusters": clusters, "error": error}
