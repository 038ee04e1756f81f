"""What compiling a program gives: plugins in order, weights, keys, rewrites, the plan."""

from __future__ import annotations

import numpy as np
import pytest

from policysched import units
from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.compiler import compiler, explain, rewrites
from policysched.compiler.rules import base, reject
from policysched.framework import cycle_state, interface
from policysched.lang import source
from policysched.lang.checked import checked, checked_expr
from tests import builders
from tests.compiler import desk

TEXT = f"""{desk.METRICS}
policy web {{
  for pods where app = web and annotation("example.com/tier") = gold
  nodeAffinity required disk = ssd and not tainted(old:NoSchedule) as disks
  podAntiAffinity required self topologyKey kubernetes.io/hostname as apart
  reject when free(cpu) < 500m as room
  reject when load > 80% missing allow as hot
  tolerate dedicated=web:NoSchedule
  score heat prefer low missing score 50 weight 30 as cool
  nodeAffinity preferred zone = a weight 7 as near
}}
policy other {{ for pods reject when pod(annotation(team) = x) and node(zone = b) }}
profile one {{ policies web }}
profile two {{ policies web, other }}
"""


@pytest.fixture(scope="module")
def program() -> compiler.CompiledProgram:
    """Return the compiled text."""
    return compiler.compile_program(desk.check(TEXT))


def test_filters_run_in_the_order_of_what_they_read(program: compiler.CompiledProgram) -> None:
    """Node facts first, then the pods of a node, then whatever is asked for every pod."""
    one, _ = program.profiles
    rules = [p for p in one.plugins if isinstance(p, base.PolicyRule)]
    assert [rule.head.name for rule in rules if not isinstance(rule, base.ScoreRule)] == [
        "web/disks",
        "web/hot",
        "web/room",
        "web/apart",
        "web/apart",
    ]
    assert {p.name for p in one.plugins} == {"Policy"}


def test_a_compiled_profile_says_what_it_is(program: compiler.CompiledProgram) -> None:
    """Names, weights by POLICY/RULE, metrics, annotations, the hash of the text."""
    one, two = program.profiles
    assert (one.name, one.policies, two.policies) == ("one", ("web",), ("web", "other"))
    assert one.weights == {"web/cool": 30, "web/near": 7}
    assert {metric.name for metric in one.metrics} == {"load", "heat"}
    assert program.annotation_keys == {"example.com/tier", "team"}
    assert one.policy_hash == two.policy_hash == desk.check(TEXT).content_hash
    assert (program.others.name, program.others.policies, program.others.weights) == (None, (), {})


def test_a_profile_compiles_by_itself(program: compiler.CompiledProgram) -> None:
    """The same as within its program."""
    written = desk.check(TEXT)
    alone = compiler.compile_profile(written.profiles[1], written)
    assert [type(p) for p in alone.plugins] == [type(p) for p in program.profiles[1].plugins]
    assert alone.weights == program.profiles[1].weights


def test_rules_say_what_they_read(program: compiler.CompiledProgram) -> None:
    """So that the framework keeps their answers as long as it may."""
    reads = interface.Reads
    one, _ = program.profiles
    rules = [p for p in one.plugins if isinstance(p, base.PolicyRule)]
    assert {rule.head.name: getattr(rule, "reads") for rule in rules} == {  # noqa: B009 - each declares its own
        "web/disks": reads.NODE,
        "web/room": reads.AMOUNTS,
        "web/hot": reads.NODE | reads.METRICS | reads.ALL_NODES,
        "web/apart": reads.NODE | reads.PODS,
        "web/cool": reads.NODE | reads.METRICS | reads.ALL_NODES,
        "web/near": reads.NODE,
    }


def test_one_program_serves_several_clusters() -> None:
    """What is kept belongs to the cluster that it was read from."""
    text = "policy p { for pods nodeAffinity required disk = ssd or label = x or tainted(old) }"
    compiled = compiler.compile_program(desk.check(text)).profiles[0]
    framework = desk.framework(compiled)
    found = []
    for disk in ("ssd", "hdd"):
        cache = caches.Cache(desk.Desk(text).clock)
        for name in ("n1", "n2"):
            cache.set_node(desk.node(name, disk=disk).build())
        pod = pod_shape.PodShapeCache().make_pod_info(desk.pod().build())
        fresh = desk.framework(compiled)
        found.append(fresh.schedule_pod(pod, cache.snapshot()).feasible_count)
    assert found == [2, 0]
    assert framework.profile.plugins == compiled.plugins


def test_a_fault_names_the_rule() -> None:
    """A bug met while a rule is evaluated says which rule of which text it was."""
    text = "policy p { for pods reject when free(cpu) < 1 as r }"
    there = desk.Desk(text, [desk.node("n")])
    (rule,) = (p for p in there.program.profiles[0].plugins if isinstance(p, reject.Reject))
    info = there.shapes.make_pod_info(builders.make_pod("p").build())
    broken = object()
    with pytest.raises(AttributeError) as raised:
        rule.filter(cycle_state.CycleState(), info, broken)  # type: ignore[arg-type]  # the fault
    assert raised.value.__notes__ == ["while evaluating policy rule p/r at test.policy:1:21"]


# --- rewrites ------------------------------------------------------------------------------------


def _condition(condition: str) -> checked_expr.TypedExpr:
    text = f"{desk.METRICS} policy p {{ for pods reject when {condition} missing allow }}"
    (rule,) = desk.check(text).policies[0].rules
    assert isinstance(rule, checked.RejectRule)
    return rewrites.apply(rule.condition)


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("load > 2 * 40%", 0.8),
        ("load > min(90%, 1 - 20%)", 0.8),
        ("load > 40% / (1 - 50%)", 0.8),
    ],
)
def test_constants_are_folded(condition: str, expected: float) -> None:
    """Arithmetic and functions of constants are done once."""
    compared = _condition(condition)
    assert isinstance(compared, checked_expr.Compare)
    assert isinstance(compared.right, checked_expr.Const)
    assert compared.right.value == expected


def test_what_has_no_value_is_not_folded() -> None:
    """A division by zero stays what it is: missing."""
    span = source.Span("x", 0, 0, 1, 1)
    one, zero = (checked_expr.Const(value, units.NUMBER, span) for value in (1.0, 0.0))
    division = checked_expr.ArithmeticOperation("/", one, zero, units.NUMBER, span)
    assert rewrites.apply(division) == division


# --- the plan ------------------------------------------------------------------------------------


def test_the_plan_is_a_tree_of_text(program: compiler.CompiledProgram) -> None:
    """Clause, role, what it reads, and the kernels below."""
    lines = list(explain.plan(program.profiles[0]))
    text = "\n".join(lines)
    assert lines[:9] == [
        "web/disks  (test.policy:7)",
        "  nodeAffinity required disk = ssd and not tainted(old:NoSchedule) as disks",
        "  filter · reads node",
        "    node matches",
        "      all of",
        "        label disk In (ssd)",
        "        not",
        "          taint old Exists: NoSchedule",
        "web/hot  (test.policy:10)",
    ]
    assert "    compare >\n      metric load\n        samples" in text
    assert "  score · weight 7 · reads node" in text
    assert "pods by kubernetes.io/hostname that carry this term" in text
    assert np.all([len(line) < 200 for line in lines])
