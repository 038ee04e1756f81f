"""Calls to servers of gRPC: with and without TLS, that are slow, wrong, or no such servers."""

from __future__ import annotations

import asyncio
import logging
import pathlib
import ssl

import pytest
import trustme
from grpclib import const, exceptions

from policysched import errors
from policysched.karmada.state import estimator_messages
from policysched.karmada_loop import estimator_connection
from tests.karmada_loop import estimator_servers
from tests.kube import asynchronous

METHOD = estimator_messages.MAX_AVAILABLE_REPLICAS
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HEADERS_OF_NOBODY = b"\x00\x00\x03\x01\x04\x00\x00\x00\x09\x88\x88\x88"
HEADERS_NOT_OF_ASCII = b"\x00\x00\x05\x01\x04\x00\x00\x00\x01" + b"\x00\x01a\x01\xff"
HEADERS = b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88"
LIMIT_SECONDS = 30.0


async def _call(
    made: estimator_connection.EstimatorConnection, limit_seconds: float = LIMIT_SECONDS
) -> bytes:
    return await made.call_estimator(
        METHOD, b"question", {"object": "kind=x, name=a/b"}, limit_seconds
    )


@asynchronous.asynchronous
async def test_a_call_brings_bytes_and_metadata_and_takes_bytes() -> None:
    """Several calls go over one connection."""
    service = estimator_servers.counting(7)
    async with estimator_servers.grpc(service) as port:
        made = estimator_connection.EstimatorConnection(estimator_servers.HOST, port, None)
        await made.open_connection(LIMIT_SECONDS)
        answers = await asyncio.gather(*(_call(made) for _ in range(20)))
        made.close()
    assert set(answers) == {estimator_servers.answer_of(7)}
    assert service.requests == [(b"question", {"object": "kind=x, name=a/b"})] * 20


@asynchronous.asynchronous
async def test_it_connects_again_when_the_connection_is_cut() -> None:
    """The call that was under way fails at once; the next one goes over a new connection."""
    asked, answered = asyncio.Event(), asyncio.Event()

    async def answer(_: bytes) -> bytes:
        asked.set()
        await answered.wait()
        return estimator_servers.answer_of(1)

    async with estimator_servers.grpc(estimator_servers.Service(answer)) as port:
        made = estimator_connection.EstimatorConnection(estimator_servers.HOST, port, None)
        call = asyncio.create_task(_call(made))
        await asked.wait()
        (await made._channel.__connect__()).connection._transport.abort()
        with pytest.raises(estimator_connection.EstimatorCallError, match="Connection lost"):
            await call
        answered.set()
        assert await _call(made) == estimator_servers.answer_of(1)
        made.close()


@asynchronous.asynchronous
async def test_the_next_call_leaves_a_connection_that_brings_nothing() -> None:
    """One that has timed out may be dead without a word."""
    answered = asyncio.Event()

    async def answer(_: bytes) -> bytes:
        await answered.wait()
        return estimator_servers.answer_of(3)

    async with estimator_servers.grpc(estimator_servers.Service(answer)) as port:
        made = estimator_connection.EstimatorConnection(estimator_servers.HOST, port, None)
        before = made._channel
        with pytest.raises(estimator_connection.EstimatorCallError, match="no answer in time"):
            await _call(made, 0.2)
        answered.set()
        assert await _call(made) == estimator_servers.answer_of(3)
        assert made._channel is not before
        made.close()


@pytest.mark.parametrize(
    "status, message, expected",
    [
        (const.Status.UNKNOWN, "cluster name does not match", "UNKNOWN: cluster name does not"),
        (const.Status.UNAVAILABLE, None, "UNAVAILABLE: no reason is given"),
        (const.Status.INTERNAL, "a\nb\x1b[31m" + "x" * 1000, "INTERNAL: a b"),
    ],
    ids=["text", "no-text", "long-text"],
)
@asynchronous.asynchronous
async def test_a_refusal_is_an_error_with_its_reason(
    status: const.Status, message: str | None, expected: str
) -> None:
    """In one line."""

    async def answer(_: bytes) -> bytes:
        raise exceptions.GRPCError(status, message)

    async with estimator_servers.grpc(estimator_servers.Service(answer)) as port:
        made = estimator_connection.EstimatorConnection(estimator_servers.HOST, port, None)
        with pytest.raises(estimator_connection.EstimatorCallError) as raised:
            await _call(made)
        made.close()
    text = str(raised.value)
    assert text.startswith(expected)
    assert len(text.splitlines()) == 1
    assert len(text) <= 300


