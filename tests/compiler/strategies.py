"""Generated programs and clusters: few different values, so that they often meet."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import hypothesis.strategies as st

from policysched import release_version, units
from policysched.cluster.objects import objects
from policysched.lang import source
from policysched.lang.checked import activation, checked, checked_expr, checked_selector
from tests import builders
from tests.reference import policy_claims

SPAN = source.Span("generated.policy", 0, 0, 1, 1)
ZONE, RACK, HOSTNAME = "zone", "rack", "kubernetes.io/hostname"
TOPOLOGY_KEYS = (ZONE, RACK, HOSTNAME)
NODE_NAMES = tuple(f"n{i}" for i in range(5))
POD_NAMES = tuple(f"p{i}" for i in range(6))
NAMESPACES = ("default", "prod", "ghost")
"""`ghost` has no Namespace object."""
METRICS = ("load", "heat", "grown")
"""To `grown` just-placed pods add."""
PROFILES = ("one", "two")
START_SECONDS = builders.EPOCH.timestamp()

_LABEL_VALUES = ("a", "b", "7", "-1", "2.5")
VERSIONS = (
    *("", "unknown", "v1.9.3", "v1.29.6+k3s1", "v1.30.0-alpha.1", "v1.30.0-rc.2", "v1.30.0"),
    *("v1.30.2-gke.100", "v1.30.3-rc.1", "v1.31.0-beta.0.5+abc", "v1.31.0", "v1.100.0", "v2.0.0"),
)
"""Versions of kubelets."""
BOUNDS = ((1, 9), (1, 30), (1, 30, 0), (1, 30, 2), (1, 31), (1, 31, 0), (2, 0))


def several(
    strategy: st.SearchStrategy[Any], *, least: int = 0, most: int = 2
) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return a tuple of some."""
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return None half of the time."""
    return st.none() | strategy


def labels(**choices: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    """Return some of the labels, each with one of its values."""
    optional = {key: st.sampled_from(values) for key, values in choices.items()}
    return st.fixed_dictionaries({}, optional=optional)


# --- clusters ------------------------------------------------------------------------------------

taints = st.builds(
    objects.Taint,
    key=st.sampled_from(("dedicated", "tier")),
    value=st.sampled_from(("", "web", "5", "9")),
    effect=st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute")),
)
amounts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(("0", "500m", "1", "3")),
        "memory": st.sampled_from(("128Mi", "1Gi", "3000001")),
        "example.com/gpu": st.sampled_from((0, 1, 2)),
    },
)


_conditions = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("Ready", "DiskPressure"), st.sampled_from(("True", "False", "Unknown"))
    ),
).map(lambda found: tuple(objects.Condition(kind, status) for kind, status in found.items()))


@st.composite
def nodes(draw: st.DrawFn, name: str) -> objects.Node:
    """Return a node; one in a few lacks the hostname label."""
    own = draw(labels(zone=("a", "b"), rack=("1", "2"), disk=("ssd", "hdd"), size=_LABEL_VALUES))
    if draw(st.integers(0, 5)):
        own[HOSTNAME] = name
    resources = draw(amounts) | {"pods": draw(st.sampled_from((0, 2, 110)))}
    created = draw(maybe(st.sampled_from((-1000, -300, -30, 0)).map(builders.format_moment)))
    return objects.Node(
        metadata=objects.ObjectMeta(
            name=name,
            labels=own,
            annotations=draw(labels(note=("a", "7"), watts=("2.5", "9", "x"))),
            creation_timestamp=created,
        ),
        spec=objects.NodeSpec(taints=draw(several(taints))),
        status=objects.NodeStatus(
            allocatable=resources,
            conditions=draw(_conditions),
            node_info=objects.NodeInfo(kubelet_version=draw(st.sampled_from(VERSIONS))),
        ),
    )


@st.composite
def containers(draw: st.DrawFn) -> objects.Container:
    """Return a container."""
    requests = draw(amounts)
    limits = requests if draw(st.booleans()) else draw(amounts)
    return objects.Container(
        image=draw(st.sampled_from(("web", "reg:5000/team/web:1.2", "db@sha256:00"))),
        resources=objects.ResourceRequirements(requests=requests, limits=limits),
    )


_statuses = st.sampled_from((None, -200, -60, -10, 30)).map(
    lambda age: objects.PodStatus() if age is None else _scheduled(age)
)


def _scheduled(after_seconds: int) -> objects.PodStatus:
    condition = objects.Condition(
        "PodScheduled", "True", last_transition_time=builders.format_moment(after_seconds)
    )
    return objects.PodStatus(conditions=(condition,))


waiting_statuses = st.builds(
    lambda reason, since: objects.PodStatus(
        conditions=(objects.Condition("PodScheduled", "False", reason, "", since),)
    ),
    st.sampled_from(("Unschedulable", "SchedulerError", "SchedulingGated")),
    maybe(st.sampled_from((-1000, -299, -30, 0, 60)).map(builders.format_moment)),
)


_volumes = st.lists(
    st.sampled_from(policy_claims.VOLUMES), min_size=1, max_size=3, unique_by=lambda v: v.name
).map(tuple)


@st.composite
def pods(draw: st.DrawFn, name: str, node_name: str = "") -> objects.Pod:
    """Return a pod on `node_name`, or a pending one."""
    uid = draw(st.sampled_from(("rs1", "rs2")))
    owner = objects.OwnerReference(kind="ReplicaSet", name=uid, uid=uid, controller=True)
    own = draw(labels(app=("web", "db"), version=("1", "2"), team=("a", "b")))
    own |= draw(st.fixed_dictionaries({}, optional={"pod-template-hash": st.just("h1")}))
    meta = objects.ObjectMeta(
        name=name,
        namespace=draw(st.sampled_from(NAMESPACES)),
        uid=name,
        labels=own,
        annotations=draw(labels(tier=("gold", "5"))),
        owner_references=draw(st.sampled_from(((), (owner,)))),
        creation_timestamp=draw(
            maybe(st.sampled_from((-1200, -290, -30)).map(builders.format_moment))
        ),
        deletion_timestamp=draw(st.sampled_from((None, None, None, "2026-01-05T11:59:00Z"))),
    )
    spec = objects.PodSpec(
        node_name=node_name,
        priority=draw(st.sampled_from((None, -1, 0, 100))),
        priority_class_name=draw(st.sampled_from(("", "high"))),
        service_account_name=draw(st.sampled_from(("default", "robot"))),
        node_selector=draw(st.sampled_from(({}, {}, {"disk": "ssd"}))),
        tolerations=draw(
            several(st.just(objects.Toleration(key="tier", operator="Exists")), most=1)
        ),
        containers=draw(several(containers(), least=1)),
        volumes=draw(st.just(()) | _volumes),
    )
    statuses = _statuses if node_name else st.one_of(_statuses, waiting_statuses)
    return objects.Pod(metadata=meta, spec=spec, status=draw(statuses))


namespace_labels = labels(team=("a", "b"))

# --- selectors -----------------------------------------------------------------------------------


def label_requirements(**choices: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Return requirements on some labels."""

    @st.composite
    def build(draw: st.DrawFn) -> checked_selector.LabelRequirement:
        key = draw(st.sampled_from(sorted(choices)))
        patterns = sorted({*choices[key], "*", *(f"{value[:1]}*" for value in choices[key])})
        values_or_patterns = choices[key] if draw(st.integers(0, 3)) else tuple(patterns)
        operator, values = draw(_operations(values_or_patterns))
        return checked_selector.LabelRequirement(key, operator, values, SPAN)

    return build()


