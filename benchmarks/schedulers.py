"""The schedulers that are compared, as processes that are started and ended the same way."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Sequence

from benchmarks import profiles, workload_files
from tests.realcluster import control_plane, kube_scheduler, process

KUBE_SCHEDULER, POLICYSCHED = "kube-scheduler", "policysched"
PROFILE = "policysched.profile"
SCHEDULER_NAME = "default-scheduler"
"""Both schedule the very same pods: policysched takes kube-scheduler's place."""
POLICIES = pathlib.Path(__file__).resolve().parent / "policies"


@dataclasses.dataclass(frozen=True)
class Options:
    """How policysched is run.

    Attributes:
        flags: further flags.
        is_profiled: whether it runs under the sampler of `benchmarks.profiled_run`.
        prometheus: the URL of what answers queries, for policies with metrics.
    """

    flags: Sequence[str] = ()
    is_profiled: bool = False
    prometheus: str | None = None


def with_policy(name: str) -> str:
    """Return what policysched is called with the policy of that name."""
    return f"{POLICYSCHED}+{name}"


def policy_file(name: str) -> pathlib.Path:
    """Return the file of a policy.

    Raises:
        workload_files.FileError: there is none.
    """
    there = sorted(one.stem for one in POLICIES.glob("*.policy"))
    if name not in there:
        known = ", ".join(there)
        raise workload_files.FileError(f"there is no policy `{name}`; there are {known}")
    return POLICIES / f"{name}.policy"


def needs_prometheus(name: str) -> bool:
    """Return whether a scheduler has a policy that reads metrics."""
    _, _, policy = name.partition("+")
    return bool(policy) and "\nmetric " in policy_file(policy).read_text(encoding="utf-8")


def prepare(
    name: str, plane: control_plane.ControlPlane, folder: pathlib.Path, options: Options
) -> process.ServerProcess:
    """Return a scheduler that is ready to be started.

    Args:
        name: KUBE_SCHEDULER, POLICYSCHED, or what `with_policy` returns.
        plane: a started control plane.
        folder: where its files go.
        options: for policysched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if name == KUBE_SCHEDULER:
        return kube_scheduler.KubeScheduler(plane, folder).process
    _, _, policy = name.partition("+")
    return _policysched(plane, folder, policy, options)


def _policysched(
    plane: control_plane.ControlPlane, folder: pathlib.Path, policy: str, options: Options
) -> process.ServerProcess:
    kubeconfig = plane.write_kubeconfig(folder / "policysched.kubeconfig")
    words = ["run", "--kubeconfig", str(kubeconfig), *options.flags]
    if policy:
        words += ["--policies", str(policy_file(policy)), "--lint-errors", "warn"]
    if options.prometheus is not None:
        words += ["--prometheus", options.prometheus]
    if "--policies" not in options.flags:
        words += ["--scheduler-name", SCHEDULER_NAME]
    if options.is_profiled:
        command = profiles.command(folder / PROFILE, words)
    else:
        command = [sys.executable, "-m", "policysched", *words]
    return process.ServerProcess(command, log=folder / "policysched.log")
