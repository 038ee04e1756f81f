"""`policysched ui` as a process of its own, for a browser."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.realcluster import process


@contextlib.contextmanager
def serve_page(
    *words: str,
    program: Sequence[str] = (sys.executable, "-m", "policysched"),
    folder: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run `policysched ui` with options, and yield the URL that it prints."""
    address = f"127.0.0.1:{process.free_port()}"
    command = [*program, "ui", "--address", address, *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        served.stdout.readline()
        try:
            yield served.stdout.readline().strip()
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
