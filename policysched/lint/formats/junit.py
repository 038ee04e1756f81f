"""JUnit XML, with one test suite for each file and one failed test for each finding."""

from __future__ import annotations

from xml.sax import saxutils

from policysched import control_characters
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter
from policysched.lint.formats import file_regions


def render(report: linter.LintResult) -> str:
    """Return the XML document; a file without findings has one passing test."""
    by_file: dict[str, list[str]] = {
        file_regions.locate_span(text.span(0, 0), report.texts).file: []
        for text in report.texts.values()
        if text.text
    }
    for finding in report.findings:
        place = file_regions.locate_span(finding.span, report.texts)
        by_file.setdefault(place.file, []).append(_render_failed_test(finding, place))
    suites = [_render_test_suite(file, cases) for file, cases in by_file.items()]
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]
    )


def _render_test_suite(file: str, cases: list[str]) -> str:
    name = _quote_attribute("policysched lint")
    passed = [f"<testcase name={name} classname={_quote_attribute(file)}/>"]
    opening = (
        f"<testsuite name={_quote_attribute(file)} "
        f'tests="{max(len(cases), 1)}" failures="{len(cases)}" errors="0">'
    )
    return "\n".join([opening, *(cases or passed), "</testsuite>"])


def _render_failed_test(finding: diagnostics.Diagnostic, place: file_regions.FileRegion) -> str:
    """Return a finding as a failed test."""
    name = f"{finding.code} {place.line}:{place.column}"
    lines = [finding.message, *finding.notes, finding.help]
    text = saxutils.escape(
        control_characters.replace_non_xml_characters("\n".join(line for line in lines if line))
    )
    return (
        f"<testcase name={_quote_attribute(name)} classname={_quote_attribute(place.file)}>"
        f"<failure type={_quote_attribute(str(finding.severity))} "
        f"message={_quote_attribute(finding.message)}>"
        f"{text}</failure></testcase>"
    )


def _quote_attribute(text: str) -> str:
    return saxutils.quoteattr(control_characters.replace_non_xml_characters(text))
