"""policies/tests: the shipped policies as their own tests have them."""

from __future__ import annotations

import jsonschema
import pytest

from policysched.inputs import plain_yaml
from policysched.policytests import cluster_policy_expectations, expectations, running
from policysched.policytests import suite as suites
from tests.policies import shipped

FOLDER = shipped.FOLDER / "tests"


@pytest.fixture(scope="module")
def done() -> running.PolicyTestRun:
    """Run all of them."""
    return running.run_test_suites([str(FOLDER)])


def test_every_shipped_policy_passes_its_tests(done: running.PolicyTestRun) -> None:
    """As `policysched test policies/tests` would say."""
    failing = {
        f"{result.case.suite.path}: {result.case.name}": result.mismatches
        for result in done.results
        if result.status != "pass"
    }
    assert (failing, done.problems) == ({}, {})


def test_every_shipped_policy_has_tests() -> None:
    """A file of tests a policy, named after it."""
    tested = {file.name.removesuffix("_test.yaml") for file in FOLDER.glob("*.yaml")}
    assert tested == {file.stem for file in shipped.FILES}


def test_every_rule_is_exercised_both_ways(done: running.PolicyTestRun) -> None:
    """Nothing is missing of the coverage."""
    assert {
        rule.name: rule.missing_outcomes for rule in done.coverage.rules if rule.missing_outcomes
    } == {}
    assert len(done.coverage.rules) > 20


def test_the_schema_is_one() -> None:
    """Of JSON Schema's own form; each expectation that it knows is compared."""
    schema = suites.load_policytest_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    known = set(schema["$defs"]["expect"]["properties"])
    assert known - {"exact", *cluster_policy_expectations.FIELDS} == set(expectations._COMPARISONS)


def test_the_schema_accepts_the_shipped_tests() -> None:
    """Editors may check files by it."""
    files = list(FOLDER.glob("*.yaml"))
    assert files
    for file in files:
        document = plain_yaml.load_yaml_document(file.read_text("utf-8"), file.name)
        jsonschema.validate(document.value, suites.load_policytest_schema())
