"""CPU time of a real `run` while pods arrive, with and without open pages.

python -m benchmarks page-readers --rate 200 --readers 0,1,5

A real API server and `policysched ui --decisions` are beside it. A reader asks what an open page
asks: rows as soon as there are some, the status and the map every three seconds. With --own-page,
readers ask `run` itself, as pages below /ui/ do; otherwise all of them are tabs of one `ui`, which
asks equal questions once. Phases without and with readers take turns, because the speed of a
machine changes.

The longest answer about the status is an upper bound for the longest turn of the loop of `run`.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import requests

from benchmarks import options
from benchmarks.page import served_scheduler
from benchmarks.process import orphans

_Answer: TypeAlias = dict[str, Any]
_POLL_SECONDS = 3.0
_WAIT_SECONDS = 20
_TIMING_PAUSE_SECONDS = 0.2


def main(argv: list[str]) -> int:
    """Run the phases, and print a table."""
    parser = options.Parser(prog="python -m benchmarks page-readers", description=__doc__)
    parser.add_argument("--nodes", type=options.at_least(1), default=5000)
    parser.add_argument("--rate", type=options.above_zero, default=200.0, help="pods per second")
    parser.add_argument("--seconds", type=options.at_least(5), default=15, help="of a phase")
    parser.add_argument("--rounds", type=options.at_least(1), default=3)
    parser.add_argument("--readers", type=_parse_counts, default=[0, 1, 5], metavar="N,N,…")
    parser.add_argument("--own-page", action="store_true", help="readers ask `run` itself")
    args = parser.parse_args(argv)
    found: dict[int, list[_Phase]] = {count: [] for count in args.readers}
    with (
        orphans.folder_without_orphans() as folder,
        served_scheduler.serve_scheduler(folder, args.nodes) as served,
    ):
        served.place_pods(args.rate, args.seconds)  # the first pods fill caches
        page = _OwnPage(served.url, served.folder) if args.own_page else served.page
        for _ in range(args.rounds):
            for count in args.readers:
                found[count].append(_run_phase(served, page, count, args.rate, args.seconds))
    print(f"{args.nodes:,} nodes, {args.rate:g} pods/s due, phases of {args.seconds} s")
    print("readers  sent/s  CPU of run: per pod, per second (median, lowest to highest), status ms")
    for count, phases in found.items():
        print(_format_row(count, phases))
    return 0


def _parse_counts(text: str) -> list[int]:
    return [options.at_least(0, 100)(each) for each in text.split(",")]


@dataclasses.dataclass(frozen=True, slots=True)
class _Phase:
    """What one phase took.

    Attributes:
        rate: pods sent per second.
        cpu: CPU seconds of `run` per second.
        answer_ms: the times of all answers about the status, without the readers' waits.
    """

    rate: float
    cpu: float
    answer_ms: Sequence[float]


def _format_row(count: int, phases: list[_Phase]) -> str:
    shares = sorted(each.cpu for each in phases)
    per_pod = statistics.median(1000 * each.cpu / each.rate for each in phases)
    answers = sorted(ms for each in phases for ms in each.answer_ms)
    rate = statistics.median(each.rate for each in phases)
    row = f"{count:7}  {rate:6.0f}  {per_pod:.3f} ms, {statistics.median(shares):.1%}"
    row += f" ({shares[0]:.1%} to {shares[-1]:.1%})"
    return f"{row}, {statistics.median(answers):.1f} (longest {answers[-1]:.1f})"


class _OwnPage:
    """The page below /ui/ of `run` itself, asked over one connection for each thread."""

    def __init__(self, url: str, folder: pathlib.Path) -> None:
        """Ask the secure port at `url` with the token and authority in `folder`."""
        self._url = url
        self._threads = threading.local()
        self._headers = {"Authorization": f"Bearer {(folder / 'token').read_text()}"}
        self._authority = str(folder / "ca.crt")

    def ask(self, name: str, /, **parameters: object) -> _Answer:
        """Return the answer to a question."""
        session = self._threads.__dict__.setdefault("session", requests.Session())
        url = f"{self._url}/debug/page/{name}"
        answer = session.get(
            url, params=parameters, headers=self._headers, verify=self._authority, timeout=60
        )
        answer.raise_for_status()
        found: _Answer = answer.json()
        return found


class _Page(Protocol):
    def ask(self, name: str, /, **parameters: object) -> _Answer:
        """Return the answer to a question."""


def _run_phase(
    served: served_scheduler.ServedScheduler, page: _Page, readers: int, rate: float, seconds: int
) -> _Phase:
    """Send pods while `readers` read the page, and measure."""
    ending = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1 + 2 * readers) as pool:
        answer_ms = pool.submit(_time_answers, page, ending)
        for _ in range(readers):
            pool.submit(_read_rows, page, ending)
            pool.submit(_read_state, page, ending)
        used, began = served.measure_cpu_seconds(), time.monotonic()
        sent = served.place_pods(rate, seconds)
        lasted = time.monotonic() - began
        spent = served.measure_cpu_seconds() - used
        ending.set()
    return _Phase(sent / lasted, spent / lasted, answer_ms.result())


def _time_answers(page: _Page, ending: threading.Event) -> list[float]:
    """Return the time of a small answer, many times a second, in milliseconds."""
    found = []
    while not ending.wait(_TIMING_PAUSE_SECONDS):
        began = time.monotonic()
        page.ask("status")
        found.append(1000 * (time.monotonic() - began))
    return found


def _read_rows(page: _Page, ending: threading.Event) -> None:
    after = 0
    while not ending.is_set():
        after = page.ask("decisions", after=after, wait=_WAIT_SECONDS)["next"]


def _read_state(page: _Page, ending: threading.Event) -> None:
    while not ending.wait(_POLL_SECONDS):
        page.ask("status")
        page.ask("cluster")
