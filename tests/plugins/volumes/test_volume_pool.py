"""The volumes of a class: which one a claim gets, and that nothing piles up."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import storage_objects
from policysched.plugins.kernels import node_rows, volume_pool
from policysched.plugins.volume_binding import volume_affinity
from tests.builders import expression, make_cache, make_node, node_term
from tests.storage_builders import make_claim, make_volume

HOSTNAME = "kubernetes.io/hostname"


class Pool:
    """A pool, and nodes that reach its volumes."""

    def __init__(self, *node_names: str) -> None:
        self.snap = make_cache([make_node(name) for name in node_names]).cache.snapshot()
        self.rows = node_rows.NodeRows()
        self.pool = volume_pool.VolumePool(volume_affinity.make_reachable_node_terms)

    def chosen(self, *claims: storage_objects.PersistentVolumeClaim) -> list[list[str]]:
        """Return, claim by claim, the volume that it gets on each node; "" for none."""
        self.rows.refresh(self.snap)
        taken: list[volume_pool.Choices] = []
        for claim in claims:
            taken.append(self.pool.best(claim, taken, self.rows, self.snap))
        return [[self._name(number) for number in choices.tolist()] for choices in taken]

    def _name(self, number: int) -> str:
        return "" if number == volume_pool.NONE else self.pool.volume(number).metadata.name


def local(name: str, node: str, capacity: str = "1Gi") -> storage_objects.PersistentVolume:
    """Return a volume on a node."""
    here = node_term(expression(HOSTNAME, "In", node))
    return make_volume(name, capacity=capacity, terms=[here])


def test_the_smallest_volume_is_taken_and_of_equal_ones_the_first_by_name() -> None:
    """Size decides, exactly, then the name."""
    pool = Pool("n1")
    sizes = {"d": "2Gi", "c": "1Gi", "b": "1024Mi", "e": "1.5Gi"}
    pool.pool.replace(make_volume(name, capacity=size) for name, size in sizes.items())
    claims = [make_claim(f"c{i}", request="1Gi") for i in range(5)]
    assert pool.chosen(*claims) == [["b"], ["c"], ["e"], ["d"], [""]]


def test_each_node_has_its_own_order() -> None:
    """What one claim takes on one node is free for the next one on another node."""
    pool = Pool("n1", "n2")
    volumes = [local("x1", "n1"), local("x2", "n2", "3Gi"), make_volume("any", capacity="2Gi")]
    pool.pool.replace(volumes)
    claims = make_claim("c1"), make_claim("c2"), make_claim("c3")
    assert pool.chosen(*claims) == [["x1", "any"], ["any", "x2"], ["", ""]]


@pytest.mark.parametrize("is_promised", [False, True], ids=["free", "promised"])
def test_what_is_long_gone_is_forgotten(is_promised: bool) -> None:
    """Volumes that come and go with their nodes leave nothing behind."""
    pool = Pool("n1").pool
    owner = storage_objects.ClaimReference(namespace="default", name="c")
    for number in range(5000):
        volume = make_volume(
            f"v{number}",
            terms=[node_term(expression(HOSTNAME, "In", f"n{number}"))],
            claim=owner if is_promised else None,
        )
        pool.update({f"v{number}": volume, f"v{number - 1}": None})
    assert len(pool) == 1
    assert len(pool._volumes) < 1100
    assert len(pool._groups) < 1100
    assert sum(len(names) for names in pool._promised.values()) == int(is_promised)
