"""What a profile says of clusters, in the form of what it says of nodes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.lang.checked import checked


def treat_clusters_as_nodes(profile: checked.CheckedProfile) -> checked.CheckedProfile:
    """Return a profile with its cluster policies in the place of those about pods.

    Plugins are those of nodes, and so nothing is said of them.
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
