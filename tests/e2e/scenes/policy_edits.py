"""A ConfigMap of policies that is edited while pods arrive, and which version each pod went by.

A version has two keys. One asks for a slot of the node and one for a row; both say their number in
the name of their policy. Nodes stand in a grid, so where a pod is and what its event says of the
policies both tell by which version it was placed, and whether it was by all of it.
"""

from __future__ import annotations

import dataclasses
import random
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from policysched.lang import source
from policysched.lang.checked import content_hash
from tests.e2e.scenes import failover_scene
from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

GRID = 4
EDITS_PER_SECOND, PODS_PER_SECOND = 20, 100
SLOT, ROW = "example.com/slot", "example.com/row"
HASH, STATUS, ERRORS = "policysched.io/hash", "policysched.io/status", "policysched.io/errors"
FREEZE = "policysched.io/freeze"

_NOTE = re.compile(r"\(policysched: row-(\d+), slot-(\d+); ([0-9a-f]{8})\)")


@dataclasses.dataclass(frozen=True)
class Version:
    """A version of the policies.

    Attributes:
        number: also in the names of its policies.
        slot, row: of the nodes that it allows.
        damage: what makes it a bad one, "" for a good one.
    """

    number: int
    slot: int
    row: int
    damage: str = ""

    @property
    def data(self) -> dict[str, str]:
        """Its keys."""
        row = self._policy("row", ROW, self.row)
        match self.damage:
            case "syntax":
                row = row.replace("required", "mandatory")
            case "unknown":
                row += "profile policysched { policies nobody }\n"
            case "never":  # it compiles, and is an error of lint
                row = row.replace(" required ", f" required {ROW} NotIn (v{self.row}) and ")
            case "cut":
                row = row[: len(row) // 2]
            case _:
                pass
        return {"slot.policy": self._policy("slot", SLOT, self.slot), "row.policy": row}

    def _policy(self, word: str, label: str, value: int) -> str:
        rule = f"nodeAffinity required {label} In (v{value})"
        return f"policy {word}-{self.number} {{ for pods\n  {rule}\n}}\n"

    @property
    def hash(self) -> str:
        """As in decisions."""
        texts = [source.SourceText(key, text) for key, text in self.data.items()]
        return content_hash.hash_policy_texts_and_params(texts, {})


DAMAGES = ("syntax", "unknown", "cut", "never")


def versions(count: int, rng: random.Random) -> list[Version]:
    """Return good and bad versions in turns, a good one first."""
    return [
        Version(
            number,
            rng.randrange(GRID),
            rng.randrange(GRID),
            rng.choice(DAMAGES) if number % 2 else "",
        )
        for number in range(count)
    ]


class PolicyConfigMap:
    """The ConfigMap on the API server."""

    def __init__(self, client: api_client.ApiClient, namespace: str) -> None:
        self.name = f"{namespace}/policies"
        self._client = client
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._path = f"{self._collection}/policies"

    def create(self, version: Version) -> None:
        """Create it."""
        self._client.create(
            self._collection, {"metadata": {"name": "policies"}, "data": version.data}
        )

    def edit(self, version: Version) -> None:
        """Write another version."""
        self._client.patch(self._path, {"data": version.data})

    def annotate(self, **annotations: str | None) -> None:
        """Change annotations `policysched.io/…`."""
        named = {f"policysched.io/{key}": value for key, value in annotations.items()}
        self._client.patch(self._path, {"metadata": {"annotations": named}})

    def delete(self) -> None:
        """Delete it."""
        self._client.delete(self._path)

    def read(self) -> dict[str, Any]:
        """Return it."""
        return self._client.get(self._path)

    def has_history(self) -> bool:
        """Return whether versions of it are kept."""
        try:
            return bool(self._client.get(f"{self._path}-history").get("binaryData"))
        except api_client.ApiError:
            return False

    @property
    def annotations(self) -> dict[str, str]:
        """Return its annotations."""
        found: dict[str, str] = self.read()["metadata"].get("annotations") or {}
        return found

    def tells(self, status: str, version: Version) -> bool:
        """Return whether the annotations say this of a version."""
        said = self.annotations
        return (said.get(STATUS), said.get(HASH)) == (status, version.hash)

    def events(self) -> list[dict[str, Any]]:
        """Return the events about it."""
        namespace = self.name.partition("/")[0]
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        return [
            event for event in self._client.items(path) if event["regarding"]["kind"] == "ConfigMap"
        ]


def make_nodes(client: api_client.ApiClient, pods_per_node: int) -> None:
    """Create one node for each slot and row."""
    resources = {"pods": str(pods_per_node), "cpu": "1000", "memory": "4Ti"}
    nodes = []
    for slot in range(GRID):
        for row in range(GRID):
            node = manifests.node(f"node-{slot}-{row}", resources=resources)
            node["metadata"]["labels"] |= {SLOT: f"v{slot}", ROW: f"v{row}"}
            nodes.append(node)
    client.create_nodes(nodes)


def pods(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return pods to be created."""
    return [manifests.pod(name, scheduler_name="policysched") for name in names]


def placed_by(client: api_client.ApiClient, namespace: str) -> dict[str, re.Match[str]]:
    """Return what the Scheduled event of each pod says of the policies, by name of the pod."""
    found = {}
    for event in client.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"):
        if event["reason"] == "Scheduled":
            match = _NOTE.search(event["note"])
            assert match is not None, event["note"]
            found[event["regarding"]["name"]] = match
    return found


def violations(
    client: api_client.ApiClient, namespace: str, offered: Sequence[Version]
) -> list[str]:
    """Return the pods that have no node, or are where no single good version would put them."""
    by_hash = {version.hash[:8]: version for version in offered if not version.damage}
    said = placed_by(client, namespace)
    return [
        f"{name}: {problem}"
        for name, node in nodes_of(client, namespace).items()
        if (problem := _problem(node, said.get(name), by_hash))
    ]


def _problem(node: str, said: re.Match[str] | None, by_hash: Mapping[str, Version]) -> str:
    if not node or said is None:
        return "has no node" if not node else f"is on {node}, which no event tells"
    version = by_hash.get(said[3])
    if version is None:
        return f"was placed by {said[0]}, which is no good version"
    if {int(said[1]), int(said[2])} != {version.number}:
        return f"was placed by {said[0]}, but the hash is of version {version.number}"
    if node != f"node-{version.slot}-{version.row}":
        return f"is on {node}, which version {version.number} does not allow"
    return ""


def nodes_of(client: api_client.ApiClient, namespace: str) -> dict[str, str]:
    """Return the node of each pod, "" for none."""
    return {
        pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in client.pods(namespace)
    }


@dataclasses.dataclass(frozen=True)
class Edited:
    """What came of many edits.

    Attributes:
        violations: what must not be.
        pods: how many arrived meanwhile.
        versions: how many versions pods were placed by.
    """

    violations: list[str]
    pods: int
    versions: int


def edit_while_pods_arrive(
    client: api_client.ApiClient,
    config_map: PolicyConfigMap,
    namespace: str,
    offered: Sequence[Version],
    wait_until: Callable[[Callable[[], bool]], None],
) -> Edited:
    """Write version after version while PODS_PER_SECOND arrive; wait until all have a node."""
    count = len(offered) * PODS_PER_SECOND // EDITS_PER_SECOND
    load = failover_scene.Load(client, namespace, "load", count, per_second=PODS_PER_SECOND)
    pause = threading.Event()
    with load:
        for version in offered:
            config_map.edit(version)
            pause.wait(1 / EDITS_PER_SECOND)
    wait_until(lambda: len(placed_by(client, namespace)) >= count)
    by = {said[3] for said in placed_by(client, namespace).values()}
    return Edited(violations(client, namespace, offered), count, len(by))


class Stopwatch:
    """Measures how long an edit takes to reach decisions: a pod now and then, each at a known time.

    Attributes:
        created_at: seconds of the monotonic clock, by pod.
    """

    def __init__(self, client: api_client.ApiClient, namespace: str) -> None:
        self.created_at: dict[str, float] = {}
        self._client = client
        self._namespace = namespace

    def create(self, name: str) -> None:
        """Create a pod; its time is from before the request."""
        self.created_at[name] = time.monotonic()
        self._client.create_pods(self._namespace, pods([name]))

    def latency_seconds(self, edited_at: float, version: Version) -> float | None:
        """Return when, after an edit, the first pod was created that went by `version`.

        None while there is none. Pods created before the edit are not looked at.
        """
        said = placed_by(self._client, self._namespace)
        reached = [
            created - edited_at
            for name, created in self.created_at.items()
            if created >= edited_at and name in said and said[name][3] == version.hash[:8]
        ]
        return min(reached, default=None)
