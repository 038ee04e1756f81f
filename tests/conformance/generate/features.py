"""What pods ask of kubelets: NodeDeclaredFeatures."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_FEATURES = (
    "RestartAllContainersOnContainerExits",
    "ContainerRestartRules",
    "UserNamespacesHostNetworkSupport",
)


def shape(found: cluster.Cluster) -> None:
    """Let nodes declare features, and pods use what needs them."""
    source = found.draw
    for node in found.nodes:
        if source.chance(0.7):
            node["status"]["declaredFeatures"] = sorted(source.some(_FEATURES, 0, 3))
    for pod in found.pods:
        _use(source, pod["spec"])


def _use(source: draw.Draw, spec: cluster.Manifest) -> None:
    if source.chance(0.3):
        spec["hostNetwork"] = source.chance(0.8)
        spec["hostUsers"] = source.chance(0.3)
    if source.chance(0.3):
        _restart(source, spec["containers"][-1])
    if source.chance(0.15):
        made: cluster.Manifest = {"name": "i0", "image": "app:v1", "resources": {}}
        _restart(source, made)
        spec["initContainers"] = [made]


def _restart(source: draw.Draw, container: cluster.Manifest) -> None:
    action = source.pick(("RestartAllContainers", "Restart"))
    exit_codes = {"operator": "In", "values": [source.pick((1, 42))]}
    container["restartPolicy"] = "Never"
    container["restartPolicyRules"] = [{"action": action, "exitCodes": exit_codes}]
