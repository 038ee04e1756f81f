"""Pods that differ in nothing that anybody reads share answers, and all others do not."""

from __future__ import annotations

import pytest

from policysched.cluster.pods import pod_shape, shape_projection
from policysched.compiler.pods import pod_reads
from tests import builders, storage_builders
from tests.compiler import desk


def _projection(text: str) -> shape_projection.PodFieldsRead:
    return pod_reads.projection(desk.check(text).policies)


@pytest.mark.parametrize(
    "text, keys, reads_workload",
    [
        ("policy p { for pods }", set(), False),
        (
            "policy p { for pods where tier = web reject when pod(track = canary) }",
            {"tier", "track"},
            False,
        ),
        (
            """policy p { for pods podAffinity required self topologyKey zone
            matchLabelKeys (version) mismatchLabelKeys (colour) }""",
            {"version", "colour"},
            False,
        ),
        (
            "policy p { for pods podAntiAffinity preferred pods where app = db topologyKey zone }",
            {"app"},
            False,
        ),
        (
            """policy p { for pods topologySpread sameWorkload topologyKey zone maxSkew 1
            whenUnsatisfiable DoNotSchedule }""",
            set(),
            True,
        ),
    ],
    ids=["nothing", "scopes and tests", "label keys", "sets of pods", "workloads"],
)
def test_policies_say_what_they_read_of_pods(
    text: str, keys: set[str], reads_workload: bool
) -> None:
    """Every selector on pods counts, and every label by which pods are told apart."""
    found = _projection(text)
    assert found == shape_projection.PodFieldsRead(frozenset(keys), reads_workload)


def _key(projection: shape_projection.PodFieldsRead, pod: builders.PodBuilder) -> bytes:
    return projection.make_pod_fields_key(pod_shape.PodShapeCache().intern_shape(pod.build()))


@pytest.mark.parametrize(
    "other, is_alike",
    [
        (desk.pod("b", job="2", tier="web"), True),
        (desk.pod("b", job="1", tier="db"), False),
        (desk.pod("b", job="1"), False),
        (desk.pod("b", job="1", tier="web").requests({"cpu": "1"}), False),
        (desk.pod("b", job="1", tier="web").meta(namespace="other"), False),
        (desk.pod("b", job="1", tier="web").node_selector({"a": "b"}), False),
    ],
    ids=["unread label", "read label", "without it", "requests", "namespace", "spec"],
)
def test_only_what_is_not_read_may_differ(other: builders.PodBuilder, is_alike: bool) -> None:
    """Labels nobody asks for make no difference; all else does."""
    projection = shape_projection.PodFieldsRead(frozenset({"tier"}))
    one = _key(projection, desk.pod("a", job="1", tier="web"))
    assert (_key(projection, other) == one) is is_alike


@pytest.mark.parametrize(
    "statement, reads_claims",
    [
        ("reject when pod(storageClass = fast)", True),
        ("reject when pod(not requests(storage) > 1Gi)", True),
        ("reject when requests(storage) > free(memory)", True),
        ("score free(memory) - requests(storage) prefer high", True),
        ("podAffinity required pods where storageClass = fast topologyKey zone", True),
        ("reject when count(pods where requests(storage) > 0) > 3", True),
        ("preempt pods where storageClass != fast", True),
        ('reject when requests("ephemeral-storage") > 1Gi', False),
        ("reject when pod(limits(memory) > 1Gi)", False),
    ],
)
def test_policies_say_whether_they_read_claims(statement: str, reads_claims: bool) -> None:
    """In scopes, conditions, scores and sets of pods."""
    assert _projection(f"policy p {{ for pods {statement} }}").reads_claims is reads_claims
    if statement.startswith("reject when pod("):
        scope = statement.removeprefix("reject when pod(").removesuffix(")")
        assert _projection(f"policy p {{ for pods where {scope} }}").reads_claims is reads_claims


@pytest.mark.parametrize(
    "statement, reads_devices",
    [
        ("reject when freeDevices(gpu) < 2", True),
        ("reject when not (devices(gpu) = 0 or free(cpu) > 1)", True),
        ("score deviceCapacity(memory) prefer low missing score 50", True),
        ("score free(memory) prefer low", False),
    ],
)
def test_policies_say_whether_they_read_devices(statement: str, reads_devices: bool) -> None:
    """In conditions and scores."""
    assert _projection(f"policy p {{ for pods {statement} }}").reads_devices is reads_devices


def test_claims_count_only_if_a_policy_reads_them() -> None:
    """Pods whose claims changed share the answers of before otherwise."""
    for selector, are_alike in (("app = web", True), ("storageClass = fast", False)):
        projection = _projection(f"policy p {{ for pods where {selector} }}")
        keys = {
            projection.make_pod_fields_key(
                pod_shape.PodShapeCache(find_claim=lambda *_, made=made: made).intern_shape(
                    desk.pod("a").claim("data").build()
                )
            )
            for made in (
                storage_builders.make_claim("data", class_name="fast"),
                storage_builders.make_claim("data", class_name="slow"),
            )
        }
        assert len(keys) == (1 if are_alike else 2)


def test_names_of_owners_count_only_if_a_policy_reads_them() -> None:
    """Pods of all Jobs share answers otherwise."""
    pods = [desk.pod(name).owner("Job", name) for name in ("a", "b")]
    for selector, are_alike in (("ownerKind = Job", True), ("owner(name) = a", False)):
        projection = _projection(f"policy p {{ for pods where {selector} }}")
        assert len({_key(projection, pod) for pod in pods}) == (1 if are_alike else 2)
