"""The real kube-scheduler beside a control plane, for comparison."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import yaml

from tests.realcluster import components, process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.realcluster import control_plane

_NO_SETTINGS: Mapping[str, object] = {}


class KubeScheduler(process.Managed):
    """A kube-scheduler that leads at once and whose client is not limited."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        *,
        settings: Mapping[str, object] = _NO_SETTINGS,
        flags: Sequence[str] = (),
    ) -> None:
        """Write its files.

        Args:
            plane: a started control plane.
            folder: where its configuration and log go.
            settings: further fields of the KubeSchedulerConfiguration, such as `profiles` or
                `percentageOfNodesToScore`.
            flags: further flags.
        """
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = plane.write_kubeconfig(folder / "kube-scheduler.kubeconfig")
        client = {"kubeconfig": str(kubeconfig), "qps": 10000, "burst": 10000}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": client,
            "leaderElection": {"leaderElect": False},
            **settings,
        }
        file = folder / "kube-scheduler.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        command = [str(components.binary("kube-scheduler")), f"--config={file}", "--secure-port=0"]
        self.process = process.ServerProcess([*command, *flags], log=folder / "kube-scheduler.log")
