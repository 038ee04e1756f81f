"""What goes on in a cluster all day: pods come, end and go, nodes flap, policies are edited.

Names and labels are new all the time, as in rollouts and jobs, so whatever is kept for each of
them, and never forgotten, shows as memory.
"""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING, Any

from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

NODES, PODS_PER_NODE = 20, 40
NAMESPACE = "soak"
CONFIG_MAP = f"{NAMESPACE}/policies"
POD_SECONDS = (3, 30)
"""How long pods live, at least and at most."""

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_ROLLOUT_SECONDS, _FLAP_SECONDS, _EDIT_SECONDS = 20, 7, 30
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Churn:
    """One second after the other of a busy cluster.

    Attributes:
        created: pods so far.
    """

    def __init__(
        self, client: api_client.ApiClient, rng: random.Random, *, pods_per_second: int
    ) -> None:
        """Make the namespace, the policies and the nodes."""
        self.created = 0
        self._client = client
        self._rng = rng
        self._pods_per_second = pods_per_second
        self._ends: collections.defaultdict[int, list[str]] = collections.defaultdict(list)
        self._second = 0
        self._nodes_made = 0
        self._nodes: list[str] = []
        client.create_namespace(NAMESPACE)
        client.create(
            _CONFIG_MAPS, {"metadata": {"name": "policies"}, "data": self._policies("preferred")}
        )
        for _ in range(NODES):
            self._add_node()

    def live_one_second(self) -> None:
        """Do what is due in the next second; nothing waits here."""
        second = self._second
        names = [f"pod-{self.created + number}" for number in range(self._pods_per_second)]
        self.created += len(names)
        for name in names:
            self._ends[second + self._rng.randint(*POD_SECONDS)].append(name)
        self._client.create_pods(NAMESPACE, [self._pod(name) for name in names])
        self._end(self._ends.pop(second, ()))
        if second % _FLAP_SECONDS == 0:
            self._flap()
        if second % _EDIT_SECONDS == 0:
            verb = self._rng.choice(("preferred", "preferred", "no-such-word"))
            self._client.patch(f"{_CONFIG_MAPS}/policies", {"data": self._policies(verb)})
        self._second += 1

    def settle(self) -> None:
        """Take everything away and leave as many nodes as in the beginning, without taints."""
        self._client.delete(_PODS)
        for name in [*self._nodes]:
            self._remove_node(name)
        for _ in range(NODES):
            self._add_node()

    def _policies(self, verb: str) -> dict[str, str]:
        """Return a new version, which is broken where the verb is misspelt."""
        version = self._rng.randrange(1_000_000)
        rule = f"nodeAffinity {verb} {manifests.ZONE} In (zone-a) weight {1 + version % 100}"
        return {"soak.policy": f"policy soak-{version} {{ for pods\n  {rule}\n}}\n"}

    def _end(self, names: Iterable[str]) -> None:
        """Let pods go; half of them end by themselves before."""
        for name in names:
            path = f"{_PODS}/{name}"
            with contextlib.suppress(api_client.ApiError):  # it went with its node
                if self._rng.random() < 0.5:
                    self._client.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
                self._client.delete(path)

    def _flap(self) -> None:
        """Take a node away, bring one, or let one be not ready or ready again."""
        name = self._rng.choice(self._nodes)
        match self._rng.randrange(4):
            case 0:
                self._remove_node(name)
                self._add_node()
            case 1:
                self._client.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [_NOT_READY]}})
            case 2:
                for each in self._nodes:
                    self._client.patch(f"/api/v1/nodes/{each}", {"spec": {"taints": None}})
            case _:
                label = {"soak/last-seen": str(self._second)}
                self._client.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": label}})

    def _add_node(self) -> None:
        """Add a node under a new name, as autoscalers do."""
        name = f"node-{self._nodes_made}"
        zone = manifests.ZONES[self._nodes_made % len(manifests.ZONES)]
        resources = {"pods": str(PODS_PER_NODE), "cpu": "16"}
        node = manifests.node(name, labels={manifests.ZONE: zone}, resources=resources)
        self._client.create_nodes([node])
        self._nodes_made += 1
        self._nodes.append(name)

    def _remove_node(self, name: str) -> None:
        """Remove a node, and its pods, as the garbage collector of pods does."""
        self._nodes.remove(name)
        self._client.delete(f"/api/v1/nodes/{name}")
        for pod in self._client.items(_PODS, fieldSelector=f"spec.nodeName={name}"):
            with contextlib.suppress(api_client.ApiError):
                self._client.delete(f"{_PODS}/{pod['metadata']['name']}")

    def _pod(self, name: str) -> dict[str, Any]:
        app = f"rollout-{self._second // _ROLLOUT_SECONDS}"
        labels = {"app": app}
        spec: dict[str, Any] = {}
        match self._rng.randrange(8):
            case 0:
                spec = {"topologySpreadConstraints": [_spread(labels)]}
            case 1:
                spec = {"affinity": _apart(labels)}
            case 2:
                labels["job-name"] = name  # a shape of its own, as pods of jobs have
            case 3:
                spec = {"nodeSelector": {"soak/nowhere": app}}  # waits until it is deleted
            case _:
                pass
        requests = {"cpu": f"{self._rng.randint(1, 20) * 10}m"}
        return manifests.pod(
            name, scheduler_name="policysched", requests=requests, labels=labels, spec=spec
        )


def _spread(labels: dict[str, str]) -> dict[str, Any]:
    return {
        "maxSkew": 5,
        "topologyKey": manifests.ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(labels)},
    }


def _apart(labels: dict[str, str]) -> dict[str, Any]:
    term = {
        "topologyKey": manifests.HOSTNAME,
        "labelSelector": {"matchLabels": dict(labels)},
    }
    weighted = {"weight": 10, "podAffinityTerm": term}
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
