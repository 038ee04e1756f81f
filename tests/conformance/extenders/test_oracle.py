"""The oracle of extenders: repeatable, and reaching what extenders can do."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import pytest

from tests.conformance import oracle_process
from tests.conformance.extenders import generate, outcomes, rows, run, script, server

pytestmark = pytest.mark.e2e

_SEED = 1
_CASES_OF_ALL_ROWS = 2000
_CASES_TWICE = 10


class _SecondOracle:
    """kube-scheduler in the place of policysched."""

    def __init__(self, oracle: oracle_process.Oracle) -> None:
        self._oracle = oracle

    async def extend(self, case: script.Json) -> list[outcomes.PodOutcome]:
        """Return what kube-scheduler decides."""
        answer = self._oracle.ask(case["cluster"], oracle_process.EXTEND, config=case["config"])
        return [outcomes.PodOutcome.from_oracle(each) for each in answer["extend"]]

    async def extend_wrongly(self, case: script.Json) -> list[outcomes.PodOutcome]:
        """Return the same with one victim less."""
        found = await self.extend(case)
        return [dataclasses.replace(each, victims=each.victims[1:]) for each in found]

    async def extend_twice(self, case: script.Json) -> list[outcomes.PodOutcome]:
        """Ask all extenders once more."""
        await self.extend(case)
        return await self.extend(case)


@pytest.fixture(scope="module")
def oracle() -> Iterator[oracle_process.Oracle]:
    """One oracle for all tests here."""
    with oracle_process.Oracle() as running:
        yield running


@contextlib.contextmanager
def _judge(oracle: oracle_process.Oracle, extend: run.Extend) -> Iterator[run.Judge]:
    with server.ExtenderServer() as extenders:
        yield run.Judge(oracle, extenders, extend)


def test_kube_scheduler_agrees_with_itself(oracle: oracle_process.Oracle) -> None:
    """Nothing in outcomes or requests is a matter of chance."""
    with _judge(oracle, _SecondOracle(oracle).extend) as judge:
        tally = judge.compare_cases(_SEED, range(_CASES_TWICE))
    assert tally.failures == {}
    assert (tally.cases, tally.requests > _CASES_TWICE) == (_CASES_TWICE, True)


def test_wrong_decisions_and_requests_are_found(oracle: oracle_process.Oracle) -> None:
    """In cases in which that makes a difference."""
    second = _SecondOracle(oracle)
    for extend, aspect in (
        (second.extend_wrongly, "victims"),
        (second.extend_twice, "order of requests"),
    ):
        with _judge(oracle, extend) as judge:
            failures = judge.compare_cases(_SEED, range(_CASES_TWICE)).failures
        found = {each.aspect for differences in failures.values() for each in differences}
        assert aspect in found


@pytest.mark.proof
def test_all_that_extenders_can_do_occurs(oracle: oracle_process.Oracle) -> None:
    """Each row of `rows.ROWS` is reached by some case of a fixed seed."""
    reached: set[str] = set()
    with _judge(oracle, _SecondOracle(oracle).extend) as judge:
        for number in range(_CASES_OF_ALL_ROWS):
            case = judge.normalised(generate.case(_SEED, number))
            reached |= rows.reached(case, judge.ask_kube_scheduler(case))
            if reached == rows.ROWS:
                break
    assert sorted(rows.ROWS - reached) == []
    assert sorted(reached - rows.ROWS) == []


def test_a_profile_of_the_case_and_its_extenders_do_not_outlive_it(
    oracle: oracle_process.Oracle,
) -> None:
    """Resources that an extender manages are ignored in its own cases only."""
    resource = "example.com/foo"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    limits = {"limits": {resource: "1"}, "requests": {resource: "1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i", "resources": limits}],
        },
        "status": {"phase": "Pending"},
    }
    for is_ignored in (True, False, True):
        managed = {"name": resource, "ignoredByScheduler": is_ignored}
        extender = {"urlPrefix": "http://127.0.0.1:1", "managedResources": [managed]}
        cluster = {"apiVersion": "v1", "kind": "List", "items": [node, pod]}
        answer = oracle.ask(cluster, oracle_process.EXTEND, config={"extenders": [extender]})
        [outcome] = answer["extend"]
        assert outcome["isBound"] is is_ignored
