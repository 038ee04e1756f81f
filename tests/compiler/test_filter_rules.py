"""What each kind of filter rule means, from its text: verdicts, codes and reasons."""

from __future__ import annotations

import pytest

from policysched.framework import status
from tests import builders
from tests.compiler import desk

NEVER = "UnschedulableAndUnresolvable"
NOT_NOW = "Unschedulable"
ZONES = [desk.node(f"{zone}{i}", zone=zone) for zone in "ab" for i in (1, 2)]


# --- nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector, expected",
    [
        ("disk In (ssd)", ["n1"]),
        ("disk NotIn (ssd)", ["n2", "n3"]),
        ("disk Exists", ["n1", "n2"]),
        ("disk DoesNotExist", ["n3"]),
        ("cores Gt 8", ["n2"]),
        ("cores >= 8", ["n1", "n2"]),
        ("disk = ssd or cores Gt 8", ["n1", "n2"]),
        ("disk Exists and not disk = ssd", ["n2"]),
        ("tainted(dedicated=web:NoSchedule)", ["n2"]),
        ("tainted(dedicated)", ["n2"]),
        ("nodeName In (n3, n1, gone)", ["n1", "n3"]),
    ],
)
def test_required_node_affinity(selector: str, expected: list[str]) -> None:
    """Nodes that do not match are rejected, which no preemption can change."""
    text = f"policy p {{ for pods nodeAffinity required {selector} as where }}"
    nodes = [
        desk.node("n1", disk="ssd", cores="8"),
        desk.node("n2", disk="hdd", cores="16").taint("dedicated", "web"),
        desk.node("n3", cores="many"),
    ]
    there = desk.Desk(text, nodes)
    said = there.explain(desk.pod())
    assert there.feasible(desk.pod()) == expected
    rejected = {"n1", "n2", "n3"} - set(expected)
    answer = (NEVER, "node(s) didn't match policy p/where")
    assert desk.reasons(said) == dict.fromkeys(sorted(rejected), answer)


def test_a_rejection_names_rule_and_line() -> None:
    """An answer carries policy, rule and the line of the text; its message replaces the reason."""
    text = """
    policy web {
      for pods
      reject when node(disk = hdd) message "slow disks" as slow
    }
    """
    there = desk.Desk(text, [desk.node("n1", disk="hdd")])
    (verdict,) = there.explain(desk.pod()).verdicts
    assert verdict.first.rule == status.RuleRef("web", "slow", 4)
    assert (verdict.first.plugin, verdict.first.reasons) == ("Policy", ("slow disks",))


def test_rules_of_all_policies_are_anded() -> None:
    """A pod that two policies select must satisfy both, and only those that select it."""
    text = """
    policy fast { for pods nodeAffinity required disk = ssd }
    policy near { for pods where app = web nodeAffinity required zone = a }
    """
    nodes = [
        desk.node("n1", disk="ssd", zone="a"),
        desk.node("n2", disk="ssd"),
        desk.node("n3", zone="a"),
    ]
    there = desk.Desk(text, nodes)
    assert there.feasible(desk.pod(app="web")) == ["n1"]
    assert there.feasible(desk.pod(app="db")) == ["n1", "n2"]


