"""The page in a real browser while it follows a scheduler: rows, queues, trouble."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests import builders
from tests.page import patches, running_scheduler
from tests.page.browser.conftest import HOSTILE, VISIBLE, Follow, OpenPage, fill_node
from tests.scheduler import fakes

pytestmark = pytest.mark.slow

VIEWS = {
    "#/cluster": "group by",
    "#/cluster?form=table&node=n1": "default/b",
    "#/nodes/n1": "3 of 3 pods",
    "#/pods/default/a": "fits on 1 of 1 node",
    "#/pods/default/late": "Filters, in their order",
    "#/cluster?pod=default%2Flate": "rejected by Room",
    "#/pending": "unschedulable 1",
    "#/pending?queue=gated": "gated",
    "#/decisions": "default/late",
    "#/decisions?result=unschedulable": "Too many pods",
    "#/policies": "web.policy",
    "#/rules/web/fast": "has rejected no node yet",
    "#/versions": "900d",
}


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_every_live_view_works(
    scheduler: running_scheduler.RunningScheduler,
    follow: Follow,
    open_page: OpenPage,
    scheme: str,
    width: int,
) -> None:
    """Without a listing of the cluster, without a complaint of the browser, in both sizes."""
    with follow(scheduler) as url, open_page(url, width, color_scheme=scheme) as opened:
        page = opened.page
        for address, text in VIEWS.items():
            page = opened.open_view(address)
            page.wait_for_selector(f"main:has-text('{text}')")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert "leader" in page.inner_text("header")
        assert "900d in use" in page.inner_text("header")


def test_an_unknown_pod_says_so(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """It has no record, and does not wait."""
    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        page = opened.open_view("#/pods/default/unknown")
        page.wait_for_selector("main:has-text('has no record of an attempt')")
        page.wait_for_selector("main:has-text('knows no waiting pod of this name')")
        page.wait_for_selector("main:has-text('Its records begin at 5 Jan 2026')")


def test_a_placed_pod_is_found_by_a_part_of_its_name(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Among the latest decisions; the scheduler does not list the pods of the cluster."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/decisions")
        page.fill("#find", "fault/b")
        page.wait_for_selector("#matches li:has-text('default/b')")


def test_a_record_counts_the_nodes_of_each_filter(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """With links to some of them."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/pods/default/late")
        page.wait_for_selector("p:has-text('in the queue'):has-text('after 1 attempt')")
        page.wait_for_selector("tr:has-text('Room'):has-text('Too many pods') a[href='#/nodes/n1']")


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_points_of_a_record_are_below_their_node(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage, width: int
) -> None:
    """In each width, the points of a node begin at the same place as its name."""
    nodes = ["n1", "n2", "gke-prod-pool-1-abcd1234-x3", "n4"]

    def add_points(answer: Any) -> None:
        for record in answer.get("decisions", ()):  # rows have none
            record |= {
                "best": nodes,
                "scores": {node: {"web/room": 7, "total": 7} for node in nodes},
            }

    scheduler.change_answers("/debug/decisions", add_points)
    with follow(scheduler) as url, open_page(url, width) as opened:
        page = opened.open_view("#/pods/default/a")
        page.wait_for_selector(".comparison")
        rows = page.eval_on_selector_all(
            ".comparison tr",
            """(rows) => rows.map((row) =>
              [...row.children].slice(1).map((cell) => cell.getBoundingClientRect().left))""",
        )
        assert rows == [rows[0]] * 3


