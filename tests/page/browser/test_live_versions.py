"""The page in a real browser: refused versions and rollouts of a running scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.lang import source
from policysched.reload import state as states
from policysched.reload import versions
from tests import builders
from tests.page import running_scheduler
from tests.page.browser.conftest import HOSTILE, VISIBLE, Follow, OpenPage
from tests.page.browser.test_accessibility import AXE, find_faults

pytestmark = pytest.mark.slow

REFUSAL = versions.VersionRefusal("bad0", "oh", f"error[PS001]: {HOSTILE}\n  --> a:1", ValueError())
STAGE = "stage 2 of 3 (10 % of the workloads)"


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_decisions_name_the_version_and_the_stage_of_a_rollout(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage, width: int
) -> None:
    """In a column of its own, once a decision was made in a stage."""

    def add_stage(answer: Any) -> None:
        for row in answer.get("rows", ()):
            row[8] = {"default/first": "beef"}.get(row[1], row[8])
            row[14] = f"beef: {STAGE}" if row[1] in ("default/first", "default/second") else ""

    scheduler.change_answers("/debug/decisions", add_stage)
    with follow(scheduler) as url, open_page(url, width) as opened:
        page = opened.open_view("#/decisions")
        page.wait_for_selector("tbody:has-text('default/late')")
        assert page.locator("thead th").count() == 7
        scheduler.schedule("first", "second")
        page.wait_for_selector(f"tr:has-text('default/first') td:has-text('new version, {STAGE}')")
        page.wait_for_selector(
            f"tr:has-text('default/second') td:has-text('version in force, {STAGE}')"
        )
        assert page.locator("thead th").count() == 8
        assert page.inner_text("tr:has-text('default/a') td:last-child") == ""
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_a_rollout_is_shown_with_its_commands(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage, width: int
) -> None:
    """Stage, judged pods and guards while it runs, in the banner too; then why it ended."""

    def add_history(answer: Any) -> None:
        answer["history"] = "sched/policies-history"

    def add_stage(answer: Any) -> None:
        for record in answer.get("decisions", ()):
            record["rolloutStage"] = f"beef: {STAGE}"

    scheduler.change_answers("/debug/versions", add_history)
    scheduler.change_answers("/debug/decisions", add_stage)
    scheduler.change(running_scheduler.enter_stage)
    settings = {"bypass_csp": True, "color_scheme": "light"}  # for axe-core
    with follow(scheduler) as url, open_page(url, width, **settings) as opened:
        opened.page.evaluate(AXE.read_text(encoding="utf-8"))
        page = opened.open_view("#/versions")
        page.wait_for_selector(f".banner:has-text('rollout of beef: {STAGE} details')")
        text = page.inner_text("section.rollout")
        for part in (
            f"{STAGE} since 5 Jan 2026",
            "12 pods judged in this stage, needed: 20",
            "pending: 0.02 <= 0.05",
        ):
            assert part in text
        assert page.eval_on_selector("progress", "each => [each.value, each.max]") == [1, 3]
        assert page.locator("section.rollout code").all_inner_texts() == [
            f"policysched rollout {verb} --policy-configmap sched/policies"
            for verb in ("pause", "promote", "abort")
        ]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert find_faults(page) == []
        scheduler.change(lambda joined: running_scheduler.enter_stage(joined, is_paused=True))
        page.wait_for_selector("section.rollout:has-text('paused') code:has-text('resume')")
        scheduler.change(running_scheduler.roll_back)
        page.wait_for_selector(f".banner:has-text('version beef was rolled back: {STAGE}: pend')")
        page.wait_for_selector("section.refused h2:text-is('Version beef was rolled back')")
        page.wait_for_selector(
            "section.rollout:has-text('rolled back at 5 Jan 2026'):not(:has(code))"
        )
        events = page.locator(".events li").all_inner_texts()
        assert "beef was rolled back, for the reason above" in events[0]
        assert f"beef entered {STAGE}" in events[1]
        page = opened.open_view("#/pods/default/a")
        page.wait_for_selector(
            f".record:has-text('by the version in force during the rollout of beef: {STAGE}')"
        )


def test_a_refused_version_shows_its_errors_and_a_rollback_ends_it(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """In the banner of every view, and with all errors in the view of the versions."""

    def add_history(answer: Any) -> None:
        answer["history"] = "sched/policies-history"

    scheduler.change_answers("/debug/versions", add_history)
    with follow(scheduler) as url, open_page(url) as opened:
        page = opened.open_view("#/cluster")
        scheduler.change(lambda joined: joined.policies.record_refusal(REFUSAL, builders.EPOCH))
        page.wait_for_selector(
            f".banner:has-text('version bad0 is refused: error[PS001]: {VISIBLE}')"
        )
        assert "(a:1)" in page.inner_text(".banner")
        page.click(".banner a:has-text('details')")
        page.wait_for_selector("section.refused pre:has-text('--> a:1')")
        texts = (source.SourceText("web.policy", f"# {HOSTILE}"),)
        loaded = states.VersionInUse("beef", texts, builders.EPOCH)
        scheduler.change(lambda joined: joined.policies.record_loaded_version(loaded))
        page.wait_for_selector(".banner:has-text('bad0')", state="detached")
        page.wait_for_selector(
            "section.version:has-text('beef'):has-text('in use since 5 Jan 2026')"
        )
        page.wait_for_selector(
            "section.version:has-text('900d'):has-text('last loaded 5 Jan 2026')"
        )
        page.wait_for_selector(".events li:last-child:has-text('900d came into use')")
        assert page.locator(
            "code:has-text('kubectl get configmap policies --namespace sched')"
        ).count()
        (command,) = page.locator("section.version code").all_inner_texts()
        assert command == "policysched rollback 900d --policy-configmap sched/policies"
        page.click("section.version button:has-text('beef')")
        page.wait_for_selector(f"pre:has-text('# {VISIBLE}')")
        page.click("section.version button:has-text('900d')")
        shown = page.inner_text("pre.diff")
        assert "- policy web {" in shown
        assert f"+ # {VISIBLE}" in shown
        assert "beef in use" in page.inner_text("header")
        assert page.query_selector("img") is None


def test_errors_of_a_refused_version_are_whole_on_a_phone(
    scheduler: running_scheduler.RunningScheduler, follow: Follow, open_page: OpenPage
) -> None:
    """Long texts go on in the next line; the lines of a policy scroll, with carets below them."""
    place = f"  --> web.policy:1:2\n   |\n 1 | {'policy ' * 20}\n   | {' ' * 120}^"
    text = f"error[PS001]: {'no such word ' * 20}\n{place}"
    refusal = versions.VersionRefusal("bad0", "oh", text, ValueError())
    scheduler.change(lambda joined: joined.policies.record_refusal(refusal, builders.EPOCH))
    with follow(scheduler) as url, open_page(url, 390) as opened:
        page = opened.open_view("#/versions")
        hidden = "shown => shown.scrollWidth - shown.clientWidth"
        assert page.eval_on_selector(".refused pre", hidden) == 0
        assert page.eval_on_selector(".refused .frame", hidden) > 0
        assert "with the errors above" in page.inner_text(".events")