# --- reject --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition, expected, code",
    [
        ("load > 80%", ["n1", "n3"], NEVER),
        ("load > 80% or node(disk = ssd)", ["n3"], NEVER),
        ("free(cpu) < 3", ["n2", "n3"], NOT_NOW),
        ("requests(cpu) > 1 and node(disk Exists)", ["n3"], NEVER),
        ("requests(cpu) > 5", ["n1", "n2", "n3"], NEVER),
        ("pod(app = web) and node(disk = ssd)", ["n2", "n3"], NEVER),
        ("requests(cpu) / allocatable(cpu) = 50%", [], NEVER),
        ("label(cores) < 10", ["n2"], NEVER),
    ],
)
def test_reject_when(condition: str, expected: list[str], code: str) -> None:
    """Nodes on which the condition holds are rejected; only pods on a node can be preempted."""
    text = f"{desk.METRICS} policy p {{ for pods reject when {condition} missing reject as bad }}"
    if not any(word in condition for word in ("load", "label", "/")):
        text = text.replace("missing reject ", "")  # nothing in it can be missing
    nodes = [
        desk.node("n1", disk="ssd", cores="8").capacity(cpu="4"),
        desk.node("n2", disk="hdd", cores="16").capacity(cpu="4"),
        desk.node("n3").capacity(cpu="4"),
    ]
    there = desk.Desk(text, nodes)
    there.sample("load", n1=0.5, n2=0.9, n3=0.1)
    there.place(builders.make_pod("old").requests(cpu="1500m").node("n1"))
    pod = desk.pod(app="web").requests(cpu="2")
    assert there.feasible(pod) == expected
    assert {c for c, _ in desk.reasons(there.explain(pod)).values()} <= {code}


@pytest.mark.parametrize(
    "missing, expected", [("allow", ["cool", "none", "stale"]), ("reject", ["cool"])]
)
def test_a_node_without_data_is_what_the_rule_says(missing: str, expected: list[str]) -> None:
    """No sample and a sample older than maxAge are the same: missing, never a value."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing {missing} }}"
    there = desk.Desk(text, [desk.node(name) for name in ("cool", "hot", "none", "stale")])
    there.sample("load", {"stale": 121}, cool=0.1, hot=0.9, stale=0.2)
    assert there.feasible(desk.pod()) == expected


def test_a_fresh_sample_turns_stale_by_itself() -> None:
    """Kept answers end when a sample does, without any event."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing allow }}"
    there = desk.Desk(text, [desk.node("a"), desk.node("b")])
    there.sample("load", {"a": 60}, a=0.9, b=0.1)
    assert there.feasible(desk.pod()) == ["b"]
    there.clock.advance(59)
    assert there.feasible(desk.pod()) == ["b"]
    there.clock.advance(2)
    assert there.feasible(desk.pod()) == ["a", "b"]


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param({}, id="no-sample"),
        pytest.param({"gone": 0.1}, id="of-unknown-nodes-only"),
        pytest.param({"a": float("nan"), "b": float("inf")}, id="not-finite"),
    ],
)
def test_an_outage_stops_no_pod(samples: dict[str, float]) -> None:
    """When no node has a valid sample a rule drops out, also with `missing reject`."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing reject }}"
    there = desk.Desk(text, [desk.node("a"), desk.node("b")])
    there.sample("load", **samples)
    assert there.feasible(desk.pod()) == ["a", "b"]


def test_an_outage_ends_with_one_sample() -> None:
    """One valid sample on any node, and `missing reject` acts on the others again."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing reject }}"
    there = desk.Desk(text, [desk.node("a"), desk.node("b")])
    assert there.feasible(desk.pod()) == ["a", "b"]
    there.sample("load", a=0.1)
    assert there.feasible(desk.pod()) == ["a"]
    there.cache.remove_node("a")
    assert there.feasible(desk.pod()) == ["b"]


def test_outage_is_judged_metric_by_metric() -> None:
    """A rule drops out when one of its metrics is out; rules on others act."""
    text = f"""{desk.METRICS}
    policy p {{
      for pods
      reject when load > 80% or heat > 80% missing reject as either
      reject when load > 50% missing reject as loaded
    }}"""
    there = desk.Desk(text, [desk.node("a"), desk.node("b")])
    there.sample("load", a=0.9, b=0.1)
    (verdict, _) = there.explain(desk.pod()).verdicts
    assert [failure.rule and failure.rule.rule for failure in verdict.all_failures] == ["loaded"]


# --- pods ----------------------------------------------------------------------------------------


def _placed(name: str, on: str, **labels: str) -> builders.PodBuilder:
    return desk.pod(name, **labels).node(on)


