"""Which parts of an affinity a cluster does not match."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from policysched.karmada import cluster_matching, objects
from policysched.karmada.explaining import affinity_evidence

CLUSTER = msgspec.convert(
    {
        "metadata": {"name": "m1", "labels": {"tier": "silver"}},
        "spec": {"provider": "aws", "region": "eu", "zones": ["eu-1", "eu-2"]},
    },
    objects.Cluster,
)


def _require_field(key: str, operator: str, *values: str) -> dict[str, Any]:
    wanted = {"key": key, "operator": operator, "values": list(values)}
    return {"fieldSelector": {"matchExpressions": [wanted]}}


@pytest.mark.parametrize(
    "affinity, told",
    [
        ({"clusterNames": ["m2", "m3"]}, "wants m2, m3"),
        ({"exclude": ["m1"]}, "excludes m1"),
        (
            {"labelSelector": {"matchLabels": {"tier": "gold", "gpu": "a100"}}},
            (
                "wants tier = gold, the cluster has silver, and "
                "wants gpu = a100, the cluster has no such label"
            ),
        ),
        (
            _require_field("region", "In", "us", "asia"),
            "wants region = us, asia, the cluster has eu",
        ),
        (_require_field("provider", "NotIn", "aws"), "wants provider != aws, the cluster has aws"),
        (_require_field("zone", "In", "us-1"), "wants zone = us-1, the cluster has eu-1, eu-2"),
        (
            _require_field("zone", "DoesNotExist"),
            "wants zone DoesNotExist, the cluster has eu-1, eu-2",
        ),
    ],
)
def test_the_wish_and_the_cluster_are_told(affinity: dict[str, Any], told: str) -> None:
    """Each part that keeps the cluster away, and no other."""
    wanted = msgspec.convert(affinity, objects.ClusterAffinity)
    assert not cluster_matching.matches_cluster_affinity(CLUSTER, wanted)
    assert affinity_evidence.describe_mismatch(CLUSTER, [wanted]) == told


def test_each_of_several_affinities_is_told() -> None:
    """A cluster that overflow may use has to match one of them."""
    names = (objects.ClusterAffinity(cluster_names=(name,)) for name in ("m2", "m3"))
    assert affinity_evidence.describe_mismatch(CLUSTER, list(names)) == "wants m2; or wants m3"
