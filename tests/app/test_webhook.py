from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pathlib
import signal
import ssl
import threading
from collections.abc import AsyncIterator

import aiohttp
import orjson
import pytest
import trustme

from policysched import clock as clocks
from policysched.app import webhook
from policysched.config import addresses, config
from policysched.reload import admission
from policysched.serving import http_server
from tests.kube.asynchronous import asynchronous
from tests.realcluster import process
from tests.reload import test_admission


class Desk:
    """A webhook that runs, and a client that trusts it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("127.0.0.1")
        certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        certificate.private_key_pem.write_to_path(folder / "tls.key")
        options = webhook.WebhookOptions(
            address=addresses.ListenAddress("127.0.0.1", process.free_port()),
            cert_file=str(folder / "tls.crt"),
            key_file=str(folder / "tls.key"),
            configuration=config.Config(),
            scheduler_name=None,
            chosen=admission.ConfigMapFilter(),
        )
        self.webhook = webhook.PolicyWebhookServer(options, clocks.SystemClock())
        self.trust = ssl.create_default_context()
        self.authority.configure_trust(self.trust)
        self._is_stopped = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Let it run, until a signal ends it."""
        task = asyncio.create_task(self.webhook.run())
        connector = aiohttp.TCPConnector(ssl=self.trust)
        url = f"https://{self.webhook.bound}"
        async with aiohttp.ClientSession(url, connector=connector) as client:
            yield client
        self.stop()
        await task

    def stop(self) -> None:
        """Ask it to end; a second signal would end the tests."""
        if not self._is_stopped:
            os.kill(os.getpid(), signal.SIGTERM)
        self._is_stopped = True


@asynchronous
async def test_reviews_are_answered_over_tls(tmp_path: pathlib.Path) -> None:
    """Beside health; then a signal ends it without an error."""
    async with Desk(tmp_path).running() as client:
        for data, is_allowed in (
            ({"web.policy": test_admission.GOOD}, True),
            ({"web.policy": test_admission.BROKEN}, False),
            ({"notes": "x"}, True),
        ):
            async with client.post("/validate", data=test_admission.review(data)) as answer:
                assert answer.status == 200
                assert answer.content_type == "application/json"
                said = orjson.loads(await answer.read())
                assert said["response"]["allowed"] is is_allowed
        for path in ("/livez", "/readyz", "/healthz"):
            async with client.get(path) as answer:
                assert await answer.text() == "ok"


@pytest.mark.parametrize(
    "method, path, body, status",
    [
        pytest.param("POST", "/validate", b"{", 400, id="no-review"),
        pytest.param("POST", "/validate", b"", 400, id="nothing"),
        pytest.param("POST", "/validate", b"x" * (9 * 2**20), 413, id="too-large"),
        pytest.param("GET", "/validate", b"", 405, id="get"),
        pytest.param("POST", "/readyz", b"", 405, id="post-health"),
        pytest.param("POST", "/", b"", 404, id="elsewhere"),
        pytest.param("GET", "/metrics", b"", 404, id="no-metrics"),
    ],
)
@asynchronous
async def test_what_is_no_review_gets_an_error(
    method: str, path: str, body: bytes, status: int, tmp_path: pathlib.Path
) -> None:
    """Which the API server takes for a failure of the webhook, not for an admission."""
    async with (
        Desk(tmp_path).running() as client,
        client.request(method, path, data=io.BytesIO(body)) as answer,
    ):
        assert answer.status == status


@asynchronous
async def test_checks_hold_up_nothing_and_do_not_pile_up(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One runs, some wait, more are turned away; health and other ConfigMaps are answered."""
    desk = Desk(tmp_path)
    go_on, begun = threading.Event(), threading.Event()
    at_once = 0

    def slow(
        _: admission.PolicyReviewer, _question: admission.AdmissionRequest
    ) -> admission.AdmissionResponse:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        begun.set()
        go_on.wait(30.0)
        at_once -= 1
        return admission.AdmissionResponse()

    monkeypatch.setattr(admission.PolicyReviewer, "review_policies", slow)
    body = test_admission.review({"web.policy": test_admission.GOOD})

    async with desk.running() as client:

        async def post(content: bytes) -> int:
            async with client.post("/validate", data=content) as answer:
                return answer.status

        posts = [asyncio.create_task(post(body)) for _ in range(20)]
        await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(begun.wait, 30.0)
        assert await post(test_admission.review({"notes": "x"})) == 200
        async with client.get("/readyz") as answer:
            assert answer.status == 200
        go_on.set()
        statuses = await asyncio.gather(*posts)
    assert sorted(statuses) == [200] * 8 + [503] * 12


@asynchronous
async def test_a_check_that_nobody_waits_for_keeps_its_turn(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers that are given up after their time do not let a second check begin beside it."""
    desk = Desk(tmp_path)
    go_on, begun = threading.Event(), threading.Event()
    at_once, most = 0, 0

    def slow(
        _: admission.PolicyReviewer, _question: admission.AdmissionRequest
    ) -> admission.AdmissionResponse:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        begun.set()
        go_on.wait(30.0)
        at_once -= 1
        return admission.AdmissionResponse()

    monkeypatch.setattr(admission.PolicyReviewer, "review_policies", slow)
    monkeypatch.setattr(http_server, "_ANSWER_SECONDS", 0.2)
    body = test_admission.review({"web.policy": test_admission.GOOD})
    async with desk.running() as client:
        for _ in range(2):
            with pytest.raises(aiohttp.ClientError):
                await client.post("/validate", data=body)
        assert await asyncio.to_thread(begun.wait, 30.0)
        monkeypatch.setattr(http_server, "_ANSWER_SECONDS", 30.0)
        waiting = asyncio.create_task(client.post("/validate", data=body))
        go_on.set()
        assert (await waiting).status == 200
    assert most == 1


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False], ids=["in time", "too late"])
@asynchronous
async def test_the_end_waits_for_what_has_begun_but_not_for_long(
    ends: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A review that is nearly done is answered; a thread that is not ends with the process."""
    desk = Desk(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    def slow(
        _: admission.PolicyReviewer, _question: admission.AdmissionRequest
    ) -> admission.AdmissionResponse:
        begun.set()
        go_on.wait(60.0)
        return admission.AdmissionResponse()

    monkeypatch.setattr(admission.PolicyReviewer, "review_policies", slow)
    monkeypatch.setattr(webhook, "LAST_ANSWERS_SECONDS", 60.0 if ends else 0.0)
    body = test_admission.review({"web.policy": test_admission.GOOD})
    async with desk.running() as client:
        posting = asyncio.create_task(client.post("/validate", data=body))
        assert await asyncio.to_thread(begun.wait, 60.0)
        desk.stop()
        if ends:
            while (await client.get("/readyz")).status == 200:  # noqa: ASYNC110 - another process, as it were
                await asyncio.sleep(0.01)
            go_on.set()
            assert (await posting).status == 200
        else:
            with pytest.raises(aiohttp.ClientError):
                await posting
            go_on.set()
