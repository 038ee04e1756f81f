"""The schedulers that are compared, as processes that are started and ended the same way."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence

from tests.realcluster import control_plane, kube_scheduler, process

KUBE_SCHEDULER, POLICYSCHED = "kube-scheduler", "policysched"
NAMES = (KUBE_SCHEDULER, POLICYSCHED)
SCHEDULER_NAME = "default-scheduler"
"""Both schedule the very same pods: policysched takes kube-scheduler's place."""


def prepare(
    name: str, plane: control_plane.ControlPlane, folder: pathlib.Path, flags: Sequence[str]
) -> process.ServerProcess:
    """Return a scheduler that is ready to be started.

    Args:
        name: one of NAMES.
        plane: a started control plane.
        folder: where its files go.
        flags: further flags for policysched.

    Raises:
        ValueError: there is no such scheduler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    match name:
        case "kube-scheduler":
            return kube_scheduler.KubeScheduler(plane, folder).process
        case "policysched":
            return _policysched(plane, folder, flags)
        case _:
            raise ValueError(f"`{name}` is not one of {', '.join(NAMES)}")


def _policysched(
    plane: control_plane.ControlPlane, folder: pathlib.Path, flags: Sequence[str]
) -> process.ServerProcess:
    kubeconfig = plane.write_kubeconfig(folder / "policysched.kubeconfig")
    command = [sys.executable, "-m", "policysched", "run", "--kubeconfig", str(kubeconfig)]
    if "--policies" not in flags:
        command += ["--scheduler-name", SCHEDULER_NAME]
    return process.ServerProcess([*command, *flags], log=folder / "policysched.log")
