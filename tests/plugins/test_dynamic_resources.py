"""Pods with resource claims get devices; what the plugin says of all others is kube-scheduler's."""

from __future__ import annotations

import pytest

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import objects
from policysched.framework import handles, interface, profile, runtime, status
from policysched.plugins import arguments, names, node_resources_fit
from policysched.plugins.dynamic_resources import dynamic_resources
from policysched.plugins.node_affinity import node_affinity
from tests import builders

CLAIM = objects.PodResourceClaim(name="gpu", resource_claim_name="gpu-0")
plain = builders.make_pod("p").requests(cpu="100")
claiming = plain.spec(resource_claims=(CLAIM,))
lost = plain.requires_nodes(
    builders.node_term(
        fields=(
            builders.expression("metadata.name", "In", "n1"),
            builders.expression("metadata.name", "In", "n2"),
        )
    )
)


def _framework(devices: cluster_devices.ClusterDevices) -> runtime.Framework:
    plugins: tuple[interface.Plugin, ...] = (
        node_affinity.NodeAffinity(),
        node_resources_fit.NodeResourcesFit(),
        dynamic_resources.DynamicResources(handles.Handle(devices=devices)),
    )
    return runtime.Framework(profile.Profile("test", plugins, {names.DYNAMIC_RESOURCES: 2}), None)


@pytest.mark.parametrize(
    "builder, message, code, post_filter",
    [
        pytest.param(
            plain,
            "0/1 nodes are available: 1 Insufficient cpu.",
            status.Code.UNSCHEDULABLE,
            ("no new claims to deallocate",),
            id="without claims",
        ),
        pytest.param(
            claiming,
            '0/1 nodes are available: could not find ResourceClaim "default/gpu-0".',
            status.Code.UNSCHEDULABLE,
            ("no new claims to deallocate",),
            id="with a claim that is missing",
        ),
        pytest.param(
            lost,
            "0/1 nodes are available: pod affinity terms conflict.",
            status.Code.ERROR,
            ("not found",),
            id="ended by an earlier plugin",
        ),
    ],
)
def test_pods_that_fit_nowhere(
    builder: builders.PodBuilder, message: str, code: status.Code, post_filter: tuple[str, ...]
) -> None:
    """The reason of the rejection, and what PostFilter says, follow from the claims of the pod."""
    cluster = builders.make_cache([builders.make_node("n1").capacity(cpu="1")])
    pod, snap = cluster.info(builder), cluster.cache.snapshot()
    framework = _framework(cluster.cache.devices)
    for _ in range(2):  # asked anew, then from kept answers
        result = framework.schedule_pod(pod, snap)
        assert result.message == message
        assert result.diagnosis is not None
        answer = framework.run_post_filter(result.state, pod, snap, result.diagnosis)
        assert answer is not None
        assert (answer.status.code, answer.status.reasons) == (code, post_filter)
        assert answer.status.plugin == names.DYNAMIC_RESOURCES


def test_scores_are_shown_and_count_nothing() -> None:
    """The score table has the plugin, with 0 for every node."""
    cluster = builders.make_cache([builders.make_node(n) for n in ("n1", "n2")])
    pod, snap = cluster.info(builders.make_pod("p")), cluster.cache.snapshot()
    found = _framework(cluster.cache.devices).explain_pod(pod, snap).scores
    assert found is not None
    assert found.by_plugin[names.DYNAMIC_RESOURCES].tolist() == [0, 0]


def test_arguments_of_kube_scheduler_are_taken() -> None:
    """A configuration with kube-scheduler's arguments still loads; others are refused."""
    args = {"kind": "DynamicResourcesArgs", "filterTimeout": "10s", "bindingTimeout": "600s"}
    made = dynamic_resources.DynamicResources.from_args(args, handles.Handle())
    assert made.name == names.DYNAMIC_RESOURCES


@pytest.mark.parametrize(
    "args, problem",
    [
        ({"fliterTimeout": "10s"}, "fliterTimeout"),
        ({"filterTimeout": "-1s"}, "must be a duration such as `10s`, and not negative"),
        ({"bindingTimeout": "999ms"}, "must be at least 1 second"),
        (
            {"deviceOrder": "packed"},
            "`deviceOrder` is `packed`, but must be `Published` or `Packed`",
        ),
    ],
)
def test_wrong_arguments_are_refused(args: dict[str, str], problem: str) -> None:
    """Unknown names, and times that kube-scheduler refuses."""
    with pytest.raises(arguments.ArgumentError, match=problem):
        dynamic_resources.DynamicResources.from_args(args, handles.Handle())
