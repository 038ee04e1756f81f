"""Which plugins take part: what `--plugins` says of the built-in ones and those of entry points.

Source: Karmada v1.18.2 `pkg/scheduler/framework/runtime/registry.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada.plugins import (
    api_enablement,
    cluster_affinity,
    cluster_eviction,
    cluster_locality,
    spread_constraint,
    taint_toleration,
    workload_affinity,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from policysched.karmada import interface


def built_in(*, with_workload_affinity: bool = False) -> dict[str, interface.Plugin]:
    """Return Karmada's own plugins by name, in the order in which they are asked."""
    plugins: list[interface.Plugin] = [
        cluster_eviction.ClusterEviction(),
        api_enablement.APIEnablement(),
        taint_toleration.TaintToleration(),
        cluster_affinity.ClusterAffinity(),
        spread_constraint.SpreadConstraint(),
        cluster_locality.ClusterLocality(),
    ]
    if with_workload_affinity:
        plugins += [workload_affinity.WorkloadAffinity(), workload_affinity.WorkloadAntiAffinity()]
    return {plugin.name: plugin for plugin in plugins}


def chosen(
    registry: Mapping[str, interface.Plugin], said: Iterable[str]
) -> Sequence[interface.Plugin]:
    """Return the plugins that `--plugins` chooses.

    Args:
        registry: all plugins by name.
        said: `*` for all; then in their order `name` adds one and `-name` takes one away. Unknown
            names say nothing.
    """
    words = list(said)
    names = list(registry) if "*" in words else []
    for word in words:
        if word in registry and word not in names:
            names.append(word)
        elif word.startswith("-") and word.lstrip("-") in names:
            names.remove(word.lstrip("-"))
    return [plugin for name, plugin in registry.items() if name in names]