def test_required_pod_affinity() -> None:
    """Only domains with a pod of the set; a node without the label is in no domain."""
    text = "policy p { for pods podAffinity required pods where app = db topologyKey zone as near }"
    there = desk.Desk(text, [*ZONES, desk.node("x")])
    there.place(_placed("db", "a1", app="db"))
    said = there.explain(desk.pod())
    assert there.feasible(desk.pod()) == ["a1", "a2"]
    assert desk.reasons(said) == {
        "b1": (NOT_NOW, "node(s) didn't match policy p/near"),
        "b2": (NOT_NOW, "node(s) didn't match policy p/near"),
        "x": (NEVER, "node(s) didn't match policy p/near (missing label zone)"),
    }


def test_the_first_pod_of_a_set_may_go_anywhere() -> None:
    """A pod that its own affinity selects is not held back by it while there is no such pod."""
    text = "policy p { for pods where app = db podAffinity required self topologyKey zone }"
    there = desk.Desk(text, [*ZONES, desk.node("x")])
    assert there.feasible(desk.pod(app="db")) == ["a1", "a2", "b1", "b2"]
    there.place(_placed("first", "b1", app="db"))
    assert there.feasible(desk.pod(app="db")) == ["b1", "b2"]


def test_terms_look_into_the_namespaces_that_they_name() -> None:
    """The own namespace without a word; by name, by labels that may change, or all."""
    text = """
    policy own   { for pods where t = own
                   podAffinity required pods where app = db topologyKey zone }
    policy named { for pods where t = named
                   podAffinity required pods where app = db topologyKey zone namespaces (prod) }
    policy team  { for pods where t = team podAffinity required pods where app = db topologyKey zone
                   namespaceSelector team = a }
    policy every { for pods where t = every
                   podAffinity required pods where app = db topologyKey zone namespaces all }
    """
    there = desk.Desk(text, ZONES, {"prod": {"team": "b"}, "default": {}})
    there.place(builders.make_pod("db", "prod").labels(app="db").node("a1"))

    def feasible(kind: str) -> list[str]:
        return there.feasible(desk.pod(t=kind))

    assert {kind: feasible(kind) for kind in ("own", "named", "team", "every")} == {
        "own": [],
        "named": ["a1", "a2"],
        "team": [],
        "every": ["a1", "a2"],
    }
    there.cache.set_namespace("prod", {"team": "a"})
    assert feasible("team") == ["a1", "a2"]


def test_required_anti_affinity_repels_in_both_directions() -> None:
    """A pod keeps away from the set, and placed pods of the policy keep the set away from them."""
    text = """
    policy quiet {
      for pods where app = quiet
      podAntiAffinity required pods where app = loud topologyKey zone as silence
    }
    profile here { policies quiet }
    profile there { }
    """
    there = desk.Desk(text, ZONES)
    there.place(_placed("loud", "a1", app="loud"), _placed("quiet", "b1", app="quiet"))
    assert there.feasible(desk.pod(app="quiet"), "here") == ["b1", "b2"]
    for profile in ("here", "there"):
        assert there.feasible(desk.pod(app="loud"), profile) == ["a1", "a2"]
        assert there.feasible(desk.pod(app="other"), profile) == ["a1", "a2", "b1", "b2"]
    said = there.explain(desk.pod(app="loud"), "there")
    reason = "node(s) didn't match policy quiet/silence of pods placed there"
    assert desk.reasons(said)["b1"] == (NOT_NOW, reason)


def test_pods_of_a_profile_without_text_are_repelled_too() -> None:
    """The program has filters for profiles that only the configuration names."""
    text = """policy quiet {
      for pods where app = quiet podAntiAffinity required pods where app = loud topologyKey zone
    }"""
    there = desk.Desk(text, ZONES)
    there.place(_placed("quiet", "b1", app="quiet"))
    info = there.shapes.make_pod_info(desk.pod(app="loud").build())
    verdicts = there.others.explain_pod(info, there.cache.snapshot()).verdicts
    assert [v.name for v in verdicts if v.first.is_success] == ["a1", "a2"]


