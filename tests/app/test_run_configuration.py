"""What a configuration says arrives in the process that `policysched run` is."""

from __future__ import annotations

import pathlib
import random
import urllib.request
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.app import scheduler_process
from policysched.config import config
from policysched.framework import handles
from policysched.framework.answers import shape_answers
from policysched.profiles import policies
from policysched.reload import live_profiles
from tests import builders
from tests.e2e.scenes import scheduler_process as processes_of_tests
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests
from tests.realcluster import process as processes
from tests.scheduler import fakes

ALL_OFF = config.FeatureGates(
    scheduler_pop_from_backoff_q=False,
    scheduler_queueing_hints=False,
    opportunistic_batching=False,
)


def _settings(**fields: Any) -> Any:
    configuration = config.Config(**fields)
    clock = clocks.ManualClock(builders.EPOCH)
    return scheduler_process.SchedulerProcess(
        scheduler_process.RunOptions(), configuration, clock
    )._make_settings()


def test_queue_and_bindings_go_by_the_configuration() -> None:
    """Each field has its setting; the defaults are those of the queue itself."""
    found = _settings(
        pod_initial_backoff_seconds=2.0,
        pod_max_backoff_seconds=20.0,
        pod_max_in_unschedulable_pods_seconds=200.0,
        parallel_binds=7,
        decisions=config.DecisionsConfig(kept=5),
        features=ALL_OFF,
    )
    assert found.queue.initial_backoff_seconds == 2.0
    assert found.queue.max_backoff_seconds == 20.0
    assert found.queue.max_unschedulable_seconds == 200.0
    assert (found.queue.pops_from_backoff, found.queue.asks_hints) == (False, False)
    assert (found.max_bindings_in_flight, found.decisions_kept) == (7, 5)
    default = _settings()
    assert (default.queue.pops_from_backoff, default.queue.asks_hints) == (True, True)


@pytest.mark.parametrize("shapes_kept", [0, shape_answers.MAX_SHAPES])
def test_profiles_keep_as_many_answers_as_they_are_told(shapes_kept: int) -> None:
    """After two equal pods, answers are kept for one shape or for none."""
    world = fakes.World()
    live = live_profiles.LiveProfiles(
        world.scheduler, None, world.clock, random.Random(1), shapes_kept=shapes_kept
    )
    policy_set = policies.load_policy_set((), {}, "default-scheduler")
    made = policies.require_profiles(policies.make_profiles(policy_set, handles.Handle()))
    live.use_version(policy_set, made)
    assert [each.scheduler_name for each in live.get_profiles()] == ["default-scheduler"]
    framework = world.scheduler._frameworks["default-scheduler"]
    world.add_node("n1", pods=2)
    for name in ("a", "b"):
        info = world.pods.current(world.add_pod(name).metadata.uid)
        assert info is not None
        framework.schedule_pod(info, world.cache.snapshot())
    assert len(framework._kept._kept) == min(1, shapes_kept)


@pytest.mark.e2e
def test_switches_off_and_pods_of_others(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Everything works with all switches off; pods that no profile serves are counted."""
    client = control_plane.client
    client.create_nodes([manifests.node("node-1")])
    names = {"ours": "policysched", "stranger": "polcysched"}
    pods = [manifests.pod(pod, scheduler_name=name) for pod, name in names.items()]
    client.create_pods(namespace, pods)
    address = f"127.0.0.1:{processes.free_port()}"
    gates = "SchedulerPopFromBackoffQ=false,SchedulerQueueingHints=false"
    flags = ("--feature-gates", gates, "--feature-gates", "OpportunisticBatching=false")

    def page() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    with processes_of_tests.PolicyScheduler(
        control_plane, tmp_path, flags=(*flags, "--metrics-address", address)
    ) as scheduler:
        scheduler.wait_until(
            lambda: client.pod(namespace, "ours")["spec"].get("nodeName") == "node-1"
        )
        assert 'policysched_unserved_pods{scheduler_name="polcysched"} 1.0' in page()
