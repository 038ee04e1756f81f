"""Nodes and pods of `busy_cluster`, drawn from few kinds, so that much of it is alike."""

from __future__ import annotations

import dataclasses
import random

from tests import builders

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
CLAIMS = tuple(f"c{number}" for number in range(6))
_HUGE = str(2**63 - 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """How large nodes are, and what pods request, from which both draw."""

    cpu: tuple[str, ...]
    memory: tuple[str, ...]
    pods: tuple[str, ...]
    requested_memory: tuple[str, ...]


COMMON = Sizes(("4", "8"), ("8Gi", "16Gi"), ("10", "20"), ("128Mi", "1Gi"))
EXTREME = Sizes(
    ("0", "1", "2", _HUGE),
    ("0", "1Gi", "2Gi", "1e18", _HUGE),
    ("0", "3", "4"),
    ("128Mi", "1Gi", "5e18"),
)


def node(number: int, sizes: Sizes, rng: random.Random) -> builders.NodeBuilder:
    """Return a node."""
    labels = {
        HOST: f"n{number}",
        ZONE: f"z{rng.randrange(3)}",
        "rack": f"r{rng.randrange(8)}",
        "region": rng.choice(("a", "a", "a", "b")),
        "disk": rng.choice(("ssd", "hdd")),
        "pool": rng.choice(("x", "x", "x", "retired")),
    }
    if rng.randrange(5):
        labels["generation"] = rng.choice(("1", "2", "3", "7", "abc"))
    made = builders.make_node(f"n{number}").labels(labels)
    made = made.capacity(
        cpu=rng.choice(sizes.cpu), memory=rng.choice(sizes.memory), pods=rng.choice(sizes.pods)
    )
    if rng.randrange(3) == 0:
        made = made.capacity({"example.com/gpu": rng.choice((0, 2, 4))})
    if rng.randrange(6) == 0:
        made = made.taint(rng.choice(("spot", "other")))
    if rng.randrange(10) == 0:
        made = made.taint("soft", effect="PreferNoSchedule")
    if rng.randrange(20) == 0:
        made = made.unschedulable()
    if rng.randrange(3) == 0:
        size_bytes = rng.randrange(10**8, 10**9)
        made = made.image(rng.choice(("i1:1", "i2:1")), size_bytes=size_bytes)
    return made


def template(sizes: Sizes, rng: random.Random) -> builders.PodBuilder:
    """Return a pod for many to be like."""
    app = rng.choice(("web", "db"))
    pod = builders.make_pod("p", rng.choice(("default", "default", "prod"))).labels(app=app)
    pod = pod.requests(
        cpu=rng.choice(("100m", "500m", "1")), memory=rng.choice(sizes.requested_memory)
    )
    if rng.randrange(5) == 0:
        pod = pod.labels(role=rng.choice(("noisy", "licensed", "database")))
    pod = _with_wish(pod, app, rng)
    if rng.randrange(5) == 0:
        pod = pod.image("i1:1")
    if rng.randrange(6) == 0:
        pod = pod.tolerates("other")
    if rng.randrange(4) == 0:
        pod = pod.priority(rng.choice((5, 10, 50)))
    return pod


def _with_wish(pod: builders.PodBuilder, app: str, rng: random.Random) -> builders.PodBuilder:
    """Return a pod with something that many pods have none of."""
    own = {"app": app}
    in_teams = builders.pod_term("rack", {"app": "db"}, namespace_selector={"team": "b"})
    wishes = (
        pod.rejects_pods(builders.pod_term("rack", own)),
        pod.requires_pods(builders.pod_term(ZONE, own)),
        pod.spread(ZONE, selector=own),
        pod.spread("rack", selector=own, when_unsatisfiable="ScheduleAnyway"),
        pod.prefers_pods(5, in_teams),
        pod.avoids_pods(7, builders.pod_term(HOST, own)),
        pod.spread(HOST, selector=own),
        pod.host_port(rng.choice((80, 81))),
        pod.requests({"cpu": "100m", "example.com/gpu": 1}),
        pod.claim(rng.choice(CLAIMS)),
        pod.claim(rng.choice(CLAIMS)),
        pod,
        pod,
    )
    return rng.choice(wishes)