@pytest.mark.parametrize(
    "parts, ends",
    [
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], True),
        ([b"\xff" * 100_000], True),
        ([], True),
        ([SETTINGS, HEADERS_OF_NOBODY], False),
        ([SETTINGS, HEADERS_NOT_OF_ASCII], False),
        ([SETTINGS, HEADERS], False),
        ([SETTINGS, b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"], False),
        ([b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 1000], False),
        ([], False),
    ],
    ids=[
        "http1",
        "garbage",
        "closes",
        "headers",
        "bytes",
        "no-type",
        "window",
        "endless-frame",
        "silent",
    ],
)
@asynchronous.asynchronous
async def test_what_is_no_server_of_grpc_is_an_error(
    parts: list[bytes], ends: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever it says: the call ends in time, and no traceback is written."""
    caplog.set_level(logging.INFO)
    async with estimator_servers.raw(*parts, ends=ends) as port:
        made = estimator_connection.EstimatorConnection(estimator_servers.HOST, port, None)
        with pytest.raises(estimator_connection.EstimatorCallError):
            await _call(made, 0.5)
        made.close()
        await asyncio.sleep(0)
    assert caplog.records == []


def _server_tls(authority: trustme.CA, *, asks: bool, host: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])
    authority.issue_cert(host).configure_cert(context)
    if asks:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
def tls(tmp_path: pathlib.Path) -> tuple[trustme.CA, estimator_connection.EstimatorTls]:
    """An authority, and what its files say to us."""
    authority = trustme.CA()
    issued = authority.issue_cert("policysched")
    names = ("ca.crt", "tls.crt", "tls.key")
    pems = (authority.cert_pem, issued.cert_chain_pems[0], issued.private_key_pem)
    for name, pem in zip(names, pems, strict=True):
        pem.write_to_path(tmp_path / name)
    ca_file, cert_file, key_file = (str(tmp_path / name) for name in names)
    return authority, estimator_connection.EstimatorTls(ca_file, cert_file, key_file)


@asynchronous.asynchronous
async def test_both_sides_show_certificates(
    tls: tuple[trustme.CA, estimator_connection.EstimatorTls],
) -> None:
    """A server that asks for one gets ours, and we believe one that our authority vouches for."""
    authority, ours = tls
    async with estimator_servers.grpc(
        estimator_servers.counting(5), _server_tls(authority, asks=True)
    ) as port:
        made = estimator_connection.EstimatorConnection(
            estimator_servers.HOST, port, ours.make_ssl_context()
        )
        assert await _call(made) == estimator_servers.answer_of(5)
        made.close()


@pytest.mark.parametrize(
    "host, is_known, is_verified, is_answered",
    [
        ("127.0.0.1", True, True, True),
        ("elsewhere", True, True, False),
        ("127.0.0.1", False, True, False),
        ("elsewhere", False, False, True),
    ],
    ids=["ours", "other-name", "other-authority", "not-verified"],
)
@asynchronous.asynchronous
async def test_who_is_believed(
    tls: tuple[trustme.CA, estimator_connection.EstimatorTls],
    host: str,
    is_known: bool,
    is_verified: bool,
    is_answered: bool,
) -> None:
    """A server whose name is vouched for, or any where nobody has to be."""
    authority, ours = tls
    said = estimator_connection.EstimatorTls(ca_file=ours.ca_file, is_verified=is_verified)
    serving = _server_tls(authority if is_known else trustme.CA(), asks=False, host=host)
    async with estimator_servers.grpc(estimator_servers.counting(5), serving) as port:
        made = estimator_connection.EstimatorConnection(
            estimator_servers.HOST, port, said.make_ssl_context()
        )
        if is_answered:
            assert await _call(made) == estimator_servers.answer_of(5)
        else:
            with pytest.raises(
                estimator_connection.EstimatorCallError, match="certificate verify failed"
            ):
                await _call(made)
        made.close()


def test_encryption_is_on_where_somebody_vouches_or_nobody_has_to() -> None:
    """As in karmada-scheduler: a certificate of our own alone does not turn it on."""
    assert estimator_connection.EstimatorTls().make_ssl_context() is None
    assert (
        estimator_connection.EstimatorTls(
            cert_file="tls.crt", key_file="tls.key"
        ).make_ssl_context()
        is None
    )
    assert estimator_connection.EstimatorTls(is_verified=False).make_ssl_context() is not None


@pytest.mark.parametrize("broken", ["ca_file", "cert_file", "key_file"])
@pytest.mark.parametrize("text", [None, "", "no certificate"], ids=["missing", "empty", "text"])
def test_a_file_that_cannot_be_used_is_named(
    tls: tuple[trustme.CA, estimator_connection.EstimatorTls],
    tmp_path: pathlib.Path,
    broken: str,
    text: str | None,
) -> None:
    """When it starts, not when it first connects."""
    _, ours = tls
    path = pathlib.Path(getattr(ours, broken))
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.InputError, match=rf"{path.name}.*: cannot be used: \S"):
        ours.make_ssl_context()
