"""The page about a Karmada control plane in a real browser."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.page import page_process, planes
from tests.page.browser import test_accessibility
from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import HOSTILE, VISIBLE

pytestmark = pytest.mark.slow

Serve = Callable[..., AbstractContextManager[str]]
WriteCluster = Callable[[list[dict[str, Any]]], str]

VIEWS = {
    "#/cluster": "region",
    "#/cluster?by=-": "all clusters",
    "#/cluster?form=table&pod=shop%2Fmoves": "gets 2 replicas",
    "#/cluster?pod=shop%2Fmoves&node=a": "shop/moves: a gets 2 replicas",
    "#/clusters/a": "binding, largest first",
    "#/bindings/shop/moves": "How clusters were chosen, and replicas divided",
    "#/bindings/shop/moves?node=d": "d is rejected by",
    "#/bindings/shop/nowhere": "gets no cluster",
    "#/bindings/shop/grouped": "Attempts, in their order",
    "#/pending": "1 placed binding would lose all its clusters",
    "#/rules/shop/near": "clusterGroup near",
    "#/edit?file=test.policy": "Plan: what these edits would change",
}


@pytest.fixture
def ui(write_cluster: WriteCluster, serve: Serve, tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of a control plane with a policy; the first group has no room for `grouped`."""
    grouped = [planes.make_binding("grouped", 12), planes.make_binding("small", 8)]
    path = write_cluster([*planes.make_items(), *grouped])
    (tmp_path / "test.policy").write_text(planes.POLICY)
    with serve("--cluster", path, "--policies", str(tmp_path)) as url:
        yield url


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_every_view_speaks_of_bindings_and_clusters(
    ui: str, open_page: OpenPage, width: int
) -> None:
    """Without a complaint of the browser or of axe, a word about nodes, or sideways scrolling."""
    with open_page(ui, width, bypass_csp=True) as opened:
        opened.page.evaluate(test_accessibility.AXE.read_text(encoding="utf-8"))
        for address, text in VIEWS.items():
            page = opened.open_view(address)
            shown = page.inner_text("body")
            assert text in shown, address
            assert " node" not in shown.replace("kube", ""), address
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            assert test_accessibility.find_faults(page) == [], address


def test_a_plan_names_the_bindings_that_an_edit_moves(ui: str, open_page: OpenPage) -> None:
    """With the clusters that they lose and gain, also on the map; search finds both."""
    with open_page(ui) as opened:
        page = opened.open_view("#/edit?file=test.policy")
        page.wait_for_selector(".cm-content")
        edited = planes.POLICY.replace("region = eu", "region = asia")
        page_process.replace_all(page, edited)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("h3:has-text('1 binding would move to other clusters')")
        assert "shop: clusterGroup: changes 1 binding" in page.inner_text(".edits")
        shares = [row.split() for row in page.locator(".shares tbody tr").all_inner_texts()]
        assert shares == [["a", "–", "8", "–"], ["b", "–", "–", "8"]]
        assert "loses a; gains b" in page.inner_text(".changes")
        assert "as if nothing were placed yet; now: 1 pending" in page.inner_text(".plan")
        page.wait_for_selector(".changes p:has-text('by shop: clusterGroup')")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            hidden = "region => region.scrollWidth - region.clientWidth"
            assert page.eval_on_selector(".plan .scrolls", hidden) == 0
        page.click("text=show on the map")
        page.wait_for_selector(".legend:has-text('newly chosen')")
        page.fill("#find", "grouped")
        page.wait_for_selector("[role=option]:has-text('shop/grouped')")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('shop/grouped')")


def test_a_binding_says_what_rejected_clusters_lack(ui: str, open_page: OpenPage) -> None:
    """The values of conditions and of the affinity, and what one filter alone keeps away."""
    with open_page(ui) as opened:
        page = opened.open_view("#/bindings/shop/new")
        rejected = "[aria-label='Rejected clusters']"
        assert "free(cpu) 1 < 2" in page.inner_text(f"{rejected} tr:has-text('shop/full')")
        wish = "wants tier = gold, the cluster has no such label"
        assert wish in page.inner_text(f"{rejected} tr:has-text('ClusterAffinity')")
        assert "4 replicas, each with cpu 1" in page.inner_text("main")
        page = opened.open_view("#/bindings/shop/stays")
        assert "stays on a:1, b:2" in page.inner_text("main")
        page = opened.open_view("#/bindings/shop/grouped")
        told = page.inner_text("li:has-text('without'):has-text('more would pass')")
        assert "1 cluster more would pass" in told


