"""A cluster and a backlog about which two schedulers must come to the same.

    made = comparable.make(seed=1, namespace="test-1")
    made.create(plane.client)

Each pod of the backlog either fits in whatever order the pods are placed, or fits nowhere whatever
is placed before it, for reasons that the order does not change (`impossible_pods`).
"""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.e2e.checker import fitting_pods, impossible_pods
from tests.e2e.scenes import storage_objects, workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.realcluster import api_client

    Object: TypeAlias = Mapping[str, Any]

SCHEDULER = "default-scheduler"
NODES = 250
PODS = 500


@dataclasses.dataclass(frozen=True)
class Comparable:
    """Objects to be created.

    Attributes:
        namespace: of everything beside the backlog of `workload`.
        backlog: nodes, and pods of which all fit.
        others: claims, volumes and services, with the collections that they belong in.
        anchors: pods that are bound from the start.
        fitting: further pods that fit.
        impossible: pods that fit nowhere.
    """

    namespace: str
    backlog: workload.Workload
    others: Sequence[tuple[str, Object]]
    anchors: Sequence[Object]
    fitting: Sequence[Object]
    impossible: Sequence[Object]

    @property
    def waiting_count(self) -> int:
        """How many pods a scheduler has to place."""
        return len(self.backlog.pods) + len(self.fitting)

    def create(self, client: api_client.ApiClient) -> None:
        """Create everything; the namespace must exist."""
        self.backlog.create_cluster(client)
        for path, body in self.others:
            workload.create_once(client, path, body)
        client.create_pods(self.namespace, self.anchors)
        client.create_pods(self.namespace, self.impossible)
        self.backlog.create_pods(client)
        client.create_pods(self.namespace, self.fitting)


def make(seed: int, *, namespace: str) -> Comparable:
    """Return a mixed cluster with a backlog for the scheduler `SCHEDULER`."""
    backlog = workload.without_policies(seed, scheduler_name=SCHEDULER, nodes=NODES, pods=PODS)
    for number, node in enumerate(backlog.nodes):
        node["status"]["images"] = list(_images(number))
    fitting = fitting_pods.make(SCHEDULER)
    random.Random(seed).shuffle(fitting)
    anchors = impossible_pods.anchors(backlog.nodes)
    return Comparable(
        namespace,
        backlog,
        [*storage_objects.make(namespace, backlog.nodes), fitting_pods.service(namespace)],
        anchors,
        fitting,
        impossible_pods.make(SCHEDULER),
    )


def _images(number: int) -> Iterator[Object]:
    """Give every third node the large image, and every fifth the small one."""
    if number % 3 == 1:
        yield {"names": [fitting_pods.LARGE_IMAGE], "sizeBytes": 900_000_000}
    if number % 5 == 2:
        yield {"names": [fitting_pods.SMALL_IMAGE], "sizeBytes": 60_000_000}
