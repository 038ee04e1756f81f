from __future__ import annotations

import asyncio
from typing import Any

from policysched.config import config_reading
from policysched.serving import debug_pages, http_server
from tests.kube.asynchronous import asynchronous
from tests.observability import page_forms

CONFIGURATION = """\
apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
prometheus:
  main:
    url: https://prometheus.test
    bearerToken: very-secret
"""


def _get(pages: dict[str, http_server.MakePage], path: str) -> str:
    page: Any = pages[path](http_server.QueryParameters())
    return str(page.body.decode())


@asynchronous
async def test_pages_show_the_inside_and_no_secret() -> None:
    """An index, the configuration, memory, and where each task waits."""
    others: dict[str, http_server.MakePage] = {
        "/debug/policies": lambda _: http_server.HttpPage(b""),
        "/metrics": lambda _: http_server.HttpPage(b""),
    }
    configuration = config_reading.parse_config(CONFIGURATION, "a test")
    pages = debug_pages.make_debug_pages(configuration, others)
    waiting = asyncio.create_task(asyncio.Event().wait(), name="a task that waits")
    await asyncio.sleep(0)
    assert _get(pages, "/debug/").split() == [
        "/debug/config",
        "/debug/memory",
        "/debug/policies",
        "/debug/tasks",
    ]
    shown = _get(pages, "/debug/config")
    assert "https://prometheus.test" in shown
    assert "very-secret" not in shown
    assert "VmRSS" in page_forms.read("memory", _get(pages, "/debug/memory"))["process"]
    assert "a task that waits" in _get(pages, "/debug/tasks")
    waiting.cancel()
