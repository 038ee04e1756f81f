"""Answer requests in JSON: parameters are checked, and errors are JSON as well."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from policysched import errors
from policysched.serving import http_server, query_parameters

_MAX_TEXT_CHARACTERS = 512
"""Limit of a parameter; names of Kubernetes have at most 253 characters."""
_OK, _BAD_REQUEST, _NOT_FOUND, _BAD_GATEWAY = 200, 400, 404, 502

Document: TypeAlias = dict[str, Any] | msgspec.Struct | msgspec.Raw
MakeDocument: TypeAlias = Callable[[http_server.QueryParameters], Awaitable[Document]]


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """How an answer is made: the function, and the names of its required and other parameters.

    The function raises LookupError or InputError for a name that does not exist, ValueError for a
    value that it cannot use, and RemoteError if another server that it asks gives no answer.
    """

    make: MakeDocument
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


def bind_route(route: Route) -> http_server.MakePage:
    """Return the page of a route."""

    async def make_page(query: http_server.QueryParameters) -> http_server.HttpPage:
        async def make() -> Document:
            _check_parameters(query, route)
            return await route.make(query)

        return await answer(make)

    return make_page


async def answer(make: Callable[[], Awaitable[Document]]) -> http_server.HttpPage:
    """Return the document that `make` returns as JSON, or an error that the page shows."""
    try:
        return make_json_answer(await make())
    except LookupError as error:
        name = str(error.args[0])[:_MAX_TEXT_CHARACTERS]
        return _make_error_answer(f"`{name}` does not exist", _NOT_FOUND)
    except errors.InputError as error:
        return _make_error_answer(str(error), _NOT_FOUND)
    except errors.RemoteError as error:
        return _make_error_answer(str(error), _BAD_GATEWAY)
    except ValueError as error:
        return _make_error_answer(str(error), _BAD_REQUEST)


def make_json_answer(document: Document, status: int = _OK) -> http_server.HttpPage:
    """Return a document as JSON."""
    return http_server.HttpPage(
        msgspec.json.encode(document), http_server.JSON, status, is_compressed=True
    )


def _make_error_answer(message: str, status: int) -> http_server.HttpPage:
    return make_json_answer({"error": message}, status)


def _check_parameters(query: http_server.QueryParameters, route: Route) -> None:
    """Raise ParameterError if a parameter is unknown, missing or too long."""
    known = (*route.needs, *route.takes)
    query_parameters.check_names(query, known)
    for name in known:
        text = query.get_one(name)
        if name in route.needs and not text:
            raise query_parameters.ParameterError(f"the parameter `{name}` is missing")
        if len(text) > _MAX_TEXT_CHARACTERS:
            raise query_parameters.ParameterError(f"the parameter `{name}` is too long")
