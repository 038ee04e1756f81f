"""The real control plane as pytest fixtures."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.realcluster import components, karmada, warm_start
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = ("nobody", "scheduler")
"""Users of the shared control plane without rights; RBAC objects of a test may give them some."""

_namespace_numbers = itertools.count()


def pytest_collection() -> None:
    """Keep real components from modules that are imported, which every run does."""
    components.test_is_marked = False
    warm_start.is_enabled = True


def pytest_unconfigure() -> None:
    """End the process that starts others; every test has ended its own."""
    warm_start.stop_template()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep real components from tests without the mark, which `make quick` runs without Go."""
    components.test_is_marked = item.get_closest_marker("e2e") is not None


@pytest.fixture(scope="session")
def shared_control_plane(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[control_planes.ControlPlane]:
    """One control plane for all tests; take `control_plane`, which is empty."""
    with control_planes.ControlPlane(
        tmp_path_factory.mktemp("control-plane"),
        users={user: [] for user in USERS},
        flags=control_planes.THROUGHPUT_FLAGS,
    ) as plane:
        yield plane


@pytest.fixture
def control_plane(
    shared_control_plane: control_planes.ControlPlane,
) -> Iterator[control_planes.ControlPlane]:
    """A running control plane without nodes and pods."""
    yield shared_control_plane
    shared_control_plane.clear()


@pytest.fixture
def namespace(control_plane: control_planes.ControlPlane) -> str:
    """A namespace of the test's own."""
    name = f"test-{next(_namespace_numbers)}"
    control_plane.client.create_namespace(name)
    return name


@pytest.fixture(scope="session")
def shared_karmada(
    shared_control_plane: control_planes.ControlPlane,
) -> control_planes.ControlPlane:
    """The shared control plane with Karmada's kinds; take `karmada_plane`, which is empty."""
    karmada.install(shared_control_plane)
    return shared_control_plane


@pytest.fixture
def karmada_plane(
    shared_karmada: control_planes.ControlPlane,
) -> Iterator[control_planes.ControlPlane]:
    """A Karmada control plane without clusters and bindings."""
    yield shared_karmada
    karmada.clear(shared_karmada.client)
    shared_karmada.clear()
