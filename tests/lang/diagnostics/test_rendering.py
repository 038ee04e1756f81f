from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, rendering
from tests import report_schemas


def _render(text: str, start: int, end: int, **parts: str) -> list[str]:
    written = source.SourceText("x.policy", text)
    finding = diagnostics.Diagnostic("PS001", "m", written.span(start, end), **parts)  # type: ignore[arg-type] # only labels and helps are given
    return rendering.render_diagnostic(finding, {"x.policy": written}).split("\n")


def test_the_caret_stands_below_the_word() -> None:
    """Line, column, text as written, carets as wide as the word, label, help."""
    assert _render("ab\n  cd ef\n", 5, 7, label="here", help="write `x`") == [
        "error[PS001]: m",
        "  --> x.policy:2:3",
        "2 |   cd ef",
        "  |   ^^ here",
        "  = help: write `x`",
    ]


@pytest.mark.parametrize(
    "text, start, end, carets",
    [
        pytest.param("\tab", 1, 3, "  | \t^^", id="tab"),
        pytest.param("中a", 1, 2, "  |   ^", id="wide"),
        pytest.param("e\u0301a", 2, 3, "  |  ^", id="combining"),
        pytest.param("a\ufe0fb", 2, 3, "  |  ^", id="variation"),
        pytest.param("ab\tcd e", 1, 5, "  |  ^\t^^", id="tab-inside"),
        pytest.param("\t", 0, 1, "  | ^", id="tab-alone"),
        pytest.param("a\x1b[31mb", 6, 7, "  |       ^", id="control"),
        pytest.param("ab", 2, 2, "  |   ^", id="end"),
        pytest.param("ab\ncd", 1, 5, "  |  ^", id="several-lines"),
        pytest.param("", 0, 0, "  | ^", id="empty"),
    ],
)
def test_the_caret_meets_odd_characters(text: str, start: int, end: int, carets: str) -> None:
    """Columns on the screen, not code points; nothing that a terminal would act on is shown."""
    lines = _render(text, start, end)
    assert lines[3] == carets
    assert "\x1b" not in "".join(lines)


def test_a_long_line_is_cut_around_the_word() -> None:
    """The caret stays below the word and on the screen."""
    lines = _render("a" * 1000 + "XY" + "b" * 1000, 1000, 1002)
    assert max(map(len, lines)) < 200
    at = lines[3].index("^^")
    assert lines[2][at : at + 2] == "XY"


def test_a_second_place_on_a_cut_line_has_a_line_of_its_own() -> None:
    """Its part of a long line is another one, so the first would be marked at a wrong place."""
    text = source.SourceText("x.policy", "let xy = 5 " + "let z = 6 " * 20 + "let xy = 7")
    found = checker.check([text]).diagnostics
    finding = next(each for each in found if each.message == "the name `xy` is defined twice")
    lines = rendering.render_diagnostic(finding, {"x.policy": text}).split("\n")[2:6]
    marked = [
        shown[mark.index(sign) :][:2]
        for shown, mark, sign in ((*lines[:2], "^"), (*lines[2:], "-"))
    ]
    assert marked == ["xy", "xy"]


@pytest.mark.parametrize("char", ["\u00a0", "\u2028", "\f", "\u3000"])
def test_a_blank_that_the_language_does_not_have_is_the_place(char: str) -> None:
    """It separates nothing, and looks like what does: the caret is below it, not behind it."""
    text = source.SourceText("x.policy", f"policy a {{ for pods{char}where a = b }}")
    finding = checker.check([text]).diagnostics[0]
    assert (finding.span.start, finding.span.end) == (19, 20)


def test_a_second_place_in_another_text_names_it() -> None:
    """A name that is defined twice shows both definitions."""
    texts = [source.SourceText("a.policy", "let x = 5"), source.SourceText("b.policy", "let x = 6")]
    result = checker.check(texts)
    assert rendering.render_diagnostic(result.diagnostics[0], result.texts).split("\n")[1:-1] == [
        "  --> b.policy:1:5",
        "1 | let x = 6",
        "  |     ^",
        "  ::: a.policy:1:5",
        "1 | let x = 5",
        "  |     - first here",
    ]


def test_json_follows_its_schema() -> None:
    """Places have both ends; fixes are edits."""
    text = source.SourceText("x.policy", "policy a {\n  for pods where app Inn (b)\n  zzz\n}")
    result = checker.check([text])
    found = [rendering.encode_diagnostic(each, result.texts) for each in result.diagnostics]
    document = {
        "ok": False,
        "hash": None,
        "files": ["x.policy"],
        "errors": len(found),
        "warnings": 0,
        "diagnostics": found,
    }
    report_schemas.check_report(document, "check")
    assert found[0]["place"] == {
        "file": "x.policy",
        "line": 2,
        "column": 22,
        "endLine": 2,
        "endColumn": 25,
        "start": 32,
        "end": 35,
    }
    assert found[0]["fix"]["edits"][0]["replacement"] == "In"


def test_the_summary_counts() -> None:
    """One or several, errors or warnings."""
    span = source.SourceText("x", "").span(0, 0)
    error = diagnostics.Diagnostic("PS001", "m", span)
    warning = diagnostics.Diagnostic("PS001", "m", span, severity=diagnostics.Severity.WARNING)
    assert rendering.summarise_findings([error, error, warning]) == "2 errors, 1 warning"
    assert rendering.summarise_findings([]) == ""


def test_a_code_that_is_not_in_the_catalogue_is_a_bug() -> None:
    """Codes are declared in one place."""
    with pytest.raises(ValueError, match="PS999"):
        diagnostics.Diagnostic("PS999", "m", source.SourceText("x", "").span(0, 0))


def test_nothing_that_a_terminal_acts_on_is_printed() -> None:
    """Texts come from others: an escape sequence in one must not reach the terminal."""
    text = source.SourceText("x.policy", 'policy a { for pods where a = "\x1b[31mred\\nblue" }')
    result = checker.check([text])
    shown = rendering.render_diagnostic(result.diagnostics[0], result.texts)
    assert "red�blue" in shown.split("\n")[0]
    assert "\x1b" not in shown


@pytest.mark.parametrize("char", ["\x1b", "\0", "\u202e"], ids=["escape", "nul", "right-to-left"])
def test_every_part_of_a_finding_is_safe_to_print(char: str) -> None:
    """Headline, place, snippet, labels, notes and help; as JSON the characters stay."""
    text = source.SourceText(f"x{char}.policy", f"ab{char}cd")
    said = f"a{char}b"
    finding = diagnostics.Diagnostic(
        "PS001",
        said,
        text.span(0, 2),
        label=said,
        secondary=(diagnostics.SpanLabel(text.span(3, 5), said),),
        notes=(said,),
        help=said,
    )
    assert char not in rendering.render_diagnostic(finding, {text.name: text})
    document = rendering.encode_diagnostic(finding, {text.name: text})
    assert [document[part] for part in ("message", "label", "help")] == [said, said, said]
