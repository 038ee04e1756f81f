from __future__ import annotations

import dataclasses

import pytest

from policysched.offline import metric_evidence
from tests import builders
from tests.compiler import desk

POLICY = """
metric busy: ratio = `x` node instance refresh 15s maxAge 2m between 0% and 105%
  placed adds requests(cpu) / allocatable(cpu) for 90s
metric traffic: bytesPerSecond = `y` node instance refresh 15s maxAge 2m
metric used: cores = `z` node instance refresh 15s maxAge 2m
policy hot {
  for pods
  reject when busy > 80% missing reject message "node is too busy" as too-hot
}
profile one { policies hot }
policy wide {
  for pods
  reject when busy > 80% or 100M < traffic or used > 7.5 over 10m max missing allow as any-of
}
profile wide { policies wide }
policy cooled {
  for pods
  reject when busy > 80% until busy < 60% missing allow as cooled
}
profile cooled { policies cooled }
profile held { policies hot onOutage hold }
"""


@dataclasses.dataclass
class _Scene:
    """Two nodes, four cores each, and the pod that nobody takes."""

    desk: desk.Desk

    def event(self, profile: str = "one") -> list[str]:
        """Return what the event about the pod adds to its message."""
        framework = self.desk.frameworks[profile]
        info = self.desk.shapes.make_pod_info(desk.pod().build())
        snap = self.desk.cache.snapshot()
        result = framework.schedule_pod(info, snap)
        assert result.diagnosis is not None
        return framework.evidence(info, snap, result.diagnosis)

    def details(self, node: str, profile: str = "one") -> list[str | None]:
        """Return what `explain` says that rules saw on a node."""
        framework = self.desk.frameworks[profile]
        info = self.desk.shapes.make_pod_info(desk.pod().build())
        snap = self.desk.cache.snapshot()
        report = metric_evidence.PodMetricEvidence(framework.profile.plugins, info.shape, snap)
        (verdict,) = (v for v in self.desk.explain(desk.pod(), profile).verdicts if v.name == node)
        row = snap.nodes.row_of[node]
        return [report.describe_rule_reading(failure.rule, row) for failure in verdict.all_failures]


@pytest.fixture
def scene() -> _Scene:
    """Nodes without samples."""
    nodes = [desk.node(name).capacity(cpu="4", pods=10) for name in ("n1", "n2")]
    return _Scene(desk.Desk(POLICY, nodes))


def test_an_event_has_ranges_over_the_rejected_nodes(scene: _Scene) -> None:
    """One text for all nodes: the range of values, of ages, and what was compared with what."""
    scene.desk.sample("busy", {"n1": 12.0, "n2": 30.0}, n1=0.97, n2=0.81)
    (told,) = scene.event()
    assert told == "hot/too-hot (line 8): busy 81%..97% > 80%, samples 12s..30s old"


def test_an_event_tells_of_just_placed_pods(scene: _Scene) -> None:
    """They are part of the value, and it says how large a part."""
    scene.desk.sample("busy", n1=0.7, n2=0.9)
    for number in range(3):
        pod = builders.make_pod(f"p{number}").requests(cpu="200m").node("n1").build()
        scene.desk.cache.assume_pod(scene.desk.shapes.make_pod_info(pod), "n1")
    (told,) = scene.event()
    assert told == (
        "hot/too-hot (line 8): busy 85%..90% > 80%, samples 0s old, "
        "of which up to 15% from 3 pods placed in the last 1m30s"
    )
    assert scene.details("n1") == [
        "busy 85% > 80%, sample 0s old, of which 15% from 3 pods placed in the last 1m30s"
    ]


def test_an_event_tells_what_is_not_there(scene: _Scene) -> None:
    """Under `missing reject` nodes are rejected for what is not known, and why is said."""
    scene.desk.sample("busy", {"n1": 21.0}, n1=0.97)
    assert scene.event() == [
        "hot/too-hot (line 8): busy 97% > 80%, sample 21s old, busy without a sample on 1 of them"
    ]


