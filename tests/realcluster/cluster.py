"""`make cluster` and `make cluster-down`: a real control plane that outlives the command.

The folder `.cluster` of the checkout holds everything: data, logs, the kubeconfig, and
`processes.json` with the process ids and their start times, by which `down` knows its own.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import pathlib
import shutil
import sys
from typing import TYPE_CHECKING

import orjson

from tests.realcluster import api_client, components, control_plane, manifests, process

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = pathlib.Path(__file__).resolve().parents[2] / ".cluster"


def up(folder: pathlib.Path, *, node_count: int) -> int:
    """Start a control plane with fake nodes in `folder` and say what to try next."""
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
        plane = control_plane.ControlPlane(folder / "control-plane")
        print("starting etcd and kube-apiserver", flush=True)
        plane.start()
        try:
            _remember(folder, plane)
            plane.client.create_nodes(manifests.fleet(node_count))
            plane.write_kubeconfig(_kubeconfig(folder))
        except BaseException:
            plane.stop()
            raise
    print(_next_steps(folder, plane, node_count))
    return 0


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


def _remember(folder: pathlib.Path, plane: control_plane.ControlPlane) -> None:
    servers = (plane.api_server, plane.etcd)  # the order in which `down` ends them
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
    shutil.rmtree(folder / "control-plane", ignore_errors=True)
    for name in ("kubeconfig", "processes.json"):
        (folder / name).unlink(missing_ok=True)


def _kubeconfig(folder: pathlib.Path) -> pathlib.Path:
    return folder / "kubeconfig"


def _next_steps(folder: pathlib.Path, plane: control_plane.ControlPlane, node_count: int) -> str:
    kubeconfig = _shown(_kubeconfig(folder))
    kubectl = f"{components.binary('kubectl')} --kubeconfig {kubeconfig}"
    policysched = _shown(pathlib.Path(sys.executable).with_name("policysched"))
    spec = '{"spec": {"schedulerName": "policysched"}}'
    return "\n".join(
        (
            f"{plane.server} is up with {node_count} nodes; kubeconfig: {kubeconfig}",
            "try next:",
            f"  {kubectl} get nodes -L {manifests.ZONE},{manifests.INSTANCE_TYPE}",
            f"  {policysched} run --kubeconfig {kubeconfig}",
            f"  {kubectl} run web --image pause:3.10 --overrides '{spec}'",
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
    """Run `up` or `down`, by default on the checkout's own folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.realcluster.cluster")
    parser.add_argument("command", choices=["up", "down"])
    parser.add_argument("--folder", type=pathlib.Path, default=_FOLDER)
    parser.add_argument("--nodes", type=int, default=20)
    args = parser.parse_args()
    try:
        return up(args.folder, node_count=args.nodes) if args.command == "up" else down(args.folder)
    except (components.ComponentError, process.ProcessError, api_client.ApiError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
