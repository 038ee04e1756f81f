"""An editor: pygls' own client, which drives `policysched lsp` in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp import client as pygls_client

LIMIT_SECONDS = 120.0
"""Longer than a loaded machine takes for anything here."""
ROOT = pathlib.Path(__file__).resolve().parents[2]
T = TypeVar("T")


def _function(method: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that pygls can put its marks on."""

    def call(params: Any) -> None:
        method(params)

    return call


class _Client(pygls_client.LanguageClient):
    """Notes what the server tells unasked."""

    def __init__(self) -> None:
        super().__init__("test-editor", "1")
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.refreshed = 0
        self.news = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(_function(self._publish))
        self.feature(types.WINDOW_SHOW_MESSAGE)(_function(self._show))
        self.feature(types.WORKSPACE_CODE_LENS_REFRESH)(_function(self._refresh))
        self.feature(types.CLIENT_REGISTER_CAPABILITY)(_function(self._register))

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self.published[params.uri] = params
        self.news.set()

    def _show(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)
        self.news.set()

    def _refresh(self, _params: None) -> None:
        self.refreshed += 1
        self.news.set()

    def _register(self, _params: types.RegistrationParams) -> None:
        """Agree to whatever is registered."""


class Editor:
    """One editor with one server; everything waits until it is answered.

    Attributes:
        capabilities: what the server says it can do.
    """

    def __init__(
        self,
        runner: asyncio.Runner,
        folder: pathlib.Path,
        settings: dict[str, Any],
        encodings: list[types.PositionEncodingKind | str] | None,
    ) -> None:
        self.runner = runner
        self.folder = folder
        self._versions: dict[str, int] = {}
        self.client = self.run(self._start())
        able = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=encodings),
            text_document=types.TextDocumentClientCapabilities(
                rename=types.RenameClientCapabilities(prepare_support=True)
            ),
            workspace=types.WorkspaceClientCapabilities(
                code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                    dynamic_registration=True
                ),
            ),
        )
        params = types.InitializeParams(
            able, root_uri=folder.as_uri(), initialization_options=settings
        )
        self.capabilities = self.ask(self.client.initialize_async(params)).capabilities
        self.client.initialized(types.InitializedParams())

    async def _start(self) -> _Client:
        client = _Client()
        await client.start_io(
            sys.executable,
            "-m",
            "policysched",
            "lsp",
            cwd=self.folder,
            env={"PYTHONPATH": str(ROOT)},
        )
        return client

    def run(self, work: Awaitable[T]) -> T:
        """Wait for something."""

        async def limited() -> T:
            return await asyncio.wait_for(work, LIMIT_SECONDS)

        return self.runner.run(limited())

    def ask(self, answer: Awaitable[T]) -> T:
        """Wait for the answer to a request."""
        return self.run(answer)

    def until(self, happened: Callable[[], T | None]) -> T:
        """Wait until something is so; return what it then is."""

        async def wait() -> T:
            while (found := happened()) is None:
                self.client.news.clear()
                await self.client.news.wait()
            return found

        return self.run(wait())

    # ------------------------------------------------------------------------ documents

    def uri(self, name: str) -> str:
        """Return the URI of a file of the folder."""
        return (self.folder / name).as_uri()

    def identify(self, name: str) -> types.TextDocumentIdentifier:
        """Return how a request names a file."""
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str, version: int = 1) -> None:
        """Open a file with a text."""
        self._versions[name] = version
        item = types.TextDocumentItem(self.uri(name), "policy", version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(
        self, name: str, version: int, *changes: types.TextDocumentContentChangeEvent
    ) -> None:
        """Change an open file."""
        self._versions[name] = version
        sent = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        params = types.DidChangeTextDocumentParams(sent, changes)
        self.client.text_document_did_change(params)

    def replace(self, name: str, text: str) -> int:
        """Give an open file another text; return which version that is."""
        version = self._versions[name] + 1
        self.change(name, version, types.TextDocumentContentChangeWholeDocument(text))
        return version

    def close(self, name: str) -> None:
        """Close a file."""
        params = types.DidCloseTextDocumentParams(self.identify(name))
        self.client.text_document_did_close(params)

    def findings(self, name: str, version: int = 1) -> list[types.Diagnostic]:
        """Wait for what is found in a version of a file."""

        def told() -> list[types.Diagnostic] | None:
            found = self.client.published.get(self.uri(name))
            if found is None or found.version is None or found.version < version:
                return None
            return list(found.diagnostics)

        return self.until(told)

    def codes(self, name: str, version: int = 1) -> list[tuple[str, int]]:
        """Wait for findings; return their codes and 1-based lines."""
        return [
            (str(each.code), each.range.start.line + 1) for each in self.findings(name, version)
        ]


@contextlib.contextmanager
def started(
    folder: pathlib.Path,
    settings: dict[str, Any] | None = None,
    encodings: list[types.PositionEncodingKind | str] | None = None,
) -> Iterator[Editor]:
    """Start an editor in a folder, and end its server in order."""
    with asyncio.Runner() as runner:
        editor = Editor(runner, folder, settings or {}, encodings)
        try:
            yield editor
        finally:
            editor.run(editor.client.shutdown_async(None))
            editor.client.exit(None)
            editor.run(editor.client.stop())  # type: ignore[no-untyped-call]  # pygls has no type for it
        server = editor.client._server
        assert server is not None
        assert server.returncode == 0


def place(text: str, marked: str, after: str = "") -> types.Position:
    """Return the place of the end of `after` in the first `marked` of a text, in UTF-16."""
    offset = text.index(marked) + (marked.index(after) + len(after) if after else 0)
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return types.Position(line, len(before.encode("utf-16-le")) // 2)


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """Return a text after edits, as an editor applies them."""
    lines = text.split("\n")

    def offset(at: types.Position) -> int:
        if at.line >= len(lines):
            return len(text)
        before = lines[at.line].encode("utf-16-le")[: at.character * 2].decode("utf-16-le")
        return sum(len(line) + 1 for line in lines[: at.line]) + len(before)

    for edit in sorted(
        edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True
    ):
        start, end = offset(edit.range.start), offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text
