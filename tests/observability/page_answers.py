"""Asks pages below /debug/ as the server does, and checks the form of what they answer."""

from __future__ import annotations

import inspect
from typing import Any

import orjson

from policysched.serving import http_server
from tests import report_schemas


async def ask_page(make: http_server.MakePage, /, **parameters: str) -> http_server.HttpPage:
    """Return the answer of a page."""
    query = http_server.QueryParameters({key: (text,) for key, text in parameters.items()})
    made = make(query)
    return await made if inspect.isawaitable(made) else made


async def ask(make: http_server.MakePage, name: str, /, **parameters: str) -> Any:
    """Return the answer of a page, which must fit the schema `page-NAME`."""
    page = await ask_page(make, **parameters)
    assert page.status == 200, page.body
    found = orjson.loads(page.body)
    report_schemas.check_report(found, f"page-{name}")
    return found
