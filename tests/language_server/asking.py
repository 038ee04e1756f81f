"""Asks a session everything about a text, without a server."""

from __future__ import annotations

import json
import pathlib
import random

from lsprotocol import converters, types

from policysched import clock as clocks
from policysched.language_server import session
from policysched.language_server.features import renaming
from policysched.language_server.project import workspace
from policysched.language_server.texts import documents

_CONVERTER = converters.get_converter()
_HEADER = "kind: ConfigMap\ndata:\n  web.policy: |\n"


def manifest(text: str) -> str:
    """Return a ConfigMap that holds a policy."""
    return _HEADER + "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))


class Asking:
    """A session in a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.files = workspace.Workspace(clocks.SystemClock(), folder)
        self.session = session.EditorSession(self.files)

    def open(self, name: str, text: str) -> documents.EditorDocument:
        """Open a file of the folder."""
        return self.files.open_document(str(self.folder / name), text, 1)

    def everything(self, text: str, rng: random.Random) -> None:
        """Ask all there is to ask about a text, as a file or in a manifest."""
        is_manifest = rng.random() < 0.3
        name = "a.yaml" if is_manifest else "a.policy"
        document = self.open(name, manifest(text) if is_manifest else text)
        here = types.TextDocumentIdentifier((self.folder / name).as_uri())
        place = types.Position(
            *document.line_index.find_position(rng.randint(0, len(document.text)))
        )
        end = types.Position(*document.line_index.find_position(rng.randint(0, len(document.text))))
        stretch = types.Range(min(place, end), max(place, end))
        ask = self.session
        answers = [
            ask.list_diagnostics(document),
            ask.code_actions(types.CodeActionParams(here, stretch, types.CodeActionContext([]))),
            ask.completion(types.CompletionParams(here, place)),
            ask.hover(types.HoverParams(here, place)),
            ask.definition(types.DefinitionParams(here, place)),
            ask.references(
                types.ReferenceParams(types.ReferenceContext(include_declaration=True), here, place)
            ),
            ask.highlights(types.DocumentHighlightParams(here, place)),
            ask.prepare_rename(types.PrepareRenameParams(here, place)),
            ask.formatting(types.DocumentFormattingParams(here, types.FormattingOptions(2, True))),
            ask.range_formatting(
                types.DocumentRangeFormattingParams(here, stretch, types.FormattingOptions(2, True))
            ),
            ask.document_symbols(types.DocumentSymbolParams(here)),
            ask.folding(types.FoldingRangeParams(here)),
            ask.semantic_tokens(types.SemanticTokensParams(here)),
            ask.code_lenses(types.CodeLensParams(here)),
            ask.inlay_hints(types.InlayHintParams(here, stretch)),
        ]
        renamed = ask.rename(types.RenameParams(here, place, "other"))
        if not isinstance(renamed, renaming.RenameRefusal):
            answers.append(renamed)
        for answer in answers:
            json.dumps(_CONVERTER.unstructure(answer))
