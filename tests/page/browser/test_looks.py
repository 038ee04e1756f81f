"""What is easy to see: room that is used, words in one piece, and the answer on the screen."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tests.cli import clusters
from tests.page import page_process
from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import Serve, WriteCluster

pytestmark = pytest.mark.slow

LONG = "ip-10-0-0-1.eu-west-1.compute.internal"


def test_few_nodes_fill_the_screen(demo_url: str, open_page: OpenPage) -> None:
    """Their tiles have their name and amounts."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster")
        assert page.query_selector("canvas").bounding_box()["height"] > 400


def test_many_nodes_fit_on_the_screen(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """A thousand, with the line that describes one of them."""
    path = write_cluster([clusters.node(f"n{number}") for number in range(1000)])
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster")
        assert page.evaluate("document.documentElement.scrollHeight") <= 800
        assert page.query_selector("canvas").bounding_box()["height"] > 400


@pytest.mark.parametrize(
    "address", ["#/cluster?form=table", "#/pending", "#/decisions", "#/pods/prod/web-1"]
)
def test_narrow_tables_break_no_number(demo_url: str, open_page: OpenPage, address: str) -> None:
    """Nor words: a table that is too wide scrolls."""
    with open_page(demo_url, 390) as opened:
        page = opened.open_view(address)
        cells = page.query_selector_all("tbody td, tbody th")
        cut = [each.inner_text() for each in cells if is_cut(each)]
        assert cells
        assert cut == []


def is_cut(cell: Any) -> bool:
    """Return whether a text without a blank or a hyphen needs more than one line."""
    text = cell.inner_text().strip()
    return not set(text) & set(" -\n") and bool(
        cell.evaluate(
            """(cell) => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              const bottoms = [...range.getClientRects()].map((box) => box.bottom);
              return Math.max(...bottoms) - Math.min(...bottoms) > 12;
            }"""
        )
    )


def test_a_pressed_tile_shows_its_node_on_a_narrow_screen(
    demo_url: str, open_page: OpenPage
) -> None:
    """The panel is over the lower half, and the page stays where it is."""
    with open_page(demo_url, 390) as opened:
        page = opened.open_view("#/cluster")
        page.click("canvas", position={"x": 10, "y": 60})
        page.wait_for_selector("aside h2:has-text('gpu-a')")
        place = page.locator("aside").bounding_box()
        assert 300 < place["y"] < 700
        assert page.evaluate("window.scrollY") == 0


def test_letters_of_the_legend_are_on_tiles_with_names(demo_url: str, open_page: OpenPage) -> None:
    """Colour is not the only sign: without its letter, the corner of a tile has one colour."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster?pod=prod%2Freport")
        count = page.eval_on_selector(
            "canvas",
            """(canvas) => {
              const { data } = canvas.getContext("2d").getImageData(2, 28, 12, 12);
              return new Set(new Uint32Array(data.buffer)).size;
            }""",
        )
        assert count > 1


def test_files_in_one_folder_are_called_by_their_own_name(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """The whole path is a tooltip; folders that differ stay."""
    paths = [tmp_path / "deep" / "one.policy", tmp_path / "deep" / "two" / "three.policy"]
    paths[1].parent.mkdir(parents=True)
    for path in paths:
        path.write_text(f"policy {path.stem} {{\n  for pods\n}}\n")
    words = ["--cluster", write_cluster([clusters.node("a")]), "--policies", *map(str, paths)]
    with serve(*words) as url, open_page(url) as opened:
        for address in ("#/policies", "#/edit"):
            page = opened.open_view(address)
            links = page.query_selector_all("nav.files a[title]")
            assert [each.inner_text().strip() for each in links] == [
                "one.policy",
                "two/three.policy",
            ]
            assert links[0].get_attribute("title") == str(paths[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pressed_button_does_not_look_focused(
    demo_url: str, open_page: OpenPage, scheme: str
) -> None:
    """It is filled, without a ring; the focus is a ring, which a pressed button can also have."""
    look = "(each) => [getComputedStyle(each).outlineStyle, getComputedStyle(each).backgroundColor]"
    with open_page(demo_url, color_scheme=scheme) as opened:
        page = opened.open_view("#/cluster")
        pressed, other = (f"[role=group] button:has-text('{name}')" for name in ("map", "groups"))
        page.focus("#find")
        (ring, filled), (none, plain) = (
            page.eval_on_selector(each, look) for each in (pressed, other)
        )
        assert (ring, none) == ("none", "none")
        assert filled != plain
        page.keyboard.press("Tab")
        while not page.evaluate("document.activeElement.matches('[aria-pressed=true]')"):
            page.keyboard.press("Tab")
        assert page.eval_on_selector(pressed, look) == ["solid", filled]
        page.keyboard.press("Tab")
        assert page.eval_on_selector(other, look) == ["solid", plain]


def test_the_error_of_a_plan_is_readable_on_a_narrow_screen(
    demo_url: str, open_page: OpenPage
) -> None:
    """Its long lines go on in the next line; those of the policy scroll, and keep their carets."""
    with open_page(demo_url, 390) as opened:
        page = opened.open_view("#/edit?file=load-aware.policy")
        page.wait_for_selector(".cm-content")
        page_process.replace_all(
            page, f"policy x {{\n  for pods\n  reject when {'y ' * 45} < 1\n}}\n"
        )
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("pre.error")
        measure = "(box) => [box.scrollWidth, box.clientWidth]"
        width, room = page.eval_on_selector("pre.error", measure)
        assert width <= room
        width, room = page.eval_on_selector(".frame", measure)
        assert width > room
        lines = page.inner_text(".frame").splitlines()
        height = page.locator(".frame").bounding_box()["height"]
        assert height / len(lines) < 30  # none of them is two


def test_what_hover_shows_stays_small(demo_url: str, open_page: OpenPage) -> None:
    """On a narrow screen, it leaves the line that it describes visible, and most of the others."""
    with open_page(demo_url, 390) as opened:
        page = opened.open_view("#/edit?file=web-tier.policy")
        page.click(".cm-content")
        page.keyboard.press("Control+End")
        line = page.locator(".cm-line:has-text('score LeastAllocated')")
        line.hover(position={"x": 30, "y": 8})
        page.wait_for_selector(".cm-tooltip-hover:has-text('Points for nodes')")
        tooltip = page.query_selector(".cm-tooltip-hover").bounding_box()
        assert tooltip["y"] + tooltip["height"] <= line.bounding_box()["y"] + 2
        assert tooltip["height"] < 50  # two lines of it


def test_long_keys_of_labels_break_between_their_words(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """In the view of a node, and in the head of a table."""
    key = "example.company.internal/very-long-label-key-of-the-team"
    path = write_cluster([clusters.node("a", **{key: "the-team-of-the-platform"})])
    with serve("--cluster", path) as url, open_page(url, 390) as opened:
        for address, cell in (
            ("#/nodes/a", ".pairs th:has-text('example')"),
            (f"#/cluster?form=table&by={key.replace('/', '%2F')}", "thead th:has-text('example')"),
        ):
            page = opened.open_view(address)
            lines = page.eval_on_selector(cell, LINES)
            assert len(lines) > 1
            assert "".join(lines).startswith(key)
            assert [line for line in lines[:-1] if line[-1] not in "/.-"] == []


LINES = """(cell) => {
  const lines = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    for (let at = 0; at < text.length; at += 1) {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const { top } = range.getBoundingClientRect();
      if (text.data[at].trim() === "" || text.parentElement.ariaHidden) continue;
      if (lines.length === 0 || Math.abs(lines.at(-1).top - top) > 5) lines.push({ top, text: "" });
      lines.at(-1).text += text.data[at];
    }
  }
  return lines.map(({ text }) => text);
}"""
"""The lines of a cell as a reader sees them, without what is hidden from screen readers."""


@pytest.mark.parametrize(
    "width, has_touch, hint",
    [
        pytest.param(390, True, "press a tile", id="finger"),
        pytest.param(390, False, "press a tile", id="narrow"),
        pytest.param(1280, False, "point at a tile, or press the arrow keys", id="mouse"),
    ],
)
def test_the_map_says_how_to_choose_a_tile(
    demo_url: str, open_page: OpenPage, width: int, has_touch: bool, hint: str
) -> None:
    """A phone has neither a pointer nor arrow keys, also if it reports a mouse."""
    with open_page(demo_url, width, has_touch=has_touch, is_mobile=has_touch) as opened:
        page = opened.open_view("#/cluster")
        assert page.inner_text(".told") == hint


def test_names_of_nodes_are_whole_on_a_narrow_screen(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Above their bars, since nothing fits beside them."""
    path = write_cluster([clusters.node(LONG), clusters.node("a", cpu="2"), clusters.pod("new")])
    with serve("--cluster", path) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/pods/prod/new")
        link = page.query_selector(f".points a:has-text('{LONG}')")
        assert link.bounding_box()["height"] < 25
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
