"""Edit the policies again and again while rollouts run and pods of many workloads arrive.

    python -m tests.chaos.rollouts --edits 500

A third of the versions leaves the pods Pending that they decide about. 100 pods arrive a second.
In the end, each pod has to be where exactly one version puts it. In a stage, all pods of a workload
have to be decided by one version. No version that leaves pods Pending may come into force, and each
rollback has to give a reason.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import json
import pathlib
import random
import re
import ssl
import sys
import tempfile
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

from tests import whole_numbers
from tests.e2e.scenes import policy_edits, reload_scene, rollout_scene
from tests.realcluster import control_plane as control_planes
from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAMESPACE = "chaos"
PODS_PER_SECOND = 100
_BATCH = 20
_LIMIT_SECONDS = 600.0
_KEPT = 100_000
_EDITS_FOR_ENDS = 200
"""With more edits, some versions must be promoted, and some rolled back."""
_ROLLOUT = {
    "minPods": 5,
    "guards": [{"name": "pending", "measure": "unschedulable", "most": 0.5}],
    "stages": [{"shadow": True}, {"percent": 30}, {"percent": 60}],
}
_ROLLED_BACK = re.compile(r"rolled back to ([0-9a-f]+): (.*)")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of many edits.

    Attributes:
        pods: number of pods.
        started, promoted, replaced: numbers of rollouts.
        reasons: of the rollbacks.
        violations: what must not be.
    """

    pods: int
    started: int
    promoted: int
    replaced: int
    reasons: list[str]
    violations: list[str]


def make_versions(count: int, rng: random.Random) -> list[policy_edits.Version]:
    """Return random versions; no node has the slot of every third one."""
    return [_make_version(number, rng) for number in range(1, count + 1)]


def _make_version(number: int, rng: random.Random) -> policy_edits.Version:
    row = rng.randrange(policy_edits.GRID)
    if rng.random() < 1 / 3:
        return policy_edits.Version(number, rollout_scene.STUCK.slot, row)
    damage = rng.choice(policy_edits.DAMAGES) if rng.random() < 1 / 10 else ""
    return policy_edits.Version(number, rng.randrange(policy_edits.GRID), row, damage)


class _Arrivals:
    """Creates pods of ever new workloads until it ends."""

    def __init__(self, scene: reload_scene.Scene) -> None:
        self._scene = scene
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._is_over.wait(_BATCH / PODS_PER_SECOND):
            pods = rollout_scene.make_workload_pods(f"p{number}", _BATCH // rollout_scene.REPLICAS)
            self._scene.client.create_pods(NAMESPACE, pods)
            self.count += len(pods)
            number += 1


def run(
    scene: reload_scene.Scene,
    read_decisions: Callable[[], Sequence[dict[str, Any]]],
    offered: Sequence[policy_edits.Version],
    rng: random.Random,
) -> Outcome:
    """Write the versions, some of them in quick succession, and judge what came of them."""
    pause = threading.Event()
    arrivals = _Arrivals(scene)
    with arrivals:
        for version in offered:
            scene.config_map.edit(version)
            pause.wait(rng.uniform(3.0, 8.0) if rng.random() < 1 / 8 else rng.uniform(0.02, 0.2))
        scene.config_map.edit(reload_scene.GOOD)
        scene.wait_until_told("ok", reload_scene.GOOD)
    nodes = policy_edits.nodes_of
    scene.scheduler.wait_until(
        lambda: all(nodes(scene.client, NAMESPACE).values()), time_limit_seconds=_LIMIT_SECONDS
    )
    violations = _find_split_workloads(read_decisions())
    return _judge(scene, [reload_scene.GOOD, *offered], arrivals.count, violations)


def _judge(
    scene: reload_scene.Scene,
    offered: Sequence[policy_edits.Version],
    pods: int,
    violations: list[str],
) -> Outcome:
    log = scene.scheduler.log
    reasons = [reason for _, reason in _ROLLED_BACK.findall(log)]
    violations = violations + _find_misplaced_pods(scene, offered)
    stuck = {each.hash for each in offered if each.slot == rollout_scene.STUCK.slot}
    kept = scene.client.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/policies-history")
    violations += [
        f"{key} leaves pods Pending, but was in force"
        for key in kept["binaryData"]
        if any(version_hash in key for version_hash in stuck)
    ]
    promoted = log.count("policysched: promoted")
    if len(offered) > _EDITS_FOR_ENDS and not (promoted and reasons):
        violations.append(f"{promoted} promoted, {len(reasons)} rolled back: nothing was tried")
    violations += [f"rolled back without numbers: {each}" for each in reasons if ">" not in each]
    return Outcome(
        pods,
        log.count(": stage 1 of"),
        promoted,
        log.count("ends: the policies were edited"),
        reasons,
        violations,
    )


def _find_misplaced_pods(
    scene: reload_scene.Scene, offered: Sequence[policy_edits.Version]
) -> list[str]:
    """Return pods that are not where the version of their annotation puts them."""
    places = {each.hash: f"node-{each.slot}-{each.row}" for each in offered if not each.damage}
    found = []
    for pod in scene.client.pods(NAMESPACE):
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        version = meta.get("annotations", {}).get(rollout_scene.VERSION, "")
        if places.get(version) != node:
            found.append(f"{meta['name']} is on `{node}`, bound by `{version}`")
    return found


def _read_decisions(port: int, token: str) -> list[dict[str, Any]]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{port}/debug/decisions?limit={_KEPT}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310 - our own server
        document = json.load(answer)
    decided: list[dict[str, Any]] = document["decisions"]
    return decided


def _find_split_workloads(decided: Sequence[dict[str, Any]]) -> list[str]:
    """Return the workloads about which several versions decided in one stage of one rollout."""
    versions = collections.defaultdict(set)
    for each in decided:
        if each["rolloutStage"] and "shadow" not in each["rolloutStage"]:
            workload = each["pod"].rpartition("-")[0]
            versions[each["rolloutStage"], workload].add(each["policyHash"])
    return [f"{key}: {found}" for key, found in versions.items() if len(found) > 1]


def main(argv: Sequence[str] | None = None) -> int:
    """Edit; 1 where something happened that must not."""
    args = _parse(argv)
    rng = random.Random(args.seed)
    port = process.free_port()
    serving = {"secureAddress": f"127.0.0.1:{port}"}
    more = {"serving": serving, "decisions": {"kept": _KEPT}}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with control_planes.ControlPlane(
            folder / "control-plane", flags=control_planes.THROUGHPUT_FLAGS
        ) as plane:
            plane.client.create_namespace(NAMESPACE)
            with rollout_scene.running(plane, NAMESPACE, folder, _ROLLOUT, more=more) as scene:
                token = plane.tokens[control_planes.ADMIN]
                decisions = functools.partial(_read_decisions, port, token)
                found = run(scene, decisions, make_versions(args.edits, rng), rng)
    print(
        f"{args.edits} edits, seed {args.seed}: {found.started} rollouts, {found.promoted} "
        f"promoted, {len(found.reasons)} rolled back, {found.replaced} replaced; {found.pods} "
        f"pods, {len(found.violations)} violations"
    )
    print(*found.violations[:100], sep="\n")
    return 1 if found.violations else 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.chaos.rollouts")
    parser.add_argument("--edits", type=whole_numbers.at_least(1), default=500)
    parser.add_argument("--seed", type=whole_numbers.at_least(0), default=1)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
