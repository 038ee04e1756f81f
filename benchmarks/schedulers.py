"""The schedulers that are compared, as processes that are started and ended the same way."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Sequence

from benchmarks import profiles
from tests.realcluster import control_plane, kube_scheduler, process

KUBE_SCHEDULER, POLICYSCHED = "kube-scheduler", "policysched"
NAMES = (KUBE_SCHEDULER, POLICYSCHED)
PROFILE = "policysched.profile"
SCHEDULER_NAME = "default-scheduler"
"""Both schedule the very same pods: policysched takes kube-scheduler's place."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How policysched is run.

    Attributes:
        flags: further flags.
        is_profiled: whether it runs under cProfile.
    """

    flags: Sequence[str] = ()
    is_profiled: bool = False


def prepare(
    name: str, plane: control_plane.ControlPlane, folder: pathlib.Path, options: Options
) -> process.ServerProcess:
    """Return a scheduler that is ready to be started.

    Args:
        name: one of NAMES.
        plane: a started control plane.
        folder: where its files go.
        options: for policysched.

    Raises:
        ValueError: there is no such scheduler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    match name:
        case "kube-scheduler":
            return kube_scheduler.KubeScheduler(plane, folder).process
        case "policysched":
            return _policysched(plane, folder, options)
        case _:
            raise ValueError(f"`{name}` is not one of {', '.join(NAMES)}")


def _policysched(
    plane: control_plane.ControlPlane, folder: pathlib.Path, options: Options
) -> process.ServerProcess:
    kubeconfig = plane.write_kubeconfig(folder / "policysched.kubeconfig")
    words = ["run", "--kubeconfig", str(kubeconfig), *options.flags]
    if "--policies" not in options.flags:
        words += ["--scheduler-name", SCHEDULER_NAME]
    if options.is_profiled:
        command = profiles.command(folder / PROFILE, words)
    else:
        command = [sys.executable, "-m", "policysched", *words]
    return process.ServerProcess(command, log=folder / "policysched.log")
