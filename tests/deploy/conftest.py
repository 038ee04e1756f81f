"""A control plane of its own: what deploy/ makes must meet no other test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.deploy import kubectl, operator_crds, rights
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="session")
def fresh_plane(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[control_planes.ControlPlane]:
    """A control plane with an audit log and the CRDs of the Prometheus operator."""
    folder = tmp_path_factory.mktemp("deployed")
    flags = rights.audit_flags(folder)
    with control_planes.ControlPlane(folder, flags=flags, users=rights.USERS) as plane:
        for file in operator_crds.files():
            plane.client.create(_CRDS, yaml.safe_load(file.read_bytes()))
        plane.api_server.wait_until(
            lambda: _is_established(plane), time_limit_seconds=control_planes.START_LIMIT_SECONDS
        )
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(fresh_plane: control_planes.ControlPlane) -> pathlib.Path:
    """The kubeconfig of its admin."""
    return fresh_plane.write_kubeconfig(fresh_plane.folder / "admin.kubeconfig")


@pytest.fixture(scope="session")
def deployed_plane(
    fresh_plane: control_planes.ControlPlane, kubeconfig: pathlib.Path
) -> control_planes.ControlPlane:
    """The control plane with deploy/overlays/second-scheduler applied."""
    folder = kubectl.DEPLOY / "overlays" / "second-scheduler"
    kubectl.run("apply", "-k", str(folder), kubeconfig=kubeconfig)
    return fresh_plane


def _is_established(plane: control_planes.ControlPlane) -> bool:
    return all(
        any(
            (condition["type"], condition["status"]) == ("Established", "True")
            for condition in crd.get("status", {}).get("conditions") or []
        )
        for crd in plane.client.items(_CRDS)
    )
