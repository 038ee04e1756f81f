"""policysched asked about a case: what `explain --all` and `simulate --deterministic` answer.

The cluster and the policy text with the profile's plugin arguments go through files, as on the
command line. Preemption of pods that are considered alone has no command of its own; it is asked of
the framework that `explain` uses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import json
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

import orjson

from policysched.cluster.pods import pod_shape
from policysched.framework import messages, runtime
from policysched.offline import sessions, simulating
from policysched.plugins import default_preemption, defaults
from policysched.plugins.kernels import victims
from tests.conformance import claim_writes

Manifest = dict[str, Any]
PROFILE = "default-scheduler"
MAKING_ROOM = ("DefaultPreemption",)
"""PostFilter plugins that evict: recorded placements are without preemption."""


@dataclasses.dataclass(frozen=True)
class Product:
    """policysched with two files that are written anew for every case."""

    folder: pathlib.Path

    def answer(self, case: Manifest) -> Manifest:
        """Return what policysched says about everything that the case asks."""
        self._cluster.write_bytes(orjson.dumps(case["cluster"]))
        config = case.get("config", {})
        answer: Manifest = {"name": case["name"]}
        asked = case["ask"]
        if "verdict" in asked or "preempt" in asked:
            decider = self._decider(config)
            if "verdict" in asked:
                answer["verdict"] = list(decider.explain_pending_pods())
            if "preempt" in asked:
                answer["preempt"] = [_preempt(decider, info) for info in decider.cluster.pending]
        if "bind" in asked:
            make_decider = functools.partial(self._decider, config)
            answer["bind"] = list(claim_writes.answer(case["cluster"], make_decider))
        if "place" in asked:
            placing = self._decider(config, disabled=MAKING_ROOM)
            answer["place"] = [simulating.as_json(each) for each in placing.simulate_placements()]
        return answer

    @property
    def _cluster(self) -> pathlib.Path:
        return self.folder / "cluster.json"

    def _decider(self, config: Manifest, disabled: tuple[str, ...] = ()) -> sessions.PodDecider:
        """Return what decides about the cluster; ties are broken by name."""
        policy = self.folder / "profile.policy"
        policy.write_text(policy_text(config, disabled), encoding="utf-8")
        inputs = sessions.OfflineInputs(
            str(self._cluster), claim_writes.NOW, (str(policy),), scheduler_name=PROFILE
        )
        return next(sessions.OfflineDeciderSource(inputs).make_deciders())


@contextlib.contextmanager
def opened() -> Iterator[Product]:
    """Yield policysched with a folder for its files."""
    with tempfile.TemporaryDirectory(prefix="policysched-conformance-") as folder:
        yield Product(pathlib.Path(folder))
    # Reading a cluster pauses automatic collections, which then do not notice what has grown old.
    gc.collect()


def policy_text(config: Manifest, disabled: tuple[str, ...] = ()) -> str:
    """Return the text of the profile that a case's `config` describes."""
    known = {plugin.name: plugin.weight for plugin in defaults.DEFAULT_PLUGINS}
    weights = config.get("weights", {})
    args = {entry["name"]: entry["args"] for entry in config.get("pluginConfig", ())}
    lines = []
    for name, default_weight in known.items():
        if name in config.get("disabled", ()):
            continue
        if name in weights or name in args:
            weight = weights.get(name, default_weight)
            given = f" args {json.dumps(args[name])}" if name in args else ""
            lines.append(f"  plugin {name} weight {weight}{given}")
    off = [name for name in (*disabled, *config.get("disabled", ())) if name in known]
    if off:
        lines.append(f"  disable {', '.join(off)}")
    body = "\n".join(lines)
    return f"version 1\n\nprofile {PROFILE} {{\n{body}\n}}\n"


def _preempt(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> Manifest:
    """Return where room would be made if the pod were the only one to be scheduled, gates apart."""
    framework = decider.choice.require_framework(info)
    answer: Manifest = {"pod": info.key, "nominated": None, "victims": [], "candidates": {}}
    snap = decider.cluster.cache.snapshot()
    result = framework.schedule_pod(info, snap)
    answer |= {"feasible": result.feasible_count, "message": result.message}
    if result.node_name is not None or result.diagnosis is None:
        return answer
    return answer | _room(framework, info, decider, result)


def _room(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    decider: sessions.PodDecider,
    result: runtime.ScheduleResult,
) -> Manifest:
    diagnosis = result.diagnosis
    snap = decider.cluster.cache.snapshot()
    assert diagnosis is not None
    with _candidates() as candidates:
        found = framework.run_post_filter(result.state, info, snap, diagnosis)
    if found is None:
        return {}
    answer: Manifest = {
        "candidates": {snap.nodes.names[c.row]: _candidate(c) for c in candidates},
    }
    if found.status.is_success:
        evicted = [victim.key for victim in found.victims]
        return answer | {"nominated": found.nominated_node_name, "victims": evicted}
    diagnosis.post_filter_message = ", ".join(found.status.reasons)
    return answer | {"message": messages.fit_error(diagnosis, snap.is_alive, snap.node_count)}


@contextlib.contextmanager
def _candidates() -> Iterator[list[victims.Candidate]]:
    """Yield the list of all nodes that DefaultPreemption finds, as it does."""
    noted: list[victims.Candidate] = []
    find = default_preemption.DefaultPreemption.find_candidates

    def observed(plugin: default_preemption.DefaultPreemption, *args: Any) -> Any:
        found = find(plugin, *args)
        noted.extend(found[0])
        return found

    with mock.patch.object(default_preemption.DefaultPreemption, "find_candidates", observed):
        yield noted


def _candidate(found: victims.Candidate) -> Manifest:
    """Return a candidate as the oracle tells of it."""
    made: Manifest = {"victims": [victim.key for victim in found.victims]}
    return made | {"pdbViolations": found.violations} if found.violations else made
