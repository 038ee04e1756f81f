"""The cluster as groups, tables and tiles that a reader can press and tell apart."""

from __future__ import annotations

import itertools
import pathlib
import re
import urllib.parse
from typing import Any

import pytest

from tests.cli import clusters
from tests.page import page_process
from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import Serve, WriteCluster

pytestmark = pytest.mark.slow


def test_a_group_is_shown_alone(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Its head says how many nodes it has and how many take the pod; the address has it."""
    path = write_cluster([*make_zones(30), clusters.pod("new", nodeSelector={"disk": "ssd"})])
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?by=zone&pod=prod%2Fnew")
        page.click(".head:has-text('z1'):has-text('10 nodes · 5 fit')")
        page.wait_for_selector(".legend button:has-text('fits 5')")
        page.reload()
        page.wait_for_selector(".legend button:has-text('fits 5')")
        page.click("button:has-text('all groups')")
        page.wait_for_selector(".legend button:has-text('fits 15')")
        page.click("button:has-text('clear pod')")
        page.wait_for_selector(".legend:has-text('nodes by cpu requested')")
        opened.open_view("#/cluster?by=zone&group=no")
        page.wait_for_selector("[role=alert]:has-text('There is no group no')")


def test_the_name_of_a_group_stays_beside_the_changes_of_a_plan(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """What has no room is cut, and is in the title."""
    policy = "policy p {\n  for pods\n  nodeAffinity required zone = z0\n}\n"
    (tmp_path / "p.policy").write_text(policy)
    nodes = [clusters.node(f"n{n}", cpu="99", zone=f"z{n}") for n in range(2)]
    pods = [clusters.pod(f"p{n}", on="n0") for n in range(90)]
    words = ("--cluster", write_cluster([*nodes, *pods]), "--policies", str(tmp_path))
    with serve(*words) as url, open_page(url) as opened:
        page = opened.open_view("#/edit")
        page_process.replace_all(page, policy.replace("z0", "z1"))
        page.keyboard.press("Control+Enter")
        page.click("text=show on the map")
        page.click("label:has-text('group by') select")
        page.select_option("label:has-text('group by') select", "zone")
        page.wait_for_selector(".head:has-text('z0'):has-text('1 node · −90 pods')")
        page.click("button:text-is('groups')")
        page.wait_for_selector(".groups thead:has-text('pods gained by the plan')")
        assert re.search(r"z0\s+1\s+0\s+−90", page.inner_text(".groups tbody"))
        assert re.search(r"z1\s+1\s+\+90\s+0", page.inner_text(".groups tbody"))
        page.click("button:text-is('map')")
        title = page.get_attribute(".head:has-text('z1')", "title")
        assert title == "show only z1: 1 node · newly chosen for 90 pods"
        for width in (80, 40):
            page.eval_on_selector_all(
                ".head",
                "(heads, width) => heads.forEach((head) => head.style.width = `${width}px`)",
                width,
            )
            for head in page.query_selector_all(".head"):
                name, count = (head.query_selector(each).bounding_box() for each in ("b", "span"))
                end = head.bounding_box()["x"] + width
                assert name["width"] >= 12
                assert count["x"] + count["width"] <= end + 1


def test_tables_are_sorted_by_a_press_on_a_head(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Numbers largest first; the address has the order, and what is free has a column."""
    items = [clusters.node(f"n{number}", cpu=str(number)) for number in (2, 10, 1)]
    with serve("--cluster", write_cluster(items)) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?form=table")
        page.click("th:has-text('free') button")
        page.wait_for_selector("th[aria-sort=descending]:has-text('free')")
        assert read_first_column(page) == ["n10", "n2", "n1"]
        page.reload()
        page.wait_for_selector("th[aria-sort=descending]:has-text('free')")
        page.click("th:has-text('free') button")
        page.wait_for_selector("th[aria-sort=ascending]:has-text('free')")
        assert read_first_column(page) == ["n1", "n2", "n10"]
        page.click("th:has-text('node') button")
        page.wait_for_selector("th[aria-sort=ascending]:has-text('node')")
        assert read_first_column(page) == ["n1", "n2", "n10"]


def test_the_table_keeps_nodes_with_enough_free(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Of the resource that is shown; the address has the quantity, and a wrong one says so."""
    items = [clusters.node(f"n{cpu}", cpu=str(cpu)) for cpu in (1, 4, 8)]
    items += [clusters.pod("large", cpu="4500m", on="n8")]
    with serve("--cluster", write_cluster(items)) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?form=table")
        for quantity, names in (("3500m", ["n4", "n8"]), ("3.6", ["n4"]), ("9", [])):
            page.fill("input[name=free]", quantity)
            page.click("button:has-text('filter')")
            page.wait_for_selector(f"form:has-text('{len(names)} of 3 nodes')")
            assert read_first_column(page) == names
        page.reload()
        page.wait_for_selector("form:has-text('0 of 3 nodes')")
        page.click("button:has-text('all nodes')")
        page.wait_for_selector("th:has-text('n1')")
        for quantity, count in (("8Gi", 3), ("8193Mi", 0)):
            page = opened.open_view(f"#/cluster?form=table&fill=memory&free={quantity}")
            assert len(read_first_column(page)) == count
        opened.open_view("#/cluster?form=table&free=much")
        page.wait_for_selector("[role=alert]:has-text('“much” is not a quantity')")
        assert len(read_first_column(page)) == 3


def test_several_free_amounts_hold_in_each_form(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Groups count with them, another resource keeps them, and closed nodes are counted."""
    items = [clusters.node(f"n{cpu}", cpu=str(cpu), zone=f"z{cpu % 2}") for cpu in range(1, 9)]
    items[5]["spec"]["unschedulable"] = True
    items[6]["spec"]["taints"] = [{"key": "spot", "effect": "NoSchedule"}]
    with serve("--cluster", write_cluster(items)) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?form=table&by=zone")
        page.fill("input[name=free]", "cpu 5, memory 8Gi")
        page.press("input[name=free]", "Enter")
        told = "4 of 8 nodes; of these, 2 are cordoned, not ready or tainted"
        page.wait_for_selector(f"form:has-text('{told}')")
        assert read_first_column(page) == ["n6", "n8", "n5", "n7"]
        assert "tainted spot:NoSchedule" in page.inner_text("tr:has-text('n7')")
        assert "free=cpu%3A5%2Cmemory%3A8Gi" in page.url
        page.select_option("label:has-text('columns for') select", "memory")
        page.wait_for_selector("th:has-text('memory requested')")
        assert read_first_column(page) == ["n6", "n8", "n5", "n7"]
        page.click("button:text-is('groups')")
        page.wait_for_selector("table.groups")
        assert re.search(r"z1\s+2\s+0 %\s+16Gi\s+12\s+1", page.inner_text("tbody"))
        page.click("button:text-is('map')")
        page.wait_for_selector(".head:has-text('z0'):has-text('2 nodes')")
        opened.open_view("#/cluster?form=groups&free=4")
        page.select_option("label:has-text('columns for') select", "pods")
        page.wait_for_selector("form:has-text('5 of 8 nodes')")


@pytest.mark.parametrize(
    "free, text",
    [
        pytest.param("cpu:8Gi", "“8Gi” is not a quantity of cpu, such as 2 or 500m", id="bytes"),
        pytest.param("memory:500m", "not a quantity of memory, such as 4Gi or 500Mi", id="milli"),
        pytest.param("gpu:1", "no node has gpu; write one of pods, cpu, memory", id="resource"),
        pytest.param("cpu%201%202", "“cpu 1 2” has two quantities of cpu", id="words"),
    ],
)
def test_a_wrong_free_amount_gives_a_hint(
    demo_url: str, open_page: OpenPage, free: str, text: str
) -> None:
    """And filters nothing."""
    with open_page(demo_url) as opened:
        page = opened.open_view(f"#/cluster?form=groups&free={free}")
        page.wait_for_selector(f"[role=alert]:has-text('{text}')")
        assert page.query_selector("form:has-text(' of 8 nodes')") is None
        assert page.input_value("input[name=free]") == urllib.parse.unquote(free)


@pytest.mark.parametrize(
    "text, shown",
    [
        pytest.param("4 CPU, 8Gi", "cpu 4, memory 8Gi", id="quantity-first"),
        pytest.param("4 cpu 8Gi", "cpu 4, memory 8Gi", id="without-comma"),
        pytest.param("cpu=4,memory=8Gi", "cpu 4, memory 8Gi", id="equals"),
        pytest.param("Memory 8Gi cpu 4", "memory 8Gi, cpu 4", id="resource-first"),
        pytest.param("4 8Gi", "cpu 4, memory 8Gi", id="bare"),
    ],
)
def test_free_amounts_are_read_as_people_write_them(
    demo_url: str, open_page: OpenPage, text: str, shown: str
) -> None:
    """On the map as well, which says what is not considered."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster")
        page.fill("input[name=free]", text)
        page.press("input[name=free]", "Enter")
        page.wait_for_selector("form:has-text('policies, taints and labels are not considered')")
        page.wait_for_function(
            "text => document.querySelector('input[name=free]').value === text", arg=shown
        )


def test_nodes_that_take_no_ordinary_pod_are_left_out(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """By a press, in each form; sorted by state, usable nodes come first. The map marks them."""
    items = [clusters.node(f"n{number}", cpu=str(number)) for number in range(1, 5)]
    items[1]["spec"]["unschedulable"] = True
    items[3]["spec"]["taints"] = [{"key": "spot", "effect": "NoSchedule"}]
    with serve("--cluster", write_cluster(items)) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?form=table&sort=state")
        assert read_first_column(page) == ["n1", "n3", "n2", "n4"]
        page.click("label:has-text('without cordoned')")
        page.wait_for_selector("form:has-text('2 of 4 nodes')")
        assert read_first_column(page) == ["n1", "n3"]
        page.click("button:text-is('map')")
        page.wait_for_selector(".head:has-text('2 nodes')")
        page.click("label:has-text('without cordoned')")
        page.wait_for_selector(".legend:has-text('corner: tainted, 1')")
        assert "diagonal line: cordoned or not ready, 1" in page.inner_text(".legend")


def test_the_name_of_a_node_stays_in_sight_on_a_narrow_screen(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """With the heads of the columns, however far the table is scrolled."""
    path = write_cluster([clusters.node(f"n{number:03}", zone="z") for number in range(100)])
    with serve("--cluster", path) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/cluster?form=table&by=zone")
        table = page.locator(".scrolls:has(.nodes)")
        table.evaluate("box => box.scrollTo(150, 900)")
        assert table.evaluate("box => [box.scrollLeft > 0, box.scrollTop]") == [True, 900]
        left = table.bounding_box()
        head = page.locator(".nodes thead th").first.bounding_box()
        assert (head["x"], head["y"]) == (left["x"], left["y"])
        assert page.locator(".nodes tbody th").nth(50).bounding_box()["x"] == left["x"]


def read_first_column(page: Any) -> list[str]:
    """Return the heads of all rows."""
    return [each.inner_text() for each in page.query_selector_all("tbody th")]


def test_many_nodes_begin_as_groups_on_a_narrow_screen(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Each group leads to a map with tiles that a finger can press."""
    path = write_cluster([*make_zones(900), clusters.pod("new", nodeSelector={"disk": "ssd"})])
    with serve("--cluster", path) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/cluster?by=zone&pod=prod%2Fnew")
        assert re.search(r"z1\s+300\s+150\s+150\s+0 %", page.inner_text("tbody"))
        assert (
            page.eval_on_selector(".scrolls", "(each) => each.scrollWidth - each.clientWidth") == 0
        )
        page.click(".legend button:has-text('rejected by NodeAffinity')")
        page.wait_for_selector(".groups tbody tr:first-child td:text-is('0')")
        assert re.search(r"z1\s+150\s+0\s+150\s+0 %", page.inner_text("tbody"))
        page.click("tbody a:has-text('z1')")
        page.click("canvas", position={"x": 22, "y": 26 + 22})
        page.wait_for_selector("aside h2:has-text('node-0001')")
        page.click("canvas", position={"x": 26, "y": 26 + 26})
        page.wait_for_selector("aside h2:not(:has-text('node-0001'))")


def test_tiles_of_a_large_cluster_are_not_smaller_than_letters(
    demo_url: str, open_page: OpenPage
) -> None:
    """Rather, the map becomes higher; a phone shows fewer and larger tiles."""
    count = """async ([width, least]) => {
      const { layOut } = await import("./map_layout.js");
      const members = Array.from({ length: 25000 }, (_, node) => node);
      const { tile, height } = layOut([{ name: "all", members }], width, 500, least);
      return [...tile, height];
    }"""
    with open_page(demo_url) as opened:
        width, height, map_height = opened.page.evaluate(count, [1240, 10])
        assert (width, height) == (10, 10)
        assert map_height < 2500
        width, _, map_height = opened.page.evaluate(count, [366, 24])
        assert width < 24  # browsers limit the height of a picture
        assert map_height <= 8000


@pytest.mark.parametrize("is_dark", [False, True])
def test_steps_of_colour_differ_from_the_page_and_from_each_other(
    demo_url: str, open_page: OpenPage, is_dark: bool
) -> None:
    """The fuller a node, the more it differs from the page, also in the dark."""
    read = """async (isDark) => {
      const { STEP_COUNT, getStepColour } = await import("./colours.js");
      const style = getComputedStyle(document.body);
      const steps = Array.from({ length: STEP_COUNT }, (_, step) => getStepColour(step, isDark));
      return [style.backgroundColor, ...steps];
    }"""
    with open_page(demo_url, color_scheme="dark" if is_dark else "light") as opened:
        back, *steps = map(compute_luminance, opened.page.evaluate(read, is_dark))
    contrasts = [compute_contrast(back, step) for step in steps]
    assert contrasts == sorted(contrasts)
    assert contrasts[0] > 1.8
    assert all(compute_contrast(*pair) > 1.4 for pair in itertools.pairwise(steps))


def compute_luminance(colour: str) -> float:
    """Return WCAG's relative luminance of `#0072b2` or `rgb(0, 114, 178)`."""
    if colour.startswith("#"):
        numbers = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    else:
        numbers = [int(each) for each in re.findall(r"\d+", colour)]
    parts = [each / 255 for each in numbers]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(one: float, other: float) -> float:
    """Return WCAG's contrast ratio of two luminances."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def make_zones(count: int) -> list[dict[str, Any]]:
    """Return nodes in three zones, each second one with a fast disk."""
    return [
        clusters.node(
            f"node-{number:04}", zone=f"z{number % 3}", disk="ssd" if number % 2 else "hdd"
        )
        for number in range(count)
    ]


def test_numbers_in_names_are_sorted_by_their_value(demo_url: str, open_page: OpenPage) -> None:
    """On the map and in the table, in each group."""
    names = ["node-0", "node-12", "node-3", "web"]
    with open_page(demo_url) as opened:
        groups = opened.page.evaluate(
            """async (names) => {
              const { groupNodes } = await import("./map_layout.js");
              const labels = { zone: { values: ["a", "b"], of: [0, 0, 0, 1] } };
              return ["zone", "-"].map((key) =>
                groupNodes({ names, labels }, key).map(({ members }) => members));
            }""",
            names,
        )
        assert groups == [[[0, 2, 1], [3]], [[0, 2, 1, 3]]]


def test_a_name_is_beside_the_letter_of_its_tile(demo_url: str, open_page: OpenPage) -> None:
    """In tiles that are too low for both, the letter of the legend stays readable."""
    with open_page(demo_url) as opened:
        corners = opened.page.evaluate(
            """async () => {
              const { draw } = await import("./map_canvas.js");
              const entry = { colour: "#ffffff", letter: "M", isDimmed: false };
              const look = {
                entryOf: () => entry, shareOf: () => null, isCrossed: () => false,
                isTinted: false, hasTaints: () => false, describe: () => "",
              };
              const group = { x: 0, y: 0, width: 84, perRow: 1, members: [0] };
              return ["member-cluster", ""].map((name) => {
                const canvas = document.createElement("canvas");
                Object.assign(canvas.style, { width: "84px", height: "62px" });
                document.body.append(canvas);
                const map = { tile: [84, 36], height: 62, groups: [group] };
                draw(canvas, map, { names: [name] }, look);
                const pen = canvas.getContext("2d");
                return [...pen.getImageData(3, 26, 8, 16).data].join();
              });
            }"""
        )
        assert corners[0] == corners[1]
        assert len(set(corners[0].split(","))) > 1
