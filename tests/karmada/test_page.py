"""docs/karmada.md: a policy that names this scheduler, and the events that name it, too."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.deploy import kubectl
from tests.karmada import twins
from tests.realcluster import api_client, karmada

if TYPE_CHECKING:
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "karmada.md"
TEXT = _PAGE.read_text(encoding="utf-8")


def _binding(policy: dict[str, Any]) -> dict[str, Any]:
    """Return what Karmada's detector makes of the policy and its Deployment of 6 replicas."""
    spec = policy["spec"]
    (selected,) = spec["resourceSelectors"]
    made = twins.binding(selected["name"], spec["placement"], replicas=6)
    made["spec"]["schedulerName"] = spec["schedulerName"]
    made["spec"]["resource"]["namespace"] = policy["metadata"]["namespace"]
    made["metadata"]["namespace"] = policy["metadata"]["namespace"]
    made["metadata"]["name"] += "-deployment"
    return made


def test_kubectl_shows_who_placed_the_workload(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """The command of the page prints what stands below it."""
    client = karmada_plane.client
    (policy,) = re.findall(r"^```yaml policy.yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    ((command, expected),) = re.findall(
        r"^```console\n\$ kubectl (.*?)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL
    )
    binding = _binding(yaml.safe_load(policy))
    with contextlib.suppress(api_client.ApiError):  # it is there from a test before
        client.create_namespace(binding["metadata"]["namespace"])
    for name in ("member1", "member2", "member3"):
        karmada.create(client, twins.cluster(name))
    karmada.create(client, binding)
    with twins.ours(karmada_plane, tmp_path) as scheduler:
        # The confirmation of its own write follows the last event.
        scheduler.wait_until(lambda: _is_confirmed(client, binding))
        scheduler.wait_until(
            lambda: kubectl.run(*shlex.split(command), kubeconfig=scheduler.kubeconfig) == expected
        )


def _is_confirmed(client: api_client.ApiClient, binding: dict[str, Any]) -> bool:
    found = client.get(karmada.path_of(binding))
    status, meta = found.get("status", {}), found["metadata"]
    return bool(status.get("schedulerObservedGeneration") == meta["generation"])
