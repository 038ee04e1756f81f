"""What all tests share."""

from __future__ import annotations

import hypothesis

pytest_plugins = ["tests.realcluster.fixtures"]

# Timing says nothing on a shared machine. `make test` draws the same examples every time, so that
# it fails because of a change and not by luck; `make fuzz` draws fresh ones and prints what repeats
# a failing one.
hypothesis.settings.register_profile("policysched", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fuzz", deadline=None, print_blob=True)
hypothesis.settings.load_profile("policysched")
