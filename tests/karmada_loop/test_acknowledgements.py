"""`karmada_loop/acknowledgements.py`: a further write waits for the watch, and not for ever."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, NamedTuple

import pytest

from policysched.karmada import objects
from policysched.karmada_loop import acknowledgements
from tests.karmada import twins
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Sequence

    from policysched.kube.reading import reflector
    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

COUNT = 120


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
    show: Callable[[reflector.ReflectorSink[objects.Binding]], None],
) -> None:
    """Another version, and another binding of that version, are not what was waited for."""

    async def wait() -> None:
        shown = acknowledgements.WriteAcknowledgements()
        sink = shown.wrap_sink(_Sink())
        with shown.track_written_binding(_binding("0")) as echo:
            waiting = asyncio.create_task(echo.wait_for_version("2"))
            sink.upsert(_binding("1"))
            sink.upsert(_binding("2", "other"))
            assert await _is_waiting(waiting)
            show(sink)
            await waiting

    asyncio.run(wait())


def test_what_was_shown_before_the_answer_came_counts() -> None:
    """The watch may be faster than the answer to the write."""

    async def wait() -> None:
        shown = acknowledgements.WriteAcknowledgements()
        with shown.track_written_binding(_binding("0")) as echo:
            sink = shown.wrap_sink(_Sink())
            sink.upsert(_binding("2"))
            sink.upsert(_binding("3"))
            await echo.wait_for_version("2")

    asyncio.run(wait())


def test_a_watch_that_shows_nothing_is_waited_for_less_and_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be cut; when it shows something again it is waited for again."""
    monkeypatch.setattr(acknowledgements, "LIMIT_SECONDS", 0.08)
    monkeypatch.setattr(acknowledgements, "LEAST_SECONDS", 0.01)
    limits = []
    timeout = asyncio.timeout

    def noted(seconds: float) -> asyncio.Timeout:
        limits.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", noted)

    async def wait() -> None:
        shown = acknowledgements.WriteAcknowledgements()
        for is_shown in (False, False, False, False, True, True, False):
            with shown.track_written_binding(_binding("0")) as echo:
                if is_shown:
                    shown.record_version(_binding("2"))
                await echo.wait_for_version("2")

    asyncio.run(wait())
    assert limits == [0.08, 0.04, 0.02, 0.01, 0.01, 0.02, 0.04]


def test_those_who_wait_in_vain_at_once_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short silence does not take all patience, however many were waiting."""
    monkeypatch.setattr(acknowledgements, "LIMIT_SECONDS", 0.02)
    monkeypatch.setattr(acknowledgements, "LEAST_SECONDS", 0.001)

    async def wait() -> float:
        shown = acknowledgements.WriteAcknowledgements()
        with contextlib.ExitStack() as stack:
            waiting = [
                stack.enter_context(shown.track_written_binding(_binding("0", f"app{n}")))
                for n in range(9)
            ]
            await asyncio.gather(*(echo.wait_for_version("2") for echo in waiting))
        return shown.timeout_seconds

    assert asyncio.run(wait()) == 0.01


def test_the_sink_is_told_everything() -> None:
    """Whether somebody waits for it or not."""
    sink = _Sink()
    shown = acknowledgements.WriteAcknowledgements()
    listening = shown.wrap_sink(sink)
    listening.replace([_binding("1")])
    listening.upsert(_binding("2"))
    listening.delete(_binding("2"))
    assert sink.told == [
        ("replace", (_binding("1"),)),
        ("upsert", _binding("2")),
        ("delete", _binding("2")),
    ]


@pytest.mark.e2e
def test_the_api_server_does_nearly_every_write_once(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Without waiting, the status of nearly every binding is a second try."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    client.create_many(
        f"{karmada.WORK}/namespaces/default/resourcebindings",
        [twins.of(twins.binding(f"app{n}", {}, replicas=2), twins.OURS) for n in range(COUNT)],
    )
    before = _writes(client)
    with twins.ours(karmada_plane, tmp_path) as scheduler:
        scheduler.wait_until(lambda: _writes(client).patches - before.patches >= 2 * COUNT)
    after = _writes(client)
    patches, tries = after.patches - before.patches, after.tries - before.tries
    assert patches <= tries < 1.25 * patches


class _Writes(NamedTuple):
    """What the API server has counted: patches of bindings, and writes to etcd for them."""

    patches: int
    tries: int


def _writes(client: api_client.ApiClient) -> _Writes:
    lines = client.raw("GET", "/metrics").decode().splitlines()
    return _Writes(
        _sum(lines, "apiserver_request_total{", 'resource="resourcebindings"', 'verb="PATCH"'),
        _sum(lines, "etcd_requests_total{", 'resource="resourcebindings"', 'operation="update"'),
    )


def _sum(lines: Sequence[str], start: str, *labels: str) -> int:
    return sum(
        int(float(line.rpartition(" ")[2]))
        for line in lines
        if line.startswith(start) and all(label in line for label in labels)
    )
