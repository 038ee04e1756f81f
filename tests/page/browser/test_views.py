"""The page in a real browser, with the demo, a large cluster and hostile names."""

from __future__ import annotations

import contextlib
import pathlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.cli import clusters
from tests.page.browser.conftest import OpenPage

pytestmark = pytest.mark.slow

Serve = Callable[..., AbstractContextManager[str]]
WriteCluster = Callable[[list[dict[str, Any]]], str]

VIEWS = {
    "#/cluster": "group by",
    "#/cluster?form=table": "web-a1",
    "#/cluster?pod=prod%2Freport&node=big-c": "prod/report is rejected by",
    "#/cluster?pod=prod%2Fweb-1&colour=points": "points",
    "#/nodes/gpu-a": "nvidia.com/gpu",
    "#/pods/prod/web-5": "Filters, in their order",
    "#/pods/prod/report": "Any one of these changes lets it fit",
    "#/pods/prod/web-1?node=gpu-a": "is rejected by",
    "#/pending": "prod/report",
    "#/decisions": "prod/cache-1",
    "#/policies": "version in use: ",
    "#/rules/web-tier/apart": "podAntiAffinity preferred",
    "#/edit?file=web-tier.policy": "Plan: what these edits would change",
}
FIRST_SCRIPTS_BYTES = 40_000
"""Most bytes of the compressed scripts of the first view, which has the filter by free amounts."""
HOSTILE = "<img src=x onerror=alert(1)>\u202eevil\u200b"
VISIBLE = "<img src=x onerror=alert(1)>‹U+202E›evil‹U+200B›"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_works_in_every_size_and_scheme(
    demo_url: str, open_page: OpenPage, width: int, scheme: str
) -> None:
    """Each says what it should, without a complaint of the browser and sideways scrolling."""
    with open_page(demo_url, width, color_scheme=scheme) as opened:
        for address, text in VIEWS.items():
            page = opened.open_view(address)
            assert text in page.inner_text("main"), address
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_key_leaves_the_address_and_survives_a_reload(
    demo_url: str, open_page: OpenPage
) -> None:
    """It is in no history, and a second tab of the same browser has it."""
    with open_page(demo_url) as opened:
        page = opened.page
        page.wait_for_selector("canvas")
        assert page.url.endswith("#/cluster")
        page.reload()
        page.wait_for_selector("canvas")
        second = page.context.new_page()
        second.goto(opened.base + "#/pods/prod/web-1")
        second.wait_for_selector("h1:has-text('prod/web-1')")


def test_without_the_key_the_page_says_what_to_do(demo_url: str, open_page: OpenPage) -> None:
    """One line, no empty page."""
    with open_page(demo_url.partition("#")[0], has_failures=True) as opened:
        opened.page.wait_for_selector("[role=alert]:has-text('open the URL that the command')")


@pytest.mark.parametrize(
    "address, text",
    [
        pytest.param("#/pods/prod/no", "no such pod", id="pod"),
        pytest.param("#/nodes/no", "`no` does not exist", id="node"),
        pytest.param("#/rules/web-tier/no", "No rule is called web-tier/no", id="rule"),
        pytest.param("#/no", "There is no view “no”", id="view"),
    ],
)
def test_an_unknown_name_says_so(
    demo_url: str, open_page: OpenPage, address: str, text: str
) -> None:
    """A link to something that is gone is an answer, not an empty page."""
    with open_page(demo_url, has_failures=True) as opened:
        opened.open_view(address)
        opened.page.wait_for_selector(f"[role=alert]:has-text('{text}')")


def test_a_step_of_the_demo_shows_at_once(serve: Serve, open_page: OpenPage) -> None:
    """The edit places the pending pod, and all views say that it is placed."""
    with serve() as url, open_page(url) as opened:
        page = opened.open_view("#/decisions")
        page.click("button:has-text('edit load-aware.policy')")
        page.wait_for_selector("tbody tr:first-child:has-text('prod/report'):has-text('big-c')")
        page = opened.open_view("#/pending")
        assert "No pod waits for a node" in page.inner_text("main")
        page = opened.open_view("#/pods/prod/report")
        assert page.inner_text("h1 ~ p.fits") == "on big-c"
        assert "metrics include the load of the pod itself" in page.inner_text("main")
        page = opened.open_view("#/cluster?pod=prod%2Freport&node=big-c")
        assert "prod/report is on this node" in page.inner_text("aside")
        assert "is on big-c; decided now:" in page.inner_text(".about")
        page = opened.open_view("#/decisions")
        page.click("button:has-text('play the rest')")
        page.wait_for_selector("tbody tr:first-child:has-text('batch/job-4')")
        page.wait_for_selector(".steps button", state="detached")


