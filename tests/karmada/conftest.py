"""A Karmada control plane for tests of a running scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.realcluster import karmada

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes


@pytest.fixture(scope="session")
def shared_karmada(
    shared_control_plane: control_planes.ControlPlane,
) -> control_planes.ControlPlane:
    """The shared control plane with Karmada's kinds; take `karmada_plane`, which is empty."""
    karmada.install(shared_control_plane.client)
    return shared_control_plane


@pytest.fixture
def karmada_plane(
    shared_karmada: control_planes.ControlPlane,
) -> Iterator[control_planes.ControlPlane]:
    """A Karmada control plane without clusters and bindings."""
    yield shared_karmada
    karmada.clear(shared_karmada.client)
    shared_karmada.clear()
