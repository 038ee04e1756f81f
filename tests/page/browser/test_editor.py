"""Editing policies in a real browser: findings, completion, hover, fixes, formatting and plans."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from policysched.serving import static_files
from tests.cli import clusters
from tests.page import page_process, patches
from tests.page.browser.conftest import OpenPage

pytestmark = pytest.mark.slow

Serve = Callable[..., AbstractContextManager[str]]
WriteCluster = Callable[[list[dict[str, Any]]], str]

POLICY = """\
policy p {
  for pods
  nodeAffinity preferred disk = ssd weight 5 as fast
}
"""
HOSTILE = "<img src=x onerror=alert(1)>\u202eevil\u200b"
IS_CUT = "cell => cell.scrollWidth > cell.clientWidth + 1"
HDD = "required disk = hdd"
VISIBLE = "<img src=x onerror=alert(1)>‹U+202E›evil‹U+200B›"
EDITORS = pathlib.Path(__file__).resolve().parents[3] / "editors" / "page"


@pytest.fixture
def ui(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> Callable[..., AbstractContextManager[Any]]:
    """Open the editor of a policy for a cluster of two nodes."""
    path = write_cluster(
        [
            clusters.node("a", disk="ssd"),
            clusters.node("b", disk="hdd"),
            clusters.pod("one", on="a"),
            clusters.pod("two", on="b"),
        ]
    )
    (tmp_path / "p.policy").write_text(POLICY)
    return lambda: _open_editor(serve, open_page, "--cluster", path, "--policies", tmp_path)


@contextlib.contextmanager
def _open_editor(serve: Serve, open_page: OpenPage, *words: Any) -> Iterator[Any]:
    with serve(*map(str, words)) as url, open_page(url) as opened:
        yield opened.open_view("#/edit")


def get_text(page: Any) -> str:
    """Return the text in the editor, as a user would copy it."""
    text: str = page.inner_text(".cm-content")
    return text.replace("\u200b", "")


def reset(page: Any) -> None:
    """Drop the edits, which the page asks about first."""
    page.click("button:text-is('reset')")
    page.click("button:text-is('drop the edits')")


def test_typing_loses_nothing(ui: Callable[..., AbstractContextManager[Any]]) -> None:
    """Letters that come faster than the page is drawn stay as they were typed."""
    with ui() as page:
        page.click(".cm-content")
        page.keyboard.press("Control+Home")
        page.keyboard.type("# " + "abcdefghij" * 10)
        page.keyboard.press("Enter")
        page.wait_for_selector("nav.files:has-text('(edited)')")
        page.click("button:has-text('diff')")
        page.wait_for_selector("pre:has-text('+ # abcdefghij')")
        assert get_text(page).startswith("# " + "abcdefghij" * 10 + "\npolicy p {")


def test_an_editor_that_is_opened_again_leaves_nothing_behind(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """CodeMirror keeps style rules forever, so a second editor must not bring its own."""
    count = """(host) => host.shadowRoot.adoptedStyleSheets
      .reduce((sum, sheet) => sum + sheet.cssRules.length, 0)"""
    with ui() as page:
        page.wait_for_selector(".cm-content")
        before = page.eval_on_selector(".editor", count)
        page.click("nav >> text=Policies")
        page.wait_for_selector("h1:text-is('Policies')")
        page.click("nav >> text=Edit")
        page.wait_for_selector(".cm-content")
        assert page.eval_on_selector(".editor", count) == before > 0


def test_a_finding_is_marked_and_its_fix_can_be_undone(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """The mark, the list, the fix, and the way back."""
    with ui() as page:
        page_process.replace_all(page, POLICY.replace("disk = ssd", "disk Inn (ssd)"))
        page.wait_for_selector(".cm-lintRange-error:has-text('Inn')")
        page.wait_for_selector("text=lint waits until there is no error")
        page.click(".findings .error button:has-text('Replace')")
        page.wait_for_selector(".cm-lintRange-error", state="detached")
        page.wait_for_selector("text=lint waits until there is no error", state="detached")
        assert "disk In (ssd)" in get_text(page)
        page.click(".cm-content")
        page.keyboard.press("Control+z")
        page.wait_for_selector(".cm-lintRange-error:has-text('Inn')")
        assert "disk Inn (ssd)" in get_text(page)


def test_completion_and_hover_know_the_cluster(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Values of labels are proposed, and a requirement says how many nodes match."""
    with ui() as page:
        page_process.replace_all(page, "policy p {\n  for pods\n  nodeAffinity required disk In (")
        page.keyboard.type("h")
        page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('hdd')")
        page.keyboard.press("Control+Space")
        page.wait_for_timeout(200)  # CodeMirror ignores Enter at once after the list appeared
        page.keyboard.press("Enter")
        page.wait_for_selector(".cm-line:has-text('In (hdd')")
        page_process.replace_all(page, POLICY.replace("disk =", "disk !="))
        page.wait_for_selector(".cm-line:has-text('!=')")
        page.hover(".cm-line >> text=/disk != ssd/", position={"x": 215, "y": 8})
        page.wait_for_selector(".cm-tooltip-hover:has-text('of 2 nodes')")
        hovered = page.query_selector(".cm-line >> text=/disk != ssd/").bounding_box()
        tooltip = page.query_selector(".cm-tooltip-hover").bounding_box()
        assert tooltip["y"] + tooltip["height"] <= hovered["y"] + 2  # the next line is visible