def test_hostile_names_are_text_and_wholly_visible(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Nothing of a cluster file becomes markup, and no character hides."""
    node = clusters.node("n1", **{"zone": HOSTILE, HOSTILE: "v"})
    node["spec"]["taints"] = [{"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}]
    pod = clusters.pod(HOSTILE)
    path = write_cluster([node, clusters.node("n2"), pod, clusters.pod("x" + HOSTILE, on="n1")])
    with serve("--cluster", path) as url, open_page(url) as opened:
        name = f"prod%2F{_encode(HOSTILE)}"
        for address in (
            "#/nodes/n1",
            f"#/pods/prod/{_encode(HOSTILE)}",
            "#/pending",
            f"#/cluster?by={_encode(HOSTILE)}&pod={name}&node=n1",
            f"#/cluster?form=table&by=zone&pod={name}",
        ):
            page = opened.open_view(address)
            shown = page.inner_text("main")
            assert VISIBLE in shown or "by=" in address, address
            assert HOSTILE not in page.content(), address
            assert page.query_selector("img") is None
            assert "\u202e" not in page.title()
        page = opened.open_view("#/cluster")
        page.fill("#find", "img src")
        page.wait_for_selector(f"[role=option]:has-text('{VISIBLE}')")


def test_a_large_hostile_policy_is_text_in_each_view(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """The language refuses unseen characters in messages; it only warns about them in comments."""
    markup = "<img src=x onerror=alert(1)>"
    rules = "".join(
        f'  reject when free(cpu) < {9000 + number} message "{markup}" as r{number}\n'
        for number in range(1000)
    )
    (tmp_path / "p.policy").write_text(
        f"# {HOSTILE} {'long ' * 100_000}\n"
        f'policy p {{\n  description "{markup}"\n  for pods\n{rules}}}\n'
    )
    path = write_cluster([clusters.node("n1"), clusters.pod("new")])
    with (
        serve("--cluster", path, "--policies", str(tmp_path)) as url,
        open_page(url) as opened,
    ):
        for address, text in {
            "#/policies": VISIBLE,
            "#/rules/p/r999": VISIBLE,
            "#/edit": VISIBLE,
            "#/pods/prod/new": markup,
            "#/cluster?pod=prod%2Fnew&node=n1": markup,
        }.items():
            page = opened.open_view(address)
            page.wait_for_selector(f"main:has-text('{text}')")
            assert page.query_selector("img[src=x]") is None, address
            assert "\u202e" not in page.inner_text("main"), address


def test_the_page_works_by_keyboard_alone(demo_url: str, open_page: OpenPage) -> None:
    """Find with `/`, views with `g`, tiles with arrows, Enter and Escape."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster")
        page.focus("canvas")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".told:has-text('web-a1')")
        page.keyboard.press("Enter")
        page.wait_for_selector("aside h2:has-text('web-a1')")
        page.keyboard.press("Escape")
        page.wait_for_selector("aside", state="detached")
        page.keyboard.press("t")
        page.wait_for_selector("table.nodes")
        page.keyboard.press("/")
        page.keyboard.type("web-5")
        page.wait_for_selector("[role=option]")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('prod/web-5')")
        page.keyboard.press("g")
        page.keyboard.press("p")
        page.wait_for_selector("h1:has-text('Policies')")
        page.keyboard.press("?")
        page.wait_for_selector("[role=dialog]")
        page.keyboard.press("Escape")
        page.wait_for_selector("[role=dialog]", state="detached")


def test_the_field_of_another_node_keeps_typed_text(demo_url: str, open_page: OpenPage) -> None:
    """While answers arrive; it suggests names, and a wrong one is no complaint of the browser."""
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with open_page(demo_url) as opened:
        opened.page.route("**/api/study*", hold)
        page = opened.page
        page.goto(f"{opened.base}#/pods/prod/web-5")
        page.fill("input[name=node]", "web-")
        page.wait_for_selector("datalist option[value=web-a1]", state="attached")
        with page.expect_response("**/api/status"):  # the page is drawn again after each of them
            held.pop().continue_()
        page.wait_for_selector("h2:has-text('What would make another node win')")
        assert page.input_value("input[name=node]") == "web-"
        page.fill("input[name=node]", "web-a9")
        page.press("input[name=node]", "Enter")
        page.wait_for_selector("[role=alert]:has-text('There is no node “web-a9”')")
        page.set_viewport_size({"width": 390, "height": 300})
        page.fill("input[name=node]", "web-a1")
        page.press("input[name=node]", "Enter")
        answer = page.wait_for_selector("section:has(input[name=node]) p:is(.fits, .rejected)")
        assert answer.bounding_box()["y"] < 300


