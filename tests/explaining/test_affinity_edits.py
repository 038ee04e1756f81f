"""The pods that a required podAffinity may mean: near labels, values, namespaces, topologies."""

from __future__ import annotations

import pytest

from tests.cli import clusters
from tests.explaining import desk

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _redis(namespace: str) -> desk.Object:
    pod = clusters.pod("redis", on="n1")
    pod["metadata"] |= {"namespace": namespace, "labels": {"app": "redis"}}
    return pod


def _term(key: str, app: str, topology: str, *namespaces: str) -> desk.Object:
    selector = {"matchLabels": {key: app}}
    more = {"namespaces": list(namespaces)} if namespaces else {}
    term = {"topologyKey": topology, "labelSelector": selector, **more}
    return {"podAffinity": {REQUIRED: [term]}}


CASES = [
    pytest.param("app", "rediss", "zone", "prod", (), "did you mean redis?", id="a value"),
    pytest.param("appp", "redis", "zone", "prod", (), "did you mean app?", id="a key"),
    pytest.param("app", "redis", "zones", "prod", (), "did you mean zone?", id="a topology"),
    pytest.param("app", "redis", "zone", "data", (), "look in namespace data", id="elsewhere"),
    pytest.param(
        "app", "redis", "zone", "data", ("dataa",), "did you mean data?", id="a namespace"
    ),
]


@pytest.mark.parametrize("key, app, topology, namespace, namespaces, expected", CASES)
@pytest.mark.parametrize("by_rule", [False, True])
def test_the_pods_that_are_meant(
    key: str,
    app: str,
    topology: str,
    namespace: str,
    namespaces: tuple[str, ...],
    expected: str,
    *,
    by_rule: bool,
) -> None:
    """A correction is offered first, whether the pod asks for them or a rule."""
    affinity = _term(key, app, topology, *namespaces)
    pod = clusters.pod("p") if by_rule else clusters.pod("p", affinity=affinity)
    where = f" namespaces ({', '.join(namespaces)})" if namespaces else ""
    rule = f"podAffinity required pods where {key} = {app} topologyKey {topology}{where}"
    policy = f"version 1\npolicy w {{ for pods {rule} }}\n" if by_rule else ""
    report = desk.study_pod([clusters.node("n1", zone="a"), _redis(namespace), pod], policy)
    (first, *others) = report["edits"]
    assert first["kind"] == "podAffinity"
    assert first["nodes"] == ["n1"]
    assert expected in first["text"]
    assert not any("did you mean" in each["text"] for each in others)