def test_pending_bindings_come_first_in_groups(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Headings say which bindings have clusters, and equal reasons are one row."""
    none = {"clusterNames": ["elsewhere"]}
    more = [planes.make_binding(f"nowhere-{number}", clusterAffinity=none) for number in range(4)]
    path = write_cluster([*planes.make_items(), *more])
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/pending")
        assert [each.inner_text() for each in page.query_selector_all("main h2")] == [
            "5 pending bindings get no cluster",
            "1 pending binding would get clusters",
            "1 placed binding would lose all its clusters",
            "1 placed binding would get other clusters or replicas",
            "What rejects the bindings that get no cluster",
        ]
        (row,) = page.query_selector_all("[aria-label^='5 pending'] tbody tr")
        assert row.inner_text().startswith("5 bindings")
        page.click("summary:has-text('2 more')")
        page.wait_for_selector("a:has-text('shop/nowhere-3')")
        assert "Pending (6)" in page.inner_text("nav")


def test_weights_of_clusters_are_a_column(ui: str, open_page: OpenPage) -> None:
    """Beside the replicas that each cluster gets, rather than one long line."""
    with open_page(ui) as opened:
        page = opened.open_view("#/bindings/shop/moves")
        table = "[aria-label='Clusters that pass']"
        assert "weight" in page.inner_text(f"{table} thead")
        rows = [
            row.inner_text().split("\t") for row in page.query_selector_all(f"{table} tbody tr")
        ]
        assert [(row[0], row[1], row[3]) for row in rows] == [
            ("a", "gets 2 replicas", "10"),
            ("b", "gets 2 replicas", "16"),
        ]
        assert "weights" not in page.inner_text(".advice")


SPREAD = """\
clusterPolicy shop {
  for resources in namespace shop
  spreadConstraint by cluster minGroups 2 maxGroups 2
  replicas Divided Aggregated
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""


@pytest.fixture
def spread(write_cluster: WriteCluster, serve: Serve, tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of three clusters, of which a policy lets each binding have two."""
    clusters = [
        planes.make_cluster(name, cpu) for name, cpu in (("a", "9"), ("b", "8"), ("c", "2"))
    ]
    open_placement: dict[str, Any] = {"replicaScheduling": None}
    bindings = [
        planes.make_binding(name, replicas, **open_placement)
        for name, replicas in (("fits", 9), ("large", 40))
    ]
    (tmp_path / "test.policy").write_text(SPREAD)
    with serve(
        "--cluster", write_cluster([*clusters, *bindings]), "--policies", str(tmp_path)
    ) as url:
        yield url


def test_statements_that_choose_clusters_are_named_with_their_lines(
    spread: str, open_page: OpenPage
) -> None:
    """Also among the rules of the policies, and beside a cluster that passes and is not chosen."""
    with open_page(spread) as opened:
        page = opened.open_view("#/bindings/shop/fits?node=c")
        shown = page.inner_text("main")
        assert "clusterPolicy shop defines the spread constraints" in shown
        assert "it has 250 points, capacity for 2 replicas; chosen are a (440 points" in shown
        assert "b (435 points, capacity for 8 replicas): the best by cluster (2 to 2)" in shown
        assert (
            "spread constraints: by cluster (2 to 2), from shop/spreadConstraint by cluster"
            in shown
        )
        assert page.inner_text(".comparison thead").split() == [
            "rule",
            "a",
            "b",
            "lead",
            "weight",
        ]
        page.click("section a:has-text('shop/spreadConstraint by cluster')")
        page.wait_for_selector("li.chosen:has-text('spreadConstraint by cluster minGroups 2')")
        assert "shop/replicas" in page.inner_text(".rules")


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_a_binding_without_room_says_who_asks_for_how_many_clusters(
    spread: str, open_page: OpenPage, width: int
) -> None:
    """With the capacity of all clusters together; a binding without clusters can lose none."""
    with open_page(spread, width) as opened:
        page = opened.open_view("#/bindings/shop/large")
        shown = page.inner_text("main")
        assert "no enough resource when selecting 2 clusters" in shown
        assert "a scheduler tries again" in shown
        assert "leaves its clusters" not in shown
        assert "How clusters would be chosen" in shown
        assert "have room for 19 replicas together, and the binding has 40" in shown
        hidden = "region => region.scrollWidth - region.clientWidth"
        assert page.eval_on_selector("[aria-label='Clusters that pass']", hidden) == 0


def test_a_cluster_has_the_bindings_that_a_decision_would_change(
    ui: str, open_page: OpenPage
) -> None:
    """Those that it would gain or lose, or whose replicas would change there."""
    with open_page(ui) as opened:
        page = opened.open_view("#/clusters/a")
        assert "New decisions would change 4 bindings here" in page.inner_text("main")
        rows = [
            row.inner_text().split("\t") for row in page.query_selector_all(".targets tbody tr")
        ]
        assert rows[0] == ["shop/loses", "4", "–", "lost, −4"]
        assert ["shop/moves", "–", "2", "gained, +2"] in rows
        assert "shop/stays" not in page.inner_text(".targets")
        page.click("a:has-text('All changes')")
        page.wait_for_selector("h1:has-text('Pending bindings')")


def test_the_list_of_keys_has_only_views_that_exist(ui: str, open_page: OpenPage) -> None:
    """A control plane has neither decisions nor versions."""
    with open_page(ui) as opened:
        opened.open_view("#/cluster").keyboard.press("?")
        keys = opened.page.inner_text("[role=dialog]")
        assert "g w" in keys
        assert "g d" not in keys
        assert "g v" not in keys


def test_hostile_names_are_only_text(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Names of clusters, bindings, labels and affinities; what cannot be seen has its number."""
    cluster = planes.make_cluster(HOSTILE, region=HOSTILE, **{HOSTILE: HOSTILE})
    binding = planes.make_binding(HOSTILE, on={HOSTILE: 1})
    terms = [{"affinityName": HOSTILE + name, "clusterNames": [name]} for name in ("x", HOSTILE)]
    binding["spec"]["placement"]["clusterAffinities"] = terms
    name = "".join(f"%{byte:02X}" for byte in HOSTILE.encode())
    views = ["cluster", "pending", f"clusters/{name}", f"bindings/shop/{name}"]
    views += [
        f"cluster?pod=shop%2F{name}&node={name}&form=table",
        f"bindings/shop/{name}?node={name}",
    ]
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serve("--cluster", write_cluster([cluster, binding])))
        opened = stack.enter_context(open_page(url))
        for view in views:
            page = opened.open_view(f"#/{view}")
            shown = page.inner_text("body")
            assert "\u202e" not in shown, view
            assert view == "cluster" or VISIBLE in shown, view
            assert page.query_selector("main img") is None
