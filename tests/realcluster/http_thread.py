"""An HTTP server that runs in a thread."""

from __future__ import annotations

import http.server
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import types

_POLL_SECONDS = 0.05
"""How long the thread needs at most to notice that it has to end."""


class HttpThread:
    """Serves from entry to exit; the base of servers that tests use as context managers."""

    def __init__(self, server: http.server.HTTPServer) -> None:
        """Serve requests to `server`, which has a port already."""
        self._http_server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,))

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """Stop, and free the port."""
        self._http_server.shutdown()
        self._http_server.server_close()
        self._thread.join()