def _operations(values: tuple[str, ...]) -> st.SearchStrategy[Any]:
    sets = st.sets(st.sampled_from(values), min_size=1).map(lambda s: tuple(sorted(s)))
    return st.one_of(
        st.tuples(st.sampled_from(("In", "NotIn")), sets),
        st.tuples(st.sampled_from(("Exists", "DoesNotExist")), st.just(())),
        st.tuples(st.sampled_from(("Gt", "Lt")), st.sampled_from((("3",), ("-1",)))),
    )


def selectors(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return selectors made of `leaf` requirements."""
    return st.recursive(
        leaf | st.just(checked_selector.EVERYTHING),
        lambda inner: st.one_of(
            st.builds(checked_selector.SelectorConjunction, several(inner)),
            st.builds(checked_selector.SelectorDisjunction, several(inner, least=2, most=3)),
            st.builds(checked_selector.SelectorNegation, inner),
        ),
        max_leaves=3,
    )


taint_patterns = st.builds(
    lambda key, operation, effects: checked_selector.TaintPattern(
        key, operation[0], operation[1], effects, SPAN
    ),
    st.sampled_from(("dedicated", "tier")),
    st.sampled_from((("Exists", ""), ("Equal", "web"), ("Gt", "5"), ("Lt", "9"))),
    st.sampled_from((("NoSchedule",), ("NoSchedule", "PreferNoSchedule"))),
)
_condition_operations: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.sampled_from(("In", "NotIn")), st.sampled_from((("True",), ("False", "Unknown")))),
    st.tuples(st.sampled_from(("Exists", "DoesNotExist")), st.just(())),
)
node_selectors = selectors(
    st.one_of(
        label_requirements(zone=("a", "b"), disk=("ssd", "hdd"), size=_LABEL_VALUES),
        st.builds(checked_selector.TaintRequirement, taint_patterns, st.just(SPAN)),
        st.builds(
            checked_selector.FieldRequirement,
            st.just("nodeName"),
            st.sampled_from(("In", "NotIn")),
            st.sampled_from((("n1",), ("n0", "n3"), ("gone",), ("n*",), ("*1", "n2"), ("go*",))),
            st.just(SPAN),
        ),
        _operations(("a", "7")).map(
            lambda found: checked_selector.AnnotationRequirement("note", found[0], found[1], SPAN)
        ),
        st.builds(
            lambda condition, found: checked_selector.ConditionRequirement(
                condition, found[0], found[1], SPAN
            ),
            st.sampled_from(("Ready", "DiskPressure")),
            _condition_operations,
        ),
        st.builds(
            checked_selector.VersionRequirement,
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            st.sampled_from(BOUNDS).map(release_version.VersionBound),
            st.just(SPAN),
        ),
    )
)
_fields = st.sampled_from(
    (
        ("image", ("web",)),
        ("image", ("*/team/*", "db")),
        ("image", ("reg:5000/team/web",)),
        ("ownerKind", ("ReplicaSet",)),
        ("owner(name)", ("a", "web")),
        ("priorityClassName", ("high",)),
        ("qosClass", ("Guaranteed",)),
        ("qosClass", ("BestEffort", "Burstable")),
        ("serviceAccountName", ("robot",)),
        ("serviceAccountName", ("*bot", "d*t")),
        ("priorityClassName", ("*",)),
        ("owner(name)", ("rs*",)),
        ("storageClass", ("fast",)),
        ("storageClass", ("fast*", "other")),
        ("storageClass", ("", "slow")),
    )
)
pod_selectors = selectors(
    st.one_of(
        label_requirements(app=("web", "db"), version=("1", "2"), team=("a", "b")),
        st.builds(
            lambda operation: checked_selector.AnnotationRequirement(
                "tier", operation[0], operation[1], SPAN
            ),
            _operations(("gold", "5")),
        ),
        st.builds(
            lambda field, operator: checked_selector.FieldRequirement(
                field[0], operator, field[1], SPAN
            ),
            _fields,
            st.sampled_from(("In", "NotIn")),
        ),
        st.builds(
            checked_selector.NumberRequirement,
            st.sampled_from((None, "cpu", "example.com/gpu")),
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            st.sampled_from((0.0, 1.0, 500.0)),
            st.just(SPAN),
        ),
        st.builds(
            checked_selector.NumberRequirement,
            st.just("storage"),
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            st.sampled_from((0.0, 2.0**30, 101 * 2.0**30)),
            st.just(SPAN),
        ),
    )
)
namespace_sets = st.builds(
    checked_selector.NamespaceSet,
    st.sampled_from(((), ("prod",), ("default", "ghost"), ("*o*",), ("default", "g*"))),
    maybe(selectors(label_requirements(team=("a", "b")))),
)
scopes = st.builds(
    checked_selector.PolicyPodScope,
    maybe(namespace_sets),
    st.just(checked_selector.EVERYTHING) | pod_selectors,
)


own_texts = st.sampled_from(
    (
        checked_selector.IncomingPodValue("label", "team"),
        checked_selector.IncomingPodValue("label", "version"),
        checked_selector.IncomingPodValue("annotation", "tier"),
        checked_selector.IncomingPodValue("namespace"),
        checked_selector.IncomingPodValue("serviceAccountName"),
        checked_selector.IncomingPodValue("owner(name)"),
    )
)
pod_texts = own_texts | st.just(checked_selector.IncomingPodValue("namespaceLabel", "team"))
compared_labels = st.builds(
    checked_selector.ComparedLabel,
    st.sampled_from(("app", "version", "team")),
    st.sampled_from(((), (), ("a",), ("web", "1"))),
    several(own_texts, least=1, most=2),
    st.booleans(),
    st.just(SPAN),
)


@st.composite
def pod_sets(draw: st.DrawFn) -> checked_selector.PodSelection:
    """Return a set of pods to be counted."""
    kind: Any = draw(st.sampled_from(("self", "sameWorkload", "where")))
    return checked_selector.PodSelection(
        kind,
        draw(pod_selectors) if kind == "where" else None,
        draw(maybe(namespace_sets)),
        draw(st.sampled_from(((), (), ("version",), ("absent",)))),
        draw(st.sampled_from(((), (), ("team",)))),
        draw(several(compared_labels, least=0, most=1)) if kind == "where" else (),
    )


# --- expressions ---------------------------------------------------------------------------------

_N = units.NUMBER


@st.composite
def pod_counts(draw: st.DrawFn) -> checked_expr.PlacedPodCount:
    """Return a number of pods."""
    pods = draw(pod_sets())
    policy = draw(scopes) if pods.kind == "self" else None
    key = draw(maybe(st.sampled_from(TOPOLOGY_KEYS)))
    return checked_expr.PlacedPodCount(pods, policy, key, "count(…)", _N, SPAN)


windows = st.sampled_from(
    (
        None,
        None,
        checked_expr.MetricWindow(100.0, "avg"),
        checked_expr.MetricWindow(60.0, "max"),
        checked_expr.MetricWindow(300.0, "min"),
        checked_expr.MetricWindow(200.0, "quantile", 0.75),
    )
)
metric_refs = st.builds(
    lambda key, window: checked_expr.MetricRef(key, _N, SPAN, window, key == "grown"),
    st.sampled_from(METRICS),
    windows,
)
_number_leaves = st.one_of(
    st.sampled_from((0.0, 0.5, 1.0, 7.0, 1000.0, -3.0, 1e300)).map(
        lambda value: checked_expr.Const(value, _N, SPAN)
    ),
    metric_refs,
    st.builds(
        checked_expr.NodeResource,
        st.sampled_from(("free", "allocatable", "requested")),
        st.sampled_from(("cpu", "memory", "pods", "example.com/gpu", "none.com/such")),
        st.just(_N),
        st.just(SPAN),
    ),
    st.sampled_from(("cpu", "storage", "example.com/gpu", "none.com/such")).map(
        lambda resource: checked_expr.PodRequests(resource, _N, SPAN)
    ),
    st.sampled_from(("cpu", "memory", "pods", "example.com/gpu")).map(
        lambda resource: checked_expr.PodLimits(resource, _N, SPAN)
    ),
    st.just(checked_expr.PodPriority(_N, SPAN)),
    st.sampled_from(("size", "zone")).map(lambda key: checked_expr.NodeLabelNumber(key, _N, SPAN)),
    st.just(checked_expr.NodeLabelNumber("watts", _N, SPAN, "annotation")),
    pod_counts(),
)


def _calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    one, two = several(inner, least=1, most=1), several(inner, least=2, most=2)
    many = several(inner, least=2, most=3)
    return st.one_of(
        st.tuples(st.sampled_from(("abs", "floor", "ceil")), one),
        st.tuples(st.just("mod"), two),
        st.tuples(st.sampled_from(("min", "max")), many),
    ).map(lambda made: checked_expr.NumberFunctionCall(made[0], made[1], _N, SPAN))


numbers = st.recursive(
    _number_leaves,
    lambda inner: st.one_of(
        st.builds(
            checked_expr.ArithmeticOperation,
            st.sampled_from(("+", "-", "*", "/")),
            inner,
            inner,
            st.just(_N),
            st.just(SPAN),
        ),
        _calls(inner),
        st.builds(checked_expr.ValueWithFallback, inner, inner, st.just(_N), st.just(SPAN)),
    ),
    max_leaves=4,
)
_bounds_seconds = st.sampled_from((-5.0, 0.0, 29.5, 30.0, 300.0, 600.0)).map(
    lambda seconds: checked_expr.Const(seconds, units.SECONDS, SPAN)
)
elapsed_times = st.sampled_from(("waiting", "podAge", "nodeAge")).map(
    lambda kind: checked_expr.ElapsedTime(kind, units.SECONDS, SPAN)  # type: ignore[arg-type]
)
_time_comparators = st.sampled_from(("<", "<=", ">", ">="))
time_comparisons = st.one_of(
    st.builds(
        checked_expr.Compare, _time_comparators, elapsed_times, _bounds_seconds, st.just(SPAN)
    ),
    st.builds(
        checked_expr.Compare, _time_comparators, _bounds_seconds, elapsed_times, st.just(SPAN)
    ),
)
conditions = st.recursive(
    st.one_of(
        time_comparisons,
        st.builds(
            checked_expr.Compare,
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            numbers,
            numbers,
            st.just(SPAN),
        ),
        st.builds(checked_expr.NodeMatch, node_selectors, st.just(SPAN)),
        st.builds(checked_expr.PodMatch, pod_selectors, st.just(SPAN)),
        st.builds(
            checked_expr.NodeLabelIsPodValue,
            st.sampled_from(("zone", "rack", "size")),
            pod_texts,
            st.just(SPAN),
        ),
    ),
    lambda inner: st.one_of(
        st.builds(checked_expr.And, several(inner, least=2, most=3), st.just(SPAN)),
        st.builds(checked_expr.Or, several(inner, least=2, most=3), st.just(SPAN)),
        st.builds(checked_expr.Not, inner, st.just(SPAN)),
    ),
    max_leaves=3,
)

# --- rules ---------------------------------------------------------------------------------------

_every_day = frozenset(range(7))
activations = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    st.builds(
        activation.RuleActivation,
        st.sampled_from(
            (
                (),
                (activation.TimeWindow(_every_day, 12 * 60 + 5, 12 * 60 + 20),),
                (activation.TimeWindow(_every_day, 22 * 60, 12 * 60 + 10),),
            )
        ),
        st.just("UTC"),
        maybe(st.sampled_from((START_SECONDS - 1, START_SECONDS + 700))),
        st.booleans(),
    ),
)
weights = st.sampled_from((1, 7, 100))
_shape = ((-1.0, 100), (0.5, 30), (7.0, 40), (1000.0, 0))
normalizations = st.one_of(
    st.builds(
        checked.LinearNormalization, st.sampled_from((-5.0, 0.0)), st.sampled_from((1.0, 5000.0))
    ),
    st.builds(checked.MinMaxNormalization, st.sampled_from((0.0, 3.0))),
    st.just(checked.RankNormalization()),
    st.just(checked.MaxNormalization()),
    st.just(checked.ShapeNormalization(_shape)),
)


Maker: TypeAlias = Callable[[checked.RuleHead], st.SearchStrategy[Any]]
"""Makes rules of one kind."""


@st.composite
def rules(
    draw: st.DrawFn, policy: str, number: int, makers: Sequence[Maker] | None = None
) -> checked.Rule:
    """Return a rule of any kind, or of some kinds, called `policy/rN`."""
    maker = draw(st.sampled_from(makers or ALL_KINDS))
    head = checked.RuleHead(
        name=f"{policy}/r{number}",
        policy=policy,
        kind="generated",
        given_name=f"r{number}",
        text="",
        message=draw(st.sampled_from((None, None, "because"))),
        active=draw(activations),
        span=SPAN,
        forbids_preemption=draw(st.sampled_from((False, False, True))),
    )
    made: checked.Rule = draw(maker(head))
    return made


def _node_rule(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    return st.builds(checked.NodeAffinityRule, st.just(head), node_selectors, maybe(weights))


def _pod_rule(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    return st.builds(
        checked.PodAffinityRule,
        st.just(head),
        st.booleans(),
        pod_sets(),
        st.sampled_from(TOPOLOGY_KEYS),
        maybe(weights),
        st.sampled_from(("allow", "reject")),
    )


@st.composite
def _spread_rule(draw: st.DrawFn, head: checked.RuleHead) -> checked.TopologySpreadRule:
    weight = draw(maybe(weights))
    return checked.TopologySpreadRule(
        head,
        draw(pod_sets()),
        draw(st.sampled_from(TOPOLOGY_KEYS)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 3)),
        "DoNotSchedule" if weight is None else "ScheduleAnyway",
        draw(st.sampled_from(("Honor", "Ignore"))),
        draw(st.sampled_from(("Honor", "Ignore"))),
        weight,
    )


def _tolerate(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    return st.builds(checked.TolerationRule, st.just(head), several(taint_patterns, least=1))


_thresholds = st.builds(
    checked_expr.Compare,
    st.sampled_from(("<", ">")),
    metric_refs,
    st.sampled_from((0.5, 7.0, 1000.0)).map(lambda v: checked_expr.Const(v, _N, SPAN)),
    st.just(SPAN),
)


def _reject(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    actions = st.sampled_from((None, "allow", "reject"))
    return st.one_of(
        st.builds(checked.RejectRule, st.just(head), conditions, actions),
        st.builds(checked.RejectRule, st.just(head), _thresholds, actions, _thresholds),
    )


@st.composite
def _score(draw: st.DrawFn, head: checked.RuleHead) -> checked.ExpressionScoreRule:
    missing = draw(maybe(st.sampled_from((0, 37, 100))))
    if draw(st.integers(0, 3)) == 0:
        return checked.ExpressionScoreRule(
            head, draw(conditions), None, None, missing, draw(weights)
        )
    way = draw(normalizations)
    prefer: Any = draw(st.sampled_from(("low", "high")))
    if isinstance(way, checked.ShapeNormalization):
        prefer = None
    return checked.ExpressionScoreRule(head, draw(numbers), prefer, way, missing, draw(weights))


@st.composite
def _resource_score(draw: st.DrawFn, head: checked.RuleHead) -> checked.ResourceScoreRule:
    strategy: Any = draw(
        st.sampled_from(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    )
    resources = draw(
        st.sampled_from(((("cpu", 1), ("memory", 3)), (("example.com/gpu", 5), ("cpu", 1))))
    )
    shape = ((0, 0), (40, 100), (100, 20)) if strategy == "RequestedToCapacityRatio" else ()
    return checked.ResourceScoreRule(head, strategy, resources, shape, draw(weights))


def _preempt(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    return st.builds(
        checked.PreemptRule,
        st.just(head),
        st.none() | pod_sets() | pod_sets(),
        st.sampled_from(("allow", "reject")),
    )


def _protect(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    return st.builds(checked.ProtectRule, st.just(head))


def _reject_by_pods(head: checked.RuleHead) -> st.SearchStrategy[Any]:
    """Return rules on the pods of nodes: there, evictions help more often than elsewhere."""
    full = st.sampled_from((1.0, 109.0)).map(
        lambda least: checked_expr.Compare(
            "<",
            checked_expr.NodeResource("free", "pods", _N, SPAN),
            checked_expr.Const(least, _N, SPAN),
            SPAN,
        )
    )
    counted = pod_counts().map(
        lambda count: checked_expr.Compare(">", count, checked_expr.Const(0.0, _N, SPAN), SPAN)
    )
    return st.builds(
        checked.RejectRule,
        st.just(head),
        full | counted,
        st.sampled_from((None, "allow", "reject")),
    )


ALL_KINDS: tuple[Maker, ...] = (
    *(_node_rule, _pod_rule, _spread_rule, _tolerate, _reject, _score, _resource_score),
    *(_preempt, _protect),
)
FILTER_KINDS: tuple[Maker, ...] = (
    *(_node_rule, _pod_rule, _spread_rule, _tolerate, _reject, _reject, _reject_by_pods),
)
"""Rules that may reject nodes, and rules that change what spread rules count."""
PREEMPTION_KINDS: tuple[Maker, ...] = (
    *(_preempt, _preempt, _protect, _reject_by_pods, _reject_by_pods, _reject_by_pods),
    *(_pod_rule, _spread_rule),
)
"""Rules about preemption, and rules that it may resolve. Load that placed pods add to metrics is
left out: preemption does not subtract that of victims."""


# --- programs ------------------------------------------------------------------------------------


@st.composite
def policies(
    draw: st.DrawFn, name: str, others: tuple[str, ...], makers: Sequence[Maker] | None = None
) -> checked.CheckedPolicy:
    """Return a policy, which may disable rules of `others`."""
    disables = tuple(
        checked.DisabledRule(other, f"{other}/r0", SPAN)
        for other in others
        if draw(st.integers(0, 3)) == 0
    )
    count = draw(st.integers(1, 3))
    return checked.CheckedPolicy(
        name=name,
        mode="enforce",
        description="",
        owner="",
        scope=draw(scopes if makers is None else st.just(checked_selector.EVERY_POD) | scopes),
        rules=tuple(draw(rules(name, number, makers)) for number in range(count)),
        disables=disables,
        span=SPAN,
    )


def _metric(key: str) -> checked.CheckedMetric:
    return checked.CheckedMetric(
        key=key,
        name=key,
        unit=_N,
        promql=key,
        target="node",
        label="node",
        refresh_seconds=15,
        max_age_seconds=120,
        missing_action=None,
        missing_points=None,
        span=SPAN,
        low=-100.0 if key == "heat" else None,
        high=5000.0 if key == "heat" else None,
        placed=_cost if key == "grown" else None,
    )


_cost = checked.PlacedCost(
    checked_expr.ArithmeticOperation(
        "-",
        checked_expr.PodRequests("cpu", _N, SPAN),
        checked_expr.NodeResource("allocatable", "example.com/gpu", _N, SPAN),
        _N,
        SPAN,
    ),
    100.0,
)
"""Negative for a pod without requests on a node with GPUs: that adds nothing."""


def profile(name: str, own: tuple[checked.CheckedPolicy, ...]) -> checked.CheckedProfile:
    """Return a profile with these policies and all metrics."""
    return checked.CheckedProfile(
        name=name,
        policies=own,
        metrics=tuple(_metric(key) for key in METRICS),
        plugins=(),
        disabled=(),
        disabled_scores=(),
        disable_all_scores=False,
        builtin_weight=1,
        on_outage="skip",
        params=(),
        span=SPAN,
    )


def program(*profiles: checked.CheckedProfile) -> checked.CheckedProgram:
    """Return a program of these profiles."""
    every = {policy.name: policy for each in profiles for policy in each.policies}
    return checked.CheckedProgram((), profiles[0].metrics, tuple(every.values()), profiles, "hash")


@st.composite
def programs(draw: st.DrawFn, makers: Sequence[Maker] | None = None) -> checked.CheckedProgram:
    """Return three policies in two profiles; the second profile has one to three of them."""
    names = ("red", "green", "blue")
    made = tuple(
        draw(policies(name, tuple(other for other in names if other != name), makers))
        for name in names
    )
    count = draw(st.integers(0, 3))
    return program(profile("one", made[:2]), profile("two", made[3 - count :]))


# --- what happens --------------------------------------------------------------------------------

_samples = st.fixed_dictionaries(
    {},
    optional={
        name: st.tuples(
            st.sampled_from((0.0, 0.5, 1.0, 50.0, 6000.0, float("nan"), float("inf"))),
            st.sampled_from((0, 60, 130)),
        )
        for name in NODE_NAMES
    },
)
events = st.one_of(
    st.sampled_from(NODE_NAMES).flatmap(lambda n: st.tuples(st.just("node"), nodes(n))),
    st.sampled_from(POD_NAMES).flatmap(
        lambda n: st.tuples(
            st.just("pod"), st.sampled_from((*NODE_NAMES, "gone")).flatmap(lambda on: pods(n, on))
        )
    ),
    st.tuples(st.just("no node"), st.sampled_from(NODE_NAMES)),
    st.tuples(st.just("no pod"), st.sampled_from(POD_NAMES)),
    st.tuples(st.just("metric"), st.tuples(st.sampled_from(METRICS), _samples)),
    st.tuples(st.just("time"), st.sampled_from((30.0, 120.0, 600.0))),
    st.tuples(st.just("namespace"), st.tuples(st.sampled_from(NAMESPACES[:2]), namespace_labels)),
)

EPOCH: datetime.datetime = builders.EPOCH
