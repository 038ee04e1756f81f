"""DefaultPreemption: who may preempt, whom, where, and what is said when nobody can."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from policysched.cluster.objects import disruption_budgets, objects, selectors
from policysched.framework import (
    events,
    extender_answers,
    handles,
    interface,
    preemptions,
    profile,
    runtime,
    status,
)
from policysched.plugins import arguments, default_preemption, names, registry
from policysched.plugins.kernels import victims
from tests import builders

FILTERS = (
    names.NODE_UNSCHEDULABLE,
    names.NODE_AFFINITY,
    names.NODE_PORTS,
    names.NODE_RESOURCES_FIT,
    names.POD_TOPOLOGY_SPREAD,
    names.INTER_POD_AFFINITY,
)
EARLY, LATE = "2026-01-05T11:00:00Z", "2026-01-05T11:30:00Z"
NODE = builders.make_node("n1").capacity(cpu="4", memory="8Gi", pods="10")
PREEMPTOR = builders.make_pod("preemptor").requests(cpu="3").priority(100)


HANDLE = handles.Handle()


def on(
    node: str, name: str, cpu: str = "1", priority: int = 0, start: str | None = EARLY
) -> builders.PodBuilder:
    """Return a pod that runs on a node."""
    pod = builders.make_pod(name).labels(app="a").requests(cpu=cpu).priority(priority)
    return pod.node(node).status(start_time=start)


def nodes(count: int) -> list[builders.NodeBuilder]:
    """Return nodes of the same size."""
    return [dataclasses.replace(NODE, node=_renamed(f"n{i + 1}")) for i in range(count)]


def _renamed(name: str) -> objects.Node:
    return builders.make_node(name).capacity(cpu="4", memory="8Gi", pods="10").build()


def budget(allowed: int, *disrupted: str) -> disruption_budgets.PodDisruptionBudget:
    """Return a budget of the pods labelled app=a."""
    return disruption_budgets.PodDisruptionBudget(
        metadata=objects.ObjectMeta(name="b", namespace="default"),
        spec=disruption_budgets.BudgetSpec(selector=builders.label_selector(app="a")),
        status=disruption_budgets.BudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted)
        ),
    )


def preempt(
    cluster: builders.Cluster,
    pod: builders.PodBuilder,
    rng: random.Random | None = None,
    extenders: extender_answers.ExtenderAnswers | None = None,
    /,
    **args: int,
) -> interface.PostFilterResult:
    """Return what the plugin answers for a pod that fits nowhere."""
    handle = dataclasses.replace(HANDLE, budgets=cluster.cache.budgets, rng=rng)
    plugin = default_preemption.DefaultPreemption.from_args(args, handle)
    made: list[Any] = [
        registry.create_built_in_registry().create_plugin(name, None, handle) for name in FILTERS
    ]
    framework = runtime.Framework(profile.Profile("test", (*made, plugin), {}), None)
    info, snap = cluster.info(pod), cluster.cache.snapshot()
    result = framework.schedule_pod(info, snap, extenders)
    assert result.diagnosis is not None
    answer = framework.run_post_filter(result.state, info, snap, result.diagnosis)
    assert answer is not None
    return answer


def chosen(answer: interface.PostFilterResult) -> tuple[str | None, list[str]]:
    """Return the node and the names of the victims."""
    assert answer.status.is_success
    return answer.nominated_node_name, [v.pod.metadata.name for v in answer.victims]


# --- whom ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pods, expected",
    [
        pytest.param(
            [on("n1", "a"), on("n1", "b", "2"), on("n1", "c", "1")],
            ["b", "c"],
            id="as few as possible, the first of equals stays",
        ),
        pytest.param(
            [on("n1", "low", "2", 1), on("n1", "high", "2", 2)],
            ["high", "low"],
            id="most important first",
        ),
        pytest.param(
            [on("n1", "low", "3", 1), on("n1", "high", "1", 2)],
            ["low"],
            id="the more important one stays",
        ),
        pytest.param(
            [on("n1", "late", "3", 1, LATE), on("n1", "early", "3", 1, EARLY)],
            ["early", "late"],
            id="of equals the one that started first is more important",
        ),
        pytest.param(
            [on("n1", "equal", "1", 100), on("n1", "low", "3", 1)],
            ["low"],
            id="pods of the same priority stay",
        ),
        pytest.param(
            [on("n1", f"p{i}", "1", 1, None) for i in range(4)],
            ["p2", "p1", "p0"],
            id="pods that have not started come in reverse",
        ),
    ],
)
def test_victims(pods: list[builders.PodBuilder], expected: list[str]) -> None:
    """Pods of less priority go, and of those as few and unimportant ones as will do."""
    assert chosen(preempt(builders.make_cache([NODE], pods), PREEMPTOR)) == ("n1", expected)


@pytest.mark.parametrize(
    "allowed, disrupted, expected",
    [
        pytest.param(0, (), ("n2", ["c"]), id="guarded pods are spared"),
        pytest.param(1, (), ("n1", ["a"]), id="one may go"),
        pytest.param(0, ("a",), ("n1", ["a"]), id="eviction counted already"),
    ],
)
def test_budgets_come_before_everything(
    allowed: int, disrupted: tuple[str, ...], expected: tuple[str, list[str]]
) -> None:
    """A node where a budget would be violated is worse than one with more important victims."""
    plain = builders.make_pod("c").requests(cpu="3").priority(50).node("n2")
    cluster = builders.make_cache(nodes(2), [on("n1", "a", "3", 1), plain.status(start_time=EARLY)])
    cluster.cache.budgets.set(budget(allowed, *disrupted))
    assert chosen(preempt(cluster, PREEMPTOR)) == expected


def test_guarded_pods_are_put_back_first() -> None:
    """A less important pod that a budget guards stays where a more important one can go."""
    guarded = on("n1", "guarded", "2", 1)
    other = builders.make_pod("other").requests(cpu="2").priority(5).node("n1")
    cluster = builders.make_cache([NODE], [guarded, other.status(start_time=EARLY)])
    cluster.cache.budgets.set(budget(0))
    assert chosen(preempt(cluster, PREEMPTOR.requests(cpu="2"))) == ("n1", ["other"])


@pytest.mark.parametrize(
    "labels, names_, expected",
    [
        pytest.param({"app": "a"}, "ab", (["b"], ["a"]), id="the second one is too many"),
        pytest.param({"app": "b"}, "ab", ([], ["a", "b"]), id="other pods"),
        pytest.param({}, "ab", ([], ["a", "b"]), id="without labels"),
    ],
)
def test_budgets_are_used_up(
    labels: dict[str, str], names_: str, expected: tuple[list[str], list[str]]
) -> None:
    """A budget that allows one eviction guards the second pod."""
    cluster = builders.make_cache()
    cluster.cache.budgets.set(budget(1))
    pods = [cluster.info(builders.make_pod(name).labels(labels)) for name in names_]
    guarded, others = victims.Budgets(cluster.cache.budgets).split(pods)
    assert ([p.pod.metadata.name for p in guarded], [p.pod.metadata.name for p in others]) == (
        expected
    )


def test_equal_budgets_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many budgets select the same pods, the least of them decides, at the price of one."""
    cluster = builders.make_cache()
    for number, allowed in enumerate([3, 1, 2] * 20):
        one = budget(allowed)
        named = msgspec.structs.replace(one.metadata, name=f"b{number}")
        cluster.cache.budgets.set(msgspec.structs.replace(one, metadata=named))
    asked: list[str] = []
    matches = selectors.Selector.matches

    def counting(selector: selectors.Selector, labels: Mapping[str, str]) -> bool:
        asked.append(labels["app"])
        return matches(selector, labels)

    monkeypatch.setattr(selectors.Selector, "matches", counting)
    pods = [cluster.info(builders.make_pod(name).labels(app="a")) for name in "abc"]
    guarded, others = victims.Budgets(cluster.cache.budgets).split(pods)
    assert (len(guarded), len(others)) == (2, 1)
    assert asked == ["a"]


