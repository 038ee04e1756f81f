"""The open documents, their programs, and the data about the cluster."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Sequence

from policysched import clock as clocks
from policysched import errors
from policysched.inputs import lint_settings, policy_sources
from policysched.lang import source, text_limits
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax
from policysched.language_server.project import (
    cluster_data,
    editor_settings,
    program_maker,
    programs,
)
from policysched.language_server.texts import documents, positions
from policysched.lint import settings


class Workspace:
    """The open documents of an editor, and the programs and data loaded for them.

    Args:
        clock: the clock that decides which rules have expired.
        root: the open folder; relative paths in settings are relative to it.
    """

    def __init__(self, clock: clocks.Clock, root: pathlib.Path | None = None) -> None:
        """Start without documents, with default settings and the installed plugins."""
        self.clock = clock
        self.root = root or pathlib.Path.cwd()
        self.options = editor_settings.EditorSettings()
        self.encoding = positions.PositionEncoding.UTF_16
        self._documents: dict[str, documents.EditorDocument] = {}
        self._folders: dict[pathlib.Path, tuple[source.SourceText, ...]] = {}
        self._settings: dict[pathlib.Path, settings.LintSettings] = {}
        self._programs: dict[str, programs.PolicyProgram] = {}
        self._maker = program_maker.ProgramMaker(clock, cluster_data.LoadedClusterData())

    # ------------------------------------------------------------------------ documents

    @property
    def loaded(self) -> cluster_data.LoadedClusterData:
        """The data about the cluster."""
        return self._maker.loaded

    @property
    def opened(self) -> Sequence[documents.EditorDocument]:
        """All open documents."""
        return tuple(self._documents.values())

    def open_document(
        self, name: str, text: str, version: int, uri: str = ""
    ) -> documents.EditorDocument:
        """Open a document, whose text takes precedence over the file on disk."""
        document = documents.EditorDocument(name, text, version, self.encoding, uri)
        self._documents[name] = document
        self.forget_files()
        return document

    def change_document(
        self, name: str, changes: Sequence[documents.ContentChange], version: int
    ) -> documents.EditorDocument | None:
        """Apply changes to a document and return it; None if it is not open."""
        document = self._documents.get(name)
        if document is not None:
            document = self._documents[name] = document.apply_changes(changes, version)
        return document

    def close_document(self, name: str) -> None:
        """Close a document, so that the file on disk is used again."""
        self._documents.pop(name, None)
        self._programs.pop(name, None)
        self.forget_files()

    def get_document(self, name: str) -> documents.EditorDocument | None:
        """Return a document, read from disk if it is not open; None if it cannot be read."""
        if name in self._documents:
            return self._documents[name]
        try:
            text = pathlib.Path(name).read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError, ValueError):
            return None
        return documents.EditorDocument(name, text, encoding=self.encoding)

    def forget_files(self) -> None:
        """Drop cached files and settings, because the files may have changed."""
        self._folders.clear()
        self._settings.clear()

    # ------------------------------------------------------------------------ programs

    def get_program(self, document: documents.EditorDocument) -> programs.PolicyProgram:
        """Return the program that contains the texts of a document."""
        texts = tuple(sorted(self._list_program_texts(document), key=lambda text: text.name))
        chosen = self._get_lint_settings(document)
        kept = next(
            (
                each
                for each in (self._programs.get(document.name), *self._programs.values())
                if each is not None and each.texts == texts and each.chosen == chosen
            ),
            None,
        )
        self._programs[document.name] = kept = kept or self._maker.make_program(texts, chosen)
        return kept

    def drop_cached_programs(self, loaded: cluster_data.LoadedClusterData | None = None) -> None:
        """Drop all programs, because the settings or the cluster have changed."""
        self._maker = program_maker.ProgramMaker(self.clock, loaded or self.loaded)
        self._programs.clear()

    def _get_lint_settings(self, document: documents.EditorDocument) -> settings.LintSettings:
        folder = pathlib.Path(document.name).absolute().parent
        if folder not in self._settings:
            try:
                self._settings[folder] = lint_settings.find_lint_settings(folder)[0]
            except (errors.InputError, OSError, ValueError):  # `policysched lint` reports it
                self._settings[folder] = settings.LintSettings()
        return self._settings[folder]

    def _list_program_texts(
        self, document: documents.EditorDocument
    ) -> Iterator[source.SourceText]:
        own = [part.text for part in document.policies]
        yield from own
        if document.is_manifest or not pathlib.PurePath(document.name).is_absolute():
            return
        others = {text.name: text for text in self._read_other_folder_policies(document)}
        for name in self._select_program_text_names(own[0], others):
            yield others[name]

    def _select_program_text_names(
        self, own: source.SourceText, others: dict[str, source.SourceText]
    ) -> Sequence[str]:
        """Return the names of the other texts in the program of a text."""
        if self.options.program == "folder":
            return sorted(others)
        found: list[str] = []
        pending = [own]
        while pending and len(found) < text_limits.MAX_TEXTS:
            for key in _list_imports(pending.pop()):
                for name, text in others.items():
                    if text.key == key and name not in found:
                        found.append(name)
                        pending.append(text)
        return found

    def _read_other_folder_policies(
        self, document: documents.EditorDocument
    ) -> Iterator[source.SourceText]:
        """Yield the other policies in the folder; open documents take precedence over files."""
        folder = pathlib.Path(document.name).parent
        if folder not in self._folders:
            self._folders[folder] = _read_folder_texts(folder)
        opened = {
            name: each.policies[0].text
            for name, each in self._documents.items()
            if pathlib.Path(name).parent == folder and name.endswith(policy_sources.SUFFIX)
        }
        on_disk = {text.name: text for text in self._folders[folder]}
        for name, text in (on_disk | opened).items():
            if name != document.name:
                yield text


def _list_imports(text: source.SourceText) -> list[str]:
    items = parser.parse_policy_text(text).file.items
    return [item.key.text for item in items if isinstance(item, syntax.Import)]


def _read_folder_texts(folder: pathlib.Path) -> tuple[source.SourceText, ...]:
    try:
        return tuple(policy_sources.read_policy_texts([str(folder)]))
    except errors.PolicySchedError:  # the file has no policies yet, or is not text
        return ()