@pytest.mark.parametrize(
    "age, value, told",
    [
        pytest.param(250.0, 0.9, "is stale: the sample is 4m10s old, maxAge is 2m", id="stale"),
        pytest.param(1.0, 1.3, "is out of range: 130% is not between 0% and 105%", id="range"),
        pytest.param(1.0, None, "has no sample", id="missing"),
    ],
)
def test_explain_says_why_there_is_no_value(
    scene: _Scene, age: float, value: float | None, told: str
) -> None:
    """No sample, one that is too old, and one out of range are three things."""
    known = {} if value is None else {"n1": value}
    scene.desk.sample("busy", {"n1": age}, n2=0.9, **known)
    assert scene.details("n1") == [f"busy {told}"]


def test_a_rule_that_drops_out_says_so(scene: _Scene) -> None:
    """A pod that fits nowhere learns that a rule was not asked, and why."""
    nodes = [desk.node("n1").capacity(cpu="4", pods=10)]
    other = "policy none { for pods nodeAffinity required a = b }\n"
    text = POLICY.replace("policies hot }", "policies hot, none }", 1) + other
    scene.desk = desk.Desk(text, nodes)
    assert scene.event() == [
        "hot/too-hot (line 8) is skipped: no node has a valid sample of busy, and none had one yet"
    ]
    scene.desk.sample("busy", {"n1": 250.0}, n1=0.97)
    assert scene.event() == [
        (
            "hot/too-hot (line 8) is skipped: no node has a valid sample of busy: "
            "the newest is 4m10s old, maxAge is 2m"
        )
    ]


def test_windows_units_and_turned_comparisons_are_told(scene: _Scene) -> None:
    """Each metric by its own unit, with the bound that it is compared with."""
    scene.desk.sample("busy", n1=0.9, n2=0.2)
    scene.desk.sample("traffic", n1=2.5e8, n2=1.5e8)
    scene.desk.sample("used", n1=1.0, n2=2.0)
    assert scene.details("n1", "wide") == [
        (
            "busy over 10m max 90% > 80%, sample 0s old; traffic over 10m max 250M/s > 100M/s, "
            "sample 0s old; used over 10m max 1 core (bound > 7.5 cores), sample 0s old"
        )
    ]


def test_a_node_that_hysteresis_holds_says_so(scene: _Scene) -> None:
    """The value alone would not explain why the node is out."""
    scene.desk.sample("busy", n1=0.9, n2=0.9)
    scene.desk.sample("busy", n1=0.7, n2=0.9)
    assert scene.details("n1", "cooled") == [
        "busy 70% (bound > 80%), sample 0s old, held by `until`"
    ]


def test_an_event_tells_of_nodes_that_hysteresis_holds(scene: _Scene) -> None:
    """Only of those that the condition alone would let go."""
    scene.desk.sample("busy", n1=0.9, n2=0.9)
    (told,) = scene.event("cooled")
    assert told == "cooled/cooled (line 18): busy 90% > 80%, samples 0s old"
    scene.desk.sample("busy", n1=0.7, n2=0.9)
    (told,) = scene.event("cooled")
    assert told == (
        "cooled/cooled (line 18): busy 70%..90% (bound > 80%), samples 0s old, "
        "held by `until` on 1 of them"
    )


def test_a_rule_that_pods_wait_for_says_so(scene: _Scene) -> None:
    """Under `onOutage hold` no rule drops out, and the event says since when nothing is known."""
    assert scene.event("held") == [
        "hot/too-hot (line 8) waits: no node has a valid sample of busy, and none had one yet"
    ]
    scene.desk.sample("busy", {"n1": 250.0}, n1=0.97)
    assert scene.event("held") == [
        (
            "hot/too-hot (line 8) waits: no node has a valid sample of busy: "
            "the newest is 4m10s old, maxAge is 2m"
        )
    ]


def test_reasons_hold_no_values(scene: _Scene) -> None:
    """Conditions stay the same while samples change, so that no attempt writes a new one."""
    messages = set()
    for value in (0.85, 0.9, 0.95):
        scene.desk.sample("busy", n1=value, n2=value)
        messages.add(scene.desk.explain(desk.pod(), "one").message)
    assert messages == {"0/2 nodes are available: 2 node is too busy."}
