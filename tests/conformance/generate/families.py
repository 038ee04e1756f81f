"""The families of generated cases, and each case by its number."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.conformance.generate import (
    cluster,
    devices,
    features,
    gates,
    images,
    lenient,
    node_affinity,
    normalise,
    pod_affinity,
    ports,
    preemption,
    resources,
    spread,
    taints,
    validity,
    volumes,
)
from tests.conformance.generate import (
    draw as draws,
)

Manifest = cluster.Manifest
Shape = Callable[[cluster.Cluster], None]

VERDICT, PLACE, PREEMPT, BIND = "verdict", "place", "preempt", "bind"


@dataclasses.dataclass(frozen=True)
class Family:
    """Clusters that have something in common.

    Attributes:
        share: how many of all cases, beside other families.
        ask: what is asked about each cluster.
        crowd: the size of one cluster in `1 / _CROWDED`, if that is another.
        is_lenient: whether objects occur that an API server does not take today, but may hold
            since older versions or with other feature gates.
    """

    name: str
    shape: Shape
    size: cluster.Size = dataclasses.field(default_factory=cluster.Size)
    share: int = 1
    ask: tuple[str, ...] = (VERDICT, PLACE)
    crowd: cluster.Size | None = None
    is_lenient: bool = False


def _mixed(found: cluster.Cluster) -> None:
    """Shape a cluster by several families at once."""
    shapes = (
        taints.shape,
        node_affinity.shape,
        images.shape,
        spread.shape,
        pod_affinity.shape,
        volumes.shape,
        gates.shape,
        features.shape,
    )
    if found.draw.chance(0.6):
        resources.shape(found)
    if found.draw.chance(0.4):
        ports.shape(found)
    for shape in found.draw.some(shapes, 1, 4):
        shape(found)
    _vary_weights(found)


def _lenient(found: cluster.Cluster) -> None:
    """Shape a cluster by several families, then break some of its objects."""
    _mixed(found)
    lenient.shape(found)


def _vary_weights(found: cluster.Cluster) -> None:
    """Weigh scores otherwise, or do without some plugins."""
    draw = found.draw
    if draw.chance(0.2):
        names = ("TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality")
        for name in draw.some(names, 1, 3):
            found.weights[name] = draw.pick((1, 2, 7, 100))
    if draw.chance(0.1):
        found.disabled += draw.some(_OPTIONAL, 1, 2)


def _preemption_with_volumes(found: cluster.Cluster) -> None:
    preemption.shape(found)
    if found.draw.chance(0.2):
        volumes.shape(found)


_OPTIONAL = ("NodePorts", "NodeUnschedulable", "PodTopologySpread", "InterPodAffinity", "NodeName")
_SCARCE = cluster.Size(nodes=(1, 6), placed=(4, 30), pending=(1, 4))
_CROWD = cluster.Size(nodes=(8, 30), placed=(200, 700), pending=(1, 3))
_CROWDED = 0.04
_LARGE = cluster.Size(nodes=(20, 60), placed=(30, 150), pending=(1, 6))
_FEW = cluster.Size(nodes=(1, 5), placed=(0, 8), pending=(1, 4))
_LONG = cluster.Size(nodes=(3, 12), placed=(0, 10), pending=(50, 50))

_ALL = (VERDICT, PLACE, PREEMPT, BIND)

FAMILIES = {
    family.name: family
    for family in (
        Family("taints", taints.shape, share=2),
        Family("nodeaffinity", node_affinity.shape, share=3),
        Family("ports", ports.shape, share=2),
        Family("resources", resources.shape, share=4),
        Family("images", images.shape, share=2),
        Family("spread", spread.shape, share=4),
        Family("podaffinity", pod_affinity.shape, share=4),
        Family("gates", gates.shape, share=2),
        Family("volumes", volumes.shape, share=6),
        Family("features", features.shape),
        Family(
            "preemption",
            _preemption_with_volumes,
            _SCARCE,
            share=5,
            ask=(VERDICT, PREEMPT),
            crowd=_CROWD,
        ),
        Family("devices", devices.shape, _FEW, share=4, ask=_ALL),
        Family("extended", devices.shape_extended, _FEW, share=2, ask=_ALL),
        Family("scoreddevices", devices.shape_scored, _FEW, ask=_ALL),
        Family("mixed", _mixed, share=5),
        Family("lenient", _lenient, share=2, is_lenient=True),
        Family("large", _mixed, _LARGE),
    )
}
"""By name."""

SEQUENCES = Family("sequences", _mixed, _LONG, ask=(PLACE,))
"""Clusters on which fifty pods are placed one after the other."""

BESIDE = {SEQUENCES.name: SEQUENCES}
"""Families for which one asks by name."""


def family(name: str) -> Family:
    """Return the family called `name`.

    Raises:
        KeyError: there is none.
    """
    return BESIDE.get(name) or FAMILIES[name]


def created(family_name: str, seed: int, number: int) -> cluster.Cluster:
    """Return the cluster of a case as its users have created it."""
    chosen = family(family_name)
    draw = draws.Draw(f"{family_name}-{seed}-{number}", is_lenient=chosen.is_lenient)
    is_crowded = chosen.crowd is not None and draw.chance(_CROWDED)
    size = chosen.crowd if is_crowded and chosen.crowd else chosen.size
    found = cluster.make(draw, size)
    chosen.shape(found)
    validity.mend(found)
    cluster.leave_out(found)
    return found


def case(family_name: str, seed: int, number: int) -> Manifest:
    """Return a generated case in the form that the oracle reads: the same one every time."""
    chosen = family(family_name)
    found = created(family_name, seed, number)
    for pod in found.pods:
        normalise.pod(pod)
    items = [*found.nodes, *found.others, *_in_any_order(found)]
    made: Manifest = {
        "name": f"{family_name}-{seed}-{number}",
        "cluster": {"apiVersion": "v1", "kind": "List", "items": items},
        "ask": list(chosen.ask),
    }
    config = _config(found)
    return {**made, "config": config} if config else made


def _in_any_order(found: cluster.Cluster) -> list[Manifest]:
    """Return the pods: pending ones stay in their order, which is that of their arrival."""
    return [*found.draw.shuffled(found.placed), *found.pending]


def _config(found: cluster.Cluster) -> Manifest:
    config: Manifest = {}
    if found.plugin_config:
        entries = found.plugin_config.items()
        config["pluginConfig"] = [{"name": name, "args": args} for name, args in entries]
    if found.weights:
        config["weights"] = found.weights
    if found.disabled:
        config["disabled"] = found.disabled
    return config
