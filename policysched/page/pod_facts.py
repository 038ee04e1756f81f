"""Facts about a pod in short: requests, owner and everything that selects nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape, workloads


def describe_pod(info: pod_shape.PodInfo) -> dict[str, Any]:
    """Return requests in milli-CPU, bytes or a count, the owner, and texts keyed by field."""
    spec = info.pod.spec
    requests = {name: of for name, of in sorted(info.shape.requests.amounts.items()) if of}
    facts = {
        "labels": _list_pairs(info.pod.metadata.labels),
        "nodeSelector": _list_pairs(spec.node_selector),
        "affinity": list(_list_affinity_terms(spec.affinity or objects.Affinity())),
        "topologySpreadConstraints": [
            f"{each.topology_key}, maxSkew {each.max_skew}, {each.when_unsatisfiable}"
            for each in spec.topology_spread_constraints
        ],
        "tolerations": [_format_toleration(each) for each in spec.tolerations],
    }
    return {"requests": requests, "owner": _describe_owner(info.pod.metadata), "facts": facts}


def _describe_owner(metadata: objects.ObjectMeta) -> str:
    """Return the kind and the name of the object whose template makes the pod; "" for none."""
    workload = workloads.find_workload(metadata)
    return "" if workload is None else f"{workload.kind} {workload.name}"


def _list_pairs(labels: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(labels.items())]


def _list_affinity_terms(affinity: objects.Affinity) -> Iterator[str]:
    """Yield each term; the required terms of nodes are alternatives, so they are one text."""
    of_nodes = affinity.node_affinity or objects.NodeAffinity()
    required = of_nodes.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms = " or ".join(_format_node_term(each) for each in required.node_selector_terms)
        yield f"node required: {terms}"
    for preferred in of_nodes.preferred_during_scheduling_ignored_during_execution:
        yield f"node preferred ({preferred.weight}): {_format_node_term(preferred.preference)}"
    for noun, of_pods in (
        ("pods", affinity.pod_affinity),
        ("anti-affinity to pods", affinity.pod_anti_affinity),
    ):
        terms_of = of_pods or objects.PodAffinity()
        for term in terms_of.required_during_scheduling_ignored_during_execution:
            yield f"{noun} required: {_format_pod_term(term)}"
        for each in terms_of.preferred_during_scheduling_ignored_during_execution:
            yield f"{noun} preferred ({each.weight}): {_format_pod_term(each.pod_affinity_term)}"


def _format_node_term(term: objects.NodeSelectorTerm) -> str:
    return _format_requirements((*term.match_expressions, *term.match_fields)) or "no node"


def _format_pod_term(term: objects.PodAffinityTerm) -> str:
    selector = term.label_selector
    if selector is None:
        return f"no pod, by {term.topology_key}"
    expressions = _format_requirements(selector.match_expressions)
    texts = [*_list_pairs(selector.match_labels), *([expressions] if expressions else [])]
    return f"{', '.join(texts) or 'all'}, by {term.topology_key}"


def _format_requirements(requirements: Iterable[objects.SelectorRequirement]) -> str:
    return ", ".join(
        f"{each.key} {each.operator}" + (f" ({', '.join(each.values)})" if each.values else "")
        for each in requirements
    )


def _format_toleration(toleration: objects.Toleration) -> str:
    key = toleration.key or "all taints"
    value = "" if toleration.operator == "Exists" else f"={toleration.value}"
    return f"{key}{value}{toleration.effect and ':'}{toleration.effect}"