def test_a_disabled_rule_does_not_act_on_the_pods_of_the_disabling_policy() -> None:
    """Neither on the incoming pod, nor through a placed one."""
    text = """
    policy quiet {
      for pods where app = quiet
      podAntiAffinity required pods where app = loud topologyKey zone as silence
    }
    policy debugging { for pods where debug Exists disable quiet.silence }
    """
    there = desk.Desk(text, ZONES)
    there.place(
        _placed("loud", "a1", app="loud"),
        _placed("plain", "a2", app="quiet"),
        _placed("debugged", "b1", app="quiet", debug=""),
    )
    assert there.feasible(desk.pod(app="quiet")) == ["b1", "b2"]
    assert there.feasible(desk.pod(app="quiet", debug="")) == ["a1", "a2", "b1", "b2"]
    assert there.feasible(desk.pod(app="loud")) == ["b1", "b2"]


def test_label_keys_of_a_pod_set() -> None:
    """Same value of one label, another value of another; labels the pod lacks are ignored."""
    text = """
    policy same { for pods where t = same
      podAntiAffinity required pods topologyKey zone matchLabelKeys (version) }
    policy other { for pods where t = other
      podAntiAffinity required pods topologyKey zone mismatchLabelKeys (tenant) }
    """
    there = desk.Desk(text, ZONES)
    there.place(_placed("one", "a1", version="1", tenant="x"), _placed("bare", "b1"))
    assert there.feasible(desk.pod(t="same", version="1")) == ["b1", "b2"]
    assert there.feasible(desk.pod(t="same", version="2")) == ["a1", "a2", "b1", "b2"]
    assert there.feasible(desk.pod(t="same")) == []
    assert there.feasible(desk.pod(t="other", tenant="y")) == ["b1", "b2"]
    assert there.feasible(desk.pod(t="other", tenant="x")) == ["a1", "a2", "b1", "b2"]


def test_same_workload_is_the_controller_or_the_template_hash() -> None:
    """Pods of one controller; of pods without one those with the same pod-template-hash."""
    text = "policy p { for pods podAntiAffinity required sameWorkload topologyKey zone }"
    there = desk.Desk(text, ZONES)
    there.place(desk.pod("a").owner("ReplicaSet", "rs1").node("a1"))
    there.place(desk.pod("b").labels({"pod-template-hash": "h1"}).node("b1"))
    assert there.feasible(desk.pod().owner("ReplicaSet", "rs1")) == ["b1", "b2"]
    assert there.feasible(desk.pod().labels({"pod-template-hash": "h1"})) == ["a1", "a2"]
    assert there.feasible(desk.pod()) == ["a1", "a2", "b1", "b2"]


# --- spread --------------------------------------------------------------------------------------


def test_hard_spread_holds_the_skew() -> None:
    """A domain may hold at most maxSkew pods more than the emptiest one."""
    text = "policy p { for pods where app = web topologySpread topologyKey zone maxSkew 1 as even }"
    there = desk.Desk(text, [*ZONES, desk.node("x")])
    there.place(_placed("one", "a1", app="web"), _placed("other", "a2", app="db"))
    assert there.feasible(desk.pod(app="web")) == ["b1", "b2"]
    assert desk.reasons(there.explain(desk.pod(app="web"))) == {
        "a1": (NOT_NOW, "node(s) didn't match policy p/even"),
        "a2": (NOT_NOW, "node(s) didn't match policy p/even"),
        "x": (NEVER, "node(s) didn't match policy p/even (missing label zone)"),
    }


def test_pods_that_are_being_deleted_do_not_count_for_spread() -> None:
    """Unlike for affinity."""
    text = "policy p { for pods topologySpread topologyKey zone }"
    there = desk.Desk(text, ZONES)
    there.place(_placed("one", "a1").terminating())
    assert there.feasible(desk.pod()) == ["a1", "a2", "b1", "b2"]


