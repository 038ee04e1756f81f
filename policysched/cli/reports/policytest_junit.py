"""Renders the report of `test` as JUnit XML, for CI servers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from policysched import control_characters
from policysched.cli.render import styles
from policysched.cli.reports import policytest_text

if TYPE_CHECKING:
    from policysched.policytests import running


def render_junit_document(run: running.PolicyTestRun) -> str:
    """Render a testsuite for each file; a file that could not be run is a test in error."""
    root = ElementTree.Element("testsuites", _make_count_attributes(run.results, len(run.problems)))
    for file, grouped in itertools.groupby(run.results, key=lambda r: r.case.suite.path):
        results = list(grouped)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {"name": _remove_invalid_characters(file), **_make_count_attributes(results)},
        )
        for result in results:
            _add_junit_case(suite, result)
    for file, problem in run.problems.items():
        name = _remove_invalid_characters(file)
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": name, **_make_count_attributes([], 1)}
        )
        case = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": name})
        _add_junit_problem(case, "error", problem.splitlines()[0], problem)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}'


def _make_count_attributes(
    results: list[running.CaseResult], further_errors: int = 0
) -> dict[str, str]:
    """Return the count attributes of a testsuite; `further_errors` counts the files not run."""
    statuses = [result.status for result in results]
    return {
        "tests": str(len(results) + further_errors),
        "failures": str(statuses.count("fail")),
        "errors": str(statuses.count("error") + further_errors),
        "skipped": str(statuses.count("skip")),
    }


def _add_junit_case(suite: ElementTree.Element, result: running.CaseResult) -> None:
    """Add a testcase with its failure, error or skip reason."""
    each = result.case
    said = {
        "name": _remove_invalid_characters(each.name),
        "classname": _remove_invalid_characters(each.suite.path),
        "line": str(each.find_line()),
    }
    case = ElementTree.SubElement(suite, "testcase", said)
    if result.status == "skip":
        ElementTree.SubElement(
            case, "skipped", {"message": _remove_invalid_characters(result.problem)}
        )
    elif result.status != "pass":
        kind = "failure" if result.status == "fail" else "error"
        lines = list(policytest_text.format_test_details(result))
        _add_junit_problem(case, kind, " ".join(lines[:2]), "\n".join(lines))


def _add_junit_problem(case: ElementTree.Element, kind: str, message: str, text: str) -> None:
    ElementTree.SubElement(
        case, kind, {"message": _remove_invalid_characters(message)}
    ).text = _remove_invalid_characters(text)


def _remove_invalid_characters(text: str) -> str:
    """Return a text without style marks and without characters that XML does not permit."""
    return control_characters.replace_non_xml_characters(styles.remove_style_marks(text))
