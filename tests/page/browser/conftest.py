"""A real browser in front of `policysched ui`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.page import page_process, running_scheduler
from tests.realcluster import browser as browsers
from tests.scheduler import fakes

_FAILURE = "Failed to load resource"

HOSTILE = "<img src=x onerror=alert(1)>\u202eevil"
VISIBLE = "<img src=x onerror=alert(1)>‹U+202E›evil"
"""The text HOSTILE as the page shows it."""

Serve = Callable[..., contextlib.AbstractContextManager[str]]
Follow = Callable[[running_scheduler.RunningScheduler], contextlib.AbstractContextManager[str]]
OpenPage = Callable[..., contextlib.AbstractContextManager["WatchedPage"]]


@dataclasses.dataclass
class WatchedPage:
    """A page of the browser, with everything that it complained about.

    Attributes:
        page: Playwright's page.
        base: the URL of the server, without a fragment.
        complaints: lines of the console, errors of scripts, requests to other servers.
    """

    page: Any
    base: str
    complaints: list[str]

    def open_view(self, address: str) -> Any:
        """Open a view, such as `#/cluster`, and wait until it waits for nothing."""
        page_process.open_view(self.page, self.base, address)
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium without a window; while it runs, this thread can run no other event loop."""
    with browsers.launch_browser() as started:
        yield started


@pytest.fixture
def serve() -> Serve:
    """Run `policysched ui` with options."""
    return page_process.serve_page


@pytest.fixture
def scheduler() -> Iterator[running_scheduler.RunningScheduler]:
    """A scheduler with a full node and a pod that waits."""
    with running_scheduler.RunningScheduler() as made:
        fill_node(made)
        yield made


def fill_node(scheduler: running_scheduler.RunningScheduler) -> None:
    """Add a node, its three pods, and a pod that waits."""

    async def add_node(world: fakes.World) -> None:
        world.add_node("n1", pods=3)

    scheduler.do(add_node)
    scheduler.schedule("a", "b", "c", "late")


@pytest.fixture
def follow(serve: Serve, tmp_path: pathlib.Path) -> Follow:
    """Run `policysched ui --decisions` for a scheduler, with its token."""
    path = tmp_path / "token"
    path.write_text(running_scheduler.TOKEN)
    return lambda scheduler: serve("--decisions", scheduler.url, "--token-file", str(path))


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    """The URL of the demo, which the tests of a module share."""
    with page_process.serve_page() as url:
        yield url


@pytest.fixture
def open_page(browser: Any) -> OpenPage:
    """Open a URL in a browser without memory; afterwards, there may be no complaint."""

    @contextlib.contextmanager
    def opening(
        url: str, width: int = 1280, *, has_failures: bool = False, **settings: Any
    ) -> Iterator[WatchedPage]:
        context = browser.new_context(viewport={"width": width, "height": 800}, **settings)
        page = context.new_page()
        base = url.partition("#")[0]
        watched = WatchedPage(page, base, [])
        told = watched.complaints
        page.on(
            "console",
            lambda line: told.append(f"{line.type}: {line.text} {line.location['url']}"),
        )
        page.on("pageerror", lambda error: told.append(f"error: {error}"))
        page.on("request", lambda asked: told.extend(_list_foreign(asked.url, base)))
        page.goto(url)
        page.wait_for_selector("main", state="attached")
        yield watched
        context.close()
        # The console names each answer that is an error.
        assert [line for line in told if not has_failures or _FAILURE not in line] == []

    return opening


def _list_foreign(url: str, base: str) -> list[str]:
    origin, own = (urllib.parse.urlsplit(each)[:2] for each in (url, base))
    return [] if origin == own else [f"request to {url}"]


@pytest.fixture
def write_cluster(tmp_path: pathlib.Path) -> Callable[[list[dict[str, Any]]], str]:
    """Write a cluster file and return its path."""

    def write(items: list[dict[str, Any]]) -> str:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(path)

    return write
