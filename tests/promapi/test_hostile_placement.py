"""Hostile answers of a real HTTP server, up to where pods go."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tests import examples
from tests.kube.asynchronous import asynchronous
from tests.promapi import fake_prometheus as fake
from tests.promapi import hostile_world
from tests.promapi.hostile_world import Hostile, Series


@pytest.fixture(scope="module")
def server() -> Iterator[fake.FakePrometheus]:
    """A server whose answers tests set."""
    with fake.FakePrometheus() as running:
        yield running


# --- what is in an answer ---------------------------------------------------------------------

_LABELS = st.one_of(
    st.sampled_from(sorted(hostile_world.ALIASES)),
    st.sampled_from(sorted(hostile_world.NODES)),
    st.sampled_from(
        ("N3", "gone", "", "n1 ", " n2", "n1\n", "n1\x00", "10.0.0.1:", "10.0.0.9:9100", "n" * 5000)
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
        lambda text: (
            text.strip().lower().partition(".")[0].partition(":")[0] not in hostile_world.NODES
        )
    ),
    st.none(),
)
_VALUES = st.one_of(
    st.floats(0, 100).map(repr),
    st.sampled_from(("0", "10", "45.5", "89.99", "90", "90.01", "100")),
    st.sampled_from(
        ("NaN", "+Inf", "-Inf", "-1", "-0.0", "101", "1e308", "-1e308", "1e999", "5e-324")
    ),
    st.sampled_from(("", "x", "0x10", "1_0", "1,5", "NaN%", "--1", None)),
)
_TIMES: st.SearchStrategy[float | str] = st.one_of(
    st.sampled_from((0.0, 0.0, 13.0, 36.0)),
    st.sampled_from((-50.0, -1e9, 100.0, 3600.0, 1e8)),
    st.sampled_from(("NaN", "+Inf", "-Inf", "x", "")),
)
_SERIES = st.builds(
    Series, _LABELS, _VALUES, st.one_of(st.tuples(_TIMES), st.tuples(), st.tuples(_TIMES, _TIMES))
)
_HONEST = st.builds(
    Series, st.sampled_from(sorted(hostile_world.NODES)), st.floats(0, 100).map(repr)
)
_CONTENTS = st.one_of(
    st.lists(_SERIES, max_size=6), st.lists(_HONEST, max_size=3, unique_by=lambda one: one.label)
).map(tuple)


def _json(series: tuple[Series, ...], at_seconds: float) -> list[Any]:
    found = []
    for one in series:
        labels = {"__name__": "load"} | ({} if one.label is None else {"instance": one.label})
        said = {} if one.text is None else {"value": [at_seconds, one.text]}
        found.append({"metric": labels, **said})
        for time in one.times:
            text = time if isinstance(time, str) else repr(at_seconds - time)
            metric = {**labels, "policysched": "measured_at"}
            found.append({"metric": metric, "value": [at_seconds, text]})
    return found


def _body(series: tuple[Series, ...], at_seconds: float, **rest: Any) -> bytes:
    data = {"resultType": "vector", "result": _json(series, at_seconds)}
    return json.dumps({"status": "success", "data": data, **rest}).encode()


# --- how it is told ---------------------------------------------------------------------------

_HEARD: tuple[Callable[[bytes], fake.Answer], ...] = (
    lambda body: fake.Answer(pieces=(body,)),
    lambda body: fake.Answer(pieces=(body,), content_type="text/html"),
    lambda body: fake.Answer(pieces=(body,), content_type="application/octet-stream; x=\xff"),
    lambda body: fake.Answer(pieces=(body[:7], body[7:])),
    lambda body: fake.Answer(pieces=(b" \n\t" + body + b"\n",)),
)
"""Ways in which an answer arrives whole."""

_LOST: tuple[Callable[[bytes], fake.Answer], ...] = (
    lambda body: fake.Answer(pieces=(body[: len(body) // 2],)),
    lambda body: fake.Answer(pieces=(body[:-1],)),
    lambda body: fake.Answer(pieces=(body,), length=len(body) + 10),
    lambda body: fake.Answer(pieces=(b"\xff\xfe" + body,)),
    lambda body: fake.Answer(pieces=(body + body,)),
    lambda body: fake.Answer(pieces=(b"",)),
    lambda _: fake.Answer(pieces=(b"<html>busy</html>",), content_type="text/html"),
    lambda _: fake.Answer(pieces=(b"[" * 100_000,)),
    lambda body: fake.Answer(pieces=(body.replace(b'"vector"', b'"matrix"'),)),
    lambda body: fake.Answer(pieces=(body.replace(b'"vector"', b"7"),)),
    lambda body: fake.Answer(pieces=(body.replace(b'"success"', b'"error"'),)),
    lambda body: fake.Answer(pieces=(body.replace(b'"result":', b'"results":'),)),
    lambda _: fake.success([1000, "5"], "scalar"),
    lambda _: fake.success([1000, "5"], "string"),
    lambda _: fake.success([{"metric": {"instance": "n1"}, "values": [[1, "5"]]}], "matrix"),
    lambda _: fake.success([{"metric": {"instance": "n1"}, "value": [1000, 5]}]),
    lambda _: fake.success([{"metric": {"instance": 1}, "value": [1000, "5"]}]),
    lambda _: fake.success([{"metric": {"instance": "n1"}, "value": ["x", "5"]}]),
    lambda _: fake.success([{"metric": {"instance": "n1"}, "value": [1000]}]),
    lambda _: fake.success([{"metric": {"instance": "n1"}, "value": [float("nan"), "5"]}]),
    lambda _: fake.success({"metric": {"instance": "n1"}, "value": [1000, "5"]}),
    lambda _: fake.failure(400, "bad_data", "parse error"),
    lambda _: fake.failure(422, "execution", "too many samples"),
    lambda _: fake.failure(503, "timeout", "query timed out"),
    lambda _: fake.Answer(429, headers={"Retry-After": "1"}),
    lambda _: fake.Answer(302, headers={"Location": "http://127.0.0.1:1/"}),
)
"""Ways in which nothing arrives that could be used."""

_WITH_BODY = (204, 301, 400, 401, 403, 404, 418, 429, 500, 502, 503, 504, 599)


def _heard(
    series: tuple[Series, ...], way: Callable[[bytes], fake.Answer], ahead: float, rest: Any
) -> Hostile:
    return Hostile(series, lambda at: way(_body(series, at, **rest)), ahead)


def _lost(series: tuple[Series, ...], way: Callable[[bytes], fake.Answer]) -> Hostile:
    return Hostile(None, lambda at: way(_body(series, at)))


def _status(series: tuple[Series, ...], code: int) -> Hostile:
    def write(at_seconds: float) -> fake.Answer:
        return fake.Answer(code, () if code == 204 else (_body(series, at_seconds),))

    return Hostile(None, write)


def _slow(series: tuple[Series, ...]) -> Hostile:
    def write(at_seconds: float) -> fake.Answer:
        body = _body(series, at_seconds)
        return fake.Answer(pieces=tuple(bytes([byte]) for byte in body))

    return Hostile(None, write, is_slow=True)


_REMARKS = st.fixed_dictionaries(
    {},
    optional={
        "warnings": st.just(["a store is away"]),
        "infos": st.just(["rate of no counter"]),
        "isPartial": st.booleans(),
        "stats": st.just({"seriesFetched": "7"}),
    },
)
_AHEAD = st.sampled_from((0.0, 0.0, 0.0, 1e9, -1e8, 3600.0))
_ANSWERS = st.one_of(
    st.builds(_heard, _CONTENTS, st.sampled_from(_HEARD), _AHEAD, _REMARKS),
    st.builds(_heard, _CONTENTS, st.just(_HEARD[0]), st.just(0.0), st.just({})),
    st.builds(_lost, _CONTENTS, st.sampled_from(_LOST)),
    st.builds(_status, _CONTENTS, st.sampled_from(_WITH_BODY)),
    st.builds(_slow, _CONTENTS.filter(lambda series: len(series) < 3)),
)


@pytest.mark.slow
def test_no_pod_is_placed_by_a_value_that_is_not_there(server: fake.FakePrometheus) -> None:
    """After each answer a pod goes to a node that is best by the values that really came.

    Rejections and points are those of the oracle at the moment of every decision: points are
    finite, and a value counts only if an answer holds a valid, fresh one for that node. A good
    part of all pods is placed while there is some value, and not all of them.
    """
    decided, by_value = 0, 0

    @hypothesis.settings(
        max_examples=examples.scale(100),
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(answers=st.lists(_ANSWERS, min_size=1, max_size=6))
    def holds(answers: list[Hostile]) -> None:
        nonlocal decided, by_value
        world = hostile_world.World(server)
        _play(world, answers)
        assert world.problems == []
        assert world.decided >= len(answers)
        decided += world.decided
        by_value += world.placed_by_value

    holds()
    assert 0.1 < by_value / decided < 0.9


@asynchronous
async def _play(world: hostile_world.World, answers: list[Hostile]) -> None:
    async with world.running():
        for number, each in enumerate(answers):
            await world.refresh(each, f"pod-{number}")