# --- where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pods, expected",
    [
        pytest.param(
            [on("n1", "a", "3", 5), on("n2", "b", "1", 4), on("n2", "c", "2", 4)],
            "n2",
            id="least priority of the most important victim",
        ),
        pytest.param(
            [on("n1", "a", "2", 5), on("n1", "b", "2", 5), on("n2", "c", "3", 5)],
            "n2",
            id="least sum of priorities",
        ),
        pytest.param(
            [
                on("n1", "a", "2", -(2**31) + 5),
                on("n1", "b", "2", -(2**31)),
                on("n2", "c", "3", -(2**31) + 5),
            ],
            "n2",
            id="fewest victims",
        ),
        pytest.param(
            [on("n1", "a", "3", 5, EARLY), on("n2", "b", "3", 5, LATE)],
            "n2",
            id="latest start",
        ),
        pytest.param(
            [on("n1", "a", "3", 5, LATE), on("n2", "b", "3", 5, None)],
            "n2",
            id="not started yet is latest",
        ),
        pytest.param(
            [on("n1", "a", "3", 5), on("n2", "b", "3", 5)], "n1", id="smallest name without chance"
        ),
    ],
)
def test_choice_of_the_node(pods: list[builders.PodBuilder], expected: str) -> None:
    """Criteria decide one after the other."""
    assert chosen(preempt(builders.make_cache(nodes(2), pods), PREEMPTOR))[0] == expected


