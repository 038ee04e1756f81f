"""The workload of a pod."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import workloads
from tests import builders

_DEPLOYED = builders.make_pod("web-5d8f-abcde", namespace="shop").labels(
    {"pod-template-hash": "5d8f"}
)


@pytest.mark.parametrize(
    "pod, workload",
    [
        pytest.param(
            _DEPLOYED.owner("ReplicaSet", "web-5d8f"), "shop/Deployment/web", id="deployment"
        ),
        pytest.param(
            _DEPLOYED.owner("ReplicaSet", "web"), "shop/ReplicaSet/web", id="replica-set-of-its-own"
        ),
        pytest.param(
            builders.make_pod("w", namespace="shop").owner("ReplicaSet", "web-5d8f"),
            "shop/ReplicaSet/web-5d8f",
            id="replica-set-without-hash",
        ),
        pytest.param(
            _DEPLOYED.owner("Rollout", "web-5d8f"), "shop/Rollout/web-5d8f", id="another-kind"
        ),
        pytest.param(
            builders.make_pod("db-0", namespace="shop").owner("StatefulSet", "db"),
            "shop/StatefulSet/db",
            id="stateful-set",
        ),
        pytest.param(
            builders.make_pod("nightly-1", namespace="shop").owner("Job", "nightly"),
            "shop/Job/nightly",
            id="job",
        ),
        pytest.param(builders.make_pod("alone", namespace="shop"), "shop/Pod/alone", id="no-owner"),
    ],
)
def test_the_controller_is_the_workload(pod: builders.PodBuilder, workload: str) -> None:
    """Of a Deployment it is not the ReplicaSet, which every change of the template replaces."""
    assert workloads.format_workload(pod.build().metadata) == workload


def test_owners_that_do_not_control_are_no_workload() -> None:
    """Several objects can own a pod, one of them controls it."""
    owners = (
        objects.OwnerReference(kind="Node", name="n1", uid="1"),
        objects.OwnerReference(kind="Job", name="nightly", uid="2", controller=True),
    )
    pod = builders.make_pod("p", namespace="a").meta(owner_references=owners).build()
    assert workloads.format_workload(pod.metadata) == "a/Job/nightly"
