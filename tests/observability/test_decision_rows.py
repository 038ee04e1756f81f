"""Rows of /debug/decisions?form=rows."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from policysched.observability.live_page import debug_forms, decision_rows
from policysched.serving import query_parameters
from tests.kube.asynchronous import asynchronous
from tests.observability import busy_world, page_answers
from tests.scheduler import fakes

STARTED_AT = "2026-01-05T12:00:00+00:00"


def _make_page(world: fakes.World, *, is_stopping: bool = False) -> decision_rows.RowsPage:
    rows = decision_rows.DecisionRows(world.scheduler.decisions, STARTED_AT)
    return decision_rows.RowsPage(rows, lambda: is_stopping)


async def _ask(page: decision_rows.RowsPage, **parameters: str) -> Any:
    return await page_answers.ask(page.make_page, "rows", form="rows", **parameters)


def _read(found: Any) -> list[debug_forms.DecisionRow]:
    return msgspec.convert(found["rows"], list[debug_forms.DecisionRow])


@asynchronous
async def test_rows_are_numbered_in_the_order_in_which_attempts_end() -> None:
    """A pod that waits at Permit ends after those that were tried later."""
    page = _make_page(await _play())
    found = await _ask(page)
    rows = _read(found)
    assert (found["startedAt"], found["next"], found["missed"]) == (STARTED_AT, len(rows), 0)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    first, refused = rows[0], rows[1]
    assert (first.pod, first.result, first.node) == ("default/a", "scheduled", "n1")
    assert first.hash == "3f2a91c0ffee"
    assert (refused.result, refused.node) == ("error", "n1")
    assert refused.message.endswith("no such pod")
    late = next(row for row in rows if row.pod == "default/late-1")
    assert (late.result, late.node, late.by, late.amount) == ("unschedulable", "", "Room", 1)


@asynchronous
async def test_a_row_names_the_stage_of_a_rollout() -> None:
    """With the hash of the new version; "" for decisions outside of rollouts."""
    world = await _play()
    world.scheduler.decisions.ended[1].rollout_stage = "beef: stage 1 of 2 (shadow)"
    rows = _read(await _ask(_make_page(world)))
    assert [row.rollout_stage for row in rows[:2]] == ["", "beef: stage 1 of 2 (shadow)"]


async def _play() -> fakes.World:
    played = busy_world.BusyWorld()
    await busy_world._work(played.world, played._permit)
    return played.world


@asynchronous
async def test_only_rows_after_a_number_are_sent() -> None:
    """With all of them, nothing; a number of an earlier run of the process counts as none."""
    page = _make_page(await _play())
    newest = (await _ask(page))["next"]
    assert [row.number for row in _read(await _ask(page, after=str(newest - 2)))] == [
        newest - 1,
        newest,
    ]
    assert (await _ask(page, after=str(newest)))["rows"] == []
    assert len((await _ask(page, after=str(newest + 1000)))["rows"]) == newest


@asynchronous
async def test_a_reader_that_is_late_learns_how_much_it_missed() -> None:
    """At most 200 rows are sent, the newest ones."""
    world = fakes.World()
    world.add_node("n1", pods=1000)
    page = _make_page(world)
    for number in range(450):
        world.add_pod(f"p{number}")
    await world.settle()
    found = await _ask(page, after="10")
    assert (found["next"], found["missed"], len(found["rows"])) == (450, 240, 200)
    assert _read(found)[-1].number == 450
    found = await _ask(page, after="445")
    assert (found["missed"], len(found["rows"])) == (0, 5)


@asynchronous
async def test_each_row_is_encoded_once() -> None:
    """A second client costs no more than the bytes."""
    world = await _play()
    rows = decision_rows.DecisionRows(world.scheduler.decisions, STARTED_AT)
    rows.encode_rows(0)
    encoded = list(rows._encoded)
    rows.encode_rows(0)
    rows.encode_rows(3)
    assert all(one is other for one, other in zip(encoded, rows._encoded, strict=True))


@asynchronous
async def test_a_request_waits_for_the_next_row() -> None:
    """It is answered when an attempt has ended, not at the end of its time."""
    world = fakes.World()
    world.add_node("n1", pods=10)
    page = _make_page(world)
    waiting = asyncio.create_task(_ask(page, after="0", wait="20"))
    await asyncio.sleep(0)
    assert not waiting.done()
    world.add_pod("a")
    await world.settle()
    assert [row.pod for row in _read(await waiting)] == ["default/a"]


@asynchronous
async def test_nobody_waits_for_a_process_that_stops() -> None:
    """Otherwise its end would wait for its readers."""
    page = _make_page(fakes.World(), is_stopping=True)
    assert (await _ask(page, after="0", wait="20"))["rows"] == []


@pytest.mark.parametrize(
    "parameters, problem",
    [
        pytest.param({"form": "rows", "pod": "a/b"}, "`pod` is unknown", id="unknown"),
        pytest.param({"form": "table"}, "`form` must be `rows`", id="form"),
        pytest.param({"form": "rows", "after": "-1"}, "`after` must be", id="negative"),
        pytest.param({"form": "rows", "after": "9" * 400}, "`after` must be", id="huge"),
        pytest.param({"form": "rows", "wait": "21"}, "from 0 to 20", id="too long"),
        pytest.param({"form": "rows", "wait": "1.5"}, "`wait` must be", id="fraction"),
    ],
)
def test_a_parameter_without_meaning_is_refused(parameters: dict[str, str], problem: str) -> None:
    """Each with its name."""

    @asynchronous
    async def ask() -> None:
        make = query_parameters.answer_query_errors(_make_page(fakes.World()).make_page)
        page = await page_answers.ask_page(make, **parameters)
        assert page.status == 400
        assert problem in page.body.decode()

    ask()
