"""Answers to the requests of the protocol, independent of the transport.

Each method accepts the parameters of a request and returns its result. For a position outside all
policies, or in a document that cannot be read, the result is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from lsprotocol import types

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.language_server import protocol_conversion
from policysched.language_server.features import (
    actions,
    completion,
    formatting,
    hover,
    outline,
    renaming,
    selector_matches,
    semantic_highlighting,
)
from policysched.language_server.project import programs, workspace
from policysched.language_server.texts import documents, embedded_policies
from policysched.language_server.words import names


class _PositionParams(Protocol):
    """The parameters of a request about a position in a document."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


class EmbeddedPolicyPosition(NamedTuple):
    """A position in a policy of a document."""

    document: documents.EditorDocument
    program: programs.PolicyProgram
    part: embedded_policies.EmbeddedPolicy
    offset: int

    @property
    def text_name(self) -> str:
        """The name of the policy text, which identifies it in the program."""
        return self.part.text.name


class EditorSession:
    """Answers the requests of one client.

    Args:
        files: the workspace with the documents and programs.
    """

    def __init__(self, files: workspace.Workspace) -> None:
        self.files = files

    # ------------------------------------------------------------------------ findings

    def list_diagnostics(self, document: documents.EditorDocument) -> list[types.Diagnostic]:
        """Return the findings of check and lint in a document."""
        found = [
            protocol_conversion.make_unmapped_key_diagnostic(document, key)
            for key in document.unmapped_policy_keys
        ]
        if not document.policies:
            return found
        program = self.files.get_program(document)
        for finding in program.lint_result.findings:
            part = document.get_policy(finding.span.file)
            if part is not None:
                found.append(
                    protocol_conversion.make_diagnostic(
                        document, part, finding, self._make_span_locator(document)
                    )
                )
        return found

    def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return the fixes, ignore comments and fix-all action for a range."""
        document = self._get_document(params.text_document)
        if document is None:
            return []
        found = []
        for part, first, last in _iterate_policies_in_range(document, params.range):
            program = self.files.get_program(document)
            offered = [*actions.list_code_actions(program, part.text.name, first, last)]
            if _wants_fix_all_action(params.context):
                offered += actions.make_fix_all_actions(program, part.text.name)
            found += [
                self._make_code_action(document, part, action)
                for action in offered
                if _is_action_kind_wanted(action.kind, params.context.only)
            ]
        return found

    def _make_code_action(
        self,
        document: documents.EditorDocument,
        part: embedded_policies.EmbeddedPolicy,
        action: actions.EditorAction,
    ) -> types.CodeAction:
        """Return an action with its finding and edits in the types of the protocol."""
        about = action.finding
        found = None
        if about is not None:
            found = [
                protocol_conversion.make_diagnostic(
                    document, part, about, self._make_span_locator(document)
                )
            ]
        return types.CodeAction(
            title=action.title,
            kind=types.CodeActionKind(action.kind),
            diagnostics=found,
            is_preferred=action.is_preferred or None,
            edit=self._make_workspace_edit(document, action.edits),
        )

    # ------------------------------------------------------------------------ words

    def completion(self, params: types.CompletionParams) -> types.CompletionList | None:
        """Return the completion proposals at a position."""
        place = self._find_policy_position(params)
        if place is None:
            return None
        found = completion.propose_completions(place.program, place.text_name, place.offset)
        return protocol_conversion.make_completion_list(place.document, place.part, found)

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return the hover content at a position."""
        place = self._find_policy_position(params)
        if place is None:
            return None
        found = hover.build_hover(place.program, place.text_name, place.offset)
        return (
            None
            if found is None
            else protocol_conversion.make_hover(place.document, place.part, found)
        )

    # ------------------------------------------------------------------------ names

    def definition(self, params: types.DefinitionParams) -> types.Location | None:
        """Return the location of the definition of the name at a position."""
        place = self._find_policy_position(params)
        named = place and place.program.name_index.find_name_at(place.text_name, place.offset)
        if place is None or not named:
            return None
        if named.symbol.kind == "text":
            return self._locate_imported_text(place, named.symbol.name)
        found = place.program.name_index.find_definition(named.symbol)
        return None if found is None else self._make_span_locator(place.document)(found.span)

    def _locate_imported_text(
        self, place: EmbeddedPolicyPosition, key: str
    ) -> types.Location | None:
        text = next((each for each in place.program.texts if each.key == key), None)
        return None if text is None else self._make_span_locator(place.document)(text.span(0, 0))

    def references(self, params: types.ReferenceParams) -> list[types.Location]:
        """Return the locations of the name at a position."""
        place = self._find_policy_position(params)
        locate = self._make_span_locator(place.document) if place is not None else None
        found = (
            locate(each.span)
            for each in self._find_occurrences(place)
            if locate is not None and (params.context.include_declaration or not each.is_definition)
        )
        return [each for each in found if each is not None]

    def highlights(self, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        """Return the occurrences, in the same document, of the name at a position."""
        place = self._find_policy_position(params)
        found = []
        for each in self._find_occurrences(place):
            part = place.document.get_policy(each.span.file) if place is not None else None
            if place is not None and part is not None:
                kind = types.DocumentHighlightKind.Write
                if not each.is_definition:
                    kind = types.DocumentHighlightKind.Read
                where = protocol_conversion.make_span_range(place.document, part, each.span)
                found.append(types.DocumentHighlight(where, kind))
        return found

    def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        """Return the range of the name at a position if it can be renamed."""
        place = self._find_policy_position(params)
        if place is None:
            return None
        found = renaming.find_rename_target(place.program, place.text_name, place.offset)
        return (
            None
            if found is None
            else protocol_conversion.make_span_range(place.document, place.part, found.span)
        )

    def rename(self, params: types.RenameParams) -> types.WorkspaceEdit | renaming.RenameRefusal:
        """Return the edits to all documents that rename a symbol, or the reason for a refusal."""
        place = self._find_policy_position(params)
        if place is None:
            return renaming.RenameRefusal("there is no policy here")
        found = renaming.rename_symbol(
            place.program, place.text_name, place.offset, params.new_name
        )
        if isinstance(found, renaming.RenameRefusal):
            return found
        return self._make_workspace_edit(place.document, found)

    def _find_occurrences(
        self, place: EmbeddedPolicyPosition | None
    ) -> Sequence[names.NameOccurrence]:
        if place is None:
            return ()
        named = place.program.name_index.find_name_at(place.text_name, place.offset)
        return () if named is None else place.program.name_index.find_occurrences(named.symbol)

    # ------------------------------------------------------------------------ whole documents

    def formatting(self, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        """Return the edits that format a document canonically."""
        document = self._get_document(params.text_document)
        return [
            protocol_conversion.make_text_edit(document, part, edit)
            for part in (document.policies if document else ())
            for edit in formatting.make_formatting_edits(part.text)
            if document is not None
        ]

    def range_formatting(self, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit]:
        """Return the edits that format a range of a document canonically."""
        document = self._get_document(params.text_document)
        if document is None:
            return []
        found = []
        for part, first, last in _iterate_policies_in_range(document, params.range):
            edits = formatting.make_range_formatting_edits(part.text, first, last)
            found += [protocol_conversion.make_text_edit(document, part, edit) for edit in edits]
        return found

    def document_symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        """Return the items of a document, which in a manifest are grouped by key."""
        document = self._get_document(params.text_document)
        if document is None or not document.policies:
            return []
        program = self.files.get_program(document)
        found = [
            (part, self._make_document_symbols(document, part, program))
            for part in document.policies
        ]
        if not document.is_manifest:
            return found[0][1]
        return [_make_manifest_key_symbol(document, part, entries) for part, entries in found]

    def _make_document_symbols(
        self,
        document: documents.EditorDocument,
        part: embedded_policies.EmbeddedPolicy,
        program: programs.PolicyProgram,
    ) -> list[types.DocumentSymbol]:
        entries = outline.list_outline_entries(program.parsed[part.text.name])
        return [protocol_conversion.make_document_symbol(document, part, each) for each in entries]

    def folding(self, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        """Return the folding ranges of a document."""
        document = self._get_document(params.text_document)
        return [
            protocol_conversion.make_folding_range(document, part, lines)
            for part in (document.policies if document else ())
            if document is not None
            for lines in outline.list_folding_ranges(
                self.files.get_program(document).parsed[part.text.name]
            )
        ]

    def semantic_tokens(self, params: types.SemanticTokensParams) -> types.SemanticTokens:
        """Return the semantic tokens of a document."""
        document = self._get_document(params.text_document)
        if document is None or not document.policies:
            return types.SemanticTokens([])
        program = self.files.get_program(document)
        found = [
            (part, semantic_highlighting.list_semantic_tokens(program, part.text.name))
            for part in document.policies
        ]
        return protocol_conversion.encode_semantic_tokens(document, found)

    def code_lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """Return the match counts of policies as code lenses."""
        document = self._get_document(params.text_document)
        return [
            types.CodeLens(
                protocol_conversion.make_range(document, part, note.span.start, note.span.start),
                types.Command(note.text, ""),
            )
            for document, part, note in self._list_inline_notes(
                document, selector_matches.list_match_count_notes
            )
        ]

    def inlay_hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """Return the weight share of each score as inlay hints."""
        document = self._get_document(params.text_document)
        return [
            types.InlayHint(
                protocol_conversion.convert_offset_to_position(
                    document, part.map_to_document(note.span.end)
                ),
                f"{note.text} of the weight",
                padding_left=True,
                tooltip="share of all weights that apply to these pods, including built-in ones",
            )
            for document, part, note in self._list_inline_notes(
                document, selector_matches.list_weight_share_notes
            )
        ]

    def _list_inline_notes(
        self, document: documents.EditorDocument | None, of: selector_matches.Notes
    ) -> Iterator[
        tuple[
            documents.EditorDocument, embedded_policies.EmbeddedPolicy, selector_matches.InlineNote
        ]
    ]:
        """Yield the notes on all policies of a document."""
        for part in document.policies if document is not None else ():
            if document is not None:
                for note in of(self.files.get_program(document), part.text.name):
                    yield document, part, note

    # ------------------------------------------------------------------------ places

    def _get_document(self, sent: types.TextDocumentIdentifier) -> documents.EditorDocument | None:
        return self.files.get_document(protocol_conversion.convert_uri_to_path(sent.uri))

    def _find_policy_position(self, params: _PositionParams) -> EmbeddedPolicyPosition | None:
        document = self._get_document(params.text_document)
        if document is None:
            return None
        found = document.find_policy_at(
            protocol_conversion.convert_position_to_offset(document, params.position)
        )
        if found is None:
            return None
        return EmbeddedPolicyPosition(document, self.files.get_program(document), *found)

    def _make_span_locator(self, document: documents.EditorDocument) -> _SpanLocator:
        return _SpanLocator(self.files, document)

    def _make_workspace_edit(
        self, document: documents.EditorDocument, edits: Sequence[diagnostics.TextEdit]
    ) -> types.WorkspaceEdit:
        """Return edits to the document and to other documents of its program."""
        found: dict[str, list[types.TextEdit]] = {}
        locate = self._make_span_locator(document)
        for edit in edits:
            where = locate.find_document_and_policy(edit.span)
            if where is not None:
                uri = protocol_conversion.make_document_uri(where[0])
                found.setdefault(uri, []).append(protocol_conversion.make_text_edit(*where, edit))
        return types.WorkspaceEdit(changes=found)


class _SpanLocator:
    """Locates spans of a program in the requested document or in another one."""

    def __init__(self, files: workspace.Workspace, document: documents.EditorDocument) -> None:
        self._files = files
        self._document = document

    def __call__(self, span: source.Span) -> types.Location | None:
        where = self.find_document_and_policy(span)
        if where is None:
            return None
        return types.Location(
            protocol_conversion.make_document_uri(where[0]),
            protocol_conversion.make_span_range(*where, span),
        )

    def find_document_and_policy(
        self, span: source.Span
    ) -> tuple[documents.EditorDocument, embedded_policies.EmbeddedPolicy] | None:
        """Return the document and the policy that contain a span."""
        for document in (self._document, self._files.get_document(span.file)):
            part = document.get_policy(span.file) if document is not None else None
            if document is not None and part is not None:
                return document, part
        return None


def _iterate_policies_in_range(
    document: documents.EditorDocument, wanted: types.Range
) -> Iterator[tuple[embedded_policies.EmbeddedPolicy, int, int]]:
    """Yield the policies that overlap the range, with the text offsets of the overlap."""
    start, end = (
        protocol_conversion.convert_position_to_offset(document, wanted.start),
        protocol_conversion.convert_position_to_offset(document, wanted.end),
    )
    for part in document.policies:
        first, last = (
            part.map_to_text(max(start, part.begins[0])),
            part.map_to_text(min(end, part.end)),
        )
        if first is not None and last is not None and first <= last:
            yield part, first, last


def _wants_fix_all_action(context: types.CodeActionContext) -> bool:
    """Return whether to compute the action with all safe fixes, which takes several runs of lint.

    An automatic request, sent whenever the cursor moves, gets this action only if it names the
    action's kind.
    """
    is_automatic = context.trigger_kind == types.CodeActionTriggerKind.Automatic
    return _is_action_kind_wanted("source.fixAll", context.only) and bool(
        context.only or not is_automatic
    )


def _is_action_kind_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Return whether an action has one of the requested kinds; an empty `only` requests all."""
    wanted = [str(getattr(each, "value", each)) for each in only or ()]
    return not wanted or any(kind == each or kind.startswith(f"{each}.") for each in wanted)


def _make_manifest_key_symbol(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    entries: list[types.DocumentSymbol],
) -> types.DocumentSymbol:
    """Return the symbol of a manifest key, with the items of its policy as children."""
    where = types.Range(
        protocol_conversion.convert_offset_to_position(document, part.begins[0]),
        protocol_conversion.convert_offset_to_position(document, part.end),
    )
    return types.DocumentSymbol(
        name=part.text.key,
        kind=types.SymbolKind.File,
        range=where,
        selection_range=types.Range(where.start, where.start),
        children=entries or None,
    )
