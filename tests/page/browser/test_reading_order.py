"""What a reader sees first in the views of pods, nodes and Pending, with one small cluster."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.cli import clusters
from tests.page import page_process
from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import Serve, WriteCluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a page about two equal nodes, a node with pods, a cordoned one, and pods."""
    cordoned = clusters.node("cordoned", cpu="8")
    cordoned["spec"]["unschedulable"] = True
    folder: pathlib.Path = tmp_path_factory.mktemp("reading")
    path = clusters.write(
        folder,
        clusters.node("twin-1"),
        clusters.node("twin-2"),
        clusters.node("used", cpu="8"),
        cordoned,
        clusters.pod("small", cpu="100m", on="used"),
        clusters.pod("large", cpu="6", on="used"),
        clusters.pod("equal", cpu="3"),
        clusters.pod("typo", schedulerName="typo-profile"),
        *(clusters.pod(f"tight-{number}", cpu="5") for number in range(5)),
    )
    with page_process.serve_page("--cluster", path) as served:
        yield served


def test_a_pod_that_fits_nowhere_names_filters_and_nodes(url: str, open_page: OpenPage) -> None:
    """All nodes of each filter, equal reasons in one line, and nodes of changes as links."""
    with open_page(url) as opened:
        page = opened.open_view("#/pods/prod/tight-0")
        rows = [row.inner_text().split() for row in page.query_selector_all(".funnel tbody tr")]
        assert rows[1:] == [
            ["NodeUnschedulable", "1", "1", "3"],
            ["NodeResourcesFit", "3", "3", "0"],
        ]
        assert "rejects: all nodes that the filter rejects" in page.inner_text("main")
        assert "3 × NodeResourcesFit: Insufficient cpu" in page.inner_text(".reasons")
        assert page.inner_text("h1 + p") == "Pending: fits on none of 4 nodes"
        assert page.inner_text("details summary") == "requests cpu 5"
        assert "app=web" in page.inner_text("details")
        change = page.query_selector(".advice li:has-text('uncordon')")
        assert change.inner_text() == "uncordon a node → fits on 1 node: cordoned"
        assert change.query_selector("a").get_attribute("href") == "#/nodes/cordoned"


