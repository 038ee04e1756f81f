"""The compared schedulers, as processes that start and end in the same way."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import yaml

from benchmarks import workload_files
from benchmarks.process import profiles
from policysched.config import config_reading
from tests.realcluster import control_plane, kube_scheduler, process

KUBE_SCHEDULER, POLICYSCHED = "kube-scheduler", "policysched"
BASE = f"{POLICYSCHED}@base"
"""policysched of a second checkout, for example of the commit before a change."""
CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
"""The folder of this checkout."""
PROFILE = "policysched.profile"
SCHEDULER_NAME = "default-scheduler"
"""The scheduler name of the pods; policysched replaces kube-scheduler under the same name."""
POLICIES = pathlib.Path(__file__).resolve().parents[1] / "policies"


@dataclasses.dataclass(frozen=True)
class Options:
    """Settings of policysched, and of kube-scheduler where this is said.

    Attributes:
        flags: further flags.
        is_profiled: whether it runs under the sampler of `benchmarks.process.profiled_run`.
        prometheus: the URL of the server that answers queries, for policies with metrics.
        extenders: the HTTP extenders of both schedulers, in the form of their configurations.
        base: the folder of the second checkout, which runs as BASE in its own environment.
    """

    flags: Sequence[str] = ()
    is_profiled: bool = False
    prometheus: str | None = None
    extenders: Sequence[dict[str, Any]] = ()
    base: pathlib.Path | None = None


def with_policy(name: str, scheduler: str = POLICYSCHED) -> str:
    """Return the name of a scheduler, POLICYSCHED or BASE, with a policy."""
    return f"{scheduler}+{name}"


def policy_of(name: str) -> str:
    """Return the name of the policy of a scheduler, or ""."""
    return name.partition("+")[2]


def without_policy(name: str) -> str:
    """Return the name of the same scheduler without its policy."""
    return name.partition("+")[0]


def of_base(name: str) -> str:
    """Return the name of the base's policysched with the same policy."""
    return name if name.startswith(BASE) else name.replace(POLICYSCHED, BASE, 1)


def checkout(name: str, options: Options) -> pathlib.Path:
    """Return the folder of the checkout that a scheduler runs from.

    Raises:
        workload_files.FileError: the base is not given, or has no environment.
    """
    if without_policy(name) != BASE:
        return CHECKOUT
    if options.base is None:
        raise workload_files.FileError(f"`{name}` needs --base")
    if not (options.base / "policysched").is_dir() or not _get_python(options.base).exists():
        text = f"{options.base} is not a checkout with an environment"
        raise workload_files.FileError(f"{text}; run `make .venv/ready` in a checkout")
    return options.base


def _get_python(folder: pathlib.Path) -> pathlib.Path:
    return folder / ".venv" / "bin" / "python"


def find_python(name: str, options: Options) -> str:
    """Return the Python that runs policysched of a checkout.

    Raises:
        workload_files.FileError: the base is not given, or has no environment.
    """
    root = checkout(name, options)
    return sys.executable if root == CHECKOUT else str(_get_python(root))


def policy_file(name: str) -> pathlib.Path:
    """Return the file of a policy.

    Raises:
        workload_files.FileError: the policy is unknown.
    """
    names = sorted(file.stem for file in POLICIES.glob("*.policy"))
    if name not in names:
        known = ", ".join(names)
        raise workload_files.FileError(f"unknown policy `{name}`; known policies are {known}")
    return POLICIES / f"{name}.policy"


def needs_prometheus(name: str) -> bool:
    """Return whether a scheduler has a policy that reads metrics."""
    policy = policy_of(name)
    return bool(policy) and "\nmetric " in policy_file(policy).read_text(encoding="utf-8")


def prepare(
    name: str, plane: control_plane.ControlPlane, folder: pathlib.Path, options: Options
) -> process.ServerProcess:
    """Return a scheduler that is ready to start.

    Args:
        name: KUBE_SCHEDULER, POLICYSCHED, BASE, or a name from `with_policy`.
        plane: a started control plane.
        folder: for its files.
        options: settings of policysched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if name == KUBE_SCHEDULER:
        settings = {"extenders": list(options.extenders)}
        return kube_scheduler.KubeScheduler(plane, folder, settings=settings).process
    return _prepare_policysched(plane, folder, name, options)


def _prepare_policysched(
    plane: control_plane.ControlPlane, folder: pathlib.Path, name: str, options: Options
) -> process.ServerProcess:
    policy = policy_of(name)
    kubeconfig = plane.write_kubeconfig(folder / "policysched.kubeconfig")
    words = ["run", "--kubeconfig", str(kubeconfig), *options.flags]
    if policy:
        words += ["--policies", str(policy_file(policy)), "--lint-errors", "warn"]
    if options.extenders:
        config = {**config_reading.HEAD, "extenders": list(options.extenders)}
        file = folder / "policysched.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        words += ["--config", str(file)]
    if options.prometheus is not None:
        words += ["--prometheus", options.prometheus]
    if "--policies" not in options.flags:
        words += ["--scheduler-name", SCHEDULER_NAME]
    if options.is_profiled:
        command = profiles.command(folder / PROFILE, words)
    else:
        # -P: import the package of the environment, not the one in the current folder.
        command = [find_python(name, options), "-P", "-m", "policysched", *words]
    return process.ServerProcess(command, log=folder / "policysched.log")
