from __future__ import annotations

import pytest

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import profile, runtime
from policysched.plugins import scheduling_gates
from policysched.profiles import profile_choice
from tests import builders


def _frameworks(*names: str) -> dict[str, runtime.Framework]:
    return {name: runtime.Framework(profile.Profile(name, (), {}), None) for name in names}


def _pod(scheduler_name: str) -> pod_shape.PodInfo:
    pod = builders.make_pod("p").spec(scheduler_name=scheduler_name).build()
    return pod_shape.PodShapeCache().make_pod_info(pod)


@pytest.mark.parametrize(
    "profiles, scheduler_name, chosen",
    [
        pytest.param(["a", "b"], "b", "b", id="own-profile"),
        pytest.param(["a"], "default-scheduler", "a", id="only-profile"),
        pytest.param(["a", "policysched"], "x", "policysched", id="default-of-several"),
        pytest.param(["a", "b"], "x", None, id="nobodys"),
    ],
)
def test_a_pod_is_decided_by_its_own_profile_or_the_obvious_one(
    profiles: list[str], scheduler_name: str, chosen: str | None
) -> None:
    """schedulerName decides; where it names none, only an unambiguous profile steps in."""
    choice = profile_choice.ProfileChoice(_frameworks(*profiles))
    framework = choice.choose_framework(_pod(scheduler_name))
    assert (framework and framework.profile.scheduler_name) == chosen
    assert choice.left_out == ({scheduler_name: 1} if chosen is None else {})


def test_a_forced_profile_decides_all_pods() -> None:
    """--scheduler-name stands over what pods say."""
    choice = profile_choice.ProfileChoice(_frameworks("a", "b"), "a")
    assert [choice.require_framework(_pod(n)).profile.scheduler_name for n in "bx"] == ["a", "a"]


def test_pods_that_nobody_tries_are_not_queued() -> None:
    """A gated pod is in no queue, nor is one of a scheduler that is not there."""
    gating = profile.Profile("a", (scheduling_gates.SchedulingGates(),), {})
    both = {"a": runtime.Framework(gating, None), "b": runtime.Framework(gating, None)}
    choice = profile_choice.ProfileChoice(both)
    gated = builders.make_pod("p").scheduler_name("a").gates("example.com/quota").build()
    pods = [_pod("a"), _pod("x"), pod_shape.PodShapeCache().make_pod_info(gated)]
    assert [choice.would_be_queued(pod) for pod in pods] == [True, False, False]
    assert not choice.left_out


def test_an_unknown_forced_profile_is_an_error() -> None:
    """The error names the profiles that there are."""
    with pytest.raises(errors.ConfigurationError) as caught:
        profile_choice.ProfileChoice(_frameworks("a", "b"), "c")
    assert str(caught.value) == ("--scheduler-name: there is no profile `c` (there is `a`, `b`)")


def test_a_single_pod_without_a_profile_is_an_error() -> None:
    """Who asks about one pod is told how to get an answer."""
    choice = profile_choice.ProfileChoice(_frameworks("a", "b"))
    with pytest.raises(errors.ConfigurationError, match="choose a profile with"):
        choice.require_framework(_pod("x"))
