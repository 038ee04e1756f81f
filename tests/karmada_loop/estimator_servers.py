"""Servers of gRPC for tests: well-behaved ones, and those that are not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any, TypeAlias

from grpclib import const, server
from grpclib.encoding import base

from policysched.karmada.state import estimator_messages
from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

HOST = "127.0.0.1"

Answer: TypeAlias = "Callable[[bytes], Awaitable[bytes]]"


class _Bytes(base.CodecBase):
    __content_subtype__ = "proto"

    def encode(self, message: bytes, message_type: type[bytes]) -> bytes:
        return message

    def decode(self, data: bytes, message_type: type[bytes]) -> bytes:
        return data


class Service:
    """Answers `MaxAvailableReplicas`; keeps what it was asked.

    Attributes:
        requests: what came, with its metadata.
    """

    def __init__(self, answer: Answer) -> None:
        """Answer as `answer` says."""
        self.requests: list[tuple[bytes, dict[str, str]]] = []
        self._answer = answer

    async def _handle(self, stream: server.Stream[bytes, bytes]) -> None:
        request = await stream.recv_message()
        assert request is not None
        metadata = {key: str(value) for key, value in (stream.metadata or {}).items()}
        self.requests.append((request, metadata))
        await stream.send_message(await self._answer(request))

    def __mapping__(self) -> dict[str, const.Handler]:
        """What grpclib asks a service for."""
        unary = const.Cardinality.UNARY_UNARY
        handler = const.Handler(self._handle, unary, bytes, bytes)
        return {estimator_messages.MAX_AVAILABLE_REPLICAS: handler}


def counting(count: int) -> Service:
    """Return a service that always says the same number."""

    async def answer(_: bytes) -> bytes:
        return answer_of(count)

    return Service(answer)


def answer_of(count: int) -> bytes:
    """Return the message with a number."""
    written, value = bytearray(b"\x08"), count % 2**64
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes(written + bytes([value]))


@contextlib.asynccontextmanager
async def grpc(service: Service, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve; yield the port."""
    serving = server.Server([service], codec=_Bytes())
    await serving.start(HOST, process.free_port(), ssl=tls)
    sockets: Any = serving._server
    try:
        yield sockets.sockets[0].getsockname()[1]
    finally:
        serving.close()
        await serving.wait_closed()
        for _ in range(5):  # connections that the other side has closed hear of it
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def raw(*parts: bytes, ends: bool) -> AsyncIterator[int]:
    """Send these bytes to whoever connects, whatever is said; then close, or wait for the end."""
    ended: set[asyncio.Future[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        end = asyncio.get_running_loop().create_future()
        ended.add(end)
        with contextlib.suppress(OSError):
            for part in parts:
                writer.write(part)
                await writer.drain()
            if not ends:
                await reader.read()  # until the other side closes
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        end.set_result(None)

    listening = await asyncio.start_server(talk, HOST, process.free_port())
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await asyncio.gather(*ended)
