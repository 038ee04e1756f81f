"""`policysched lsp`, driven by a real client over its standard input and output."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from lsprotocol import types
from pygls import exceptions

from tests.language_server import editor as editors

pytestmark = pytest.mark.slow  # each test starts processes

CLUSTER = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {disktype: ssd, topology.kubernetes.io/zone: eu-1a}}
- apiVersion: v1
  kind: Node
  metadata: {name: n2, labels: {disktype: hdd, topology.kubernetes.io/zone: eu-1b}}
  spec: {taints: [{key: dedicated, value: web, effect: NoSchedule}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: prod, labels: {app: web}}
"""
METRICS = """\
let hot = 80%
metric cpu_busy: ratio = `1 - avg by (instance) (rate(cpu_seconds_total[5m]))`
  node instance refresh 15s maxAge 2m
"""
WEB = """\
policy web {
  description "keeps 🚀 web pods cool"
  owner "team-web"
  for pods in namespace (prod) where app = web
  nodeAffinity required disktype In (ssd)
  reject when cpu_busy > hot missing allow as too-hot
}
"""
BROKEN = WEB.replace("disktype In (", "disktype Inn (")
MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: policies
data:
  other.txt: ignored
  web.policy: |
    policy web {
      description "🚀 web"
      owner "team-web"
      for pods where app = web
      nodeAffinity required disktype Inn (ssd)
    }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with metrics on disk, and a cluster."""
    folder = tmp_path_factory.mktemp("policies")
    (folder / "metrics.policy").write_text(METRICS, encoding="utf-8")
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def editor(folder: pathlib.Path) -> Iterator[editors.Editor]:
    """An editor in that folder; tests close what they open."""
    with editors.started(folder, {"cluster": "cluster.yaml", "delayMilliseconds": 0}) as editor:
        editor.until(lambda: editor.client.refreshed or None)  # the cluster has been read
        yield editor


@pytest.fixture
def opened(editor: editors.Editor) -> Iterator[editors.Editor]:
    """The editor with a sound policy open; closed afterwards."""
    editor.open("web.policy", WEB)
    yield editor
    editor.close("web.policy")
    editor.until(lambda: editor.client.published[editor.uri("web.policy")].version is None or None)


def test_an_edit_brings_findings_and_a_fix_takes_them_away(editor: editors.Editor) -> None:
    """Open, break by an edit behind an astral character, fix by a code action, close."""
    editor.open("web.policy", WEB)
    assert editor.findings("web.policy") == []
    start = editors.place(WEB, "disktype In (", "In")
    edit = types.TextDocumentContentChangePartial(types.Range(start, start), "n")
    editor.change("web.policy", 2, edit)
    [found] = editor.findings("web.policy", 2)
    assert (found.code, found.source, found.severity) == ("PS001", "policysched", 1)
    assert "`Inn` is not a label operator" in found.message
    assert "did you mean `In`?" in found.message
    assert found.range.start == editors.place(WEB, "disktype In (", "disktype ")
    params = types.CodeActionParams(
        editor.identify("web.policy"), found.range, types.CodeActionContext([found])
    )
    actions = editor.ask(editor.client.text_document_code_action_async(params))
    assert actions
    fix = next(each for each in actions if isinstance(each, types.CodeAction) and each.is_preferred)
    assert fix.edit is not None
    assert fix.edit.changes is not None
    edits = list(fix.edit.changes[editor.uri("web.policy")])
    assert editors.applied(BROKEN, edits) == WEB
    changes = (types.TextDocumentContentChangePartial(each.range, each.new_text) for each in edits)
    editor.change("web.policy", 3, *changes)
    assert editor.findings("web.policy", 3) == []
    editor.change("web.policy", 4, types.TextDocumentContentChangeWholeDocument(BROKEN))
    assert editor.codes("web.policy", 4) == [("PS001", 5)]
    editor.close("web.policy")
    cleared = editor.until(
        lambda: (
            editor.client.published[editor.uri("web.policy")]
            if editor.client.published[editor.uri("web.policy")].version is None
            else None
        )
    )
    assert not cleared.diagnostics


def test_completion_knows_the_cluster_and_the_folder(opened: editors.Editor) -> None:
    """Labels, their values, and a metric of another file are proposed where they fit."""

    def proposed(version: int, statement: str) -> dict[str, types.CompletionItem]:
        text = WEB.replace("  reject when", f"  {statement}\n  reject when")
        opened.change("web.policy", version, types.TextDocumentContentChangeWholeDocument(text))
        at = editors.place(text, statement, statement)
        params = types.CompletionParams(opened.identify("web.policy"), at)
        found = opened.ask(opened.client.text_document_completion_async(params))
        assert isinstance(found, types.CompletionList)
        return {each.label: each for each in found.items}

    assert {"disktype", "topology.kubernetes.io/zone"} <= proposed(
        2, "nodeAffinity required "
    ).keys()
    values = proposed(3, "nodeAffinity required disktype In (")
    assert list(values) == ["hdd", "ssd", "pod"]
    keys = proposed(4, "podAntiAffinity required self topologyKey topology.ku")
    edit = keys["topology.kubernetes.io/zone"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert edit.range.end.character - edit.range.start.character == len("topology.ku")
    assert {"cpu_busy", "hot"} <= proposed(5, "reject when ").keys()
    assert list(proposed(6, "score cpu_busy prefer ")) == ["high", "low"]
    assert "dedicated=web:NoSchedule" in proposed(7, "tolerate ")


def test_a_file_that_comes_and_goes_on_disk_counts(
    opened: editors.Editor, folder: pathlib.Path
) -> None:
    """What watched files say is judged anew, without an edit."""

    def codes() -> list[str]:
        found = opened.client.published.get(opened.uri("web.policy"))
        return [str(each.code) for each in found.diagnostics] if found is not None else []

    file = folder / "another.policy"
    event = types.FileEvent(file.as_uri(), types.FileChangeType.Changed)
    file.write_text("policy web {\n  for pods\n}\n", encoding="utf-8")
    opened.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    opened.until(lambda: "PS104" in codes() or None)
    file.unlink()
    opened.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    opened.until(lambda: "PS104" not in codes() or None)


def test_hover_says_what_words_mean_and_what_they_match(opened: editors.Editor) -> None:
    """An operator with the nodes that match now, a metric with its unit."""

    def shown(marked: str) -> str:
        params = types.HoverParams(opened.identify("web.policy"), editors.place(WEB, marked))
        found = opened.ask(opened.client.text_document_hover_async(params))
        assert found is not None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    assert "matches 1 of 2 nodes" in shown("In (ssd)")
    assert "**metric** `cpu_busy`, in ratio" in shown("cpu_busy >")
    assert "rejects nodes" in shown("reject when")


def test_names_are_found_and_changed_in_all_files(
    opened: editors.Editor, folder: pathlib.Path
) -> None:
    """Definition and rename of a metric that another file defines, and what cannot be a name."""
    at = editors.place(WEB, "cpu_busy > hot")
    here = opened.identify("web.policy")
    found = opened.ask(
        opened.client.text_document_definition_async(types.DefinitionParams(here, at))
    )
    assert isinstance(found, types.Location)
    assert (found.uri, found.range.start) == (
        opened.uri("metrics.policy"),
        editors.place(METRICS, "cpu_busy"),
    )
    references = opened.ask(
        opened.client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(include_declaration=True), here, at)
        )
    )
    assert references is not None
    assert [each.uri for each in references] == [
        opened.uri("metrics.policy"),
        opened.uri("web.policy"),
    ]
    renamed = opened.ask(
        opened.client.text_document_rename_async(types.RenameParams(here, at, "busy"))
    )
    assert renamed is not None
    assert renamed.changes is not None
    texts = {opened.uri("metrics.policy"): METRICS, opened.uri("web.policy"): WEB}
    after = {uri: editors.applied(texts[uri], list(e)) for uri, e in renamed.changes.items()}
    assert after == {uri: text.replace("cpu_busy", "busy") for uri, text in texts.items()}
    with pytest.raises(exceptions.JsonRpcException, match="is defined twice"):
        opened.ask(opened.client.text_document_rename_async(types.RenameParams(here, at, "hot")))


def test_formatting_is_that_of_fmt(opened: editors.Editor) -> None:
    """An untidy text becomes the canonical one, by edits of the lines that differ."""
    untidy = WEB.replace("  owner", "     owner").replace("(ssd)", "( ssd )")
    opened.change("web.policy", 2, types.TextDocumentContentChangeWholeDocument(untidy))
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    params = types.DocumentFormattingParams(opened.identify("web.policy"), options)
    edits = opened.ask(opened.client.text_document_formatting_async(params))
    assert edits is not None
    assert editors.applied(untidy, list(edits)) == WEB
    assert {each.range.start.line for each in edits} == {2, 4}


def test_the_rest_of_a_document(opened: editors.Editor) -> None:
    """Symbols, folds, tokens, what policies match, and the weight of scores."""
    text = WEB.replace("}", "  score cpu_busy prefer low missing score 0 weight 14\n}")
    opened.change("web.policy", 2, types.TextDocumentContentChangeWholeDocument(text))
    here = opened.identify("web.policy")
    symbols = opened.ask(
        opened.client.text_document_document_symbol_async(types.DocumentSymbolParams(here))
    )
    assert symbols is not None
    [policy] = symbols
    assert isinstance(policy, types.DocumentSymbol)
    assert policy.name == "web"
    assert "too-hot" in {each.name for each in policy.children or ()}
    folds = opened.ask(
        opened.client.text_document_folding_range_async(types.FoldingRangeParams(here))
    )
    assert folds is not None
    assert [(each.start_line, each.end_line) for each in folds] == [(0, 7)]
    lenses = opened.ask(opened.client.text_document_code_lens_async(types.CodeLensParams(here)))
    assert lenses is not None
    titles = [each.command.title for each in lenses if each.command is not None]
    assert titles == ["1/1 pods, matches 1/2 nodes", "matches 1/2 nodes"]
    whole = types.Range(types.Position(0, 0), types.Position(20, 0))
    hints = opened.ask(
        opened.client.text_document_inlay_hint_async(types.InlayHintParams(here, whole))
    )
    assert hints is not None
    assert [each.label for each in hints] == ["50% of the weight"]
    packed = opened.ask(
        opened.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(here))
    )
    assert packed is not None
    provider = opened.capabilities.semantic_tokens_provider
    assert provider is not None
    kinds = [provider.legend.token_types[kind] for kind in packed.data[3::5]]
    assert kinds[:5] == ["keyword", "class", "keyword", "string", "keyword"]


def test_a_policy_in_a_manifest_is_edited_in_its_place(editor: editors.Editor) -> None:
    """Findings have lines of the YAML file, fixes and formatting keep the indentation."""
    editor.open("map.yaml", MANIFEST)
    [found] = editor.findings("map.yaml")
    assert found.code == "PS001"
    assert found.range.start == editors.place(MANIFEST, "Inn")
    here = editor.identify("map.yaml")
    actions = editor.ask(
        editor.client.text_document_code_action_async(
            types.CodeActionParams(here, found.range, types.CodeActionContext([found]))
        )
    )
    assert actions
    [fix] = [each for each in actions if isinstance(each, types.CodeAction) and each.is_preferred]
    assert fix.edit is not None
    assert fix.edit.changes is not None
    fixed = editors.applied(MANIFEST, list(fix.edit.changes[editor.uri("map.yaml")]))
    assert fixed == MANIFEST.replace("Inn", "In")
    untidy = fixed.replace("      owner", "         owner")
    editor.change("map.yaml", 2, types.TextDocumentContentChangeWholeDocument(untidy))
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = editor.ask(
        editor.client.text_document_formatting_async(types.DocumentFormattingParams(here, options))
    )
    assert edits is not None
    assert editors.applied(untidy, list(edits)) == fixed
    at = editors.place(untidy, "(ssd", "(")
    listed = editor.ask(
        editor.client.text_document_completion_async(types.CompletionParams(here, at))
    )
    assert isinstance(listed, types.CompletionList)
    assert {"ssd", "hdd"} <= {each.label for each in listed.items}
    editor.close("map.yaml")


def test_places_are_counted_as_agreed(tmp_path: pathlib.Path) -> None:
    """The encoding that the client likes best is the one in which places are counted."""
    text = 'policy web { description "🚀" owner "x" frobnicate }\n'
    with editors.started(tmp_path, encodings=["utf-8", "utf-16"]) as editor:
        assert editor.capabilities.position_encoding == "utf-8"
        editor.open("a.policy", text)
        [found] = editor.findings("a.policy")
        assert found.range.start.character == len(text.partition("frob")[0].encode())


def test_a_cluster_file_that_changes_is_read_again(tmp_path: pathlib.Path) -> None:
    """Labels of the new file are proposed without a word from the editor."""
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER, encoding="utf-8")
    text = "policy web {\n  for pods where app = web\n  nodeAffinity required \n}\n"
    with editors.started(tmp_path, {"cluster": file.name}) as editor:
        editor.until(lambda: editor.client.refreshed or None)
        newer = tmp_path / "newer.yaml"
        newer.write_text(CLUSTER.replace("disktype", "medium"), encoding="utf-8")
        newer.replace(file)
        editor.until(lambda: editor.client.refreshed > 1 or None)
        editor.open("web.policy", text)
        at = editors.place(text, "required ", "required ")
        params = types.CompletionParams(editor.identify("web.policy"), at)
        found = editor.ask(editor.client.text_document_completion_async(params))
        assert isinstance(found, types.CompletionList)
        labels = {each.label for each in found.items}
        assert "medium" in labels
        assert "disktype" not in labels


def test_wrong_settings_are_told_and_nothing_else_suffers(tmp_path: pathlib.Path) -> None:
    """A setting that there is not, and a cluster that cannot be read, are messages."""
    with editors.started(tmp_path, {"colour": "blue"}) as editor:
        editor.until(lambda: editor.client.messages or None)
        assert "colour" in editor.client.messages[0]
        settings = {"policysched": {"cluster": "none.yaml"}}
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams(settings)
        )
        editor.until(lambda: len(editor.client.messages) > 1 or None)
        assert "none.yaml" in editor.client.messages[1]
        editor.open("a.policy", "policy web { frobnicate }")
        assert editor.codes("a.policy") == [("PS001", 1)]
