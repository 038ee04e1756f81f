"""Converts between the results of features and the types of the protocol (LSP)."""

from __future__ import annotations

import pathlib
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lsprotocol import types

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.language_server.features import hover, outline, proposals, semantic_highlighting
from policysched.language_server.texts import documents, embedded_policies, manifests

SOURCE = "policysched"
_SEVERITIES: Mapping[diagnostics.Severity, types.DiagnosticSeverity] = {
    diagnostics.Severity.ERROR: types.DiagnosticSeverity.Error,
    diagnostics.Severity.WARNING: types.DiagnosticSeverity.Warning,
    diagnostics.Severity.INFO: types.DiagnosticSeverity.Information,
}
_UNNECESSARY = frozenset({"PS203", "PS204", "PS803", "PS804", "PS806"})
"""Codes of findings about redundant text, which editors show faded."""
_ITEM_KINDS: Mapping[proposals.Kind, types.CompletionItemKind] = {
    "keyword": types.CompletionItemKind.Keyword,
    "operator": types.CompletionItemKind.Operator,
    "label": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "field": types.CompletionItemKind.Field,
    "series": types.CompletionItemKind.Value,
    "code": types.CompletionItemKind.Constant,
    "text": types.CompletionItemKind.File,
}
_SYMBOL_KINDS: Mapping[outline.Kind, types.SymbolKind] = {
    "policy": types.SymbolKind.Class,
    "profile": types.SymbolKind.Module,
    "metric": types.SymbolKind.Variable,
    "param": types.SymbolKind.Constant,
    "let": types.SymbolKind.Constant,
    "rule": types.SymbolKind.Method,
    "import": types.SymbolKind.File,
}


# ---------------------------------------------------------------------------- names


def convert_uri_to_path(uri: str) -> str:
    """Return the path of a `file:` URI, or any other URI unchanged."""
    parsed = urllib.parse.urlsplit(uri)
    return urllib.request.url2pathname(parsed.path) if parsed.scheme == "file" else uri


def make_document_uri(document: documents.EditorDocument) -> str:
    """Return the URI of a document; for an open document, the URI that the client sent."""
    path = pathlib.PurePath(document.name)
    return document.uri or (path.as_uri() if path.is_absolute() else document.name)


# ---------------------------------------------------------------------------- places


def convert_offset_to_position(document: documents.EditorDocument, offset: int) -> types.Position:
    """Return an offset as a position in the units of the client."""
    return types.Position(*document.line_index.find_position(offset))


def convert_position_to_offset(document: documents.EditorDocument, place: types.Position) -> int:
    """Return the offset of a position."""
    return document.line_index.find_offset(place.line, place.character)


def make_range(
    document: documents.EditorDocument, part: embedded_policies.EmbeddedPolicy, start: int, end: int
) -> types.Range:
    """Return a range of a policy as a range of its document."""
    return types.Range(
        convert_offset_to_position(document, part.map_to_document(start)),
        convert_offset_to_position(document, part.map_to_document(end)),
    )


def make_span_range(
    document: documents.EditorDocument, part: embedded_policies.EmbeddedPolicy, place: source.Span
) -> types.Range:
    """Return a span of a policy as a range of its document."""
    return make_range(document, part, place.start, place.end)


def make_text_edit(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    edit: diagnostics.TextEdit,
) -> types.TextEdit:
    """Return an edit of a policy as an edit of its document."""
    changed = part.convert_edit_to_document(edit)
    where = types.Range(
        convert_offset_to_position(document, changed.start),
        convert_offset_to_position(document, changed.end),
    )
    return types.TextEdit(where, changed.replacement)


def convert_content_changes(
    sent: Iterable[types.TextDocumentContentChangeEvent],
) -> Iterator[documents.ContentChange]:
    """Yield the content changes that a client sent."""
    for change in sent:
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = change.range.start, change.range.end
            yield documents.ContentChange(
                change.text, (start.line, start.character), (end.line, end.character)
            )
        else:
            yield documents.ContentChange(change.text)


# ---------------------------------------------------------------------------- findings