def test_each_decision_has_a_reason(demo_url: str, open_page: OpenPage) -> None:
    """Also if no rule gave the node a lead."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/decisions")
        rows = [each.inner_text() for each in page.query_selector_all(".decisions tbody tr")]
        reasons = ("points", "the only node that fits", "equal points, chosen at random", "0/8")
        assert all(any(reason in row for reason in reasons) for row in rows)
        assert all(any(reason in row for row in rows) for reason in reasons)


def test_a_pod_of_the_demo_has_its_recorded_decision(demo_url: str, open_page: OpenPage) -> None:
    """The same node and rule as in the list of decisions, beside what would be decided now."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/decisions")
        row = page.locator("tbody tr:has-text('points')").first
        node, why = row.locator("td").nth(1).inner_text(), row.locator("td").nth(3).inner_text()
        row.locator("th a").click()
        page.wait_for_selector("h1 + p:has-text('decided by the scheduler')")
        decided = page.inner_text("h1 + p")
        assert re.search(rf": {re.escape(node)}, before \S+: {re.escape(why)}", decided)
        page.wait_for_selector(".record:has-text('fits on')")
        assert "decided now" in page.inner_text("main")


def test_the_search_says_how_many_names_it_hides(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Eight of each kind are shown."""
    path = write_cluster([clusters.node(f"n{number}") for number in range(30)])
    with serve("--cluster", path) as url, open_page(url) as opened:
        opened.page.fill("#find", "n")
        opened.page.wait_for_selector(
            "#matches li:has-text('22 more nodes: type more of the name')"
        )


def test_five_thousand_nodes_are_one_picture(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """A press on a tile opens its node; an entry of the legend keeps only its nodes."""
    items = [
        clusters.node(
            f"node-{number:04}", zone=f"z{number % 3}", disk="ssd" if number % 2 else "hdd"
        )
        for number in range(5000)
    ]
    pod = clusters.pod("new", nodeSelector={"disk": "ssd"})
    with serve("--cluster", write_cluster([*items, pod])) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster?by=zone&pod=prod%2Fnew")
        assert re.search(r"fits\s+2,500", page.inner_text(".legend"))
        assert re.search(r"rejected by NodeAffinity\s+2,500", page.inner_text(".legend"))
        page.click("canvas", position={"x": 4, "y": 30})
        page.wait_for_selector("aside h2:has-text('node-0000')")
        page.wait_for_selector("aside:has-text('is rejected by')")
        page.click(".legend button:has-text('fits')")
        page.wait_for_selector(".legend button[aria-pressed=true]")
        page = opened.open_view("#/pods/prod/new")
        assert "fits on 2,500 of 5,000 nodes" in page.inner_text("main")


def test_the_first_view_loads_only_its_own_scripts(demo_url: str, open_page: OpenPage) -> None:
    """Other views come when they are opened, so that the first one is soon there."""
    list_scripts = """() => performance.getEntriesByType("resource")
      .filter(({ name }) => name.endsWith(".js"))
      .map(({ name, encodedBodySize }) => [name.split("/").at(-1), encodedBodySize])"""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster")
        scripts = dict(page.evaluate(list_scripts))
        assert not {"edit.js", "pod.js", "node.js", "cluster_tables.js"} & set(scripts)
        assert sum(scripts.values()) < FIRST_SCRIPTS_BYTES
        page = opened.open_view("#/cluster?form=table")
        assert "cluster_tables.js" in dict(page.evaluate(list_scripts))


def test_a_view_that_cannot_be_loaded_says_so(demo_url: str, open_page: OpenPage) -> None:
    """In one line, with a button that loads the page again and opens the same view."""
    with open_page(demo_url, has_failures=True) as opened:
        opened.open_view("#/cluster")
        opened.page.route("**/pending.js", lambda route: route.abort())
        page = opened.page
        page.goto(f"{opened.base}#/pending")
        page.wait_for_selector("main [role=alert]:has-text('still running?')")
        page.unroute("**/pending.js")
        page.click("button:has-text('load again')")
        page.wait_for_selector("h1:has-text('pending pod')")


def test_the_page_says_that_the_server_has_ended(serve: Serve, open_page: OpenPage) -> None:
    """Within some seconds, and what to do."""
    with contextlib.ExitStack() as stack:
        with serve() as url:
            opened = stack.enter_context(open_page(url, has_failures=True))
            opened.page.wait_for_selector("canvas")
        opened.page.wait_for_selector("[role=alert]:has-text('still running?')")


def _encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