def test_formatting_is_that_of_fmt(ui: Callable[..., AbstractContextManager[Any]]) -> None:
    """A button makes the canonical text."""
    with ui() as page:
        page_process.replace_all(page, POLICY.replace("  nodeAffinity", "      nodeAffinity"))
        page.wait_for_selector(".findings:has-text('PS802')")
        page.click("button:text-is('format')")
        page.wait_for_selector(".findings:has-text('PS802')", state="detached")
        assert get_text(page).rstrip() == POLICY.rstrip()


def test_a_plan_shows_the_pods_that_move(ui: Callable[..., AbstractContextManager[Any]]) -> None:
    """With their rule, as a text for a pull request, and on the map."""
    with ui() as page:
        page_process.replace_all(
            page, POLICY.replace("preferred disk = ssd weight 5", "required disk = hdd")
        )
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("h3:has-text('2 pods would move')")
        assert "2 would move (2 running)" in page.inner_text(".outcomes")
        assert page.inner_text(".changes thead").split() == ["pod", "now", "from", "to", "cause"]
        row = page.inner_text(".changes tbody tr:has-text('prod/two')").split()
        assert row[:5] == ["prod/two", "b", "a", "b", "p/fast"]
        page.click("button:has-text('as Markdown')")
        page.wait_for_selector("pre:has-text('## policysched plan')")
        page.click("text=show on the map")
        page.wait_for_selector(".legend button:has-text('newly chosen')")
        page.wait_for_selector(".legend button:has-text('no longer chosen')")


def test_all_rows_of_a_plan_can_be_seen(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """Grouped by cause, and the pods whose node would reject them also as a list of their own."""
    items = [clusters.node("a", cpu="99", disk="ssd"), clusters.node("b", cpu="99", disk="hdd")]
    items += [clusters.pod(f"p{number}", on="ab"[number % 2]) for number in range(60)]
    (tmp_path / "p.policy").write_text(POLICY)
    words = ("--cluster", write_cluster(items), "--policies", tmp_path)
    with _open_editor(serve, open_page, *words) as page:
        page_process.replace_all(page, POLICY.replace("preferred disk = ssd weight 5", HDD))
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("h3:has-text('60 pods would move')")
        moved = page.locator(".changes").first.locator("tbody tr")
        assert moved.count() == 20
        page.click("button:has-text('more of 40 other pods')")
        page.wait_for_selector("button:has-text('more of 40 other pods')", state="detached")
        assert moved.count() == 60
        page.click(".outcomes li:has-text('30 would no longer fit') button")
        page.wait_for_selector("h3:focus:has-text('30 pods would no longer fit')")


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.proof)])
def test_a_plan_shows_long_names_in_low_rows(
    write_cluster: WriteCluster,
    serve: Serve,
    open_page: OpenPage,
    tmp_path: pathlib.Path,
    width: int,
) -> None:
    """Nothing is cut or beyond the screen, and the whole name is copied; a summary comes first."""
    hosts = {disk: f"ip-10-3-20-{disk}.eu-west-1.compute.internal" for disk in ("ssd", "hdd")}
    items = [clusters.node(host, cpu="99", disk=disk) for disk, host in hosts.items()]
    items += [clusters.pod(f"web-6d9f7c-{n:012}", on=hosts["ssd"]) for n in range(30)]
    (tmp_path / "p.policy").write_text(POLICY)
    words = ("--cluster", write_cluster(items), "--policies", str(tmp_path))
    with serve(*words) as url, open_page(url, width) as opened:
        page = opened.open_view("#/edit")
        page_process.replace_all(page, POLICY.replace("preferred disk = ssd weight 5", HDD))
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".changes")
        summary = page.locator(".routes tbody tr")
        assert summary.count() == 1
        assert f"{hosts['ssd']} → {hosts['hdd']}" in summary.inner_text()
        assert "30" in summary.inner_text()
        row = page.locator(".changes tbody tr").first
        assert row.locator("td.to a").inner_text() == hosts["hdd"]
        assert row.locator("th a").inner_text() == "prod/web-6d9f7c-000000000000"
        for cell in row.locator("th, td").all():
            place = cell.bounding_box()
            assert place["x"] + place["width"] <= width
            assert not cell.evaluate(IS_CUT)
        assert row.bounding_box()["height"] < (60 if width == 1280 else 120)


