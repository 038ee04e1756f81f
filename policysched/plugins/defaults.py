"""List the plugins that are enabled by default, in order, with their weights.

Source: `apis/config/v1/default_plugins.go` (1.36). Only `PodGroups` is not in kube-scheduler.
"""

from __future__ import annotations

import dataclasses

from policysched.plugins import names


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPlugin:
    """A plugin of the default profile; `weight` applies if the plugin scores."""

    name: str
    weight: int = 1


DEFAULT_PLUGINS: tuple[DefaultPlugin, ...] = (
    DefaultPlugin(names.SCHEDULING_GATES),
    DefaultPlugin(names.PRIORITY_SORT),
    DefaultPlugin(names.NODE_UNSCHEDULABLE),
    DefaultPlugin(names.NODE_NAME),
    DefaultPlugin(names.TAINT_TOLERATION, weight=3),
    DefaultPlugin(names.NODE_AFFINITY, weight=2),
    DefaultPlugin(names.NODE_PORTS),
    DefaultPlugin(names.NODE_RESOURCES_FIT),
    DefaultPlugin(names.VOLUME_RESTRICTIONS),
    DefaultPlugin(names.NODE_VOLUME_LIMITS),
    DefaultPlugin(names.VOLUME_BINDING),
    DefaultPlugin(names.VOLUME_ZONE),
    DefaultPlugin(names.POD_TOPOLOGY_SPREAD, weight=2),
    DefaultPlugin(names.INTER_POD_AFFINITY, weight=2),
    DefaultPlugin(names.DYNAMIC_RESOURCES, weight=2),
    DefaultPlugin(names.DEFAULT_PREEMPTION),
    DefaultPlugin(names.NODE_RESOURCES_BALANCED_ALLOCATION),
    DefaultPlugin(names.IMAGE_LOCALITY),
    DefaultPlugin(names.DEFAULT_BINDER),
    DefaultPlugin(names.NODE_DECLARED_FEATURES),
    DefaultPlugin(names.POD_GROUPS),
)

DEFAULT_WEIGHTS: dict[str, int] = {p.name: p.weight for p in DEFAULT_PLUGINS}
