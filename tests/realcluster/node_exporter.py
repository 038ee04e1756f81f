"""One process that is the node_exporter of many nodes, with loads as a test wants them.

Each node is a target of its own: `/metrics/NODE` on one address, whose `instance` is the node's
address with the usual port, as service discovery would write it.
"""

from __future__ import annotations

import dataclasses
import http.server
import threading
import time
from typing import TYPE_CHECKING, Any

from tests.realcluster import http_thread, process

if TYPE_CHECKING:
    from collections.abc import Iterable

NIC_BYTES_PER_SECOND = 1.25e9
_GIB = float(2**30)
_SIZE_BYTES = 32 * _GIB


@dataclasses.dataclass(frozen=True)
class Load:
    """Shares (0..1) of what a node has."""

    cpu: float = 0.2
    memory: float = 0.2
    disk_io: float = 0.1
    disk_space: float = 0.3
    network: float = 0.05


@dataclasses.dataclass
class _Counters:
    """What has been used so far, in seconds at full load; `at` is a monotonic time.

    Attributes:
        first: when the node was first asked, from which on scrapes come at regular times.
    """

    at: float
    first: float | None = None
    cpu: float = 0.0
    idle: float = 0.0
    disk_io: float = 0.0
    network: float = 0.0

    def advance(self, load: Load, now: float) -> None:
        seconds = now - self.at
        self.at = now
        self.cpu += load.cpu * seconds
        self.idle += (1 - load.cpu) * seconds
        self.disk_io += load.disk_io * seconds
        self.network += load.network * seconds


class NodeExporter(http_thread.HttpThread):
    """The exporters of all nodes; a context manager.

    Attributes:
        dead: nodes whose exporter answers no more.
    """

    def __init__(self, instances: dict[str, str]) -> None:
        """Serve the nodes named by `instances`: name → value of `instance`."""
        self.dead: set[str] = set()
        self._instances = instances
        self._lock = threading.Lock()
        self._interval_seconds = 0.0
        started = time.monotonic()
        self._loads = dict.fromkeys(instances, Load())
        self._counters = {name: _Counters(started) for name in instances}
        self._server = _Server(self)
        super().__init__(self._server)

    def put(self, names: Iterable[str], load: Load) -> None:
        """Let nodes have this load from now on."""
        with self._lock:
            for name in names:
                counters = self._counters[name]
                counters.advance(self._loads[name], self._planned(counters))
                self._loads[name] = load

    def prometheus_config(self, scrape_interval_ms: int) -> dict[str, Any]:
        """Return a configuration that scrapes every node."""
        self._interval_seconds = scrape_interval_ms / 1000
        address = f"127.0.0.1:{self._server.server_address[1]}"
        targets = [
            {
                "targets": [address],
                "labels": {"instance": instance, "__metrics_path__": f"/metrics/{name}"},
            }
            for name, instance in self._instances.items()
        ]
        job = {"job_name": "node-exporter", "static_configs": targets}
        interval = f"{scrape_interval_ms}ms"
        times = {"scrape_interval": interval, "scrape_timeout": interval}
        return {"global": times, "scrape_configs": [job]}

    def text(self, path: str) -> str | None:
        """Return what the exporter behind a path says, None for a dead or unknown one."""
        name = path.removeprefix("/metrics/")
        if name in self.dead or name not in self._loads:
            return None
        with self._lock:
            load, counters = self._loads[name], self._counters[name]
            if counters.first is None:
                counters.first = time.monotonic()
            counters.advance(load, self._planned(counters))
            return _exposition(name, load, counters)

    def _planned(self, counters: _Counters) -> float:
        """Return when the scrape that is under way, or next to now, was due.

        Prometheus takes a scrape for made when it was due; counters that had gone on until the
        answer was written would make rates jitter with every delay of a busy machine.
        """
        now = time.monotonic()
        if counters.first is None or not self._interval_seconds:
            return now
        scrapes = round((now - counters.first) / self._interval_seconds)
        return max(counters.at, counters.first + scrapes * self._interval_seconds)


def _exposition(name: str, load: Load, counters: _Counters) -> str:
    """Return series as node_exporter has them: two cpus, two file systems, two disks.

    The bond is of the only network card, and so has the same traffic, as the loopback has its own.
    """
    traffic = counters.network * NIC_BYTES_PER_SECOND
    available = _SIZE_BYTES * (1 - load.memory)
    lines = [
        f'node_uname_info{{nodename="{name}",sysname="Linux"}} 1',
        *(
            f'node_cpu_seconds_total{{cpu="{cpu}",mode="{mode}"}} {value}'
            for cpu in range(2)
            for mode, value in (("idle", counters.idle), ("user", counters.cpu))
        ),
        f"node_memory_MemTotal_bytes {_SIZE_BYTES}",
        f"node_memory_MemAvailable_bytes {available}",
        f'node_disk_io_time_seconds_total{{device="nvme0n1"}} {counters.disk_io}',
        'node_disk_io_time_seconds_total{device="loop0"} 1e6',
        *(
            f'node_filesystem_{what}_bytes{{device="{device}",fstype="{kind}",mountpoint="{at}"}} '
            f"{value}"
            for device, kind, at, used in (
                ("/dev/nvme0n1p1", "ext4", "/", load.disk_space),
                ("tmpfs", "tmpfs", "/run", 0.99),
            )
            for what, value in (("size", _SIZE_BYTES), ("avail", _SIZE_BYTES * (1 - used)))
        ),
        *(
            f'node_network_{way}_bytes_total{{device="{device}"}} {traffic * share}'
            for device in ("eth0", "bond0")
            for way, share in (("receive", 1.0), ("transmit", 0.5))
        ),
        f'node_network_receive_bytes_total{{device="lo"}} {traffic * 100}',
        f'node_network_transmit_bytes_total{{device="lo"}} {traffic * 100}',
    ]
    return "\n".join(lines) + "\n"


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, exporter: NodeExporter) -> None:
        self.exporter = exporter
        super().__init__(("127.0.0.1", process.free_port()), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a Prometheus that is killed resets its connections."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections, so that scrapes are cheap

    def do_GET(self) -> None:
        """Answer a scrape."""
        assert isinstance(self.server, _Server)
        text = self.server.exporter.text(self.path)
        body = (text or "").encode()
        self.send_response(503 if text is None else 200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""