def test_a_plan_stays_while_the_reader_looks_at_its_pods(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Back, and the link in the header, which opens the file edited last."""
    with ui() as page:
        page.click("button:has-text('new file')")
        page.fill("input[name=file]", "second")
        page.click("button:has-text('add')")
        page.click("a:has-text('p.policy')")
        page_process.replace_all(page, POLICY.replace("preferred disk = ssd weight 5", HDD))
        page.keyboard.press("Control+Enter")
        page.click(".changes a:has-text('prod/two')")
        page.wait_for_selector("h1:has-text('prod/two')")
        page.go_back()
        page.wait_for_selector("h3:has-text('2 pods would move')")
        page.click("nav >> text=Cluster")
        page.wait_for_selector(".facts:has-text('edited, not in the cluster')")
        page.click("nav >> text=Edit")
        page.wait_for_selector("h3:has-text('2 pods would move')")
        page.wait_for_selector(".cm-line:has-text('required disk = hdd')")
        assert "edited after this plan" not in page.inner_text(".plan")


def test_edits_that_change_no_pod_have_no_map(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """The page shows the version that the edited texts would be, beside the version in use."""
    with ui() as page:
        page.wait_for_selector("main:has-text('version in use')")
        page_process.replace_all(page, f"# a comment\n{POLICY}")
        hashes = "version in use: [0-9a-f]{12} · edited: version [0-9a-f]{12}"
        page.wait_for_selector(f"main >> text=/{hashes}/")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".plan:has-text('no pod changes')")
        assert "show on the map" not in page.inner_text(".plan")


def test_the_source_of_a_text_says_where_its_edit_belongs(
    ui: Callable[..., AbstractContextManager[Any]], tmp_path: pathlib.Path
) -> None:
    """A file is replaced, or becomes a ConfigMap again."""
    with ui() as page:
        path = str(tmp_path / "p.policy")
        page.wait_for_selector(f"main:has-text('The source is the file {path}')")
        page_process.replace_all(page, f"# a comment\n{POLICY}")
        page.click("button:text-is('kubectl')")
        assert f"--from-file {path} --dry-run" in page.inner_text(".difference pre")


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_policies_of_a_manifest_become_a_patch(
    write_cluster: WriteCluster,
    serve: Serve,
    open_page: OpenPage,
    tmp_path: pathlib.Path,
    suffix: str,
) -> None:
    """For the ConfigMap that the manifest names; the manifest has to change as well."""
    manifest = tmp_path / f"cm.{suffix}"
    of_sched = {"name": "policies", "namespace": "sched"}
    data = {"web.policy": POLICY}
    manifest.write_text(  # JSON is YAML
        json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": of_sched, "data": data})
    )
    words = ("--cluster", write_cluster([clusters.node("a")]), "--policies", manifest)
    with _open_editor(serve, open_page, *words) as page:
        page.wait_for_selector(f"main:has-text('Change {manifest} as well')")
        page_process.replace_all(page, f"# edited\n{POLICY}")
        page.click("button:text-is('kubectl')")
        assert page.inner_text(".difference pre") == patches.COMMAND
        with page.expect_download() as download:
            page.click("button:has-text('save policysched-patch.json')")
        saved = json.loads(pathlib.Path(download.value.path()).read_text())
        assert saved == patches.make_patch("web.policy", POLICY, f"# edited\n{POLICY}")


def test_a_typed_number_stays(ui: Callable[..., AbstractContextManager[Any]]) -> None:
    """Nothing is proposed that begins with it, so Enter begins a line."""
    asked: list[str] = []
    with ui() as page:
        page_process.replace_all(page, f"{POLICY.partition('5')[0]}")
        page.wait_for_selector("nav.files:has-text('(edited)')")
        page.on("request", lambda request: asked.append(request.post_data or ""))
        with page.expect_request(lambda request: '"findings"' in (request.post_data or "")):
            page.keyboard.type("5")  # findings are asked for later than completions
        assert [each for each in asked if '"complete"' in each] == []
        page.keyboard.press("Enter")
        page.keyboard.type("}")
        page.wait_for_selector(".cm-line:has-text('}')")
        assert "weight 5\n" in get_text(page)


def test_a_plan_closes_the_list_of_completions(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Its result must not hide behind it."""
    with ui() as page:
        page_process.replace_all(page, "policy p {\n  for pods\n  nodeAffinity required disk In (")
        page.keyboard.type("h")
        page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('hdd')")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".cm-tooltip-autocomplete", state="detached")


def test_a_narrow_screen_shows_the_plan_at_once(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """Above the findings, and without scrolling by the reader."""
    rules = "".join(f"  nodeAffinity preferred disk = x{n} weight 5\n" for n in range(12))
    (tmp_path / "p.policy").write_text(f"policy p {{\n  for pods\n{rules}}}\n")
    path = write_cluster([clusters.node("a", disk="ssd"), clusters.pod("one", on="a")])
    with (
        serve("--cluster", path, "--policies", str(tmp_path)) as url,
        open_page(url, 390) as opened,
    ):
        page = opened.open_view("#/edit")
        page.wait_for_selector(".findings li:nth-child(10)")
        page.click("button.main")
        page.wait_for_selector(".plan:has-text('no pod changes')")
        place = page.locator(".plan:has-text('no pod changes') p").first.bounding_box()
        assert 0 <= place["y"] < 700


def test_a_rule_is_marked_whole_and_edited_in_its_line(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """Also if it has several lines, and characters of two code units before it."""
    text = "# 🙂\n" * 60 + POLICY.replace(" weight", "\n    weight") + "# end\n" * 60
    (tmp_path / "p.policy").write_text(text)
    path = write_cluster([clusters.node("a", disk="ssd")])
    with (
        serve("--cluster", path, "--policies", str(tmp_path)) as url,
        open_page(url) as opened,
    ):
        page = opened.open_view("#/rules/p/fast")
        lines = [
            each.inner_text().strip() for each in page.query_selector_all(".text .chosen code")
        ]
        assert lines == ["nodeAffinity preferred disk = ssd", "weight 5 as fast"]
        box, line = (page.locator(each).first.bounding_box() for each in (".text", ".text .chosen"))
        assert abs(line["y"] - box["y"] - box["height"] / 2) < 60
        page.click("a:has-text('edit p.policy')")
        page.wait_for_selector(".cm-activeLine:has-text('nodeAffinity preferred')")


def test_edits_survive_a_reload_until_they_are_reset(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """A policy with errors has no plan but its errors; a new file has a name."""
    with ui() as page:
        page_process.replace_all(page, POLICY.replace("weight", "wait"))
        page.wait_for_selector(".findings .error")
        page.reload()
        page.wait_for_selector(".cm-line:has-text('wait 5')")
        page.click("button:has-text('plan')")
        page.wait_for_selector("pre.error:has-text('error[PS')")
        page.click("button:has-text('new file')")
        page.fill("input[name=file]", "second")
        page.click("button:has-text('add')")
        page.wait_for_selector("a:has-text('second.policy (new)')")
        page.click("button:has-text('remove the file')")
        page.wait_for_selector("a:has-text('second.policy')", state="detached")
        reset(page)
        page.wait_for_selector(".cm-line:has-text('weight 5')")
        assert "(edited)" not in page.inner_text("nav.files")


def test_two_tabs_have_edits_of_their_own(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """A reload of one shows its own text, also if the other was opened from it or was reset."""
    with ui() as page:
        page_process.replace_all(page, f"# one\n{POLICY}")
        page.wait_for_selector("nav.files:has-text('(edited)')")
        with page.context.expect_page() as opening:
            page.evaluate("window.open(location.href)")
        other = opening.value
        page_process.replace_all(other, f"# other\n{POLICY}")
        other.wait_for_selector("nav.files:has-text('(edited)')")
        for each, text in ((page, "# one"), (other, "# other")):
            each.reload()
            each.wait_for_selector(f".cm-line:has-text('{text}')")
        reset(other)
        other.wait_for_selector(".cm-line:has-text('# other')", state="detached")
        page.reload()
        page.wait_for_selector(".cm-line:has-text('# one')")


def test_edits_that_the_browser_cannot_keep_are_said_to_be_lost(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Before a reload loses them."""
    with ui() as page:
        page.evaluate("sessionStorage.setItem('other', 'x'.repeat(5 * 1024 * 1024 - 1000))")
        page_process.replace_all(page, f"{POLICY}# {'long ' * 500}\n")
        page.wait_for_selector("[role=alert]:has-text('download them before you close or reload')")
        reset(page)
        page.wait_for_selector("[role=alert]:has-text('download them')", state="detached")


def test_the_first_policy_is_written_in_the_page(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage
) -> None:
    """A cluster without policies begins with a name."""
    path = write_cluster([clusters.node("a"), clusters.pod("one", on="a")])
    with serve("--cluster", path) as url, open_page(url) as opened:
        page = opened.open_view("#/policies")
        page.click("text=Write one")
        page.click("button:has-text('new file')")
        page.fill("input[name=file]", "mine")
        page.click("button:has-text('add')")
        page.wait_for_selector(".cm-line:has-text('policy my-policy')")
        page.click("button:has-text('plan')")
        page.wait_for_selector("text=1 running pod, 0 pending pods: no pod changes")


def test_a_hostile_policy_is_text_and_wholly_visible(
    write_cluster: WriteCluster, serve: Serve, open_page: OpenPage, tmp_path: pathlib.Path
) -> None:
    """In the editor, its hover, its findings and its plan."""
    text = f'# {HOSTILE}\npolicy p {{\n  description "{HOSTILE}"\n  for podss\n}}\n'
    (tmp_path / "p.policy").write_text(text)
    path = write_cluster([clusters.node("a", disk=HOSTILE)])
    with _open_editor(serve, open_page, "--cluster", path) as page:
        page.click("button:has-text('new file')")
        page.fill("input[name=file]", HOSTILE)
        page.click("button:has-text('add')")
        page.wait_for_selector(f"nav.files:has-text('{VISIBLE}')")
        page_process.replace_all(page, text)
        page.wait_for_selector(".findings .error")
        page.click("button:has-text('plan')")
        page.wait_for_selector("pre.error")
        assert VISIBLE in page.inner_text(".cm-content")
        assert page.query_selector("img[src=x]") is None
        assert "\u202e" not in page.inner_text("main")


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm builds the file, and there is none")
def test_the_vendored_editor_is_what_its_packages_make(tmp_path: pathlib.Path) -> None:
    """The same packages give the same bytes, so no byte came from elsewhere."""
    folder = tmp_path / "page"
    shutil.copytree(EDITORS, folder, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, check=True)
    built = tmp_path / "built.js"
    command = ["npm", "run", "--silent", "build", "--", "--log-level=warning", f"--outfile={built}"]
    subprocess.run(command, cwd=folder, check=True)
    assert built.read_bytes() == (static_files.FOLDER / "vendor" / "codemirror.js").read_bytes()


def test_a_fix_waits_for_findings_of_the_present_text(
    ui: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Pressed while a letter is on its way, it changes nothing; its place would be wrong."""
    with ui() as page:
        page_process.replace_all(page, POLICY.replace("disk = ssd", "disk Inn (ssd)"))
        page.wait_for_selector(".findings .error button:has-text('Replace')")
        # Both in one turn of the browser, before it asks for findings of the new text.
        page.evaluate(
            """() => {
              const editor = document.querySelector(".editor");
              const content = editor.shadowRoot.querySelector(".cm-content");
              const clipboardData = new DataTransfer();
              clipboardData.setData("text/plain", "# typed\\n");
              const settings = { clipboardData, bubbles: true, cancelable: true };
              content.dispatchEvent(new ClipboardEvent("paste", settings));
              [...document.querySelectorAll(".findings button")]
                .find((button) => button.textContent.startsWith("Replace"))
                .click();
            }"""
        )
        page.wait_for_selector(".cm-line:has-text('# typed')")
        assert "disk Inn (ssd)" in page.inner_text(".cm-content")


@pytest.mark.parametrize("saved", ["{not json", "null", "5", '{"texts": {"a": 5}}', '{"texts": 1}'])
def test_saved_edits_of_another_form_are_dropped(
    ui: Callable[..., AbstractContextManager[Any]], saved: str
) -> None:
    """The editor shows the policies in use."""
    with ui() as page:
        page.evaluate("(text) => sessionStorage.setItem('policysched drafts', text)", saved)
        page.reload()
        page.wait_for_selector(".cm-line:has-text('policy p')")
        assert "(edited)" not in page.inner_text("nav.files")
