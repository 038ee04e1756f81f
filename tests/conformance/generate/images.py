"""Images that are there already: ImageLocality."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_MIB = 1024 * 1024
_SIZES = (0, 1, 23 * _MIB - 1, 23 * _MIB, 24 * _MIB, 300 * _MIB, 1000 * _MIB, 1001 * _MIB, 2**41)
_NAMES = (
    ("app:v1",),
    ("app:latest",),
    ("docker.io/library/redis:7", "docker.io/library/redis@sha256:" + "a" * 64),
    ("quay.io/team/model:2",),
    ("registry.local:5000/tool:latest",),
    ("ghcr.io/x/y@sha256:" + "b" * 64,),
)
_WANTED = (
    "app:v1",
    "app",
    "app:latest",
    "docker.io/library/redis:7",
    "docker.io/library/redis@sha256:" + "a" * 64,
    "quay.io/team/model:2",
    "quay.io/team/model",
    "registry.local:5000/tool",
    "ghcr.io/x/y@sha256:" + "b" * 64,
    "unknown:1",
)


def shape(found: cluster.Cluster) -> None:
    """Put images of all sizes on nodes, and let pods want them."""
    source = found.draw
    for node in found.nodes:
        if source.chance(0.85):
            node["status"]["images"] = [
                {"names": list(names), "sizeBytes": source.pick(_SIZES)}
                for names in source.some(_NAMES, 1, 5)
            ]
    for pod in found.pending:
        _want(source, pod["spec"])


def _want(source: draw.Draw, spec: cluster.Manifest) -> None:
    spec["containers"] = [
        {**cluster.container(source, f"c{n}"), "image": source.pick(_WANTED)}
        for n in range(source.number(1, 4))
    ]
    if source.chance(0.25):
        spec["initContainers"] = [
            {"name": "i0", "image": source.pick(_WANTED), "resources": {}},
        ]
    if source.chance(0.2):
        reference = source.pick(_WANTED)
        spec["volumes"] = [{"name": "model", "image": {"reference": reference}}]
