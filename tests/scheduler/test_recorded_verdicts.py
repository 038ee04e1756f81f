"""What is recorded of a decision is what `explain` would have said of it at that moment."""

from __future__ import annotations

import random

import pytest

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, queued_pod, runtime, status
from policysched.profiles import policies
from policysched.scheduler import decisions, measurements
from tests import builders

POLICY = """\
version 1
policy p {
  for pods where tier in (web, db)
  nodeAffinity required disk NotIn (hdd) as fast-disk
  reject when free(memory) < 2Gi as roomy
  score allocatable(cpu) prefer high as big-first
  score free(memory) prefer high weight 3 as room
  score requested(cpu) / allocatable(cpu) prefer low normalize linear(0%, 100%)
        missing score 0 as idle
}
"""
SEEDS = range(8)
NODES, PODS = 30, 60


def _cluster(rng: random.Random, clock: clocks.Clock) -> caches.Cache:
    cache = caches.Cache(clock)
    for number in range(NODES):
        labels = {"disk": rng.choice(("ssd", "hdd"))}
        cpu, memory = str(rng.choice((1, 2, 8))), f"{rng.choice((2, 4, 16))}Gi"
        builder = builders.make_node(f"n{number}").labels(labels)
        cache.set_node(builder.capacity(cpu=cpu, memory=memory, pods=9).build())
    return cache


def _pod(rng: random.Random, number: int) -> builders.PodBuilder:
    pod = builders.make_pod(f"p{number}").labels({"tier": rng.choice(("web", "db", "other"))})
    cpu, memory = f"{rng.choice((100, 700, 3000))}m", f"{rng.choice((1, 3))}Gi"
    return pod.requests(cpu=cpu, memory=memory)


@pytest.mark.parametrize("seed", SEEDS)
def test_records_say_what_explain_says(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Points of the best nodes plugin by plugin, and how many nodes each answer ruled out."""
    rng, clock = random.Random(seed), clocks.ManualClock(builders.EPOCH)
    cache = _cluster(rng, clock)
    path = tmp_path_factory.mktemp("policy") / "p.policy"
    path.write_text(POLICY)
    made = policies.require_profiles(
        policies.make_profiles(
            policies.load_policy_set([str(path)], {}, "policysched"),
            handles.Handle(handles.NoBinder(), cache.owners),
        )
    )
    framework = runtime.Framework(made.by_name["policysched"], random.Random(seed))
    shapes = pod_shape.PodShapeCache(made.annotation_keys)
    log = decisions.DecisionLog(PODS, clock, measurements.SchedulingHistograms())
    standings = 0
    for number in range(PODS):
        info = shapes.make_pod_info(_pod(rng, number).build())
        snap = cache.snapshot()
        result = framework.schedule_pod(info, snap)
        queued = queued_pod.QueuedPodInfo(info, 0.0, attempts=1)
        record = log.record_decision(queued, framework.profile, result, snap, 0.0)
        standings += _compare(framework, info, record, cache)
        if result.node_name is not None:
            cache.assume_pod(info, result.node_name)
        if number % 7 == 0:
            cache.remove_node(f"n{number % NODES}")
    assert standings > PODS // 4


def _compare(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    record: decisions.SchedulingDecision,
    cache: caches.Cache,
) -> bool:
    """Compare a record with an explanation; return whether it has points."""
    said = framework.explain_pod(info, cache.snapshot())
    assert record.feasible_count == said.feasible_count
    counts: dict[status.Status, int] = {}
    for verdict in said.verdicts:
        if not verdict.first.is_success:
            counts[verdict.first] = counts.get(verdict.first, 0) + 1
    assert {each.answer: each.node_count for each in record.rejections} == counts
    first = {verdict.name: verdict.first for verdict in said.verdicts}
    for rejection in record.rejections:
        assert all(first[name] == rejection.answer for name in rejection.examples)
    if record.standing is None:
        return False
    assert said.scores is not None
    rows = said.scores.rows.tolist()
    for index, name in enumerate(record.standing.nodes):
        position = rows.index(cache.nodes.row_of[name])
        points = dict(
            zip(
                record.standing.score_names,
                record.standing.weighted[:, index].tolist(),
                strict=True,
            )
        )
        expected = {each: int(v[position]) for each, v in said.scores.by_plugin.items()}
        assert points == expected
        assert record.standing.totals[index] == said.scores.totals[position]
    assert record.standing.nodes[0] == record.node_name
    others = list(record.standing.totals[1:])
    assert others == sorted(others, reverse=True)
    assert max(record.standing.totals) == said.scores.totals.max()
    return True
