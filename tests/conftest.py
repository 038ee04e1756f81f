"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import hypothesis
import pytest

pytest_plugins = ["tests.cpu_time", "tests.realcluster.fixtures", "tests.seeds"]

# Commands under test see no settings of the developer: no wishes about colours and widths, no
# cluster, and no proxy between them and a server of a test.
_SETTINGS = ("CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR")
for name in (*_SETTINGS, "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
    os.environ.pop(name, None)
_direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
os.environ["no_proxy"] = ",".join(filter(None, (_direct, "127.0.0.1", "localhost")))

# A shell makes what it starts in the background deaf to Ctrl-C, and what that starts, too. Tests
# press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# nohup makes what it starts ignore the end of the terminal, and what that starts, too. The tests go
# on ignoring it; a handler, unlike SIG_IGN, is not inherited.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Exclude modules and tests from garbage collection: millions of objects that stay in use."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of `make proof`, unless `-m` names them."""
    if "proof" not in config.option.markexpr:
        proofs = [item for item in items if item.get_closest_marker("proof")]
        items[:] = [item for item in items if not item.get_closest_marker("proof")]
        config.hook.pytest_deselected(items=proofs)


def pytest_runtest_setup() -> None:
    """End the tests by SIGTERM as by Ctrl-C: fixtures end their servers, which are no one else's.

    It is set before each test, for a command under test may have taken the handler away.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)


# Timing says nothing on a shared machine. `make test` draws the same examples every time, so that
# it fails because of a change and not by luck, and a quarter of them, to save minutes; `make fuzz`
# draws fresh ones and prints what repeats a failing one.
_UNTIMED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
}
hypothesis.settings.register_profile("policysched", derandomize=True, max_examples=25, **_UNTIMED)
hypothesis.settings.register_profile(
    "quick",
    derandomize=True,
    max_examples=10,
    # A failing example is not made smaller, which may take minutes; `make test` does.
    phases=[phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.shrink],
    **_UNTIMED,
)
hypothesis.settings.register_profile("fuzz", print_blob=True, **_UNTIMED)
hypothesis.settings.load_profile("policysched")
