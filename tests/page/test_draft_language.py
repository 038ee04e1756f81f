from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched.page import draft_language, scheduler_source
from tests.cli import clusters
from tests.kube.asynchronous import asynchronous
from tests.page import servers

POLICY = """\
policy p {
  for pods
  nodeAffinity required disk Inn (ssd) as fast
}
"""
EMOJI = POLICY.replace("policy p", "# \U0001f600\npolicy p", 1).replace(
    "  nodeAffinity", '  description "\U0001f600" nodeAffinity'
)


@pytest.fixture
def client() -> servers.PageClient:
    """Return a client of two nodes without policies."""
    return servers.PageClient(
        servers.make_source([clusters.node("a", disk="ssd"), clusters.node("b", disk="hdd")])
    )


async def ask(
    client: servers.PageClient, kind: str, text: str, at: int = 0, name: str = "p.policy"
) -> Any:
    """Ask about one text."""
    question = {"kind": kind, "texts": {name: text}, "name": name, "at": at}
    return await client.post("language", question)


def apply_edits(text: str, edits: list[dict[str, Any]]) -> str:
    """Return a text with edits whose offsets are those of UTF-16."""
    units = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda each: -each["start"]):
        new = edit["text"].encode("utf-16-le")
        units = units[: 2 * edit["start"]] + new + units[2 * edit["end"] :]
    return units.decode("utf-16-le")


@pytest.mark.parametrize("text", [POLICY, EMOJI], ids=["ascii", "surrogate pairs"])
def test_a_finding_has_its_place_and_a_fix(client: servers.PageClient, text: str) -> None:
    """Its offsets are those of a browser, also behind characters of two units."""

    @asynchronous
    async def check() -> None:
        (found,) = (await ask(client, "findings", text))["findings"]
        units = text.encode("utf-16-le")
        assert units[2 * found["start"] : 2 * found["end"]].decode("utf-16-le") == "Inn"
        assert (found["severity"], found["code"]) == ("error", "PS001")
        fixed = apply_edits(text, found["actions"][0]["edits"])
        assert fixed == text.replace("Inn", "In")
        left = (await ask(client, "findings", fixed))["findings"]
        assert [each for each in left if each["severity"] == "error"] == []

    check()


@asynchronous
async def test_findings_know_the_cluster(client: servers.PageClient) -> None:
    """A label value that no node has is a finding of lint, as with `lint --cluster`."""
    text = POLICY.replace("Inn (ssd)", "In (nvme)")
    codes = [each["code"] for each in (await ask(client, "findings", text))["findings"]]
    assert any(code.startswith("PS5") for code in codes), codes


@asynchronous
async def test_without_a_cluster_findings_are_those_of_the_texts() -> None:
    """As of a scheduler that is followed without a listing; the answer says so."""
    following = scheduler_source.SchedulerSource("http://127.0.0.1:9", None)
    client = servers.PageClient(following)
    found = await ask(client, "findings", POLICY)
    assert [each["code"] for each in found["findings"]] == ["PS001"]
    assert found["knowsCluster"] is False
    found = await ask(client, "findings", POLICY.replace("Inn (ssd)", "In (nvme)"))
    assert not any(each["code"].startswith("PS5") for each in found["findings"])


@asynchronous
async def test_a_misspelt_label_value_has_a_fix(client: servers.PageClient) -> None:
    """If only one value can be meant."""
    text = POLICY.replace("Inn (ssd)", "In (ssdd)")
    found = (await ask(client, "findings", text))["findings"]
    (unknown,) = [each for each in found if each["code"] == "PS503"]
    fix = next(each for each in unknown["actions"] if each["isFix"])
    assert apply_edits(text, fix["edits"]) == text.replace("ssdd", "ssd")


@asynchronous
async def test_the_answer_says_whether_lint_has_run(client: servers.PageClient) -> None:
    """It does not run while there is an error in one of the files."""
    assert (await ask(client, "findings", POLICY))["isLinted"] is False
    assert (await ask(client, "findings", POLICY.replace("Inn", "In")))["isLinted"] is True


