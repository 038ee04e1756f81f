"""A hostile process behind `ui --decisions`, in a real browser: its texts stay text."""

from __future__ import annotations

import json
import pathlib
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from policysched.serving import http_server
from tests.observability import page_answers
from tests.page import hostile_answers, running_scheduler
from tests.page.browser.conftest import OpenPage
from tests.scheduler import fakes

pytestmark = pytest.mark.slow

Serve = Callable[..., AbstractContextManager[str]]

HTML = hostile_answers.HTML
VISIBLE = "<img src=x onerror=alert(1)>\u2039U+202E\u203aevil\u2039U+200B\u203a"
POD = f"default/{HTML}"
PAGES: dict[str, dict[str, str]] = {
    "/debug/status": {},
    "/debug/decisions": {},
    "/debug/queue": {},
    "/debug/versions": {},
    "/debug/rules": {},
    "/debug/cluster": {},
    "/debug/node": {"name": "n1"},
    "/debug/explain": {"pod": "default/late"},
}
QUOTED = urllib.parse.quote(POD, safe="")
VIEWS = (
    "#/cluster",
    "#/cluster?form=table",
    f"#/cluster?by={urllib.parse.quote(HTML)}&form=groups",
    f"#/cluster?pod={QUOTED}",
    f"#/nodes/{urllib.parse.quote(HTML)}",
    f"#/pods/default/{urllib.parse.quote(HTML)}",
    "#/pending",
    "#/decisions",
    "#/policies",
    "#/versions",
)


@pytest.fixture
def scheduler() -> Iterator[running_scheduler.RunningScheduler]:
    """A scheduler with a full node and a pod that waits."""
    with running_scheduler.RunningScheduler() as made:

        async def add_node(world: fakes.World) -> None:
            world.add_node("n1", pods=1)

        made.do(add_node)
        made.schedule("a", "late")
        made.change(running_scheduler.enter_stage)
        yield made


def take_over(
    scheduler: running_scheduler.RunningScheduler, change: Callable[[str, Any], Any]
) -> None:
    """Let the scheduler send what `change` makes of each page, which gets its path and content."""

    async def read(_: fakes.World) -> dict[str, Any]:
        pages = scheduler.joined.pages
        read = {
            path: await page_answers.ask_page(pages[path], **parameters)
            for path, parameters in PAGES.items()
        }
        rows = await page_answers.ask_page(pages["/debug/decisions"], form="rows")
        return {path: json.loads(page.body) for path, page in read.items()} | {
            "rows": json.loads(rows.body)
        }

    contents = {path: change(path, page) for path, page in scheduler.do(read).items()}

    def answer(path: str) -> http_server.MakePage:
        def make(query: http_server.QueryParameters) -> http_server.HttpPage:
            return http_server.make_json_page(contents["rows" if "form" in query else path])

        return make

    scheduler.change(lambda joined: joined.pages.update({path: answer(path) for path in PAGES}))


@pytest.fixture
def follow(serve: Serve, tmp_path: pathlib.Path) -> Callable[[str], AbstractContextManager[str]]:
    """Run `policysched ui --decisions` for a URL, with the token."""
    path = tmp_path / "token"
    path.write_text(running_scheduler.TOKEN)
    return lambda url: serve("--decisions", url, "--token-file", str(path))


Follow = Callable[[str], AbstractContextManager[str]]


def test_markup_in_every_text_is_text(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """In each view, nothing of it runs, and each character is visible."""

    def make(path: str, page: Any) -> Any:
        name = POD if path in ("/debug/decisions", "/debug/explain") else HTML
        kept = ("scheduled", "unschedulable")  # the schema of records has a list of results
        return hostile_answers.replace_all_texts(page, lambda text: text if text in kept else name)

    take_over(scheduler, make)
    with follow(scheduler.url) as url, open_page(url, has_failures=True) as opened:
        for address in VIEWS:
            page = opened.open_view(address)
            page.wait_for_selector(f"body:has-text('{VISIBLE}')")
            assert page.query_selector("img") is None, address
            assert "\u202e" not in page.inner_text("body"), address


def test_what_cannot_be_drawn_is_one_line(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Values that fit their form and make no sense cost one view, and only while it is open."""

    def make(path: str, page: Any) -> Any:
        if path == "/debug/cluster":
            page["nodes"]["labels"] = {"a": {"values": [], "of": [7]}}
            page["usage"]["resources"] = {"cpu": {"used": [], "of": []}}
        if path == "/debug/explain":
            page["of"], page["totals"], page["feasible"] = [9], [], 3
        return page

    take_over(scheduler, make)
    with follow(scheduler.url) as url, open_page(url) as opened:
        for form in ("map", "groups", "table"):
            page = opened.open_view(f"#/cluster?by=a&form={form}")
            page.wait_for_selector("main:has-text('group by')")
        page = opened.open_view("#/cluster?pod=default%2Flate")
        page.wait_for_selector("main [role=alert]:only-child:has-text('cannot be drawn')")
        page = opened.open_view("#/cluster")
        page.wait_for_selector("main:has-text('group by')")
