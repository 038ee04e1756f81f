"""`karmada_loop/binding_writer.py`: what it writes when others write, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from policysched.karmada_loop import acknowledgements, binding_writer
from tests.karmada.scheduler import test_scheduling
from tests.kube import asynchronous

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched.karmada import objects
    from policysched.kube.http import client

_APPLIED = {
    "type": "FullyApplied",
    "status": "True",
    "reason": "FullyAppliedSuccess",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class Scene:
    """A binding that is written, and a watch that shows what the test says after the first write.

    Attributes:
        written: what was sent, by subresource.
    """

    def __init__(self, shown: Callable[[Scene], None]) -> None:
        """Have it decided."""
        self.world = test_scheduling.World()
        self.world.cluster("m1")
        self.world.binding("a", version=1)
        (self.attempt,) = self.world.attempts()
        self.written: dict[str, Any] = {}
        self._shown = shown
        self._echoes = acknowledgements.WriteAcknowledgements()
        self.sink = self._echoes.wrap_sink(self.world.handlers.bindings)

    async def carry_out(self) -> None:
        """Write it to its end."""
        api = cast("client.ApiClient", self)
        await binding_writer.BindingWriter(
            api,
            self.world.decisions,
            self._echoes,
            self.world.clock,
        ).write_attempt(self.attempt)

    async def send_request(self, _method: str, path: str, body: bytes, **_: Any) -> bytes:
        """Answer with the second version, after which the watch shows it, and what followed."""
        self.written[path.rpartition("/")[2]] = msgspec.json.decode(body)
        made = self.answer(version=2)
        if not path.endswith("/status"):
            self.sink.upsert(made)
            self._shown(self)
        return msgspec.json.encode(made)

    def answer(self, version: int, uid: str = "a", **status: Any) -> objects.Binding:
        """Return the binding with its clusters, as the API server has it."""
        targets = [{"name": "m1", "replicas": 2}]
        return test_scheduling._binding(
            "a", {}, version, clusters=targets, status=status, metadata={"uid": uid}
        )


def _another_condition(scene: Scene) -> None:
    scene.sink.upsert(scene.answer(version=3, conditions=[_APPLIED]))


def _a_deletion(scene: Scene) -> None:
    scene.sink.delete(scene.answer(version=3))


def _a_successor(scene: Scene) -> None:
    _a_deletion(scene)
    scene.sink.upsert(scene.answer(version=4, uid="another"))


@asynchronous.asynchronous
async def test_conditions_that_others_write_meanwhile_stay() -> None:
    """All conditions are written, so they are those of the newest state that is known."""
    scene = Scene(_another_condition)
    await scene.carry_out()
    types = [each["type"] for each in scene.written["status"]["status"]["conditions"]]
    assert types == ["FullyApplied", "Scheduled"]


@pytest.mark.parametrize("shown", [_a_deletion, _a_successor], ids=["gone", "another"])
@asynchronous.asynchronous
async def test_nothing_is_said_of_what_is_gone(shown: Callable[[Scene], None]) -> None:
    """A status would be that of another object of its name."""
    scene = Scene(shown)
    await scene.carry_out()
    assert list(scene.written) == ["a"]
