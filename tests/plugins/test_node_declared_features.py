"""What a pod needs of the kubelet, and which nodes declare it."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.framework import status
from policysched.plugins import node_declared_features
from tests import builders
from tests.plugins import asking, hinting

RULE = objects.ContainerRestartRule(action="RestartAllContainers")
OTHER_RULE = objects.ContainerRestartRule(action="Restart")
RESTART, HOST_USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
plain = builders.make_pod("p")
restarting = plain.spec(containers=(objects.Container(restart_policy_rules=(RULE,)),))


@pytest.mark.parametrize(
    "builder, expected",
    [
        pytest.param(plain, set(), id="plain"),
        pytest.param(restarting, {RESTART}, id="container restarts all"),
        pytest.param(
            plain.spec(init_containers=(objects.Container(restart_policy_rules=(RULE,)),)),
            {RESTART},
            id="init container restarts all",
        ),
        pytest.param(
            plain.spec(containers=(objects.Container(restart_policy_rules=(OTHER_RULE,)),)),
            set(),
            id="restarts itself",
        ),
        pytest.param(
            plain.spec(host_network=True, host_users=False), {HOST_USERS}, id="host network, users"
        ),
        pytest.param(plain.spec(host_network=True), set(), id="host network, users by default"),
        pytest.param(
            plain.spec(host_network=True, host_users=True), set(), id="host network, host users"
        ),
        pytest.param(plain.spec(host_users=False), set(), id="user namespaces alone"),
        pytest.param(
            restarting.spec(host_network=True, host_users=False), {RESTART, HOST_USERS}, id="both"
        ),
    ],
)
def test_required_features(builder: builders.PodBuilder, expected: set[str]) -> None:
    """Two features are needed for scheduling; pods that need none are not filtered."""
    cluster = builders.make_cache()
    info = cluster.info(builder)
    assert node_declared_features.list_required_features(info.shape.spec) == expected
    plugin = node_declared_features.NodeDeclaredFeatures()
    answer = plugin.pre_filter(asking.state_for(info), info, cluster.cache.snapshot())
    assert answer.status.is_skip == (not expected)


def _node(name: str, *features: str) -> builders.NodeBuilder:
    return builders.make_node(name).declares(*features)


def test_nodes_must_declare_every_feature() -> None:
    """A node that declares more will do; one that lacks a feature never will."""
    nodes = [_node("none"), _node("one", RESTART), _node("all", "Another", RESTART, HOST_USERS)]
    cluster = builders.make_cache(nodes)
    info = cluster.info(restarting.spec(host_network=True, host_users=False))
    plugin = node_declared_features.NodeDeclaredFeatures()
    state = asking.state_for(info)
    found = plugin.filter(state, info, cluster.cache.snapshot().view_all_rows())
    assert found.passes.tolist() == [False, False, True]
    rejected = found.statuses[found.ids[0]]
    assert rejected.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert rejected.reasons == ("node(s) didn't match Pod's required features",)


def test_a_deleted_node_is_passed_over() -> None:
    """A row without a node is no reason to fail."""
    cluster = builders.make_cache([_node("gone", RESTART), _node("kept", RESTART)])
    info = cluster.info(restarting)
    cluster.cache.remove_node("gone")
    plugin = node_declared_features.NodeDeclaredFeatures()
    found = plugin.filter(
        asking.state_for(info), info, cluster.cache.snapshot().view_all_rows()
    ).passes.tolist()
    assert found[-1]


CHANGED = hinting.Action.UPDATE_NODE_DECLARED_FEATURE


@pytest.mark.parametrize(
    "happening, expected",
    [
        pytest.param(hinting.node_added(builders.make_node("n")), True, id="node added"),
        pytest.param(
            hinting.node_updated(CHANGED, _node("n"), _node("n", RESTART)),
            True,
            id="feature declared",
        ),
        pytest.param(
            hinting.node_updated(CHANGED, _node("n"), _node("n")),
            False,
            id="nothing declared",
        ),
        pytest.param(
            hinting.node_updated(
                hinting.Action.UPDATE_NODE_LABEL,
                builders.make_node("n"),
                builders.make_node("n").labels(a="b"),
            ),
            False,
            id="label",
        ),
    ],
)
def test_which_events_help(happening: hinting.Happening, expected: bool) -> None:
    """Only new nodes and other declarations bring a rejected pod back."""
    plugin = node_declared_features.NodeDeclaredFeatures()
    assert hinting.would_queue(plugin, restarting, happening) == expected
