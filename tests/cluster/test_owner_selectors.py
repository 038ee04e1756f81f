"""Selectors that default spread constraints take from services and controllers."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import owner_objects, owner_selectors, pod_shape
from tests.builders import PodBuilder, expression, label_selector, make_pod

Kind = owner_selectors.OwnerKind


def owned(pod: PodBuilder, kind: str, name: str, api_version: str = "apps/v1") -> PodBuilder:
    """Return the pod with a controller."""
    owner = objects.OwnerReference(
        api_version=api_version, kind=kind, name=name, uid=name, controller=True
    )
    return pod.meta(owner_references=(owner,))


def known_owners() -> owner_selectors.OwnerSelectors:
    """Return some services and controllers of two namespaces."""
    owners = owner_selectors.OwnerSelectors()
    web = selectors.from_match_labels({"app": "web"})
    owners.set_selector(Kind.SERVICE, "default", "web", web)
    owners.set_selector(Kind.SERVICE, "default", "db", selectors.from_match_labels({"app": "db"}))
    owners.set_selector(Kind.SERVICE, "prod", "all", selectors.from_match_labels({"tier": "x"}))
    owners.set_selector(Kind.REPLICATION_CONTROLLER, "default", "rc", web)
    hashed = selectors.from_label_selector(label_selector(expression("hash", "In", "1", "2")))
    owners.set_selector(Kind.REPLICA_SET, "default", "rs", hashed)
    owners.set_selector(Kind.STATEFUL_SET, "default", "ss", selectors.from_match_labels({"s": "1"}))
    return owners


web = make_pod("a").labels(app="web")


@pytest.mark.parametrize(
    "pod, keys",
    [
        pytest.param(make_pod("a"), set(), id="nothing"),
        pytest.param(web, {"app"}, id="service of the namespace"),
        pytest.param(make_pod("a", "prod").labels(app="web"), set(), id="other namespace"),
        pytest.param(owned(web, "ReplicaSet", "rs"), {"app", "hash"}, id="service and ReplicaSet"),
        pytest.param(owned(make_pod("a"), "StatefulSet", "ss"), {"s"}, id="StatefulSet"),
        pytest.param(owned(make_pod("a"), "ReplicationController", "rc", "v1"), {"app"}, id="RC"),
        pytest.param(owned(make_pod("a"), "ReplicaSet", "gone"), set(), id="unknown owner"),
        pytest.param(
            owned(make_pod("a"), "ReplicaSet", "rs", "example.com/v1"), set(), id="other API group"
        ),
        pytest.param(
            make_pod("a").meta(
                owner_references=(
                    objects.OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs"),
                )
            ),
            set(),
            id="owner that is no controller",
        ),
    ],
)
def test_selector_for(pod: PodBuilder, keys: set[str]) -> None:
    """Services that match the pod and its controller contribute their requirements."""
    shape = pod_shape.PodShapeCache().intern_shape(pod.build())
    found = known_owners().get_owner_selector(shape)
    assert {r.key for r in found.requirements} == keys


def test_a_replication_controller_overrules_services() -> None:
    """Its labels are merged over theirs, as maps; those of others are required besides."""
    owners = known_owners()
    other = selectors.from_match_labels({"app": "db"})
    for kind in (Kind.REPLICATION_CONTROLLER, Kind.STATEFUL_SET):
        owners.set_selector(kind, "default", "other", other)
    replicated = owned(web, "ReplicationController", "other", "v1").build()
    stateful = owned(web, "StatefulSet", "other").build()
    shapes = pod_shape.PodShapeCache()
    assert owners.get_owner_selector(shapes.intern_shape(replicated)) == other
    both = owners.get_owner_selector(shapes.intern_shape(stateful))
    assert [both.matches({"app": app}) for app in ("web", "db")] == [False, False]


def test_generation_grows_only_with_changes() -> None:
    """Setting what is known already changes nothing; removal does."""
    owners = known_owners()
    before = owners.generation
    owners.set_selector(Kind.SERVICE, "default", "web", selectors.from_match_labels({"app": "web"}))
    owners.set_selector(Kind.SERVICE, "default", "absent", None)
    assert owners.generation == before
    owners.set_selector(Kind.SERVICE, "default", "web", None)
    assert owners.generation == before + 1
    shape = pod_shape.PodShapeCache().intern_shape(web.build())
    assert owners.get_owner_selector(shape) == selectors.EVERYTHING


@pytest.mark.parametrize(
    "kind, spec, expected",
    [
        pytest.param(
            Kind.SERVICE,
            {"selector": {"a": "b"}},
            selectors.from_match_labels({"a": "b"}),
            id="service",
        ),
        pytest.param(Kind.SERVICE, {}, None, id="service without selector"),
        pytest.param(
            Kind.REPLICA_SET,
            {"selector": {"matchLabels": {"a": "b"}}},
            selectors.from_match_labels({"a": "b"}),
            id="ReplicaSet",
        ),
        pytest.param(Kind.STATEFUL_SET, {}, None, id="StatefulSet without selector"),
    ],
)
def test_wire_types(
    kind: owner_selectors.OwnerKind, spec: object, expected: selectors.Selector | None
) -> None:
    """Each kind decodes from its wire form to the selector that it has."""
    found = msgspec.convert(
        {"metadata": {"name": "x"}, "spec": spec}, owner_objects.WIRE_TYPES[kind]
    )
    assert found.selector == expected