def test_the_first_victim_of_an_extender_counts_as_the_most_important() -> None:
    """An extender gives any order."""
    pods = [on("n1", "low", "1", 1), on("n1", "high", "2", 9), on("n2", "middle", "3", 5)]
    cluster = builders.make_cache(nodes(2), pods)
    low, high, middle = map(cluster.info, pods)
    for first, expected in (((low, high), "n1"), ((high, low), "n2")):
        answers = extender_answers.ExtenderAnswers(
            victims={
                "n1": extender_answers.NodeVictims(first, 0),
                "n2": extender_answers.NodeVictims((middle,), 0),
            }
        )
        assert chosen(preempt(cluster, PREEMPTOR, None, answers))[0] == expected


def test_chance_breaks_ties_and_says_where_to_begin() -> None:
    """With a generator equal nodes are all chosen in the end, and few candidates are enough."""
    count = 6
    cluster = builders.make_cache(nodes(count), [on(f"n{i + 1}", f"p{i}", "3") for i in range(6)])
    rng = random.Random(1)
    limits = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}
    for args in ({}, limits):
        picked = {chosen(preempt(cluster, PREEMPTOR, rng, **args))[0] for _ in range(60)}
        assert picked == {f"n{i + 1}" for i in range(count)}


def test_enough_candidates_end_the_search_once_one_spares_all_budgets() -> None:
    """One candidate is enough, unless it violates a budget."""
    cluster = builders.make_cache(nodes(3), [on(f"n{i + 1}", f"p{i}", "3") for i in range(2)])
    free = builders.make_pod("free").requests(cpu="3").priority(50).node("n3")
    cluster.cache.add_pod(cluster.info(free))
    cluster.cache.budgets.set(budget(0))
    limits = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}
    picked = {chosen(preempt(cluster, PREEMPTOR, random.Random(n), **limits))[0] for n in range(9)}
    assert picked == {"n3"}


# --- nominated pods ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "priority, expected",
    [
        pytest.param(100, ("n2", ["b"]), id="same priority has precedence"),
        pytest.param(99, ("n1", ["a"]), id="less priority has none"),
    ],
)
def test_room_made_for_others_is_left(priority: int, expected: tuple[str, list[str]]) -> None:
    """A node on which a pod with precedence waits for its room does not take a second one."""
    cluster = builders.make_cache(nodes(2), [on("n1", "a", "3", 1), on("n2", "b", "3", 5)])
    other = builders.make_pod("other").requests(cpu="3").priority(priority).nominated("n1")
    cluster.cache.nominated.nominate(cluster.info(other), "n1")
    assert chosen(preempt(cluster, PREEMPTOR)) == expected


# --- what is said --------------------------------------------------------------------------------


def _refusal(answer: interface.PostFilterResult) -> tuple[str, str | None]:
    assert answer.status.code is status.Code.UNSCHEDULABLE
    return ", ".join(answer.status.reasons), answer.nominated_node_name


NOBODY = "preemption: 0/2 nodes are available:"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
TERMINATING = (
    on("n1", "a", "3")
    .terminating()
    .status(
        conditions=(
            objects.Condition(
                type="DisruptionTarget", status="True", reason="PreemptionByScheduler"
            ),
        )
    )
)


@pytest.mark.parametrize(
    "pod, placed, expected",
    [
        pytest.param(
            PREEMPTOR.spec(preemption_policy="Never"),
            [on("n1", "a", "3")],
            ("preemption: not eligible due to preemptionPolicy=Never.", None),
            id="never preempts",
        ),
        pytest.param(
            PREEMPTOR.nominated("n1"),
            [TERMINATING],
            ("preemption: not eligible due to a terminating pod on the nominated node.", None),
            id="victims of an earlier attempt are going",
        ),
        pytest.param(
            PREEMPTOR,
            [on("n1", "a", "3", 100)],
            (
                f"{NOBODY} 1 No preemption victims found for incoming pod, 1 {NOT_HELPFUL}.",
                "",
            ),
            id="nobody of less priority",
        ),
        pytest.param(
            PREEMPTOR,
            [on("n1", "a", "2", 100), on("n1", "b", "1", 1)],
            (
                f"{NOBODY} 1 Insufficient cpu, 1 {NOT_HELPFUL}.",
                "",
            ),
            id="not enough would be free",
        ),
        pytest.param(
            PREEMPTOR.requests(cpu="5"),
            [on("n1", "a", "3")],
            (
                f"{NOBODY} 2 {NOT_HELPFUL}.",
                "",
            ),
            id="no node is large enough",
        ),
    ],
)
def test_refusals(
    pod: builders.PodBuilder, placed: list[builders.PodBuilder], expected: tuple[str, str | None]
) -> None:
    """Texts are kube-scheduler's; a nomination is taken back where preemption cannot help."""
    cordoned = builders.make_node("n2").capacity(cpu="4", pods="10").unschedulable()
    assert _refusal(preempt(builders.make_cache([NODE, cordoned], placed), pod)) == expected


