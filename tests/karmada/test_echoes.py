"""`app/karmada/echoes.py`: a further write waits for the watch, and not for ever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from policysched.app.karmada import echoes
from policysched.karmada import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from policysched.kube import reflector

FOR_EVER = 3600.0


class _Sink:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def replace(self, bindings: Sequence[objects.Binding]) -> None:
        self.told.append(("replace", tuple(bindings)))

    def upsert(self, binding: objects.Binding) -> None:
        self.told.append(("upsert", binding))

    def delete(self, binding: objects.Binding) -> None:
        self.told.append(("delete", binding))


def _binding(version: str, uid: str = "web") -> objects.Binding:
    meta = objects.ObjectMeta(name=uid, namespace="shop", uid=uid, resource_version=version)
    return objects.Binding(metadata=meta)


async def _is_waiting(task: asyncio.Task[None]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


@pytest.mark.parametrize(
    "show",
    [
        lambda sink: sink.upsert(_binding("2")),
        lambda sink: sink.replace([_binding("7", "other"), _binding("2")]),
    ],
    ids=["watched", "listed"],
)
def test_it_waits_for_what_was_written(
    show: Callable[[reflector.Sink[objects.Binding]], None],
) -> None:
    """Another version, and another binding of that version, are not what was waited for."""

    async def wait() -> None:
        shown = echoes.Echoes(FOR_EVER)
        sink = shown.through(_Sink())
        with shown.of(_binding("0")) as echo:
            waiting = asyncio.create_task(echo.wait_for("2"))
            sink.upsert(_binding("1"))
            sink.upsert(_binding("2", "other"))
            assert await _is_waiting(waiting)
            show(sink)
            await waiting

    asyncio.run(wait())


def test_what_was_shown_before_the_answer_came_counts() -> None:
    """The watch may be faster than the answer to the write."""

    async def wait() -> None:
        shown = echoes.Echoes(FOR_EVER)
        with shown.of(_binding("0")) as echo:
            sink = shown.through(_Sink())
            sink.upsert(_binding("2"))
            sink.upsert(_binding("3"))
            await echo.wait_for("2")

    asyncio.run(wait())


def test_a_watch_that_shows_nothing_is_not_waited_for_longer_than_the_limit() -> None:
    """The write is done without, for the watch may be cut."""

    async def wait() -> None:
        with echoes.Echoes(limit_seconds=0.01).of(_binding("0")) as echo:
            await echo.wait_for("2")

    asyncio.run(wait())


def test_the_sink_is_told_everything() -> None:
    """Whether somebody waits for it or not."""
    sink = _Sink()
    shown = echoes.Echoes()
    listening = shown.through(sink)
    listening.replace([_binding("1")])
    listening.upsert(_binding("2"))
    listening.delete(_binding("2"))
    assert sink.told == [
        ("replace", (_binding("1"),)),
        ("upsert", _binding("2")),
        ("delete", _binding("2")),
    ]