def test_too_few_domains_count_as_an_empty_one() -> None:
    """With minDomains above the number of domains the emptiest one has 0 pods."""
    text = "policy p { for pods topologySpread topologyKey zone minDomains 3 }"
    there = desk.Desk(text, ZONES)
    there.place(_placed("one", "a1"), _placed("two", "b1"))
    assert there.feasible(desk.pod()) == []
    there.cache.set_node(desk.node("c1", zone="c").build())
    assert there.feasible(desk.pod()) == ["c1"]


@pytest.mark.parametrize(
    "clauses, expected",
    [
        ("", ["b1"]),
        ("nodeAffinityPolicy Ignore", []),
        ("nodeTaintsPolicy Honor", ["b1"]),
    ],
)
def test_spread_looks_at_the_nodes_that_the_pod_may_use(clauses: str, expected: list[str]) -> None:
    """Zones that the required node affinity of the pod or a policy excludes are no domains."""
    text = f"""
    policy spread {{ for pods topologySpread topologyKey zone {clauses} }}
    policy pool {{ for pods nodeAffinity required pool = web }}
    """
    nodes = [
        desk.node("a1", zone="a", pool="web", disk="ssd"),
        desk.node("b1", zone="b", pool="web", disk="ssd"),
        desk.node("c1", zone="c", disk="ssd"),
        desk.node("d1", zone="d", pool="web"),
    ]
    there = desk.Desk(text, nodes)
    there.place(_placed("one", "a1"), _placed("two", "a1"), _placed("three", "b1"))
    found = there.feasible(desk.pod().node_selector(disk="ssd"))
    assert [name for name in found if name != "d1"] == expected


def test_spread_honors_taints_with_the_tolerations_of_policies() -> None:
    """A zone of tainted nodes counts as soon as a policy tolerates the taint."""
    spread = "policy s { for pods topologySpread topologyKey zone nodeTaintsPolicy Honor }"
    grant = "policy g { for pods where app = web tolerate dedicated=web:NoSchedule }"
    nodes = [desk.node("a1", zone="a"), desk.node("b1", zone="b").taint("dedicated", "web")]
    there = desk.Desk(spread + grant, nodes)
    there.place(_placed("one", "a1"))
    assert there.feasible(desk.pod()) == ["a1", "b1"]
    assert there.feasible(desk.pod(app="web")) == ["b1"]


TWO_ZONES_AND_ONE_WITHOUT = [
    desk.node("n1", z="a", host="n1"),
    desk.node("n2", z="b", host="n2"),
    desk.node("ctl", host="ctl"),
]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            """policy p {
              for pods
              topologySpread self topologyKey z as z
              topologySpread self topologyKey host as h
            }""",
            id="one policy",
        ),
        pytest.param(
            """policy p { for pods topologySpread self topologyKey z }
            policy q { for pods topologySpread self topologyKey host }""",
            id="two policies",
        ),
    ],
)
def test_spread_rules_of_a_pod_count_only_nodes_with_all_their_keys(text: str) -> None:
    """As the constraints of a pod: an empty node without a zone is not the emptiest host."""
    there = desk.Desk(text, TWO_ZONES_AND_ONE_WITHOUT)
    there.place(_placed("one", "n1", app="w"), _placed("two", "n2", app="w"))
    assert there.feasible(desk.pod(app="w")) == ["n1", "n2"]


def test_spread_rules_for_other_pods_ask_nothing_of_the_nodes() -> None:
    """The zone rule of a policy for other pods leaves the node without a zone the emptiest host."""
    text = """policy p { for pods topologySpread self topologyKey host }
    policy q { for pods where app = other topologySpread self topologyKey z }
    policy r { for pods topologySpread self topologyKey z whenUnsatisfiable ScheduleAnyway }"""
    there = desk.Desk(text, TWO_ZONES_AND_ONE_WITHOUT)
    there.place(_placed("one", "n1", app="w"), _placed("two", "n2", app="w"))
    assert there.feasible(desk.pod(app="w")) == ["ctl"]


