"""What the buttons of the editor say, and how an edit gets to its place."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cli import clusters
from tests.page import page_process
from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import Serve, WriteCluster

pytestmark = pytest.mark.slow

POLICY = """\
policy p {
  for pods
  nodeAffinity preferred disk = ssd weight 5 as fast
}
"""
OTHER = POLICY.replace("policy p", "policy q")


@pytest.fixture
def url(write_cluster: WriteCluster, serve: Serve, tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of a page with two policy files."""
    items = [clusters.node(name, disk=disk) for name, disk in (("a", "ssd"), ("b", "hdd"))]
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "p.policy").write_text(POLICY)
    (folder / "q.policy").write_text(OTHER)
    path = write_cluster([*items, clusters.pod("one", on="a")])
    with serve("--cluster", path, "--policies", str(folder)) as served:
        yield served


def test_reset_asks_in_the_place_of_its_button(url: str, open_page: OpenPage) -> None:
    """The answer that keeps the edits has the focus."""
    with open_page(url) as opened:
        page = opened.open_view("#/edit")
        page_process.replace_all(page, f"# edited\n{POLICY}")
        before = page.locator("button:text-is('reset')").bounding_box()
        page.click("button:text-is('reset')")
        page.wait_for_selector("button:focus:text-is('keep them')")
        place = page.locator(".question").bounding_box()
        assert abs(place["y"] - before["y"]) < 60
        page.keyboard.press("Enter")
        page.wait_for_selector("button:text-is('reset')")
        assert "# edited" in page.inner_text(".cm-content")


def test_copying_is_confirmed_for_a_moment(url: str, open_page: OpenPage) -> None:
    """A browser that refuses says what to do instead."""
    with open_page(url, permissions=["clipboard-read", "clipboard-write"]) as opened:
        page = opened.open_view("#/pods/prod/one")
        page.click("button:text-is('as text')")
        page.click("button:text-is('copy')")
        page.wait_for_selector(".fits:text-is('copied')")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.strip() == page.inner_text(".copy pre").strip()
        page.wait_for_selector(".fits:text-is('copied')", state="detached")
        page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }"
        )
        page.click("button:text-is('copy')")
        page.wait_for_selector(".copy .error:has-text('select the text')")


def test_the_number_of_findings_leads_to_them(url: str, open_page: OpenPage) -> None:
    """On a narrow screen, they are far below the editor."""
    with open_page(url, 390) as opened:
        page = opened.open_view("#/edit")
        page.set_viewport_size({"width": 390, "height": 400})
        page_process.replace_all(page, POLICY.replace("disk = ssd", "disk Inn (ssd)"))
        count = page.wait_for_selector("button.error:has-text('1 finding')")
        assert not _is_visible(page, ".found")
        count.click()
        assert _is_visible(page, ".found")


def _is_visible(page: Any, selector: str) -> bool:
    box = page.locator(selector).bounding_box()
    return bool(box["y"] < page.viewport_size["height"])


def test_each_edited_file_is_named_and_downloaded(url: str, open_page: OpenPage) -> None:
    """With its place; not only the one that is open."""
    with open_page(url) as opened:
        page = opened.open_view("#/edit")
        for name, text in (("p.policy", POLICY), ("q.policy", OTHER)):
            page.click(f".files a:has-text('{name}')")
            page.wait_for_selector(f".files a[aria-current]:has-text('{name}')")
            page.wait_for_selector(f".cm-content:has-text('policy {name[0]}')")
            page_process.replace_all(page, f"# edited\n{text}")
            page.wait_for_selector(f"p.quiet:has-text('policies/{name}')")
        assert page.locator("p.quiet:has-text('The source is the file')").count() == 2
        with page.expect_download() as download:
            page.click("button:text-is('download p.policy')")
        assert pathlib.Path(download.value.path()).read_text() == f"# edited\n{POLICY}"


def test_a_command_for_a_cluster_waits_until_there_is_no_error(
    url: str, open_page: OpenPage
) -> None:
    """Then it is whole, and says which part of it writes."""
    with open_page(url, 390) as opened:
        page = opened.open_view("#/edit")
        page_process.replace_all(page, POLICY.replace("for pods", "for pod"))
        page.click("button:text-is('kubectl')")
        page.wait_for_selector(".difference .error:has-text('Correct it')")
        assert page.query_selector(".difference pre") is None
        page_process.replace_all(page, f"# edited\n{POLICY}")
        command = page.wait_for_selector(".difference pre")
        assert "kubectl apply -f -" in command.inner_text()
        assert command.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert "writes nothing (--dry-run=client)" in page.inner_text(".difference")


def test_errors_and_warnings_differ_in_colour_and_shape(url: str, open_page: OpenPage) -> None:
    """In the list of findings, and beside the line."""
    with open_page(url) as opened:
        page = opened.open_view("#/edit")
        page_process.replace_all(page, POLICY.replace("weight 5", "weight 500"))
        error = list_looks(page, ".findings .error", ".cm-lint-marker-error")
        page_process.replace_all(
            page, POLICY.replace("preferred", "required").replace(" weight 5", "")
        )
        warning = list_looks(page, ".findings .warning", ".cm-lint-marker-warning")
        assert all(one != other for one, other in zip(error, warning, strict=True))


def list_looks(page: Any, row: str, marker: str) -> list[str]:
    """Return the colours and shapes of a row and of a marker."""
    page.wait_for_selector(row)
    page.wait_for_selector(marker)
    read: Callable[..., list[str]] = page.evaluate
    return read(
        """([row, marker]) => {
          const item = document.querySelector(row);
          const { shadowRoot } = document.querySelector(".editor");
          const dot = getComputedStyle(shadowRoot.querySelector(marker));
          const sign = getComputedStyle(item, "::before").content;
          return [getComputedStyle(item).color, sign, dot.backgroundColor, dot.clipPath];
        }""",
        [row, marker],
    )


def test_the_demo_says_where_a_download_belongs(demo_url: str, open_page: OpenPage) -> None:
    """Its own policies are copies."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/edit")
        assert "belongs in a folder of your own" in page.inner_text("main")
