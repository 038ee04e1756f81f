"""A client that lives through outages of the API server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from tests.realcluster import api_client
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    from collections.abc import Mapping

_ATTEMPTS, _PAUSE_SECONDS = 300, 0.5
_DONE_BEFORE = {"POST": 409, "DELETE": 404}
"""What the server answers to a call that was carried out before, without our knowing it."""


class PatientClient(api_client.ApiClient):
    """Makes each call until the API server has answered it."""

    @classmethod
    def of(cls, plane: control_planes.ControlPlane) -> Self:
        """Return a client of the administrator."""
        token = plane.tokens[control_planes.ADMIN]
        return cls(plane.server, token=token, ca_file=plane.ca_file)

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = api_client.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the body of the answer, `{}` where a lost answer stood for success.

        Raises:
            ApiError: the server refused.
            TransportError: it was away for minutes.
        """
        pause = threading.Event()
        for attempt in range(_ATTEMPTS):
            try:
                return super().raw(method, path, body, content_type=content_type, query=query)
            except api_client.ApiError as error:
                if attempt and error.status == _DONE_BEFORE.get(method):
                    return b"{}"
                if error.status < 500 and error.status != 429:
                    raise
            except api_client.TransportError:
                pass
            pause.wait(_PAUSE_SECONDS)
        raise api_client.TransportError(f"{method} {path}: no answer in {_ATTEMPTS} attempts")
