"""The real kube-controller-manager beside a control plane."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from tests.realcluster import components, process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.realcluster import control_plane


class ControllerManager(process.Managed):
    """A kube-controller-manager with its default controllers, which leads at once."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        *,
        flags: Sequence[str] = (),
    ) -> None:
        """Write its files.

        Args:
            plane: a started control plane with `has_controller_manager=True`.
            folder: where its kubeconfig and log go.
            flags: further flags.
        """
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = plane.write_kubeconfig(folder / "kube-controller-manager.kubeconfig")
        command = [
            str(components.binary("kube-controller-manager")),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--root-ca-file={plane.ca_file}",
            f"--service-account-private-key-file={plane.key_file}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]
        log = folder / "kube-controller-manager.log"
        self.process = process.ServerProcess([*command, *flags], log=log)
