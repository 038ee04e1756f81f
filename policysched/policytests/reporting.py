"""Reports a test run in the format of schemas/test.schema.json."""

from __future__ import annotations

from policysched.policytests import coverage, running


def as_json(run: running.PolicyTestRun, *, with_coverage: bool) -> dict[str, object]:
    """Return the complete report of a run."""
    return {
        "summary": {
            status: run.count_results(status) for status in ("pass", "fail", "error", "skip")
        },
        "tests": [_render_case_result(result) for result in run.results],
        "problems": [{"file": file, "problem": said} for file, said in run.problems.items()],
        "coverage": (
            _render_coverage(run.coverage) if with_coverage and run.has_run_tests else None
        ),
    }


def _render_case_result(result: running.CaseResult) -> dict[str, object]:
    """Return the report of one test; only reports of failed tests contain the evaluation."""
    case = result.case
    return {
        "file": case.suite.path,
        "line": case.find_line(),
        "name": case.name,
        "status": result.status,
        "problem": result.problem,
        "failures": [
            {
                "line": case.find_line("expect", *each.path),
                "expectation": ".".join(each.path),
                "expected": each.expected,
                "actual": each.actual,
            }
            for each in result.mismatches
        ],
        "evaluation": result.report if result.status == "fail" else None,
    }


def _render_coverage(found: coverage.PolicyCoverage) -> dict[str, object]:
    """Return the coverage in total and for each rule."""
    taken, every = found.branch_counts
    return {
        "percent": round(found.percent, 2),
        "branches": every,
        "covered": taken,
        "rules": [
            {
                "rule": rule.name,
                "file": rule.file,
                "line": rule.line,
                "hits": rule.hits,
                "branches": rule.branches,
            }
            for rule in found.rules
        ],
    }
