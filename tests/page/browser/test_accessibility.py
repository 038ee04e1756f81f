"""The page for those who see differently, or use no mouse: WCAG 2.2 AA, keyboard, zoom, colours."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from tests.page.browser.conftest import OpenPage
from tests.page.browser.test_views import VIEWS

pytestmark = pytest.mark.slow

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ZOOMED_WIDTH = 640
"""Width in CSS pixels of a window of 1280 pixels at a zoom of 200 %."""
_MOST_TABS = 200

LIST_REACHABLE = """() => {
  const wanted = "a[href], button:enabled, input, select, [tabindex='0']";
  const shadows = [...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
  return [document, ...shadows].flatMap((root) => [...root.querySelectorAll(wanted)])
    .filter((each) => each.checkVisibility())
    .map((each) => each.outerHTML.slice(0, 100));
}"""
DESCRIBE_FOCUS = """() => {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  if (focused === null || focused === document.body) return null;
  const framed = focused.closest(".cm-editor") ?? focused;
  return [focused.outerHTML.slice(0, 100), getComputedStyle(framed).outlineStyle];
}"""
LIST_COLOURS_OF_MAP = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts.keys()];
}"""


def find_faults(page: Any) -> list[str]:
    """Return axe-core's findings about the page as it is now."""
    found = page.evaluate("rules => axe.run(document, { runOnly: rules })", RULES)
    return [
        f"{fault['id']} {json.dumps(node['target'])}: {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
        # The arrow keys of the editor move in its list of completions, which has no focus itself.
        if not ("#cm-ac-" in str(node["target"]) and fault["id"] == "scrollable-region-focusable")
    ]


def find_contrast_faults(page: Any) -> list[str]:
    """Return axe-core's findings about colours."""
    found = page.evaluate(
        "axe.run(document, { runOnly: { type: 'rule', values: ['color-contrast'] } })"
    )
    return [str(node["target"]) for fault in found["violations"] for node in fault["nodes"]]


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_no_view_has_a_fault(demo_url: str, open_page: OpenPage, width: int) -> None:
    """WCAG 2.2 AA and axe-core's own rules; colours also in the dark."""
    # The policy of the page forbids foreign scripts, also those of a checker.
    with open_page(demo_url, width, bypass_csp=True, color_scheme="light") as opened:
        opened.page.evaluate(AXE.read_text(encoding="utf-8"))
        for address in VIEWS:
            page = opened.open_view(address)
            assert find_faults(page) == [], address
            page.emulate_media(color_scheme="dark")
            assert find_contrast_faults(page) == [], address
            page.emulate_media(color_scheme="light")


def test_what_opens_has_no_fault(demo_url: str, open_page: OpenPage) -> None:
    """The matches of a search, the list of keys, texts, findings, completions and a plan."""
    with open_page(demo_url, bypass_csp=True) as opened:
        opened.page.evaluate(AXE.read_text(encoding="utf-8"))
        page = opened.open_view("#/pods/prod/web-5")
        page.fill("#find", "web")
        page.wait_for_selector("[role=option]")
        assert find_faults(page) == []
        page.fill("#find", "")
        page.click("button:has-text('as text')")
        page.wait_for_selector("pre")
        page.keyboard.press("?")
        page.wait_for_selector("[role=dialog]")
        assert find_faults(page) == []
        page.keyboard.press("Escape")
        page = opened.open_view("#/edit?file=load-aware.policy")
        page.click("button:has-text('plan')")
        page.wait_for_selector("text=no pod changes")
        page.click(".cm-content")
        page.keyboard.press("Control+Home")
        page.keyboard.press("Control+Space")
        page.wait_for_selector(".cm-tooltip-autocomplete li")
        assert find_faults(page) == []
        page.keyboard.press("Escape")
        page.keyboard.type("polizy x\n")
        page.wait_for_selector(".cm-lintRange-error")
        assert find_faults(page) == []


def test_every_view_is_reached_by_keyboard_alone(demo_url: str, open_page: OpenPage) -> None:
    """Tab reaches all that can be used, shows where it is, and leaves the editor."""
    with open_page(demo_url) as opened:
        for address in VIEWS:
            page = opened.open_view(address)
            if address.startswith("#/edit"):
                page.wait_for_selector(".findings li")
            reached = press_tab_until_the_end(page)
            assert [each for each, outline in reached if outline == "none"] == [], address
            missed = set(page.evaluate(LIST_REACHABLE)) - {each for each, _ in reached}
            assert missed == set(), address


def press_tab_until_the_end(page: Any) -> list[tuple[str, str]]:
    """Return all that gets the focus, with the style of the line around it."""
    reached: list[tuple[str, str]] = []
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        if page.query_selector(".cm-content:focus"):
            page.wait_for_selector(".cm-focused")  # a moment later
        focused = page.evaluate(DESCRIBE_FOCUS)
        if focused is None:  # past the last element; the next Tab begins again
            continue
        if len(reached) > 1 and focused[0] == reached[0][0]:
            return reached
        reached.append((focused[0], focused[1]))
    raise AssertionError(f"Tab does not come to an end: {reached[-3:]}")


def test_escape_and_tab_leave_the_editor(demo_url: str, open_page: OpenPage) -> None:
    """Escape closes a list of completions; Tab and Shift+Tab go on and back, and change nothing."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/edit?file=web-tier.policy")
        page.focus(".cm-content")
        page.keyboard.press("Control+Space")
        page.wait_for_selector(".cm-tooltip-autocomplete")
        page.keyboard.press("Escape")
        page.wait_for_selector(".cm-tooltip-autocomplete", state="detached")
        page.keyboard.press("Tab")
        assert page.inner_text("*:focus").startswith("plan")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert page.inner_text("*:focus") == "new file"
        assert "(edited)" not in page.inner_text("nav.files")


def test_a_closed_list_of_keys_gives_the_focus_back(demo_url: str, open_page: OpenPage) -> None:
    """To the element that had it."""
    with open_page(demo_url) as opened:
        page = opened.open_view("#/cluster")
        page.focus("canvas")
        page.keyboard.press("?")
        page.wait_for_selector("[role=dialog] button:focus")
        page.keyboard.press("Escape")
        page.wait_for_selector("canvas:focus")


def test_no_view_scrolls_sideways_at_a_zoom_of_200_percent(
    demo_url: str, open_page: OpenPage
) -> None:
    """In a window of 1280 pixels."""
    with open_page(demo_url, ZOOMED_WIDTH) as opened:
        for address in VIEWS:
            page = opened.open_view(address)
            assert page.evaluate("document.documentElement.scrollWidth") <= ZOOMED_WIDTH, address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_leave_map_legend_and_bars_their_meaning(
    demo_url: str, open_page: OpenPage, scheme: str
) -> None:
    """Each entry of the legend has the colour of its tiles; bars have that of the text."""
    with open_page(demo_url, forced_colors="active", color_scheme=scheme) as opened:
        page = opened.open_view("#/cluster?pod=prod%2Freport")
        page.wait_for_selector(".legend button:has-text('too-hot')")
        legend = list_backgrounds(page, ".legend .swatch")
        assert len(set(legend)) == len(legend) == 4
        assert set(legend) <= set(page.eval_on_selector("canvas", LIST_COLOURS_OF_MAP))
        text, plate = page.eval_on_selector(
            "canvas",
            """(canvas) => {
              const style = getComputedStyle(canvas);
              return [style.color, style.borderBottomColor];
            }""",
        )
        assert text != plate
        page = opened.open_view("#/pods/prod/cache-1")
        assert len(set(list_backgrounds(page, ".comparison .swatch"))) > 1
        assert len(set(list_backgrounds(page, ".points tr:first-child .stack span"))) > 1
        assert set(list_backgrounds(page, ".funnel .bar span")) == {text}


def list_backgrounds(page: Any, selector: str) -> list[str]:
    """Return the colours behind all elements of a selector."""
    colours: list[str] = page.eval_on_selector_all(
        selector, "all => all.map((each) => getComputedStyle(each).backgroundColor)"
    )
    return colours


def test_nothing_moves_for_those_who_prefer_that(demo_url: str, open_page: OpenPage) -> None:
    """Not even the cursor of the editor, which blinks for others."""
    count = """() => [document, document.querySelector(".editor").shadowRoot]
      .reduce((sum, root) => sum + root.getAnimations({ subtree: true }).length, 0)"""
    for preference, moves in (("no-preference", True), ("reduce", False)):
        with open_page(demo_url, reduced_motion=preference) as opened:
            page = opened.open_view("#/edit?file=web-tier.policy")
            page.click(".cm-content")
            page.wait_for_selector(".cm-cursor")
            assert (page.evaluate(count) > 0) is moves
