"""What VolumeBinding says of bound in-tree volumes on nodes where a CSI driver replaces them."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.framework import handles
from policysched.plugins.volume_binding import volume_binding
from tests import storage_builders
from tests.builders import make_cache, make_node
from tests.plugins import asking
from tests.plugins.volumes.volume_worlds import NoBinder, azure, bound, ebs, gce, in_tree, pod
from tests.reference.single_node import NEVER
from tests.storage_builders import make_csi_node

ZONE = "topology.kubernetes.io/zone"
GCE_PD, AZURE_DISK = "kubernetes.io/gce-pd", "kubernetes.io/azure-disk"
KIND = ("Error", ("could not translate pv: kind(Shared) is not supported in csi migration",))
FORMAT = "zone in unexpected format, expected: {locale}-{region}-{zone}, got: "
NO_REGION = ("Error", (f"could not translate pv: failed to get region from zones: {FORMAT}",))
GONE = (NEVER, ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",))
zones = {"labels": {ZONE: "us-east1-b__"}}


@pytest.mark.parametrize(
    "stored, waiting, expected",
    [
        pytest.param(
            in_tree("c", **azure("Shared")), pod.claim("c"), [None, KIND, None], id="Azure disk"
        ),
        pytest.param(
            in_tree("c", **azure("Managed")), pod.claim("c"), [None, None, None], id="managed"
        ),
        pytest.param(
            in_tree("c", **gce("d"), meta=zones), pod.claim("c"), [None, None, NO_REGION], id="GCE"
        ),
        pytest.param(
            in_tree("c", **ebs("aws://a/b")), pod.claim("c"), [None, None, None], id="not migrated"
        ),
        pytest.param(
            (*in_tree("c", **gce("d"), meta=zones), bound("d")[0]),
            pod.claim("c").claim("d"),
            [GONE, GONE, NO_REGION],
            id="the first claim decides",
        ),
        pytest.param(
            (*in_tree("c", **gce("d"), meta=zones), bound("d")[0]),
            pod.claim("d").claim("c"),
            [GONE, GONE, GONE],
            id="the first claim decides, the other way round",
        ),
    ],
)
def test_volumes_without_a_csi_counterpart(
    stored: tuple[Any, ...], waiting: Any, expected: list[Any]
) -> None:
    """They are errors of the nodes where the driver has taken over, and of no others."""
    cluster = make_cache([make_node("n1"), make_node("n2"), make_node("n3")])
    storage_builders.store(
        cluster.cache.storage,
        make_csi_node("n2", migrated=[AZURE_DISK]),
        make_csi_node("n3", migrated=[GCE_PD]),
        *stored,
    )
    handle = handles.Handle(NoBinder(), storage=cluster.cache.storage)
    plugin = volume_binding.VolumeBinding.from_args({}, handle)
    info, snap = cluster.info(waiting), cluster.cache.snapshot()
    state = asking.state_for(info)
    assert plugin.pre_filter(state, info, snap).status.is_success
    assert asking.answers(plugin.filter(state, info, snap.view_all_rows())) == expected