@asynchronous
async def test_completion_knows_the_labels_of_the_cluster(client: servers.PageClient) -> None:
    """Each proposal replaces the range that the answer names."""
    text = "policy p {\n  for pods\n  nodeAffinity required disk In (s\n"
    found = await ask(client, "complete", text, at=len(text) - 1)
    assert "ssd" in [each["text"] for each in found["items"]]
    assert text[found["start"] : found["end"]] == "s"


@asynchronous
async def test_hover_documents_a_word(client: servers.PageClient) -> None:
    """An operator has its documentation and its match count; a blank has nothing."""
    text = POLICY.replace("Inn", "In")
    found = await ask(client, "hover", text, at=text.index("In (") + 1)
    assert "1 of 2 nodes" in found["markdown"]
    assert text[found["start"] : found["end"]] == "In"
    assert (await ask(client, "hover", text, at=0))["markdown"] != ""
    assert (await ask(client, "hover", "\n\n" + text, at=0))["markdown"] == ""


@asynchronous
async def test_formatting_is_that_of_fmt(client: servers.PageClient) -> None:
    """The edits make the canonical text; a text with errors stays."""
    text = "policy p {\nfor pods\n   nodeAffinity required disk In (ssd)   \n}"
    edits = (await ask(client, "format", text))["edits"]
    assert apply_edits(text, edits) == (
        "policy p {\n  for pods\n  nodeAffinity required disk In (ssd)\n}\n"
    )
    assert (await ask(client, "format", POLICY))["edits"] == []


@asynchronous
async def test_all_safe_fixes_are_applied_at_once(client: servers.PageClient) -> None:
    """Two misspelt words are mended by one answer."""
    text = POLICY.replace("for pods", "for pods where app Inn (x)")
    edits = (await ask(client, "fixes", text))["edits"]
    assert apply_edits(text, edits) == text.replace("Inn", "In")


@asynchronous
async def test_texts_import_each_other(client: servers.PageClient) -> None:
    """All texts of a question are one namespace; a finding names its text."""
    texts = {"a.policy": "selector s: node = disk = ssd\n", "b.policy": POLICY}
    question = {"kind": "findings", "texts": texts, "name": "a.policy"}
    found = (await client.post("language", question))["findings"]
    assert {each["file"] for each in found} >= {"b.policy"}


@pytest.mark.parametrize(
    "question, status, text",
    [
        pytest.param({}, 400, "missing required field `kind`", id="empty"),
        pytest.param({"kind": "run", "texts": {}, "name": ""}, 400, "Invalid enum", id="kind"),
        pytest.param(
            {"kind": "hover", "texts": {}, "name": "x", "uri": "file:///etc"},
            400,
            "unknown field `uri`",
            id="more",
        ),
        pytest.param({"kind": "hover", "texts": {}, "name": "x"}, 404, "`x` does", id="name"),
        pytest.param({"kind": "hover", "texts": {"x": 5}, "name": "x"}, 400, "str", id="type"),
    ],
)
def test_a_wrong_question_gets_one_error(
    client: servers.PageClient, question: dict[str, Any], status: int, text: str
) -> None:
    """The page shows the text of the error."""
    page = asyncio.run(client.post_page("language", question))
    assert page.status == status
    assert text in page.body.decode()


@asynchronous
async def test_no_file_is_read(client: servers.PageClient, tmp_path: pathlib.Path) -> None:
    """A text with the name of a folder on this machine sees nothing of the folder."""
    (tmp_path / "other.policy").write_text("selector fast: node = disk = ssd\n")
    name = str(tmp_path / "mine.policy")
    text = 'import "other.policy"\n' + POLICY.replace("disk Inn (ssd)", "where fast")
    found = (await ask(client, "findings", text, name=name))["findings"]
    assert "other.policy" in found[0]["message"]


@hypothesis.given(text=strategies.text(max_size=30), units=strategies.integers(0, 70))
def test_offsets_are_counted_as_a_browser_counts(text: str, units: int) -> None:
    """Both directions agree with the length in UTF-16."""
    encoded = len(text.encode("utf-16-le", "surrogatepass")) // 2
    assert draft_language.count_utf16_units(text) == encoded
    offset = draft_language.find_offset(text, units)
    counted = draft_language.count_utf16_units(text[:offset])
    assert counted == min(units, encoded) or counted == units + 1
