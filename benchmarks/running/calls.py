"""CPU time of a call to the API server in this process, for both HTTP clients.

python -m benchmarks calls --calls 2000 --rounds 5

A server in a separate process answers bindings with a short body, over plain HTTP on loopback.
The connections of `connections/call_connections.py` and those of aiohttp take turns, so that both
meet the same load of the machine. docs/decisions/0012-connections-for-calls.md explains why both
are in use.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
import statistics
import time
from collections.abc import Sequence
from multiprocessing import connection

from benchmarks import options
from benchmarks.running import server_process
from policysched import clock as clocks
from policysched import process
from policysched.kube.auth import credentials, kubeconfig
from policysched.kube.http import client
from tests.kube import fake_server
from tests.realcluster import process as processes

_BODY = b'{"kind":"Status","apiVersion":"v1","status":"Success","code":201}'
_ANSWER = (
    b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)
_BINDING = b'{"apiVersion":"v1","kind":"Binding","target":{"kind":"Node","name":"node-00001"}}'
_PATH = "/api/v1/namespaces/default/pods/web-1/binding"


@dataclasses.dataclass(frozen=True)
class CallCosts:
    """CPU microseconds per call, one number per round.

    Attributes:
        own: with the connections for calls.
        aiohttp: with aiohttp.
    """

    own: list[float]
    aiohttp: list[float]


def main(argv: Sequence[str]) -> int:
    """Measure both clients, and print a table."""
    parser = options.Parser(prog="python -m benchmarks calls", description=__doc__)
    parser.add_argument("--calls", type=options.at_least(1), default=2000, help="calls per round")
    parser.add_argument(
        "--rounds", type=options.at_least(1), default=5, help="rounds of each client"
    )
    args = parser.parse_args(argv)
    with serve_bindings() as url:
        costs = asyncio.run(measure_calls(url, args.calls, args.rounds))
    print_costs(costs)
    return 0


async def measure_calls(url: str, calls: int, rounds: int) -> CallCosts:
    """Return the costs of calls, after one round that opens the connections."""
    costs = CallCosts([], [])
    source = fake_server.StaticSource("token")
    first = await source.load(is_rejected=False)
    held_credentials = credentials.Credentials(source, first, clocks.SystemClock())
    api_config = kubeconfig.ApiClientConfig(url, None, held_credentials)
    async with (
        client.ApiClient(api_config, rng=random.Random(1)) as own,
        _AiohttpClient(api_config, rng=random.Random(1)) as aiohttp,
    ):
        for number in range(rounds + 1):
            for api, micros in ((own, costs.own), (aiohttp, costs.aiohttp)):
                micros_per_call = await _measure_round(api, calls)
                if number:
                    micros.append(micros_per_call)
    return costs


class _AiohttpClient(client.ApiClient):
    """Makes calls with aiohttp, as through a proxy."""

    def _open_connections(self) -> None:
        super()._open_connections()
        if self._calls is not None:
            self._calls.close()
            self._calls = None


async def _measure_round(api: client.ApiClient, calls: int) -> float:
    before = time.process_time()
    for _ in range(calls):
        await api.send_request("POST", _PATH, _BINDING)
    return (time.process_time() - before) / calls * 1e6


def print_costs(costs: CallCosts) -> None:
    """Print medians, extremes and the ratio."""
    print(f"{'client':<18}{'µs/call':>10}{'least':>8}{'most':>8}")
    for name, micros in (("call_connections", costs.own), ("aiohttp", costs.aiohttp)):
        middle = statistics.median(micros)
        print(f"{name:<18}{middle:>10.1f}{min(micros):>8.1f}{max(micros):>8.1f}")
    ratio = statistics.median(costs.aiohttp) / statistics.median(costs.own)
    print(f"aiohttp takes {ratio:.1f} times the CPU")


def serve_bindings() -> contextlib.AbstractContextManager[str]:
    """Return a context whose value is the URL of a server in a separate process."""
    return server_process.run_server(_serve)


def _serve(pipe: connection.Connection) -> None:
    asyncio.run(_answer_until_stopped(pipe))


async def _answer_until_stopped(pipe: connection.Connection) -> None:
    port = processes.free_port()
    server = await asyncio.start_server(_answer, "127.0.0.1", port)
    pipe.send(f"http://127.0.0.1:{port}")
    async with server:
        await process.run_in_thread(lambda: server_process.wait_for_end(pipe))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(_ANSWER)
            await writer.drain()
    writer.close()
