"""A way to a server that can be cut: bytes wait there, as in a network that is partitioned."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Self

from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK_BYTES = 65_536


class TcpProxy:
    """Forwards connections to a port of 127.0.0.1, until it is cut.

    Attributes:
        port: where it listens.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", process.free_port()))
        self.port: int = self._listener.getsockname()[1]
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Begin to accept."""
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.mend()
        while self._threads:
            self._threads.pop().join()

    def cut(self) -> None:
        """Hold all bytes, in both directions; connections stay, and new ones are accepted."""
        self._is_whole.clear()

    def mend(self) -> None:
        """Let new connections through; what was held on old ones is lost, and they end."""
        with self._lock:
            for each in self._open:
                _end(each)
            self._is_whole.set()

    def _start(self, work: Callable[..., None], *args: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _accept(self) -> None:
        with self._listener:
            while True:
                try:
                    near, _ = self._listener.accept()
                except OSError:
                    return
                self._start(self._serve, near)

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target_port)) as far:
            with self._lock:
                self._open |= {near, far}
            back = self._start(self._forward, far, near)
            self._forward(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := one.recv(_CHUNK_BYTES):
                self._is_whole.wait()
                other.sendall(chunk)
        _end(one)
        _end(other)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended
        connection.shutdown(socket.SHUT_RDWR)
