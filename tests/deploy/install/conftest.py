"""A cluster for installations, and a person who carries them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.deploy import rights
from tests.deploy.install import reader
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_planes.ControlPlane]:
    """A control plane; each test removes its installation."""
    folder = tmp_path_factory.mktemp("install")
    flags = rights.audit_flags(folder)
    with control_planes.ControlPlane(folder, flags=flags, users=rights.USERS) as started:
        yield started


@pytest.fixture
def person(plane: control_planes.ControlPlane, tmp_path: pathlib.Path) -> Iterator[reader.Reader]:
    """A reader at the beginning, whose cluster has one node and no pods."""
    (tmp_path / ".kube").mkdir()
    plane.write_kubeconfig(tmp_path / ".kube" / "config")
    plane.client.create_nodes([manifests.node("node-1")])
    yield reader.Reader(tmp_path)
    plane.clear()
