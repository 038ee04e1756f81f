"""What the page costs in a browser: time to the map, of pointer moves and keys, and memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from benchmarks.page import figures
from tests.page import page_process

if TYPE_CHECKING:
    from playwright import sync_api

_SLOWER: Final = 4
_MOVES: Final = 100
_PRESSES: Final = 60
_KEYS: Final = 100
_FINDINGS: Final = 10
_WATCH_MAP: Final = """new MutationObserver(() => {
  const canvas = document.querySelector("canvas");
  if (canvas?.style.height && !window.mapMilliseconds) window.mapMilliseconds = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });"""
_READ_START: Final = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  map: window.mapMilliseconds,
})"""
_SUM_SCRIPTS: Final = """(isEditor) => performance.getEntriesByType("resource")
  .filter(({ name }) => name.endsWith(".js") && name.endsWith("codemirror.js") === isEditor)
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""
_MOVE_POINTER: Final = """async ([moves, width]) => {
  const canvas = document.querySelector("canvas");
  const box = canvas.getBoundingClientRect();
  const { port1, port2 } = new MessageChannel();
  const times = [];
  for (let move = 0; move < moves; move += 1) {
    const place = { clientX: box.left + 5 + ((move * 37) % width), clientY: box.top + 60 };
    const began = performance.now();
    canvas.dispatchEvent(new MouseEvent("mousemove", { ...place, bubbles: true }));
    await new Promise((done) => { port1.onmessage = done; port2.postMessage(null); });
    times.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""
_PRESS_LEGEND: Final = """async (presses) => {
  const { port1, port2 } = new MessageChannel();
  const times = [];
  for (let press = 0; press < presses; press += 1) {
    const began = performance.now();
    document.querySelector(".legend button").click();
    await new Promise((done) => { port1.onmessage = done; port2.postMessage(null); });
    times.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""
_WATCH_EDITOR: Final = """() => {
  const root = document.querySelector(".editor").shadowRoot;
  const content = root.querySelector(".cm-content");
  window.keyTimes = [];
  window.findingTimes = [];
  let pressed = 0;
  let isShown = false;
  root.addEventListener("keydown", () => { pressed = performance.now(); }, true);
  new MutationObserver(() => {
    if (pressed > 0 && window.keyTimes.at(-1)?.pressed !== pressed) {
      window.keyTimes.push({ pressed, milliseconds: performance.now() - pressed });
    }
    const isMarked = root.querySelector(".cm-lintRange-error") !== null;
    if (isMarked && !isShown) window.findingTimes.push(performance.now() - pressed);
    isShown = isMarked;
  }).observe(content, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


def measure_browser(
    browser: sync_api.Browser, url: str, repeat: int, use_seconds: int
) -> Mapping[str, float]:
    """Return the figures of a browser with the page of `url`."""
    found: dict[str, float] = {}
    for slower, prefix in ((1, ""), (_SLOWER, "slow-")):
        found |= _measure_start(browser, url, repeat, slower, prefix)
        found |= _measure_drawing(browser, url, slower, prefix)
    base = url.partition("#")[0]
    with open_page(browser, url, 1) as page:
        page.wait_for_selector("canvas")
        found["shell"] = page.evaluate(_SUM_SCRIPTS, False) / 1000
        found |= _measure_editor(page, base)
        found["editor"] = page.evaluate(_SUM_SCRIPTS, True) / 1000
        found["heap"] = _measure_heap(page, base, use_seconds)
    return found


@contextmanager
def open_page(browser: sync_api.Browser, url: str, slower: int = 1) -> Iterator[sync_api.Page]:
    """Open the page of `url` with a CPU that is slowed down, and close it afterwards."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(_WATCH_MAP)
    if slower > 1:
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(url)
    page.wait_for_selector("main", state="attached")
    yield page
    context.close()


def _measure_start(
    browser: sync_api.Browser, url: str, repeat: int, slower: int, prefix: str
) -> Iterator[tuple[str, float]]:
    """Yield medians of fresh pages."""
    starts = []
    for _ in range(repeat):
        with open_page(browser, url, slower) as page:
            page.wait_for_selector("canvas[style*=height]")
            page.wait_for_timeout(500)  # the browser reports the first paint a little later
            starts.append(page.evaluate(_READ_START))
    yield f"{prefix}paint", statistics.median(start["paint"] for start in starts) / 1000
    yield f"{prefix}map", statistics.median(start["map"] for start in starts) / 1000


def _measure_drawing(
    browser: sync_api.Browser, url: str, slower: int, prefix: str
) -> Iterator[tuple[str, float]]:
    with open_page(browser, url, slower) as page:
        page.wait_for_selector("canvas[style*=height]")
        presses = page.evaluate(_PRESS_LEGEND, _PRESSES)
        moves = page.evaluate(_MOVE_POINTER, [_MOVES, 1200])
    yield f"{prefix}draw", statistics.median(presses)
    yield f"{prefix}draw-p95", figures.compute_quantile(presses, 95)
    yield f"{prefix}move", statistics.median(moves)
    yield f"{prefix}move-p95", figures.compute_quantile(moves, 95)


def _measure_editor(page: sync_api.Page, base: str) -> Iterator[tuple[str, float]]:
    page_process.open_view(page, base, "#/edit")
    page.click(".cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    page.evaluate(_WATCH_EDITOR)
    page.keyboard.type("# " + "a" * _KEYS, delay=30)
    keys = [each["milliseconds"] for each in page.evaluate("window.keyTimes")]
    page.keyboard.press("Enter")
    for _ in range(_FINDINGS):
        page.keyboard.type("polizy")
        page.wait_for_selector(".findings .error")
        for _ in "polizy":
            page.keyboard.press("Backspace")
        page.wait_for_selector(".findings .error", state="detached")
    yield "key", statistics.median(keys)
    yield "key-p95", figures.compute_quantile(keys, 95)
    yield "findings", statistics.median(page.evaluate("window.findingTimes"))


def _measure_heap(page: sync_api.Page, base: str, use_seconds: int) -> float:
    """Use the page for `use_seconds`, and return its memory relative to that before."""
    session = page.context.new_cdp_session(page)
    _use_views(page, base)
    before = read_heap_bytes(page, session)
    until = time.monotonic() + use_seconds
    while time.monotonic() < until:
        _use_views(page, base)
    return read_heap_bytes(page, session) / before


def _use_views(page: sync_api.Page, base: str) -> None:
    """Open each view, move on the map, and type in the editor."""
    for address in ("#/pending", "#/policies", "#/cluster?form=table", "#/cluster", "#/edit"):
        page_process.open_view(page, base, address)
        if address == "#/cluster":
            page.evaluate(_MOVE_POINTER, [20, 1200])
    page.click(".cm-content")
    page.keyboard.type("ab")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")


def read_heap_bytes(page: sync_api.Page, session: sync_api.CDPSession) -> float:
    """Return the memory of the scripts of a page after the collection of garbage."""
    page.evaluate("performance.clearResourceTimings()")  # the browser keeps up to 250 of them
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return used
