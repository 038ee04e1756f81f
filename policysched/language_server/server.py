"""The language server: pygls transports the messages, and `session` answers them.

`workspace` stores the texts instead of pygls, because pygls also splits lines at characters that do
not end a line in the protocol. An exception in a handler is logged and answered with an error; the
server continues.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from lsprotocol import types
from pygls import capabilities, exceptions
from pygls.lsp import server as pygls_server
from pygls.protocol import language_server

import policysched
from policysched import clock as clocks
from policysched.language_server import protocol_conversion, session
from policysched.language_server.features import completion, renaming, semantic_highlighting
from policysched.language_server.project import cluster_data, editor_settings, workspace
from policysched.language_server.texts import documents, positions
from policysched.observability import logs

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 1.0
"""Interval in seconds between checks of the cluster file."""
_LIVE_SECONDS = 300.0
"""Interval in seconds between reads of a live cluster and of Prometheus."""
_TOLD_ANYWAY = ("Unable to handle message", "Unable to deserialize message\n%s")
"""Log messages of pygls that are dropped because `report_server_error` logs the same errors."""
_WATCHED = ("**/*.policy", "**/*.yaml", "**/*.yml", "**/.policysched.toml", "**/pyproject.toml")


class _PolicyServerProtocol(language_server.LanguageServerProtocol):
    """Forwards document notifications to the server's own workspace."""

    _server: PolicyLanguageServer

    @language_server.lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Open a document."""
        self._server.open_document(params)

    @language_server.lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document."""
        self._server.change_document(params)

    @language_server.lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Close a document."""
        self._server.close_document(params)


class PolicyLanguageServer(pygls_server.LanguageServer):
    """A pygls server that publishes findings and answers requests about policies.

    Args:
        clock: the clock that decides which rules have expired.
    """

    def __init__(self, clock: clocks.Clock) -> None:
        """Create the server without starting its tasks."""
        super().__init__("policysched", policysched.__version__, protocol_cls=_PolicyServerProtocol)
        self.files = workspace.Workspace(clock)
        self.session = session.EditorSession(self.files)
        self.was_shut_down = False
        self._pending: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_seconds = 0.0
        self._told: tuple[str, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._read_at = 0.0
        _register_session_handlers(self)

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ANN401 - untyped in pygls
        """Log an error of the server or of a notification, without notifying the client."""
        is_ours = source is exceptions.FeatureNotificationError
        _LOG.error("%s: %s", getattr(source, "__name__", source), error, exc_info=is_ours)

    # ------------------------------------------------------------------------ documents

    def open_document(self, params: types.DidOpenTextDocumentParams) -> None:
        """Open a document and publish its findings."""
        sent = params.text_document
        self.files.open_document(
            protocol_conversion.convert_uri_to_path(sent.uri), sent.text, sent.version, sent.uri
        )
        self.schedule_publishing(0.0)

    def change_document(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document, and publish its findings after a delay without more changes."""
        sent = params.text_document
        changes = list(protocol_conversion.convert_content_changes(params.content_changes))
        self.files.change_document(
            protocol_conversion.convert_uri_to_path(sent.uri), changes, sent.version
        )
        self.schedule_publishing(self.files.options.delay_milliseconds / 1000)

    def close_document(self, params: types.DidCloseTextDocumentParams) -> None:
        """Close a document and clear its findings."""
        self.files.close_document(protocol_conversion.convert_uri_to_path(params.text_document.uri))
        empty = types.PublishDiagnosticsParams(params.text_document.uri, [])
        self.text_document_publish_diagnostics(empty)
        self.schedule_publishing(0.0)

    # ------------------------------------------------------------------------ findings

    def schedule_publishing(self, delay_seconds: float) -> None:
        """Publish the findings of all open documents after a delay without more changes.

        The delay is at least the duration of the last run, so that slow checks do not hinder
        typing. A delay of 0 is not extended.
        """
        if self._pending is not None:
            self._pending.cancel()
        loop = asyncio.get_running_loop()
        delay = max(delay_seconds, self._last_seconds if delay_seconds else 0.0)
        self._pending = loop.call_later(delay, self._publish_all_findings)

    def _publish_all_findings(self) -> None:
        """Publish the findings of all open documents, and record the duration."""
        self._pending = None
        loop = asyncio.get_running_loop()
        start = loop.time()
        for document in self.files.opened:
            try:
                self._publish_findings(document)
            except Exception:  # noqa: BLE001 - an error in one document must not affect the others
                _LOG.exception("findings of `%s`", document.name)
        self._last_seconds = loop.time() - start

    def _publish_findings(self, document: documents.EditorDocument) -> None:
        found = self.session.list_diagnostics(document)
        uri = protocol_conversion.make_document_uri(document)
        params = types.PublishDiagnosticsParams(uri, found, document.version)
        self.text_document_publish_diagnostics(params)

    # ------------------------------------------------------------------------ settings

    def apply_settings(self, sent: Any) -> None:  # noqa: ANN401 - untyped data from the client
        """Apply the valid settings; load the files and servers that they name in the background."""
        wanted, problems = editor_settings.decode_settings(sent)
        for problem in problems:
            self.warn_of_setting(problem)
        if wanted != self.files.options:
            self.files.options = wanted
            self.files.drop_cached_programs()
            self._spawn_task(self.load_cluster_data())

    async def load_cluster_data(self) -> None:
        """Load the data from the cluster and from Prometheus, and check all documents again."""
        wanted = self.files.options
        self._read_at = asyncio.get_running_loop().time()
        self._stamp = cluster_data.get_cluster_file_stamp(wanted, self.files.root)
        try:
            loaded = await asyncio.to_thread(
                cluster_data.load_cluster_data, wanted, self.files.root
            )
        except Exception:  # noqa: BLE001 - the refresh task must continue
            _LOG.exception("the inputs of the settings cannot be read")
            return
        if wanted != self.files.options:
            return  # newer settings are already being loaded
        if loaded.problems != self._told:
            self._told = loaded.problems
            for problem in loaded.problems:
                self.warn_of_setting(problem)
        self.files.drop_cached_programs(loaded)
        self.schedule_publishing(0.0)
        self._request_client_refresh()

    async def refresh_cluster_data(self) -> None:
        """Reload the cluster file when it changes, and live sources at intervals."""
        loop = asyncio.get_running_loop()
        while True:
            wanted = self.files.options
            is_live = wanted.cluster is None and (wanted.kubeconfig or wanted.context)
            is_due = loop.time() - self._read_at > _LIVE_SECONDS
            has_changed = (
                cluster_data.get_cluster_file_stamp(wanted, self.files.root) != self._stamp
            )
            if has_changed or (is_due and (is_live or wanted.prometheus)):
                await self.load_cluster_data()
            await asyncio.sleep(_POLL_SECONDS)

    def start_tasks(self) -> None:
        """Start the background tasks."""
        self._spawn_task(self.refresh_cluster_data())

    def _spawn_task(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _request_client_refresh(self) -> None:
        """Ask the client to refresh the code lenses, which depend on the cluster."""
        shown = self.client_capabilities.workspace
        if shown is not None and shown.code_lens is not None and shown.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def warn_of_setting(self, problem: str) -> None:
        """Log a problem with the settings and show it in the editor."""
        _LOG.warning("settings: %s", problem)
        message = types.ShowMessageParams(types.MessageType.Warning, f"policysched: {problem}")
        self.window_show_message(message)


# ---------------------------------------------------------------------------- requests


def _register_session_handlers(server: PolicyLanguageServer) -> None:
    """Register the session's methods as handlers of requests."""
    _register_lifecycle_handlers(server)
    _register_file_handlers(server)
    answers = server.session
    plain: dict[str, Callable[[Any], Any]] = {
        types.TEXT_DOCUMENT_HOVER: answers.hover,
        types.TEXT_DOCUMENT_DEFINITION: answers.definition,
        types.TEXT_DOCUMENT_REFERENCES: answers.references,
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: answers.highlights,
        types.TEXT_DOCUMENT_PREPARE_RENAME: answers.prepare_rename,
        types.TEXT_DOCUMENT_FORMATTING: answers.formatting,
        types.TEXT_DOCUMENT_RANGE_FORMATTING: answers.range_formatting,
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: answers.document_symbols,
        types.TEXT_DOCUMENT_FOLDING_RANGE: answers.folding,
        types.TEXT_DOCUMENT_CODE_LENS: answers.code_lenses,
        types.TEXT_DOCUMENT_INLAY_HINT: answers.inlay_hints,
    }
    for method, answer in plain.items():
        _register_request_handler(server, method, None, answer)
    triggers = types.CompletionOptions(trigger_characters=list(completion.TRIGGERS))
    _register_request_handler(server, types.TEXT_DOCUMENT_COMPLETION, triggers, answers.completion)
    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
    offered = types.CodeActionOptions(code_action_kinds=kinds)
    _register_request_handler(
        server, types.TEXT_DOCUMENT_CODE_ACTION, offered, answers.code_actions
    )
    legend = types.SemanticTokensLegend(list(semantic_highlighting.KINDS), [])
    _register_request_handler(
        server, types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend, answers.semantic_tokens
    )
    _register_request_handler(
        server, types.TEXT_DOCUMENT_RENAME, None, lambda params: _answer_rename(answers, params)
    )


def _register_request_handler(
    server: PolicyLanguageServer, method: str, offered: object, answer: Callable[[Any], Any]
) -> None:
    """Register a function as the handler of a request."""

    def handle(params: Any) -> Any:  # noqa: ANN401 - the types depend on the method
        return answer(params)

    server.feature(method, offered)(handle)


def _answer_rename(
    answers: session.EditorSession, params: types.RenameParams
) -> types.WorkspaceEdit:
    found = answers.rename(params)
    if isinstance(found, renaming.RenameRefusal):
        raise exceptions.JsonRpcInvalidParams(found.reason)
    return found


def _register_lifecycle_handlers(server: PolicyLanguageServer) -> None:
    """Register the handlers for the server's lifecycle and settings."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        """Apply the root folder, position encoding and settings of the client."""
        root = params.root_uri or (
            params.workspace_folders[0].uri if params.workspace_folders else None
        )
        if root:
            server.files.root = pathlib.Path(protocol_conversion.convert_uri_to_path(root))
        chosen = capabilities.ServerCapabilitiesBuilder.choose_position_encoding(
            params.capabilities
        )
        server.files.encoding = positions.PositionEncoding(str(getattr(chosen, "value", chosen)))
        server.apply_settings(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        server.start_tasks()
        await _register_file_watchers(server)
        await _request_workspace_settings(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        if params.settings:
            server.apply_settings(params.settings)
        else:
            await _request_workspace_settings(server)

    @server.feature(types.SHUTDOWN)
    def shut_down(*_params: object) -> None:
        server.was_shut_down = True


def _register_file_handlers(server: PolicyLanguageServer) -> None:
    """Register the handlers for changes to files on disk."""

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(_params: types.DidChangeWatchedFilesParams) -> None:
        server.files.forget_files()
        server.schedule_publishing(0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(_params: types.DidSaveTextDocumentParams) -> None:
        server.files.forget_files()
        server.schedule_publishing(0.0)


async def _register_file_watchers(server: PolicyLanguageServer) -> None:
    """Register file watchers with the client, if it supports them."""
    able = server.client_capabilities.workspace
    watch = able.did_change_watched_files if able is not None else None
    if watch is None or not watch.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
    registered = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    registration = types.Registration("watched", method, registered)
    await server.client_register_capability_async(types.RegistrationParams([registration]))


async def _request_workspace_settings(server: PolicyLanguageServer) -> None:
    """Request the workspace settings, if the client supports such requests."""
    able = server.client_capabilities.workspace
    if able is None or not able.configuration:
        return
    wanted = types.ConfigurationParams([types.ConfigurationItem(section=editor_settings.NAME)])
    found = await server.workspace_configuration_async(wanted)
    if found and found[0]:
        server.apply_settings(found[0])


# ---------------------------------------------------------------------------- transport


def serve_on_stdio(clock: clocks.Clock) -> bool:
    """Serve on standard input and output until the client ends; return whether it sent `shutdown`.

    Other output goes to standard error, because it would break the protocol on standard output.
    """
    logs.configure_logging(clock, "warning")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_shorten_client_errors)
    server = PolicyLanguageServer(clock)
    with _redirect_stdout_to_stderr() as stdout:
        try:
            server.start_io(sys.stdin.buffer, stdout)
        except (MemoryError, OverflowError):
            _LOG.critical("the announced message is larger than the memory")
    return server.was_shut_down


def _shorten_client_errors(record: logging.LogRecord) -> bool:
    """Shorten log records of client errors to one line, and drop duplicate records."""
    if record.msg in _TOLD_ANYWAY:
        return False
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, exceptions.JsonRpcException):
        record.msg, record.args = f"{record.getMessage()}: {error}", ()
        record.exc_info = None
    return True


def _redirect_stdout_to_stderr() -> BinaryIO:
    """Return a private copy of standard output, and redirect standard output to standard error."""
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stdout