def test_names_of_rules_stay_whole_beside_their_counts(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """The rules that reject the most nodes are first, with the begin of the count."""
    name = "web-frontend/disk-of-the-right-kind"

    def count(answer: Any) -> None:
        [profile] = answer["profiles"]
        fast, room = profile["rules"]
        many = {"name": name, "attempts": 12_345, "rejected": 1_234_567}
        found = [{**fast, "attempts": 1, "rejected": 2}, {**fast, **many}, {**room, "led": 7}]
        profile |= {"rules": found, "compared": 12}

    scheduler.change_answers("/debug/rules", count)
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/policies")
        page.wait_for_selector(".rules p:has-text('this version was loaded, 5 Jan 2026')")
        table = page.inner_text(".rules .rejects tbody").split()
        assert table == [name, "1,234,567", "12,345", "web/fast", "2", "1"]
        page.wait_for_selector("p:has-text('rejected 2 nodes in 1 attempt')")
        page.wait_for_selector("p:has-text('its largest lead in 7 of 12 decisions')")
        link = page.locator(f".rules h2 + table a:has-text('{name}')")
        assert link.bounding_box()["height"] < 50


def test_decisions_arrive_while_the_page_is_open(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Newest first; what was missed is counted; nothing moves while the reader has scrolled."""

    async def add_room(world: fakes.World) -> None:
        world.add_node("n2", pods=1000)

    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/decisions")
        scheduler.schedule("new")
        page.wait_for_selector("tbody tr:first-child:has-text('default/new')")
        scheduler.do(add_room)
        scheduler.schedule(*(f"p{number}" for number in range(300)))
        page.wait_for_selector("tr.gap:has-text('more were made in between')")
        assert page.locator("tbody tr:not(.gap)").count() == 200
        page.evaluate("document.querySelector('.decisions-scroll').scrollTop = 400")
        first = page.inner_text("tbody tr:first-child")
        scheduler.schedule("while-reading")
        page.wait_for_selector("button:has-text('1 new decision')")
        assert page.inner_text("tbody tr:first-child") == first
        page.click("button:has-text('1 new decision')")
        page.wait_for_selector("tbody tr:first-child:has-text('while-reading')")


def test_decisions_are_in_their_own_order_and_failures_alike_are_one_row(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Rows arrive in the order of bindings; a pause holds all that arrives."""

    def turn(answer: Any) -> None:
        for row in answer.get("rows", ()):
            row[9] = {"default/a": "2026-01-05T12:09:00.000+00:00"}.get(row[1], row[9])

    scheduler.schedule("late-too", "late-as-well")
    scheduler.change_answers("/debug/decisions", turn)
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/decisions")
        assert "default/a" in page.inner_text("tbody tr:first-child")
        failed = page.inner_text("tbody tr.failed:has-text('3 attempts since')")
        for part in ("3 pods", "default/late-too", "default/late-as-well", "Too many pods"):
            assert part in failed
        place = page.locator(".decisions-scroll").bounding_box()
        page.click("button:has-text('pause')")
        scheduler.schedule("while-paused")
        page.wait_for_selector("button:has-text('1 new decision')")
        assert page.locator(".decisions-scroll").bounding_box() == place
        assert page.locator("tbody:has-text('while-paused')").count() == 0
        page.click("button[aria-pressed=true]:has-text('pause')")
        page.wait_for_selector("tbody:has-text('while-paused')")


def test_the_view_of_a_node_leads_back_to_its_pod(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Also through the map; another view forgets the pod."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/pods/default/late")
        page.click("main td a[href='#/nodes/n1']")
        page.wait_for_selector("a[href='#/cluster?pod=default%2Flate&node=n1']")
        page.click("a:has-text('back to default/late')")
        page.wait_for_selector("h1:has-text('default/late')")
        opened.open_view("#/pending")
        page = opened.open_view("#/nodes/n1")
        assert page.locator("a:has-text('back to')").count() == 0


def test_a_new_key_in_the_address_is_used(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """In the same tab, where only the fragment changes."""
    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        page = opened.page
        page.wait_for_selector("header:has-text('900d')")
        page.evaluate("location.hash = '#key=of-another-run'")
        page.wait_for_selector(".banner[role=alert]")
        page.evaluate("(hash) => { location.hash = hash; }", url.partition("#")[2])
        page.wait_for_selector(".banner[role=alert]", state="detached")
        assert "key=" not in page.url


def test_decisions_are_filtered_by_address(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """A filtered view can be shared, and Back leaves the view, not a letter."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/decisions?result=scheduled")
        assert "default/late" not in page.inner_text("tbody")
        page.select_option("select[name=result]", "unschedulable")
        page.wait_for_selector("tbody:has-text('default/late')")
        page.fill("input[name=text]", "nothing-like-this")
        page.wait_for_selector("p:has-text('none of the')")
        page.fill("input[name=text]", "LATE")
        page.wait_for_selector("tbody:has-text('default/late')")
        assert page.url.endswith("#/decisions?result=unschedulable&text=LATE")


def test_queues_follow_the_scheduler(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """A pod that waits shows its queue, and leaves the view when it is gone."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/pending")
        assert "Too many pods" in page.inner_text("tbody")
        scheduler.schedule(builders.make_pod("gated").gates("wait"))
        page.wait_for_selector("tr:has-text('default/gated'):has-text('held back by wait')")
        page.click("nav a:has-text('gated 1')")
        page.wait_for_selector("tbody tr:only-child:has-text('default/gated')")

        async def delete(world: fakes.World) -> None:
            world.delete("gated")

        scheduler.do(delete)
        page.wait_for_selector("nav a:has-text('gated 0')")


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_pods_with_the_same_reason_are_one_row(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage, width: int
) -> None:
    """With how long they wait, and the rule that rejects them; no word is cut off."""

    def edit(answer: Any) -> None:
        names = ["web-frontend/disk-of-the-right-kind", "TaintToleration", "PodTopologySpread"]
        for number, pod in enumerate(answer["pods"]):
            pod["rejectedBy"] = names
            pod["createdAt"] = f"2026-01-05T11:{50 + number}:00Z"

    scheduler.schedule("late-too")
    scheduler.change_answers("/debug/queue", edit)
    with follow(scheduler) as url, open_page(url, width) as opened:
        page = opened.open_view("#/pending")
        text = page.inner_text("tbody tr:only-child")
        for part in ("2 pods", "default/late-too", "up to 11 min", "in 5 min", "Too many pods"):
            assert part in text
        assert (
            page.get_attribute("tbody td a", "href")
            == "#/rules/web-frontend/disk-of-the-right-kind"
        )
        assert page.evaluate("document.querySelector('.scrolls').scrollWidth") <= width


def test_a_pod_of_another_scheduler_is_named_beside_the_queues(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Its view says that no profile serves it."""
    scheduler.schedule(builders.make_pod("lost").scheduler_name("mystery"))
    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        page = opened.open_view("#/pending")
        page.wait_for_selector("h2:has-text('1 pod without a node that no profile here serves')")
        page.click("tr:has-text('mystery') a:has-text('default/lost')")
        page.wait_for_selector("main:has-text('serves schedulerName `mystery`')")


@pytest.mark.parametrize(
    "pod, texts",
    [
        ("late", ("in the queue", "(version cafe); the scheduler uses version")),
        ("gone", ("in it: no such pod", "knows no waiting pod of this name")),
    ],
)
def test_a_pod_beside_a_listing_has_also_what_the_scheduler_knows(
    scheduler: running_scheduler.RunningScheduler,
    follow: Follow,
    open_page: OpenPage,
    pod: str,
    texts: tuple[str, ...],
) -> None:
    """Its queue, whether the policies differ, and all that is known if the listing lacks it."""

    def add_listing(route: Any) -> None:
        answer = route.fetch()
        listing = {"hash": "cafe", "at": "2026-01-05T12:00:00Z"}
        route.fulfill(response=answer, json={**answer.json(), "listing": listing})

    def explain(route: Any) -> None:
        if pod == "gone":
            route.fulfill(status=404, json={"error": "no such pod"})
        else:
            answer = route.fetch()
            own = {"requests": {"cpu": 500}, "owner": "", "facts": {}}
            route.fulfill(response=answer, json={**answer.json(), **own})

    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        opened.page.route("**/api/status", add_listing)
        opened.page.route("**/api/explain?*", explain)
        page = opened.open_view(f"#/pods/default/{pod}")
        for text in texts:
            page.wait_for_selector(f"main:has-text('{text}')")
        page.wait_for_selector("main:has-text('d old')")
        page.unroute_all(behavior="ignoreErrors")


def test_a_listing_without_policies_does_not_deny_the_profile_of_the_scheduler(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """It says how to give the page the policies, and which rules are without samples."""
    (name,) = (str(each) for each in scheduler.joined.profiles.current.by_name)

    def add_listing(route: Any) -> None:
        answer = route.fetch()
        listing = {"hash": "", "at": "2026-01-05T12:00:00Z"}
        route.fulfill(response=answer, json={**answer.json(), "listing": listing})

    def explain(route: Any) -> None:
        answer = route.fetch()
        own = {"requests": {}, "owner": "", "facts": {}, "schedulerName": name}
        lost = {"rule": "web/hot", "profile": name, "metric": "busy", "holdsPods": False}
        own["missingProfile"] = "no profile serves it"
        route.fulfill(response=answer, json={**answer.json(), **own, "rulesWithoutSamples": [lost]})

    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        opened.page.route("**/api/status", add_listing)
        opened.page.route("**/api/explain?*", explain)
        page = opened.open_view("#/pods/default/late")
        page.wait_for_selector("p.warning:has-text('this page has none'):has-text('--policies')")
        page.wait_for_selector("p.warning:has-text('without web/hot'):has-text('sample of busy')")
        assert "no profile serves it" not in page.inner_text("main")
        page.unroute_all(behavior="ignoreErrors")


def test_lost_metrics_are_said_in_every_view(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """The source that is down, the rules that are skipped or waited for, and the old samples."""

    def lose(answer: Any) -> None:
        answer["downSources"] = [
            {"name": "main", "since": "2026-01-05T12:00:00Z", "problem": "connection refused"}
        ]
        answer["rulesWithoutSamples"] = [
            {"rule": name, "profile": "web", "metric": "busy", "holdsPods": holds}
            for name, holds in (("web/hot", False), ("web/cool", False), ("ml/hot", True))
        ]

    def age(answer: Any) -> None:
        old = {"state": "stale", "value": "79%", "ageSeconds": 400, "maxAgeSeconds": 120}
        none = {"state": "missing", "value": "", "ageSeconds": None, "maxAgeSeconds": 120}
        answer["samples"] = {"busy": old, "disk": none}

    def skip(answer: Any) -> None:
        for record in answer.get("decisions", ()):
            record["skipped"] = ["web/hot"]

    for path, edit in (
        ("/debug/status", lose),
        ("/debug/node", age),
        ("/debug/decisions", skip),
    ):
        scheduler.change_answers(path, edit)
    with follow(scheduler) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/nodes/n1")
        text = page.inner_text(".banner")
        for part in (
            "metrics source main is down since",
            "connection refused",
            "No node has a valid sample of busy",
            "These rules are skipped: web/hot, web/cool",
            "Pods wait for these rules: ml/hot",
        ):
            assert part in text
        row = page.inner_text("tr:has-text('busy')")
        assert "missing for the rules since" in row
        assert "79%, measured 6 min ago, is older than maxAge 2 min" in row
        assert "no sample" in page.inner_text("tr:has-text('disk')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page = opened.open_view("#/pods/default/a")
        page.wait_for_selector(".record .warning:has-text('decided without web/hot')")


def test_a_restart_of_the_scheduler_is_said_and_survived(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """One line while nobody answers; then the decisions of the new process."""
    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        page = opened.open_view("#/decisions")
        page.wait_for_selector("tbody:has-text('default/late')")
        scheduler.stop()
        page.wait_for_selector(".banner:has-text('does not answer; the page asks again')")
        assert "no answer since" in page.inner_text("header")
        opened.open_view("#/pending")
        page = opened.open_view("#/decisions")
        page.wait_for_selector("main:has-text('the decisions known until then')")
        assert "default/late" in page.inner_text("tbody")
        scheduler.start()
        page.wait_for_selector(".banner", state="detached")
        fill_node(scheduler)
        scheduler.schedule("after-restart")
        page.wait_for_selector("tbody tr:first-child:has-text('after-restart')")
        page.wait_for_selector("[role=alert]", state="detached")
        assert page.locator("tbody tr:has-text('default/late')").count() == 1


def test_a_token_that_expires_is_said_and_a_new_one_is_used(
    scheduler: running_scheduler.RunningScheduler,
    follow: Follow,
    open_page: OpenPage,
    tmp_path: pathlib.Path,
) -> None:
    """Nothing has to be started again."""
    with follow(scheduler) as url, open_page(url, has_failures=True) as opened:
        page = opened.open_view("#/pending")
        scheduler.guard.token = "renewed-token"
        page.wait_for_selector(".banner:has-text('does not accept the token')")
        page = opened.open_view("#/versions")
        page.wait_for_selector("main [role=alert]:has-text('does not accept the token')")
        (tmp_path / "token").write_text("renewed-token")
        page.wait_for_selector(".banner", state="detached")
        page.wait_for_selector("main:has-text('900d')")  # though nothing has changed meanwhile


def test_a_standby_names_the_leader(follow: Follow, open_page: OpenPage) -> None:
    """With the command that forwards to it, if its name is one of Kubernetes."""
    for holder, told in (
        ("policysched-2_1234", "kubectl -n sched port-forward pod/policysched-2 10259"),
        ("x; rm -rf_1", "There is no leader"),
    ):
        standby = running_scheduler.RunningScheduler(is_leading=False, holder=holder)
        with standby, follow(standby) as url, open_page(url) as opened:
            page = opened.open_view("#/decisions")
            assert told in page.inner_text(".banner")
            assert "standby" in page.inner_text("header")


def test_an_older_scheduler_is_said_to_be_older(follow: Follow, open_page: OpenPage) -> None:
    """In one line for the whole, and one in each view that it cannot fill."""
    old = running_scheduler.RunningScheduler(missing=("/debug/status", "/debug/queue"))
    with old, follow(old) as url, open_page(url, has_failures=True) as opened:
        page = opened.page
        page.wait_for_selector(".banner:has-text('older than the page: it has no /debug/status')")
        page = opened.open_view("#/pending")
        assert "it has no /debug/queue" in page.inner_text("main")


def test_hostile_names_are_text(follow: Follow, open_page: OpenPage) -> None:
    """Also in rows, queues and records, which a listing does not show."""
    with running_scheduler.RunningScheduler() as scheduler:

        async def arrive(world: fakes.World) -> None:
            world.add_node(HOSTILE, pods=1)

        scheduler.do(arrive)
        scheduler.schedule(f"one{HOSTILE}", f"two{HOSTILE}")
        with follow(scheduler) as url, open_page(url) as opened:
            for address in ("#/decisions", "#/pending", "#/cluster?form=table"):
                page = opened.open_view(address)
                page.wait_for_selector(f"main:has-text('{VISIBLE}')")
                assert HOSTILE not in page.content(), address
                assert page.query_selector("img") is None


def test_edits_become_a_patch_for_kubectl(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """It tests the old text, so that it is refused if somebody else has changed this meanwhile."""
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/edit")
        page.wait_for_selector(".quiet:has-text('--live')")  # some findings need a listing
        page.click(".cm-content")
        page.keyboard.press("Control+Home")
        page.keyboard.type("# edited")
        page.click("button:text-is('kubectl')")
        assert page.inner_text(".difference pre") == patches.COMMAND
        with page.expect_download() as download:
            page.click("button:has-text('save policysched-patch.json')")
        saved = json.loads(pathlib.Path(download.value.path()).read_text())
        new = f"# edited{running_scheduler.POLICY}"
        assert saved == patches.make_patch("web.policy", running_scheduler.POLICY, new)


def test_the_page_of_the_scheduler_itself_asks_for_a_token(
    scheduler: running_scheduler.RunningScheduler, open_page: OpenPage
) -> None:
    """It is kept only while the page is open, and its views are those of `ui --decisions`."""
    with open_page(f"{scheduler.url}/ui/", has_failures=True) as opened:
        page = opened.page
        page.fill("input[name=token]", "wrong")
        page.click("button:text-is('show')")
        page.wait_for_selector(".token [role=alert]:has-text('this token was refused (401)')")
        page.wait_for_selector(".token:has-text('NAME is a ServiceAccount in NAMESPACE')")
        page.fill("input[name=token]", running_scheduler.TOKEN)
        page.click("button:text-is('show')")
        page.wait_for_selector("header:has-text('leader')")
        for address, text in VIEWS.items():
            page = opened.open_view(address)
            page.wait_for_selector(f"main:has-text('{text}')")
        assert "Edit" not in page.inner_text("nav")
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        scheduler.schedule("new")
        page = opened.open_view("#/decisions")
        page.wait_for_selector("tbody tr:first-child:has-text('default/new')")
        page.reload()
        page.wait_for_selector("input[name=token]")
