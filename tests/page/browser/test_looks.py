"""What is easy to see: room that is used, words in one piece, and the answer on the screen."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tests.cli import clusters
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
    """The panel is below the map, so the page scrolls to it."""
    with open_page(demo_url, 390) as opened:
        page = opened.open_view("#/cluster")
        page.click("canvas", position={"x": 10, "y": 60})
        page.wait_for_selector("aside h2:has-text('gpu-a')")
        assert page.query_selector("aside").bounding_box()["y"] < 700


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
