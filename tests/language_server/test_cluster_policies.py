"""`policysched lsp` within a clusterPolicy, driven by a real client, beside a control plane."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator

import pytest
from lsprotocol import types

from tests.language_server import editor as editors

PLANE = pathlib.Path(__file__).parents[1] / "lint" / "plane.yaml"
TEXT = """\
metric errors: ratio =
  `sum by (cluster) (rate(errors_total[5m]))`
  cluster cluster missing allow missing score 50

clusterPolicy shop {
  description "by errors"
  owner "team-shop"
  for resources in namespace (default) where app = web
  clusterAffinity required tier In (gold)
  clusterGroup near where region = eu
  clusterGroup far where region = us
  reject when errors > 5% as faulty
  score errors prefer low weight 3 as errors
  replicas Divided Weighted by score
}
"""


@pytest.fixture(scope="module", name="started")
def _started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[editors.Editor]:
    """An editor in a folder with a dump of a control plane, and the policy open."""
    folder = tmp_path_factory.mktemp("across")
    shutil.copy(PLANE, folder / "plane.yaml")
    with editors.started(folder, {"cluster": "plane.yaml", "delayMilliseconds": 0}) as editor:
        editor.until(lambda: editor.client.refreshed or None)  # the dump has been read
        editor.open("shop.policy", TEXT)
        yield editor


@pytest.fixture
def editor(started: editors.Editor) -> editors.Editor:
    """The editor, with the text as it was whatever the test before has made of it."""
    started.replace("shop.policy", TEXT)
    return started


def _proposed(editor: editors.Editor, statement: str) -> list[str]:
    text = TEXT.replace("  reject when", f"  {statement}\n  reject when")
    editor.replace("shop.policy", text)
    at = editors.place(text, statement, statement)
    params = types.CompletionParams(editor.identify("shop.policy"), at)
    found = editor.ask(editor.client.text_document_completion_async(params))
    assert isinstance(found, types.CompletionList)
    return [each.label for each in found.items]


def test_completion_knows_member_clusters(editor: editors.Editor) -> None:
    """Labels, fields, their values, taints and resources of the clusters; statements that fit."""
    keys = _proposed(editor, "clusterAffinity required ")
    assert {"tier", "region", "provider", "zone", "clusterName", "tainted"} <= set(keys)
    assert keys.count("region") == 1
    assert _proposed(editor, "clusterAffinity required tier In (") == ["gold", "silver"]
    assert _proposed(editor, "clusterGroup more where region = ") == ["eu", "us"]
    assert {"m1", "m2", "m3"} <= set(_proposed(editor, "reject when cluster(clusterName = "))
    assert "dedicated=web:NoSchedule" in _proposed(editor, "tolerate ")
    statements = set(_proposed(editor, "spreadC"))
    assert {"clusterAffinity", "clusterGroup", "spreadConstraint", "replicas"} <= statements
    assert "nodeAffinity" not in statements
    assert "errors" in _proposed(editor, "score -")  # `score ` alone is in the metric, too
    assert {"tier"} <= set(_proposed(editor, "score label("))


def test_hover_counts_clusters(editor: editors.Editor) -> None:
    """An operator with the clusters that match; a policy with its bindings."""

    def shown(marked: str) -> str:
        at = editors.place(TEXT, marked)
        params = types.HoverParams(editor.identify("shop.policy"), at)
        found = editor.ask(editor.client.text_document_hover_async(params))
        assert found is not None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    assert "matches 2 of 3 clusters" in shown("In (gold)")
    assert "Values of `tier` on the clusters: `gold`, `silver`" in shown("tier In")
    assert "1/2 bindings, matches 2/3 clusters" in shown("shop {")
    assert "**metric** `errors`, in ratio" in shown("errors > 5%")


def test_lenses_tell_what_matches(editor: editors.Editor) -> None:
    """Above the policy, its affinities and its groups."""
    params = types.CodeLensParams(editor.identify("shop.policy"))
    found = editor.ask(editor.client.text_document_code_lens_async(params))
    assert found is not None
    told = {each.range.start.line: each.command.title for each in found if each.command}
    assert told == {
        4: "1/2 bindings, matches 2/3 clusters",
        8: "matches 2/3 clusters",
        9: "matches 2/3 clusters",
        10: "matches 1/3 clusters",
    }


def test_diagnostics_compare_with_the_control_plane(editor: editors.Editor) -> None:
    """Errors of check, findings of lint in the words of clusters, and none of a sound text."""
    assert editor.findings("shop.policy", editor.replace("shop.policy", TEXT)) == []
    text = TEXT.replace("tier In (gold)", "teir In (gold)")
    found = editor.findings("shop.policy", editor.replace("shop.policy", text))
    messages = {str(each.code): each.message for each in found}
    assert "no cluster of plane.yaml has the label `teir`" in messages["PS502"]
    text = TEXT.replace("  score", "  mode shadow\n  score")
    (error,) = editor.findings("shop.policy", editor.replace("shop.policy", text))
    assert (error.code, error.severity) == ("PS108", types.DiagnosticSeverity.Error)
    assert editor.findings("shop.policy", editor.replace("shop.policy", TEXT)) == []