def test_several_reasons_of_a_node_are_explained(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """If the numbers in the message add up to more than all nodes; not otherwise."""
    memory = {"requests": {"cpu": "9", "memory": "99Gi"}}
    both, one = clusters.pod("both"), clusters.pod("one", cpu="9")
    both["spec"]["containers"][0]["resources"] = memory
    one["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
    ]
    path = write_cluster([clusters.node("a"), both, one])
    told = "a node may have several reasons"
    with serve("--cluster", path) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/pods/prod/both")
        assert told in page.inner_text("main")
        assert page.query_selector("details table").is_visible() is False
        page = opened.open_view("#/pods/prod/one")
        assert told not in page.inner_text("main")
        assert "make a change of the pod in its Job j" in page.inner_text("main")


def test_equal_points_are_one_line(url: str, open_page: OpenPage) -> None:
    """With the rules that give them, and no comparison of a node with itself."""
    with open_page(url) as opened:
        page = opened.open_view("#/pods/prod/equal")
        shown = page.inner_text("main")
        points = r"all 2 nodes .* have equal points \(\d+\) in all rules: twin-1, twin-2; .* random"
        assert re.search(points, shown)
        assert "NodeResourcesFit" in page.inner_text(".comparison")
        assert "lead" not in page.inner_text(".comparison thead")


def test_tied_nodes_are_compared_with_the_next_best(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Not with each other: a sentence names them, and says how the tie is broken."""
    path = write_cluster(
        [
            *(clusters.node(f"twin-{number}") for number in range(8)),
            clusters.node("small", cpu="2"),
            clusters.pod("new"),
        ]
    )
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/pods/prod/new")
        shown = page.inner_text("main")
        assert re.search(r"decided by \S+: \+[\d.]+ points for twin-0, compared with small", shown)
        assert re.search(
            r"8 nodes have the most points \(\d+\), equal in all rules: twin-0,", shown
        )
        assert "twin-2 and 5 more; a scheduler chooses one of them at random" in shown
        assert [each.inner_text() for each in page.query_selector_all(".points th")] == [
            "twin-0 and 7 equal",
            "small",
        ]
        head = page.inner_text(".comparison thead").split()
        assert head == ["rule", "twin-0", "small", "lead", "weight"]
        assert "same" not in page.inner_text(".comparison tbody")


def test_the_next_best_node_is_named_after_many_equal_ones(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """Also if more nodes are equal than an answer ranks."""
    nodes = [clusters.node(f"twin-{number}") for number in range(40)]
    path = write_cluster([*nodes, clusters.node("small", cpu="2"), clusters.pod("new")])
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/pods/prod/new")
        assert page.locator(".points th").all_inner_texts() == ["twin-0 and 39 equal", "small"]
        lead = r"decided by \S+: \+[\d.]+ points for twin-0, compared with small"
        assert re.search(lead, page.inner_text("main"))


def test_a_change_of_a_rule_leads_to_its_line(demo_url: str, open_page: OpenPage) -> None:
    """Its link names the file and the line."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/pods/prod/report")
        change = page.query_selector(".advice li:has-text('threshold')")
        assert change.inner_text().startswith(
            "rule load-aware/too-hot (load-aware.policy:58): threshold from 90% to"
        )
        page.click(".advice li:has-text('threshold') a:has-text('load-aware.policy:58')")
        page.wait_for_selector("li.chosen:has-text('reject when')")


def test_profiles_with_rules_come_first(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """The others are one line; `tolerate` is a rule like others."""
    policy = tmp_path / "test.policy"
    policy.write_text(
        "policy w {\n  for pods\n  tolerate spot as spare\n  reject when free(cpu) < 1 as full\n}\n"
        "profile none {}\nprofile web { policies w }\nprofile bare {}\n"
    )
    words = ["--cluster", write_cluster([clusters.node("a")]), "--policies", str(policy)]
    with serve(*words) as url, open_page(url) as opened:
        page = opened.open_view("#/policies")
        page.wait_for_selector(".rules p:has-text('Counted in')")
        lines = [line for line in page.inner_text(".rules").splitlines() if line.strip()]
        nothing = "acts on 0 pods: does nothing here"
        assert [line.rstrip("\t").split("\t") for line in lines[1:]] == [
            ["profile web"],
            ["w/spare"],
            [nothing],
            ["", "adds tolerations"],
            ["w/full"],
            [nothing],
            ["profiles without rules: none, bare"],
        ]
        page.click(".rules a:has-text('w/spare')")
        page.wait_for_selector("li.chosen:has-text('tolerate spot')")


def test_rules_have_their_effects_without_a_scheduler(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """On how many pods each acts, and how many nodes it rejects; what does nothing says so."""
    (tmp_path / "p.policy").write_text(
        "policy w {\n  for pods where app = web\n  nodeAffinity required disk = ssd as fast\n"
        "  nodeAffinity required zone = x as zonal\n  score free(cpu) prefer high as room\n}\n"
        "policy other {\n  for pods where app = none\n  reject when free(cpu) < 1 as idle\n}\n"
    )
    nodes = [clusters.node(f"n{number}", zone="x", disk="hdd") for number in range(3)]
    pods = [clusters.pod("old", on="n0")]
    pods += [clusters.pod(f"p{number}") for number in range(2)]
    path = write_cluster([*nodes, *pods])
    with serve("--cluster", path, "--policies", str(tmp_path)) as url, open_page(url) as opened:
        page = opened.open_view("#/policies")
        acts = "acts on 3 pods, 2 pending"
        for rule, text in {
            "w/fast": f"{acts}; rejects 6 nodes for 2",
            "w/zonal": f"{acts}; rejects 0 nodes: does nothing for these",
            "w/room": acts,
            "other/idle": "acts on 0 pods: does nothing here",
        }.items():
            page.wait_for_selector(f".rules th:has-text('{rule}'):has-text('{text}')")
        assert "come from a running scheduler" in page.inner_text(".rules")


def test_policies_show_their_findings(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """At their lines and as a list, errors first; a change of the file is one line."""
    policy = tmp_path / "test.policy"
    policy.write_text(
        "policy w {\n  for pods in namespace prod\n  nodeAffinity required disk = ssd as fast\n}\n"
    )
    words = ["--cluster", write_cluster([clusters.node("a"), clusters.pod("p")])]
    with serve(*words, "--policies", str(policy)) as url, open_page(url) as opened:
        page = opened.open_view("#/policies")
        assert page.inner_text("summary").startswith("4 findings of lint: 1 error, 1 warning")
        first = page.query_selector(".findings li")
        assert "test.policy:3 error PS501: the policy `w` leaves 0 of 1 node" in first.inner_text()
        assert "PS501" in page.inner_text(".text li:nth-of-type(3) p.error")
        first.query_selector("a").click()
        page.wait_for_selector("li.chosen:has-text('disk = ssd')")
        assert re.search(
            rf"read at \d+ \w+ \d+, \d\d:\d\d:\d\d from {policy}", page.inner_text("main")
        )
        assert page.query_selector("main .warning:has-text('changed')") is None
        policy.write_text("policy w {\n  for pods\n}\n")
        page.reload()
        told = f"changed since then, which the page does not show: {policy}"
        page.wait_for_selector(f"main .warning:has-text('{told}')")


def test_a_line_is_shown_with_the_name_of_its_file(demo_url: str, open_page: OpenPage) -> None:
    """Both are on the screen, also on a narrow one."""
    for width in (1280, 390):
        with open_page(demo_url, width) as opened:
            page = opened.open_view("#/rules/load-aware/too-hot")
            for selector in ("li.chosen", ".text h2:text-is('load-aware.policy')"):
                box = page.wait_for_selector(selector).bounding_box()
                assert 0 <= box["y"] < 780, (width, selector)


def test_a_placed_pod_leads_with_its_node(url: str, open_page: OpenPage) -> None:
    """And then says where it would go now, with the points of both nodes."""
    with open_page(url) as opened:
        page = opened.open_view("#/pods/prod/small")
        assert page.inner_text("h1 + p") == "on used"
        assert "decided now, it would go to twin-1, because NodeResourcesFit gives twin-1" in (
            page.inner_text("main")
        )
        head = page.inner_text(".comparison thead").split()
        assert head == ["rule", "twin-1", "used", "lead", "weight"]
        lead = float(page.inner_text(".comparison tbody tr td:nth-of-type(3)"))
        assert lead > 0
        page = opened.open_view("#/pods/prod/small?node=used")
        page.wait_for_selector(f"li:has-text('+{lead:g}')")
        assert "decided by NodeResourcesFit; the leads of twin-1:" in page.inner_text("main")
        page = opened.open_view("#/pods/prod/large")
        assert "decided now, it would stay; it fits on 1 of 4 nodes" in page.inner_text("main")


def test_a_pod_without_a_profile_leads_with_it(url: str, open_page: OpenPage) -> None:
    """Not with the nodes on which another profile would place it."""
    with open_page(url) as opened:
        page = opened.open_view("#/pods/prod/typo")
        first = page.inner_text("h1 + p")
        assert first.startswith("no profile serves schedulerName `typo-profile`")
        page = opened.open_view("#/pods/prod/equal")
        assert page.inner_text("h1 + p").startswith("Pending: fits on 2 of 4 nodes")
        assert "kube-scheduler schedules it" in page.inner_text("main")


def test_pods_that_wait_for_the_same_reason_are_one_row(url: str, open_page: OpenPage) -> None:
    """Others can be opened; there is no column of zeros, and a file has no decisions to follow."""
    with open_page(url) as opened:
        page = opened.open_view("#/pending")
        first = page.query_selector(".pending tbody tr")
        assert first.inner_text().startswith("5 pods")
        assert "prod/tight-4" not in first.inner_text()
        page.click("summary:has-text('2 more')")
        page.wait_for_selector(".pending a:has-text('prod/tight-4')")
        assert "priority" not in page.inner_text(".pending thead")
        row = page.query_selector(".rejects tbody tr").inner_text().split()
        assert row == ["NodeResourcesFit", "5", "15", "15"]
        page.wait_for_selector(".rejects th[aria-sort=descending]:has-text('rejects')")
        page.click(".rejects th:has-text('pods') button")
        page.wait_for_selector(".rejects th[aria-sort=descending]:has-text('pods')")
        assert page.query_selector("nav a:has-text('Decisions')") is None
        assert page.query_selector("nav a:has-text('Policies')") is not None


def test_pending_pods_are_cards_on_a_narrow_screen(url: str, open_page: OpenPage) -> None:
    """The reason is below the facts and as wide as the screen."""
    with open_page(url, 390) as opened:
        page = opened.open_view("#/pending")
        assert not page.query_selector(".pending thead").is_visible()
        facts, reason = (
            page.query_selector(f".pending tr:first-child td:nth-of-type({number})").bounding_box()
            for number in (1, 3)
        )
        assert reason["y"] > facts["y"]
        assert reason["width"] > 300


def test_the_pods_of_a_node_have_their_requests(url: str, open_page: OpenPage) -> None:
    """The largest first, in a unit of the column."""
    with open_page(url) as opened:
        page = opened.open_view("#/nodes/used")
        rows = [row.inner_text().split() for row in page.query_selector_all(".pods tbody tr")]
        assert rows == [["prod/large", "6"], ["prod/small", "0.1"]]