def test_constraints_of_the_pod_itself_ask_for_their_keys_too() -> None:
    """Its constraint on zones leaves hosts without a zone out; only PodTopologySpread rejects them.

    Policies alone decide here.
    """
    there = desk.Desk(
        "policy p { for pods topologySpread self topologyKey host }", TWO_ZONES_AND_ONE_WITHOUT
    )
    there.place(_placed("one", "n1", app="w"), _placed("two", "n2", app="w"))
    own = desk.pod(app="w").spread("z", selector={"app": "w"})
    assert there.feasible(own) == ["n1", "n2", "ctl"]
    soft = desk.pod(app="w").spread("z", selector={"app": "w"}, when_unsatisfiable="ScheduleAnyway")
    assert there.feasible(soft) == ["ctl"]


# --- what is kept follows what it was made of ----------------------------------------------------


def test_a_term_that_is_about_others_repels_pods_of_its_own_policy_too() -> None:
    """The policy selects both pods, only one of which carries a term about the other."""
    text = """policy p {
      for pods where app In (a, b)
      podAntiAffinity required pods where app = b topologyKey zone
    }"""
    there = desk.Desk(text, ZONES)
    there.place(_placed("carrier", "a1", app="a"))
    assert there.feasible(desk.pod(app="b")) == ["b1", "b2"]
    assert there.feasible(desk.pod(app="a")) == ["a1", "a2", "b1", "b2"]


def test_repelling_pods_follow_the_labels_of_their_namespace() -> None:
    """A placed pod repels as long as its namespace is one that the policy is about."""
    text = """policy p {
      for pods in namespace where team = a
      podAntiAffinity required pods topologyKey zone namespaces all
    }"""
    there = desk.Desk(text, ZONES, {"prod": {"team": "a"}, "default": {}})
    there.place(builders.make_pod("carrier", "prod").node("a1"))
    assert there.feasible(desk.pod()) == ["b1", "b2"]
    there.cache.set_namespace("prod", {"team": "b"})
    assert there.feasible(desk.pod()) == ["a1", "a2", "b1", "b2"]


def test_pods_that_are_being_deleted_count_for_affinity() -> None:
    """They still run, and still repel."""
    text = "policy p { for pods podAntiAffinity required pods where app = db topologyKey zone }"
    there = desk.Desk(text, ZONES)
    there.place(_placed("db", "a1", app="db").terminating())
    assert there.feasible(desk.pod()) == ["b1", "b2"]


def test_new_values_of_a_label_are_read_as_numbers() -> None:
    """Also those that appear after the rule was first asked."""
    text = "policy p { for pods reject when label(watts) > 300 missing reject }"
    there = desk.Desk(text, [desk.node("n1", watts="100")])
    assert there.feasible(desk.pod()) == ["n1"]
    there.cache.set_node(desk.node("n2", watts="200").build())
    assert there.feasible(desk.pod()) == ["n1", "n2"]
    there.cache.set_node(desk.node("n3", watts="400").build())
    there.cache.set_node(desk.node("n4").build())
    assert there.feasible(desk.pod()) == ["n1", "n2"]


def test_a_node_that_joins_with_an_old_sample() -> None:
    """Its sample turns stale before those of the others, and the answer with it."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing reject }}"
    names = [f"n{i}" for i in range(20)]
    there = desk.Desk(text, [desk.node(name) for name in names])
    there.sample("load", {"late": 100}, late=0.1, **dict.fromkeys(names, 0.1))
    assert there.feasible(desk.pod()) == names
    there.cache.set_node(desk.node("late").build())
    assert there.feasible(desk.pod()) == [*names, "late"]
    there.clock.advance(30)
    assert there.feasible(desk.pod()) == names
