"""Edit the policies again and again, good and bad versions in turns, while pods arrive.

    python -m tests.chaos.policy_edits --edits 1000

100 pods arrive a second. Each has to have a node in the end, and to be where exactly one good
version puts it: the one that its event names. What is printed is how many versions decided.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import tempfile
from typing import TYPE_CHECKING

from tests import whole_numbers
from tests.e2e.scenes import failover_scene, policy_edits, scheduler_process
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMESPACE = "chaos"


def main(argv: Sequence[str] | None = None) -> int:
    """Edit; 1 where something happened that must not."""
    args = _parser().parse_args(argv)
    first = policy_edits.Version(args.edits, 0, 0)
    offered = policy_edits.versions(args.edits, random.Random(args.seed))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with control_planes.ControlPlane(
            folder / "control-plane", flags=control_planes.THROUGHPUT_FLAGS
        ) as plane:
            plane.client.create_namespace(NAMESPACE)
            policy_edits.make_nodes(plane.client, pods_per_node=100_000)
            config_map = policy_edits.PolicyConfigMap(plane.client, NAMESPACE)
            config_map.create(first)
            flags = ["--policy-configmap", config_map.name]
            with scheduler_process.PolicyScheduler(plane, folder, flags=flags) as scheduler:
                failover_scene.wait_until(lambda: config_map.tells("ok", first))
                edited = policy_edits.edit_while_pods_arrive(
                    plane.client,
                    config_map,
                    NAMESPACE,
                    [first, *offered],
                    lambda holds: scheduler.wait_until(holds, time_limit_seconds=600),
                )
                log = scheduler.log
    print(
        f"{args.edits} edits, seed {args.seed}: {log.count('policies reloaded')} versions loaded, "
        f"{log.count(' is refused')} refused; {edited.pods} pods placed by {edited.versions} "
        f"versions, {len(edited.violations)} violations"
    )
    print(*edited.violations, sep="\n")
    return 1 if edited.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.chaos.policy_edits")
    parser.add_argument("--edits", type=whole_numbers.at_least(1), default=1000)
    parser.add_argument("--seed", type=whole_numbers.at_least(0), default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
