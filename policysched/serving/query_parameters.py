"""Read query parameters strictly: an unknown or repeated parameter is an error."""

from __future__ import annotations

import inspect
from collections.abc import Collection

from policysched.serving import http_server

MAX_COUNT = 2**53
"""The largest number that all readers of JSON represent exactly."""


class ParameterError(ValueError):
    """A parameter is unknown, repeated or invalid; the text says which."""


def check_names(query: http_server.QueryParameters, known: Collection[str]) -> None:
    """Check that each parameter is in `known` and has one value.

    Raises:
        ParameterError: a parameter is unknown or repeated.
    """
    for name in query.list_names():
        if name not in known:
            raise ParameterError(f"the parameter `{name[:64]}` is unknown")
        if len(query.get_all(name)) > 1:
            raise ParameterError(f"the parameter `{name}` is given more than once")


def parse_count(
    query: http_server.QueryParameters, name: str, default: int = 0, most: int = MAX_COUNT
) -> int:
    """Return a parameter as a whole number from 0 to `most`; `default` if it is absent.

    Raises:
        ParameterError: it is no such number.
    """
    text = query.get_one(name, str(default))
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_COUNT))
    if not is_number or int(text) > most:
        raise ParameterError(f"the parameter `{name}` must be a whole number from 0 to {most}")
    return int(text)


def answer_query_errors(make: http_server.MakePage) -> http_server.MakePage:
    """Return a page that answers a ParameterError with status 400."""

    async def make_page(query: http_server.QueryParameters) -> http_server.HttpPage:
        try:
            made = make(query)
            return await made if inspect.isawaitable(made) else made
        except ParameterError as error:
            return http_server.HttpPage(f"{error}\n".encode(), status=400)

    return make_page
