"""Renders coverage for other tools: as an lcov tracefile or as Cobertura XML."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from xml.etree import ElementTree

from policysched.policytests import coverage


def render_lcov(found: coverage.PolicyCoverage) -> str:
    """Return a tracefile (geninfo(1)): a line for each rule, a branch for each possible outcome."""
    return "".join(f"{line}\n" for line in _render_lcov_lines(found))


def _render_lcov_lines(found: coverage.PolicyCoverage) -> Iterator[str]:
    """Yield the lines of a tracefile, file by file."""
    for file, grouped in itertools.groupby(found.rules, key=lambda rule: rule.file):
        rules = list(grouped)
        yield from ("TN:policysched", f"SF:{file}")
        branches = [count for rule in rules for count in rule.branches.values()]
        for rule in rules:
            for number, count in enumerate(rule.branches.values()):
                taken = count if rule.hits else "-"
                yield f"BRDA:{rule.line},0,{number},{taken}"
        yield f"BRF:{len(branches)}"
        yield f"BRH:{sum(count > 0 for count in branches)}"
        for rule in rules:
            yield f"DA:{rule.line},{rule.hits}"
        yield f"LF:{len(rules)}"
        yield f"LH:{sum(rule.hits > 0 for rule in rules)}"
        yield "end_of_record"


def render_cobertura(found: coverage.PolicyCoverage) -> str:
    """Return a report in the format of Cobertura's coverage-04.dtd."""
    taken, every = found.branch_counts
    hit = sum(rule.hits > 0 for rule in found.rules)
    rates = {
        "line-rate": _format_coverage_rate(hit, len(found.rules)),
        "branch-rate": _format_coverage_rate(taken, every),
        "complexity": "0",
    }
    root = ElementTree.Element(
        "coverage",
        {
            **rates,
            "lines-covered": str(hit),
            "lines-valid": str(len(found.rules)),
            "branches-covered": str(taken),
            "branches-valid": str(every),
            "version": "policysched",
            "timestamp": "0",
        },
    )
    ElementTree.SubElement(ElementTree.SubElement(root, "sources"), "source").text = "."
    package = ElementTree.SubElement(
        ElementTree.SubElement(root, "packages"), "package", {"name": "", **rates}
    )
    classes = ElementTree.SubElement(package, "classes")
    for file, grouped in itertools.groupby(found.rules, key=lambda rule: rule.file):
        _render_cobertura_file(classes, file, list(grouped))
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f"{head}{ElementTree.tostring(root, encoding='unicode')}\n"


def _render_cobertura_file(
    classes: ElementTree.Element, file: str, rules: list[coverage.RuleCoverage]
) -> None:
    """Add the `class` element of one policy file, with a line for each rule."""
    counts = [count for rule in rules for count in rule.branches.values()]
    rates = {
        "line-rate": _format_coverage_rate(sum(rule.hits > 0 for rule in rules), len(rules)),
        "branch-rate": _format_coverage_rate(sum(count > 0 for count in counts), len(counts)),
        "complexity": "0",
    }
    each = ElementTree.SubElement(classes, "class", {"name": file, "filename": file, **rates})
    ElementTree.SubElement(each, "methods")
    lines = ElementTree.SubElement(each, "lines")
    for rule in rules:
        taken = sum(count > 0 for count in rule.branches.values())
        share = f"{100 * taken // len(rule.branches)}% ({taken}/{len(rule.branches)})"
        ElementTree.SubElement(
            lines,
            "line",
            {
                "number": str(rule.line),
                "hits": str(rule.hits),
                "branch": "true",
                "condition-coverage": share,
            },
        )


def _format_coverage_rate(part: int, whole: int) -> str:
    return f"{part / whole if whole else 1:.4f}"
