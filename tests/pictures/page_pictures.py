"""Pictures of the page in docs/pictures: views of the demo, whose clock is virtual, and texts."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from policysched import _resources
from policysched.cli.demo import story
from tests.page import page_process
from tests.realcluster import browser as browsers

FOLDER: Final = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"
_UNSEEN: Final = "\u200b"
"""CodeMirror's mark of an empty line."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageView:
    """A view of the demo, and what a reader does there before the picture is taken.

    Attributes:
        height, width: of the window, in CSS pixels.
        scheme: `light` or `dark`.
    """

    address: str
    height: int
    width: int = 1000
    scheme: str = "light"
    act: Callable[[Any], None] = lambda _: None


def _plan_an_edit(page: Any) -> None:
    """Plan the first edit of the demo's story."""
    page.wait_for_selector(".cm-content")
    policies = _resources.find_resource_folder("policies")
    text = (policies / story.LIMIT.file).read_text(encoding="utf-8")
    page_process.replace_all(page, text.replace(story.LIMIT.before, story.LIMIT.after))
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("section.plan h3")
    page.wait_for_selector(".findings")


VIEWS: Final[Mapping[str, PageView]] = {
    "page-pod": PageView("#/pods/prod/web-4?node=web-c1", 1030),
    "page-pending": PageView("#/pods/prod/report", 820),
    "page-map": PageView("#/cluster?pod=prod%2Freport&node=big-c", 900),
    "page-rule": PageView("#/rules/web-tier/apart", 720),
    "page-plan": PageView("#/edit?file=load-aware.policy", 1010, act=_plan_an_edit),
    "page-narrow": PageView("#/pods/prod/web-4", 844, width=390, scheme="dark"),
}
"""Each view by the name of its files, a `.png` and a `.txt`."""


class DemoWindow:
    """Opens views of the demo in a browser."""

    def __init__(self, browser: Any, url: str) -> None:
        self._browser = browser
        self._url = url

    @contextlib.contextmanager
    def show(self, name: str) -> Iterator[Any]:
        """Yield Playwright's page with the view of a name."""
        view = VIEWS[name]
        context = self._browser.new_context(
            viewport={"width": view.width, "height": view.height},
            color_scheme=view.scheme,
            reduced_motion="reduce",
        )
        with contextlib.closing(context):
            page = context.new_page()
            page.goto(self._url)
            page.wait_for_selector("main", state="attached")
            page_process.open_view(page, self._url.partition("#")[0], view.address)
            view.act(page)
            yield page


@contextlib.contextmanager
def open_demo() -> Iterator[DemoWindow]:
    """Start the demo and a browser."""
    with page_process.serve_page() as url, browsers.launch_browser() as started:
        yield DemoWindow(started, url)


def read_text(page: Any) -> str:
    """Return the visible text of a page, that of the editor included."""
    editors = [each.inner_text() for each in page.query_selector_all(".cm-content")]
    lines = "\n".join([page.inner_text("body"), *editors]).replace(_UNSEEN, "").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def draw_all() -> None:
    """Write the picture and the text of each view."""
    with open_demo() as demo:
        for name in VIEWS:
            with demo.show(name) as page:
                page.screenshot(path=FOLDER / f"{name}.png", caret="hide")
                (FOLDER / f"{name}.txt").write_text(read_text(page), encoding="utf-8")
