"""What all tests share."""

from __future__ import annotations

import hypothesis

pytest_plugins = ["tests.realcluster.fixtures"]

# Timing says nothing on a shared machine; a failing example is printed so that it can be repeated.
hypothesis.settings.register_profile("policysched", deadline=None, print_blob=True)
hypothesis.settings.load_profile("policysched")
