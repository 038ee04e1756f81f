"""`mode shadow`: what is in force, what is tried beside it, and that the two never meet."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np

from policysched.cluster.objects import objects
from policysched.compiler import compiler, shadow_policies
from policysched.framework import explanation
from policysched.lang.checked import checked
from tests import builders
from tests.compiler import desk, strategies, test_reference

TEXT = f"""{desk.METRICS}
policy web {{
  for pods where app = web
  nodeAffinity required disk = ssd as disks
  score heat prefer low missing score 50 weight 30 as cool
}}
policy web-next {{
  mode shadow
  for pods where app = web
  disable web.disks
  reject when load > 80% over 5m max missing allow as hot
  tolerate dedicated=web:NoSchedule
}}
policy apart {{
  mode shadow
  for pods where app = db
  podAntiAffinity required self topologyKey kubernetes.io/hostname
}}
profile one {{ policies web, web-next }}
profile two {{ policies web, apart }}
"""
NAMES = ("one", "two", "")


def test_a_shadow_policy_is_tried_in_its_profile() -> None:
    """One that repels is tried everywhere, for its pods keep those of all profiles away."""
    program = compiler.compile_program(desk.check(TEXT))
    one, two = program.profiles
    tried = {each.name: [s.policy for s in each.shadows] for each in (one, two, program.others)}
    assert tried == {"one": ["web-next", "apart"], "two": ["apart"], None: ["apart"]}
    assert one.policies == ("web",)
    assert one.shadows[0].compiled.policies == ("web", "web-next")
    assert one.shadows[0].compiled.policy_hash == one.policy_hash


def test_pods_that_a_shadow_policy_cannot_matter_to_are_left_out() -> None:
    """It concerns the pods that it selects; one that repels concerns all."""
    program = compiler.compile_program(desk.check(TEXT))
    on = desk.Desk(TEXT)
    shapes = [on.shapes.make_pod_info(desk.pod(app=app).build()).shape for app in ("web", "db")]
    namespaces = on.cache.counts.namespaces
    web_next, apart = (s.concerns for s in program.profiles[0].shadows)
    assert [web_next(shape, namespaces) for shape in shapes] == [True, False]
    assert [apart(shape, namespaces) for shape in shapes] == [True, True]


def test_a_shadow_policy_replaces_what_it_disables() -> None:
    """In force is the old rule, tried is the program without it."""
    on = desk.Desk(TEXT, [desk.node("n1", disk="ssd"), desk.node("n2", disk="hdd")])
    shadow = desk.framework(on.program.profiles[0].shadows[0].compiled)
    pod = on.shapes.make_pod_info(desk.pod(app="web").build())
    assert on.feasible(desk.pod(app="web"), "one") == ["n1"]
    said = shadow.explain_pod(pod, on.cache.snapshot())
    assert [v.name for v in said.verdicts if v.first.is_success] == ["n1", "n2"]


def test_metrics_of_shadow_policies_are_kept_and_told_of() -> None:
    """Their windows fill like those of policies in force."""
    program = compiler.compile_program(desk.check(TEXT))
    (need,) = program.metric_needs.histories.values()
    assert need.seconds == 300.0
    assert {each.metric.name for each in program.metric_parts.readers()} == {"heat"}
    assert {each.metric.name for each in program.shadow_metric_parts.readers()} == {"load", "heat"}


def test_hysteresis_of_a_shadow_policy_moves_by_refreshes() -> None:
    """It knows from the first sample on which nodes it would hold."""
    text = f"""{desk.METRICS}
    policy calm {{
      mode shadow
      for pods
      reject when load > 80% until load < 50% missing allow
    }}"""
    on = desk.Desk(text, [desk.node("n1"), desk.node("n2")])
    shadow = desk.framework(on.program.profiles[0].shadows[0].compiled)
    pod = on.shapes.make_pod_info(desk.pod().build())
    on.sample("load", n1=0.9, n2=0.1)
    on.sample("load", n1=0.6, n2=0.6)
    assert on.feasible(desk.pod()) == ["n1", "n2"]
    said = shadow.explain_pod(pod, on.cache.snapshot())
    assert [v.name for v in said.verdicts if v.first.is_success] == ["n2"]


# --- whatever the policies and the cluster -------------------------------------------------------


def _with_mode(program: checked.CheckedProgram, name: str, mode: Any) -> checked.CheckedProgram:
    """Return the program with one policy in another mode; None leaves the policy out."""
    profiles = tuple(
        dataclasses.replace(
            each,
            policies=tuple(
                dataclasses.replace(policy, mode=mode) if policy.name == name else policy
                for policy in each.policies
                if policy.name != name or mode is not None
            ),
        )
        for each in program.profiles
    )
    return dataclasses.replace(program, profiles=profiles)


def _said(found: explanation.Explanation) -> tuple[object, ...]:
    """Return everything that decides about a pod."""
    scores = found.scores
    return (
        {v.name: (v.first.code, v.first.reasons) for v in found.verdicts},
        None if scores is None else (scores.rows.tolist(), scores.totals.tolist()),
        found.best,
        found.message,
    )


@test_reference.THOROUGH
@hypothesis.given(
    strategies.programs(),
    st.sampled_from(("red", "green", "blue")),
    test_reference.beginnings(),
    st.lists(strategies.events, max_size=4),
    st.lists(strategies.pods("new"), min_size=1, max_size=2),
)
def test_a_shadow_policy_decides_as_if_enforced_and_changes_nothing(
    program: checked.CheckedProgram,
    name: str,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """Real decisions are those without it, tried ones those of a world in which it is in force."""
    shadowed = _with_mode(program, name, "shadow")
    twin, without, enforced = (
        test_reference.Twin(each) for each in (shadowed, _with_mode(program, name, None), program)
    )
    compiled = compiler.compile_program(shadowed)
    profiles = (*compiled.profiles, compiled.others)
    tried = {
        place: [desk.framework(s.compiled) for s in each.shadows]
        for place, each in zip(NAMES, profiles, strict=True)
    }
    twin.cache.retain_needed_metric_data(compiled.metric_needs)
    for event in (*beginning, ("time", 0.0), *then):
        for world in (twin, without, enforced):
            world.happen(*event)
        for pod in pods:
            for place in NAMES:
                for framework in tried[place]:
                    info = twin.shapes.make_pod_info(pod)
                    said = framework.explain_pod(info, twin.cache.snapshot())
                    assert _said(said) == _said(enforced.explain(place, pod))
                assert _said(twin.explain(place, pod)) == _said(without.explain(place, pod))


@hypothesis.given(
    strategies.programs(),
    st.sampled_from(("red", "green", "blue")),
    test_reference.beginnings(),
    strategies.pods("new"),
)
def test_whom_it_does_not_concern_it_decides_alike(
    program: checked.CheckedProgram,
    name: str,
    beginning: list[tuple[str, Any]],
    pod: objects.Pod,
) -> None:
    """Leaving out pods that a policy does not concern leaves out no change."""
    shadowed = compiler.compile_program(_with_mode(program, name, "shadow"))
    twin = test_reference.Twin(_with_mode(program, name, "shadow"))
    for event in beginning:
        twin.happen(*event)
    info, snap = twin.shapes.make_pod_info(pod), twin.cache.snapshot()
    for place, each in zip(NAMES, (*shadowed.profiles, shadowed.others), strict=True):
        concerned = any(s.concerns(info.shape, snap.counts.namespaces) for s in each.shadows)
        if concerned:
            continue
        real = twin.schedule(place, pod)
        enforced = test_reference.Twin(program)
        for event in beginning:
            enforced.happen(*event)
        other = enforced.schedule(place, pod)
        assert (real.node_name, real.message) == (other.node_name, other.message)
        if real.scores is not None and other.scores is not None:
            assert np.array_equal(real.scores.totals, other.scores.totals)


def test_a_policy_is_tried_as_its_profile_resolves_its_params() -> None:
    """Each profile's own values hold in what is tried, too."""
    text = """
    param least: cores = 1
    policy room { mode shadow for pods reject when free(cpu) < least }
    profile one { policies room }
    profile two { policies room param least = 3 }
    """
    program = desk.check(text)
    on = desk.Desk(text, [builders.make_node("n1").capacity(cpu="2")])
    pod = on.shapes.make_pod_info(desk.pod().build())
    found = []
    for index in (0, 1):
        (each,) = shadow_policies.tried(program, index)
        assert each.profile is not None
        tried = desk.framework(compiler.compile_profile(each.profile, each.program))
        found.append(tried.explain_pod(pod, on.cache.snapshot()).feasible_count)
    assert found == [1, 0]
