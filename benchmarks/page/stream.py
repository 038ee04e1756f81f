"""What a browser needs to follow a real `run` for minutes while pods arrive.

python -m benchmarks page-stream --nodes 5000 --rate 500 --minutes 5

A real API server and `policysched ui --decisions` are beside it; the browser shows the decisions. A
long task keeps the page from drawing for more than 50 ms.
"""

from __future__ import annotations

import concurrent.futures
import sys
import time
from typing import TYPE_CHECKING

from benchmarks import options
from benchmarks.page import browser_times, served_scheduler
from benchmarks.process import orphans
from tests.page import page_process
from tests.realcluster import browser as browsers

if TYPE_CHECKING:
    from playwright import sync_api

_POLL_MS = 500
_WATCH_TASKS = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration);
  }).observe({ type: "longtask" });
}"""
_TAKE_TASKS = "() => window.longTasks.splice(0)"
_COUNT_ROWS = "() => document.querySelectorAll('main tbody tr').length"


def main(argv: list[str]) -> int:
    """Follow the scheduler, and print a line for the pods of each minute."""
    parser = options.Parser(prog="python -m benchmarks page-stream", description=__doc__)
    parser.add_argument("--nodes", type=options.at_least(1), default=5000)
    parser.add_argument("--rate", type=options.above_zero, default=500.0, help="pods per second")
    parser.add_argument("--minutes", type=options.at_least(1), default=5)
    args = parser.parse_args(argv)
    try:
        with (
            orphans.folder_without_orphans() as folder,
            served_scheduler.serve_scheduler(folder, args.nodes) as served,
            browsers.launch_browser() as browser,
            browser_times.open_page(browser, served.page.address) as page,
        ):
            print(f"{args.nodes:,} nodes, {args.rate:g} pods/s due")
            print("minute  pods/s  memory of scripts MB  rows  long tasks (longest ms)")
            _follow(page, served, args.rate, args.minutes)
    except browsers.BrowserError as error:
        print(error, file=sys.stderr)
        return options.EXIT_WRONG_INPUT
    return 0


def _follow(
    page: sync_api.Page, served: served_scheduler.ServedScheduler, rate: float, minutes: int
) -> None:
    page_process.open_view(page, served.page.address.partition("#")[0], "#/decisions")
    page.evaluate(_WATCH_TASKS)
    session = page.context.new_cdp_session(page)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for minute in range(1, minutes + 1):
            before, began = served.page.ask("status")["decisions"], time.monotonic()
            placing = pool.submit(served.place_pods, rate, 60)
            while not placing.done():
                page.wait_for_timeout(_POLL_MS)
            made = served.page.ask("status")["decisions"] - before
            seconds = time.monotonic() - began
            tasks = page.evaluate(_TAKE_TASKS)
            heap_mb = browser_times.read_heap_bytes(page, session) / 1e6
            rows = page.evaluate(_COUNT_ROWS)
            longest = max(tasks, default=0)
            print(
                f"{minute:6}  {made / seconds:6.0f}  {heap_mb:20.2f}  {rows:4}  "
                f"{len(tasks)} ({longest:.0f})",
                flush=True,
            )
