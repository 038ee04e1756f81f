"""What plugins of a running scheduler are given."""

from __future__ import annotations

import random
from typing import Any

from policysched.app import writers
from tests.scheduler import fakes


def test_permit_plugins_are_given_the_pods_that_wait() -> None:
    """They can allow a pod that the scheduler holds back for them."""
    world = fakes.World()
    api: Any = None  # nothing is sent
    made = writers.ApiWriters(api, world.clock)
    handle = made.make_plugin_handle(world.scheduler, random.Random(1))
    assert handle.waiting_pods is world.scheduler.waiting_pods
