"""`make cluster` and `make cluster-down`: a real control plane that outlives the command.

The folder `.cluster` of the current folder holds everything: data, logs, the kubeconfig, links to
programs in `bin`, the file `env` for shells, and `processes.json` with the process ids and their
start times, by which `down` identifies its own processes.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import pathlib
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import orjson

from tests import whole_numbers
from tests.realcluster import (
    api_client,
    components,
    control_plane,
    kube_scheduler,
    manifests,
    process,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPONENTS = ("kubectl", "prometheus", "promtool")
_COMMANDS = ("policysched", "kubectl-policysched")


def up(folder: pathlib.Path, *, node_count: int) -> int:
    """Start a control plane with fake nodes in `folder` and print the next steps."""
    with _locked(folder):
        running = _running(folder)
        if running:
            ids = ", ".join(f"{name} {pid}" for name, (pid, _) in running.items())
            print(
                f"a cluster runs already ({ids}), its kubeconfig is {_shown(_kubeconfig(folder))}; "
                "`make cluster-down` stops it",
                file=sys.stderr,
            )
            return 1
        _remove_files(folder)
        _link_programs(folder / "bin")
        print("starting etcd, kube-apiserver and kube-scheduler", flush=True)
        plane = _start(folder, node_count)
        _write_environment(folder)
    print(_next_steps(folder, plane, node_count))
    return 0


def _start(folder: pathlib.Path, node_count: int) -> control_plane.ControlPlane:
    plane = control_plane.ControlPlane(folder / "control-plane")
    plane.start()
    try:
        _remember(folder, plane.api_server, plane.etcd)
        plane.client.create_nodes(manifests.fleet(node_count))
        plane.write_kubeconfig(_kubeconfig(folder))
        scheduler = kube_scheduler.KubeScheduler(plane, plane.folder).process
        scheduler.start()
        _remember(folder, scheduler, plane.api_server, plane.etcd)
    except BaseException:
        plane.stop()
        raise
    return plane


def _link_programs(folder: pathlib.Path) -> None:
    """Link the programs that a reader of the tutorial needs; build missing components."""
    folder.mkdir()
    for name in _COMPONENTS:
        (folder / name).symlink_to(components.binary(name).absolute())
    for name in _COMMANDS:
        (folder / name).symlink_to(pathlib.Path(sys.executable).absolute().with_name(name))


def _write_environment(folder: pathlib.Path) -> None:
    """Write the file that a shell reads to use the cluster."""
    programs = shlex.quote(str((folder / "bin").absolute()))
    kubeconfig = shlex.quote(str(_kubeconfig(folder).absolute()))
    text = f"export KUBECONFIG={kubeconfig}\nexport PATH={programs}:$PATH\n"
    (folder / "env").write_text(text, encoding="utf-8")


def down(folder: pathlib.Path) -> int:
    """Stop what `up` started in `folder`, and nothing else, and remove its files."""
    with _locked(folder):
        running = _running(folder)
        for pid, ticks in running.values():
            process.kill_exactly(pid, ticks)
        _remove_files(folder)
    print(f"stopped {', '.join(running)}" if running else "no cluster is running")
    return 0


@contextlib.contextmanager
def _locked(folder: pathlib.Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remember(folder: pathlib.Path, *servers: process.ServerProcess) -> None:
    """Record processes in the order in which `down` ends them."""
    ids = {server.name: (server.pid, process.start_ticks(server.pid)) for server in servers}
    (folder / "processes.json").write_bytes(orjson.dumps(ids))


def _running(folder: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Return (process id, start) by name of what `up` started and still runs."""
    try:
        ids = orjson.loads((folder / "processes.json").read_bytes())
    except FileNotFoundError:
        return {}
    return {
        name: (pid, ticks)
        for name, (pid, ticks) in ids.items()
        if process.start_ticks(pid) == ticks
    }


def _remove_files(folder: pathlib.Path) -> None:
    for name in ("control-plane", "bin"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("env", "kubeconfig", "processes.json"):
        (folder / name).unlink(missing_ok=True)


def _kubeconfig(folder: pathlib.Path) -> pathlib.Path:
    return folder / "kubeconfig"


def _next_steps(folder: pathlib.Path, plane: control_plane.ControlPlane, node_count: int) -> str:
    spec = '{"spec": {"schedulerName": "policysched"}}'
    return "\n".join(
        (
            f"{plane.server} is up with {node_count} nodes and kube-scheduler",
            "try next, or follow docs/tutorial.md:",
            f"  . {_shown(folder / 'env')}",
            f"  kubectl get nodes -L {manifests.ZONE},{manifests.INSTANCE_TYPE}",
            "  policysched run 2> run.log &   # without policies; serves the pods that name it",
            f"  kubectl run web --image pause:3.10 --overrides '{spec}'",
            "`make cluster-down` stops it",
        )
    )


def _shown(path: pathlib.Path) -> str:
    """Return the path as short as it works from here."""
    try:
        return str(path.relative_to(pathlib.Path.cwd()))
    except ValueError:
        return str(path)


def main() -> int:
    """Run `up` or `down`, by default on the folder `.cluster`."""
    parser = argparse.ArgumentParser(prog="python -m tests.realcluster.cluster")
    parser.add_argument("command", choices=["up", "down"])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(".cluster"))
    parser.add_argument("--nodes", type=whole_numbers.at_least(0), default=20)
    args = parser.parse_args()
    try:
        return up(args.folder, node_count=args.nodes) if args.command == "up" else down(args.folder)
    except (components.ComponentError, process.ProcessError, api_client.ApiError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
