"""A scheduler that follows a ConfigMap of policies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.e2e.scenes import policy_edits, scheduler_process
from tests.realcluster import warm_start

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Sequence

    from tests.realcluster import control_plane as control_planes

LIMIT_SECONDS = 120.0
GOOD, OTHER = policy_edits.Version(0, 0, 0), policy_edits.Version(1, 1, 2)
BAD, NEVER = policy_edits.Version(2, 3, 3, "syntax"), policy_edits.Version(3, 3, 3, "never")


class Scene:
    """A scheduler that follows a ConfigMap."""

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        namespace: str,
        config_map: policy_edits.PolicyConfigMap,
        scheduler: scheduler_process.PolicyScheduler,
    ) -> None:
        self.client = plane.client
        self.namespace = namespace
        self.config_map = config_map
        self.scheduler = scheduler

    def wait_until_told(self, status: str, version: policy_edits.Version) -> None:
        """Return once the annotations say so."""
        self.scheduler.wait_until(
            lambda: self.config_map.tells(status, version), time_limit_seconds=LIMIT_SECONDS
        )

    def roll_back(self, *argv: str) -> str:
        """Run `policysched rollback` and return what it prints."""
        flags = [
            *("--policy-configmap", self.config_map.name),
            *("--kubeconfig", str(self.scheduler.kubeconfig)),
        ]
        done = warm_start.run("rollback", *argv, *flags)
        done.check_returncode()
        return done.stdout

    def place(self, *names: str) -> dict[str, str]:
        """Create pods and return their nodes, once they have some."""
        self.client.create_pods(self.namespace, policy_edits.pods(names))
        self.wait_until_bound(*names)
        nodes = policy_edits.nodes_of(self.client, self.namespace)
        return {name: nodes[name] for name in names}

    def wait_until_bound(self, *names: str) -> None:
        """Return once these pods have nodes and events."""

        def are_bound() -> bool:
            nodes = policy_edits.nodes_of(self.client, self.namespace)
            said = policy_edits.placed_by(self.client, self.namespace)
            return all(nodes.get(name) and name in said for name in names)

        self.scheduler.wait_until(are_bound, time_limit_seconds=LIMIT_SECONDS)


@contextlib.contextmanager
def running(
    plane: control_planes.ControlPlane,
    namespace: str,
    folder: pathlib.Path,
    flags: Sequence[str] = (),
) -> Iterator[Scene]:
    """Make a grid of nodes, and run a scheduler that goes by GOOD, with more `flags`."""
    policy_edits.make_nodes(plane.client, pods_per_node=10_000)
    config_map = policy_edits.PolicyConfigMap(plane.client, namespace)
    config_map.create(GOOD)
    with scheduler_process.PolicyScheduler(
        plane, folder, flags=["--policy-configmap", config_map.name, *flags]
    ) as scheduler:
        made = Scene(plane, namespace, config_map, scheduler)
        made.wait_until_told("ok", GOOD)
        yield made
