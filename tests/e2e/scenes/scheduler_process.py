"""`policysched run` as a process of its own, as an operator starts it."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from tests.realcluster import control_plane, process, warm_start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHIPPED_POLICIES = pathlib.Path(__file__).resolve().parents[3] / "policies"
PROGRAM = warm_start.PROGRAM


class PolicyScheduler(process.Managed):
    """A policysched that schedules the pods of a control plane.

    Attributes:
        process: can be killed and started again.
        kubeconfig: the file by which it connects.
    """

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        *,
        flags: Sequence[str] = (),
        server: str | None = None,
        user: str = control_plane.ADMIN,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """Write its kubeconfig; its log goes to `folder`, too.

        `server` is another address of the API server than its own, `user` whom it speaks as,
        `program` what stands before `run`.
        """
        kubeconfig = plane.write_kubeconfig(folder / "policysched.kubeconfig", user=user)
        if server is not None:
            text = kubeconfig.read_text(encoding="utf-8")
            kubeconfig.write_text(text.replace(plane.server, server), encoding="utf-8")
        self.kubeconfig = kubeconfig
        command = [*program, "run", "--kubeconfig", str(kubeconfig)]
        self.process = process.ServerProcess([*command, *flags], log=folder / "policysched.log")

    def wait_until(self, holds: Callable[[], bool], *, time_limit_seconds: float = 150.0) -> None:
        """Return once `holds()`, while the scheduler is at work.

        Raises:
            process.ProcessError: it ended, or `holds()` did not come true in time.
        """
        self.process.wait_until(holds, time_limit_seconds=time_limit_seconds)

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self.process.log.read_text(encoding="utf-8")

    def kill_and_start_again(self) -> None:
        """Let it die without a chance to put anything in order, and start another one."""
        self.process.kill()
        self.process.start()
