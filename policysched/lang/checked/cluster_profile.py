"""Convert the clusterPolicies of a profile to policies that code for nodes can evaluate."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.lang.checked import checked


def replace_pod_by_cluster_policies(profile: checked.CheckedProfile) -> checked.CheckedProfile:
    """Return the profile with its cluster policies and metrics instead of its pod policies.

    Plugins handle only nodes, so the result has no plugin settings and all built-in scores are off.
    """
    return dataclasses.replace(
        profile,
        policies=profile.cluster_policies,
        metrics=profile.cluster_metrics,
        plugins=(),
        disabled=(),
        disabled_scores=(),
        disable_all_scores=True,
        builtin_weight=1,
        cluster_policies=(),
        cluster_metrics=(),
    )
