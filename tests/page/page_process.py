"""`policysched ui` as a process of its own, for a browser."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from tests.realcluster import process, warm_start


@contextlib.contextmanager
def serve_page(
    *words: str,
    program: Sequence[str] = warm_start.PROGRAM,
    folder: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run `policysched ui` with options, and yield the URL that it prints."""
    with start_page(*words, program=program, folder=folder, environment=environment) as lines:
        lines.readline()
        yield lines.readline().strip()


@contextlib.contextmanager
def start_page(
    *words: str,
    program: Sequence[str] = warm_start.PROGRAM,
    folder: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[TextIO]:
    """Run `policysched ui` with options, and yield its standard output."""
    command = [*program, "ui", "--address", f"127.0.0.1:{process.free_port()}", *words]
    reading, writing = os.pipe()
    with os.fdopen(reading) as lines:
        served = warm_start.start(command, writing, 2, folder=folder, environment=environment)
        os.close(writing)
        try:
            yield lines
        finally:
            served.terminate()
            assert served.wait(30) == 0


def open_view(page: Any, base: str, address: str) -> None:
    """Open a view, such as `#/cluster`, in Playwright's page, and wait until it is whole."""
    page.goto(base + address)
    shown = f"main[data-address={json.dumps(address)}]"
    page.wait_for_selector(f"{shown}:has(*):not(:has([role=status]))")


def replace_all(page: Any, text: str) -> None:
    """Paste a text in the place of the one in the editor."""
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.eval_on_selector(
        ".cm-content",
        """(content, text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          const settings = { clipboardData, bubbles: true, cancelable: true };
          content.dispatchEvent(new ClipboardEvent("paste", settings));
        }""",
        text,
    )