@pytest.mark.parametrize(
    "count, text",
    [
        pytest.param(1, 'expected at least one victim pod on node "n1"', id="one"),
        pytest.param(
            2,
            '[expected at least one victim pod on node "n1", '
            'expected at least one victim pod on node "n2"]',
            id="several",
        ),
    ],
)
def test_nodes_that_only_an_extender_rejected_need_no_victims(count: int, text: str) -> None:
    """Several errors are written as Go writes them."""
    names = [f"n{number + 1}" for number in range(count)]
    rejection = status.unschedulable("Extender", "no licence")
    answers = extender_answers.ExtenderAnswers(
        accepted=frozenset(), rejections=dict.fromkeys(names, rejection)
    )
    cluster = builders.make_cache(nodes(count), [on(name, f"on-{name}") for name in names])
    answer = preempt(cluster, PREEMPTOR, None, answers)
    assert (answer.status.code, answer.nominated_node_name) == (status.Code.ERROR, None)
    assert answer.status.reasons == (f"preemption: {text}",)


@pytest.mark.parametrize(
    "pod, placed",
    [
        pytest.param(
            PREEMPTOR.nominated("n2"), [TERMINATING, on("n1", "b", "1")], id="hopeless nomination"
        ),
        pytest.param(PREEMPTOR.nominated("gone"), [on("n1", "b", "3")], id="node is gone"),
        pytest.param(
            PREEMPTOR.nominated("n1"),
            [on("n1", "b", "3").terminating()],
            id="terminating for another reason",
        ),
        pytest.param(
            PREEMPTOR.nominated("n1"),
            [TERMINATING.requests(cpu="100m").priority(100), on("n1", "b", "3")],
            id="what is terminating is more important",
        ),
    ],
)
def test_a_pod_may_preempt_again(
    pod: builders.PodBuilder, placed: list[builders.PodBuilder]
) -> None:
    """A nomination that will not come true keeps nobody from preempting elsewhere."""
    cordoned = builders.make_node("n2").capacity(cpu="4", pods="10").unschedulable()
    answer = preempt(builders.make_cache([NODE, cordoned], placed), pod)
    assert answer.nominated_node_name == "n1"


# --- arguments and queueing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, problem",
    [
        ({"minCandidateNodesPercentage": 101}, "must be from 0 to 100"),
        ({"minCandidateNodesPercentage": -1}, "must be from 0 to 100"),
        ({"minCandidateNodesAbsolute": -1}, "must be from 0"),
        (
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "`minCandidateNodesPercentage` and `minCandidateNodesAbsolute` cannot both be 0",
        ),
    ],
)
def test_arguments_are_checked(args: dict[str, int], problem: str) -> None:
    """Numbers that kube-scheduler refuses are refused."""
    with pytest.raises(arguments.ArgumentError, match=problem):
        default_preemption.DefaultPreemption.from_args(args, HANDLE)


def test_a_preemptor_waits_until_its_victims_are_evicted() -> None:
    """The gate is shut as long as the preemption runs, for that pod alone."""
    running = preemptions.PreemptionsInProgress()
    handle = dataclasses.replace(HANDLE, preemptions=running)
    plugin = default_preemption.DefaultPreemption(handle)
    cluster = builders.make_cache()
    info, other = cluster.info(PREEMPTOR), cluster.info(builders.make_pod("other"))
    running.start(info.uid)
    shut = plugin.pre_enqueue(info)
    assert shut.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert shut.reasons == ("waiting for the preemption for this pod to be finished",)
    assert plugin.pre_enqueue(other).is_success
    running.finish(info.uid)
    assert plugin.pre_enqueue(info).is_success


def test_deleted_pods_do_not_wake_a_pod_by_themselves() -> None:
    """Whoever rejected the pod says whether the deletion of a pod helps."""
    (registered,) = default_preemption.DefaultPreemption(HANDLE).events_to_register()
    assert registered.event.resource is events.EventResource.POD
    assert registered.event.action is events.ActionType.DELETE
    cluster = builders.make_cache()
    victim = cluster.info(on("n1", "a"))
    assert registered.hint is not None
    hint = registered.hint(cluster.info(PREEMPTOR), victim, None)
    assert hint is events.QueueingHint.SKIP
