"""The audit of a running scheduler: gauges, ages, and what ends an audit early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from policysched.auditing import live_audit
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from tests import builders
from tests.compiler import desk

_POLICY = """version 1
policy fast {
  for pods where app = web
  nodeAffinity required pool = fast as pool
  nodeAffinity required disk = ssd as disk
}
"""


class _Running:
    """A scheduler whose time passes only while the audit sleeps.

    Attributes:
        leads: whether it schedules.
        events: called one after the other, each in one sleep.
    """

    def __init__(self) -> None:
        self.desk = desk.Desk(
            _POLICY, [desk.node("a", pool="slow", disk="ssd"), desk.node("b", pool="fast")]
        )
        self.leads = True
        self.events: list[Callable[[], None]] = []
        self.frameworks = {"default-scheduler": self.desk.frameworks[None]}
        cluster = live_audit.LiveCluster(
            self.find_framework,
            lambda: self.frameworks,
            self.desk.cache.snapshot,
            lambda: self.leads,
        )
        self.audit = live_audit.LiveAudit(cluster, self.desk.clock, 60.0, self._sleep)

    def find_framework(self, info: pod_shape.PodInfo) -> runtime.Framework:
        """Return that of the newest version for pods with the label `new`, if there is one."""
        staged = self.frameworks.get("staged")
        default = self.frameworks["default-scheduler"]
        return staged if staged and "new" in info.pod.metadata.labels else default

    async def _sleep(self, seconds: float) -> None:
        self.desk.clock.advance(seconds)
        if self.events:
            self.events.pop(0)()

    def find_metrics(self) -> dict[str, dict[tuple[str, ...], float]]:
        """Audit once; return the values of each metric by labels."""
        asyncio.run(self.audit.audit_once())
        return {
            family.name.removeprefix("policysched_audit_"): {
                tuple(sample.labels.values()): sample.value for sample in family.samples
            }
            for family in self.audit.collect_metrics()
        }


@pytest.fixture
def running() -> _Running:
    """Return a scheduler with two pods, of which one violates a rule on each node."""
    found = _Running()
    found.desk.place(_pod("one", "a"), _pod("two", "b"))
    return found


def _pod(name: str, node: str) -> builders.PodBuilder:
    return desk.pod(name, app="web").node(node)


_POOL, _DISK = ("", "fast/pool"), ("", "fast/disk")


def test_ages_count_from_the_audit_that_saw_the_violation_first(running: _Running) -> None:
    """A rule without violations has series, too."""
    running.desk.remove(_pod("two", "b"))
    running.find_metrics()
    running.desk.clock.advance(100.0)
    running.desk.place(_pod("two", "b"), _pod("three", "a"))
    found = running.find_metrics()
    assert found["violating_pods"] == {_POOL: 2, _DISK: 1}
    assert found["oldest_violation_seconds"] == {_POOL: 100, _DISK: 0}
    assert found["pods"] == {(): 3}
    assert found["last_end_timestamp_seconds"] == {(): running.desk.clock.now().timestamp()}


def test_a_violation_that_ends_and_begins_anew_has_a_new_age(running: _Running) -> None:
    """The pod of a node that has its label again is in order."""
    running.find_metrics()
    running.desk.cache.set_node(desk.node("a", pool="fast", disk="ssd").build())
    running.desk.clock.advance(100.0)
    assert running.find_metrics()["violating_pods"] == {_POOL: 0, _DISK: 1}
    running.desk.cache.set_node(desk.node("a", pool="slow", disk="ssd").build())
    assert running.find_metrics()["oldest_violation_seconds"] == {_POOL: 0, _DISK: 100}


def test_the_scheduler_works_between_two_steps(running: _Running) -> None:
    """Pods may come and go meanwhile."""
    running.events = [lambda: running.desk.remove(_pod("one", "a"))]
    assert running.find_metrics()["violating_pods"] == {_POOL: 0, _DISK: 1}


def test_a_change_of_the_policies_drops_the_audit(running: _Running) -> None:
    """The last result stays, with its ages."""
    before = running.find_metrics()
    running.desk.place(_pod("three", "a"))
    other = {"default-scheduler": desk.framework(running.desk.program.profiles[0])}
    running.events = [lambda: setattr(running, "frameworks", other)]
    assert running.find_metrics() == before
    assert running.find_metrics()["violating_pods"] == {_POOL: 2, _DISK: 1}


def test_a_removed_rule_has_no_series(running: _Running) -> None:
    """Also if a change of the policies drops each further audit."""
    running.find_metrics()
    text = _POLICY.replace("  nodeAffinity required pool = fast as pool\n", "")
    newest = desk.framework(desk.Desk(text).program.profiles[0])
    running.events = [lambda: setattr(running, "frameworks", {"default-scheduler": newest})]
    found = running.find_metrics()
    assert found["violating_pods"] == {_DISK: 1}
    assert found["oldest_violation_seconds"].keys() == {_DISK}


def test_each_pod_is_judged_by_the_version_that_decides_about_it(running: _Running) -> None:
    """During a rollout, two versions of a profile are in use."""
    text = _POLICY.replace("pool = fast", "pool = slow")
    newest = desk.framework(desk.Desk(text).program.profiles[0])
    running.frameworks = running.frameworks | {"staged": newest}
    running.desk.place(desk.pod("three", app="web", new="yes").node("a"))
    running.desk.place(desk.pod("four", app="web", new="yes").node("b"))
    assert running.find_metrics()["violating_pods"] == {_POOL: 2, _DISK: 2}
    found = running.audit.findings
    assert found is not None
    pool = {uid for key, uid in found.first_seen_seconds if key == _POOL}
    assert {uid.rpartition("-")[2] for uid in pool} == {"one", "four"}


def test_only_the_leader_audits(running: _Running) -> None:
    """A process that no longer leads exports no series; a leader begins with new ages."""
    running.find_metrics()

    def lose() -> None:
        running.leads = False

    def stop() -> None:
        raise asyncio.CancelledError

    running.events = [lose, stop]
    running.find_metrics()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(running.audit.run())
    assert running.audit.findings is None
    assert all(not family.samples for family in running.audit.collect_metrics())