def make_diagnostic(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    finding: diagnostics.Diagnostic,
    locate: Callable[[source.Span], types.Location | None],
) -> types.Diagnostic:
    """Return a finding with all details that the command line shows.

    `locate` returns the location of a span, which may be in another document.
    """
    lines = [finding.message]
    if finding.label:
        lines.append(finding.label)
    lines += [f"note: {note}" for note in finding.notes]
    if finding.help:
        lines.append(f"help: {finding.help}")
    related = [
        types.DiagnosticRelatedInformation(place, label.text)
        for label in finding.secondary
        if (place := locate(label.span)) is not None
    ]
    return types.Diagnostic(
        range=make_span_range(document, part, finding.span),
        message="\n".join(lines),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        related_information=related or None,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNNECESSARY else None,
    )


def make_unmapped_key_diagnostic(
    document: documents.EditorDocument, key: manifests.UnmappedConfigMapKey
) -> types.Diagnostic:
    """Return the finding that a policy in a manifest cannot be analysed."""
    where = types.Range(
        convert_offset_to_position(document, key.start),
        convert_offset_to_position(document, key.end),
    )
    return types.Diagnostic(
        range=where,
        message=f"the text of `{key.key}` is not a literal block, so findings in it are not "
        f"shown\nhelp: write `{key.key}: |`, or run `policysched lint`",
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
    )


# ---------------------------------------------------------------------------- answers


def make_completion_list(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    found: proposals.CompletionProposals,
) -> types.CompletionList:
    """Return the proposals as a list that the client filters while the user types."""
    where = make_range(document, part, found.start, found.end)
    items = [_make_completion_item(each, index, where) for index, each in enumerate(found.items)]
    return types.CompletionList(is_incomplete=False, items=items)


def _make_completion_item(
    each: proposals.CompletionProposal, index: int, where: types.Range
) -> types.CompletionItem:
    """Return a proposal as a completion item; `index` preserves the order of proposals."""
    doc = types.MarkupContent(types.MarkupKind.Markdown, each.doc) if each.doc else None
    return types.CompletionItem(
        label=each.text,
        kind=_ITEM_KINDS[each.kind],
        detail=each.detail or None,
        documentation=doc,
        sort_text=f"{index:04}",
        filter_text=each.text,
        text_edit=types.TextEdit(where, each.text),
    )


def make_hover(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    found: hover.HoverContent,
) -> types.Hover:
    """Return hover content as an LSP hover."""
    content = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
    return types.Hover(content, make_range(document, part, found.start, found.end))


def make_document_symbol(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    entry: outline.OutlineEntry,
) -> types.DocumentSymbol:
    """Return the symbol of an item, with its statements as children."""
    return types.DocumentSymbol(
        name=entry.name,
        detail=entry.detail or None,
        kind=_SYMBOL_KINDS[entry.kind],
        range=make_span_range(document, part, entry.span),
        selection_range=make_span_range(document, part, entry.name_span),
        children=[make_document_symbol(document, part, each) for each in entry.inner] or None,
    )


def make_folding_range(
    document: documents.EditorDocument,
    part: embedded_policies.EmbeddedPolicy,
    lines: tuple[int, int, bool],
) -> types.FoldingRange:
    """Return a folding range in lines of the document."""
    first, last = (
        convert_offset_to_position(
            document, part.map_to_document(part.text.line_start(number))
        ).line
        for number in lines[:2]
    )
    kind = types.FoldingRangeKind.Comment if lines[2] else types.FoldingRangeKind.Region
    return types.FoldingRange(first, last, kind=kind)


def encode_semantic_tokens(
    document: documents.EditorDocument,
    found: Sequence[
        tuple[embedded_policies.EmbeddedPolicy, Sequence[semantic_highlighting.SemanticToken]]
    ],
) -> types.SemanticTokens:
    """Encode tokens as the protocol requires: each position is relative to the previous token."""
    data: list[int] = []
    line = unit = 0
    for part, words in found:
        for word in words:
            for at_line, at_unit, length in document.iterate_lines_in_range(
                part, word.start, word.end
            ):
                data += (at_line - line, at_unit - (unit if at_line == line else 0), length)
                data += (semantic_highlighting.KINDS.index(word.kind), 0)
                line, unit = at_line, at_unit
    return types.SemanticTokens(data)
