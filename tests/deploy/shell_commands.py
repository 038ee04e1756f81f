"""Commands of pages, run in a shell, and the controller that no test cluster has."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Collection, Mapping

    from tests.realcluster import api_client

_DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/policysched"


def run_commands(
    commands: str,
    folder: pathlib.Path,
    environment: Mapping[str, str],
    exit_codes: Collection[int] = (0,),
) -> str:
    """Return the output of commands, after a check that they end with one of the exit codes."""
    done = subprocess.run(
        ["/bin/sh", "-euc", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in exit_codes, f"{commands}: {done.stdout}{done.stderr}"
    return done.stdout


def finish_rollout(client: api_client.ApiClient) -> None:
    """Report all replicas of the Deployment as available, as the Deployment controller does."""
    deployment = client.get(_DEPLOYMENT)
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    status = dict.fromkeys(names, deployment["spec"]["replicas"])
    status["observedGeneration"] = deployment["metadata"]["generation"]
    client.patch(f"{_DEPLOYMENT}/status", {"status": status})
