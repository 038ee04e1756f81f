"""Requests a second: what a bucket of tokens lets pass, and when."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from policysched import clock as clocks
from policysched.kube.http import rate_limit
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, json_body, stream


def test_a_burst_passes_and_then_a_token_comes_in_at_a_time() -> None:
    """What exceeds the burst waits in line; a pause fills the bucket, but not beyond the burst."""
    clock = clocks.ManualClock(builders.EPOCH)
    bucket = rate_limit.TokenBucket(10.0, 3, clock)
    assert [bucket.reserve_token() for _ in range(5)] == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])
    clock.advance(0.2)
    assert bucket.reserve_token() == pytest.approx(0.1)
    clock.advance(3600.0)
    assert [bucket.reserve_token() for _ in range(4)] == pytest.approx([0.0, 0.0, 0.0, 0.1])


@hypothesis.given(
    per_second=st.floats(0.1, 1000.0),
    burst=st.integers(1, 50),
    pauses=st.lists(st.floats(0.0, 5.0), max_size=60),
)
def test_no_time_sees_more_than_its_share(
    per_second: float, burst: int, pauses: list[float]
) -> None:
    """In any stretch of time no more than burst + rate * time pass, in the order of asking."""
    clock = clocks.ManualClock(builders.EPOCH)
    bucket = rate_limit.TokenBucket(per_second, burst, clock)
    passed = []
    for pause in pauses:
        clock.advance(pause)
        passed.append(clock.monotonic_seconds() + bucket.reserve_token())
    assert passed == sorted(passed)
    for first, begin in enumerate(passed):
        for last in range(first, len(passed)):
            allowed = burst + per_second * (passed[last] - begin)
            assert last - first + 1 <= allowed + 1e-6 * max(1.0, allowed)


@asynchronous
async def test_requests_and_watches_wait_for_tokens() -> None:
    """Each attempt takes a token, a stream too; without a limit nobody waits."""
    async with FakeServer() as server:
        server.on("GET", "/a", json_body({}))
        server.on("GET", "/b", stream(b"x\n"))
        limit = rate_limit.TokenBucket(2.0, 1, server.clock)
        async with server.client(limit=limit) as api:
            await api.send_request("GET", "/a")
            await api.send_request("GET", "/a")
            async with api.open_stream("/b", stall_seconds=1.0) as chunks:
                assert [chunk async for chunk in chunks] == [b"x\n"]
            assert server.sleeps == pytest.approx([0.5, 1.0])
        async with server.client() as api:
            await api.send_request("GET", "/a")
        assert len(server.sleeps) == 2
