"""Which profile decides about a pod, and whether a scheduler would leave the pod to another one."""

from __future__ import annotations

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.offline import sessions

_KUBE_SCHEDULER = "default-scheduler"
"""The `spec.schedulerName` of pods that name none."""


def is_left_out(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> bool:
    """Return whether the pod names a scheduler that is neither a profile nor kube-scheduler.

    A pod of kube-scheduler is decided by the default profile: a user who shows its cluster wants
    to see the decisions of policysched.
    """
    return not decider.choice.serves(info) and info.pod.spec.scheduler_name != _KUBE_SCHEDULER


def describe_missing_profile(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> str:
    """Return in words that no profile serves the pod, and the names of the profiles."""
    names = ", ".join(f"`{name}`" for name in decider.profiles.by_name)
    return (
        f"no profile serves schedulerName `{info.pod.spec.scheduler_name}`, so this scheduler does "
        f"not schedule the pod; the profiles are {names}"
    )


def require_framework(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> runtime.Framework:
    """Return the framework that decides about a pod.

    Raises:
        InputError: no profile is used for the pod.
    """
    found = decider.choice.choose_framework(info)
    if found is None:
        raise errors.InputError(f"`{info.key}`", describe_missing_profile(decider, info))
    return found
