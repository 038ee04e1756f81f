"""The events that the default plugins wait for, beside those of kube-scheduler's plugins."""

from __future__ import annotations

from typing import cast

import pytest

from policysched.framework import events, handles, interface
from policysched.plugins import names, registry
from tests.plugins.hinting import Action, Resource
from tests.plugins.volumes.volume_worlds import NoBinder

PLACED, OWN, NODE = Resource.POD, Resource.UNSCHEDULED_POD, Resource.NODE
CAME_AND_WENT = (Action.ADD, Action.DELETE, Action.UPDATE_POD_LABEL)
UPDATES = tuple(Action.UPDATE)
KUBE_SCHEDULER: dict[str, dict[events.EventResource, tuple[events.ActionType, ...]]] = {
    names.SCHEDULING_GATES: {OWN: (Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,)},
    names.NODE_UNSCHEDULABLE: {
        NODE: (Action.ADD, Action.UPDATE_NODE_TAINT),
        OWN: (Action.UPDATE_POD_TOLERATION,),
    },
    names.NODE_NAME: {NODE: (Action.ADD,)},
    names.TAINT_TOLERATION: {
        NODE: (Action.ADD, Action.UPDATE_NODE_TAINT),
        OWN: (Action.UPDATE_POD_TOLERATION,),
    },
    names.NODE_AFFINITY: {NODE: (Action.ADD, Action.UPDATE_NODE_LABEL)},
    names.NODE_PORTS: {NODE: (Action.ADD,), PLACED: (Action.DELETE,)},
    names.NODE_RESOURCES_FIT: {
        NODE: (Action.ADD, Action.UPDATE_NODE_ALLOCATABLE),
        PLACED: (Action.DELETE, Action.UPDATE_POD_SCALE_DOWN),
        OWN: (Action.UPDATE_POD_SCALE_DOWN,),
        Resource.DEVICE_CLASS: (Action.ADD, *UPDATES),
    },
    names.POD_TOPOLOGY_SPREAD: {
        NODE: (Action.ADD, Action.DELETE, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT),
        PLACED: CAME_AND_WENT,
        OWN: (Action.UPDATE_POD_LABEL, Action.UPDATE_POD_TOLERATION),
    },
    names.INTER_POD_AFFINITY: {
        NODE: (Action.ADD, Action.UPDATE_NODE_LABEL),
        PLACED: CAME_AND_WENT,
        OWN: (Action.UPDATE_POD_LABEL,),
        Resource.NAMESPACE: (Action.ADD, Action.UPDATE_OTHER),
    },
    names.NODE_DECLARED_FEATURES: {NODE: (Action.ADD, Action.UPDATE_NODE_DECLARED_FEATURE)},
    names.DYNAMIC_RESOURCES: {
        NODE: (Action.ADD, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_ALLOCATABLE),
        Resource.RESOURCE_CLAIM: (Action.ADD, *UPDATES),
        OWN: (Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,),
        Resource.DEVICE_CLASS: (Action.ADD, *UPDATES),
        Resource.RESOURCE_SLICE: (Action.ADD, *UPDATES),
    },
    names.POD_GROUPS: {},
}
"""EventsToRegister of each plugin, with queueing hints on.

Events of pods are told apart: those that can only be about the waiting pod itself are OWN. Further
than kube-scheduler goes InterPodAffinity, which hears of namespaces. Nothing helps pods of groups,
which policysched never places.
"""


def _waiting(made: interface.Plugin | registry.PluginCreationError) -> interface.EventsPlugin:
    assert hasattr(made, "events_to_register")
    return cast("interface.EventsPlugin", made)


@pytest.mark.parametrize("name", KUBE_SCHEDULER)
def test_plugins_wait_for_what_kube_schedulers_wait_for(name: str) -> None:
    """Not less, which would leave pods behind, and not more, which would wake them in vain."""
    made = registry.create_built_in_registry().create_plugin(name, None, handles.Handle(NoBinder()))
    registered: list[events.ClusterEventWithHint] = list(_waiting(made).events_to_register())
    found: dict[events.EventResource, set[events.ActionType]] = {}
    for one in registered:
        found.setdefault(one.event.resource, set()).update(one.event.action)
    assert found == {resource: set(actions) for resource, actions in KUBE_SCHEDULER[name].items()}
