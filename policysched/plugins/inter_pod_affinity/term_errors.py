"""Report errors in the affinity terms of a pod, in the words of kube-scheduler.

Source: `pkg/scheduler/framework/types.go`, PodInfo.Update: the first error in each kind of term.
"""

from __future__ import annotations

from collections.abc import Iterable

from policysched.cluster.objects import objects, selector_errors
from policysched.cluster.pods import pod_shape


def find_term_errors(shape: pod_shape.PodShape) -> str:
    """Return the first error in each kind of term, joined into one text, or ""."""
    affinity = shape.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return ""
    attract = affinity.pod_affinity or objects.PodAffinity()
    repel = affinity.pod_anti_affinity or objects.PodAffinity()
    kinds = {
        "requiredAffinityTerms": attract.required_during_scheduling_ignored_during_execution,
        "requiredAntiAffinityTerms": repel.required_during_scheduling_ignored_during_execution,
        "preferredAffinityTerms": _list_preferred_terms(attract),
        "preferredAntiAffinityTerms": _list_preferred_terms(repel),
    }
    found = {kind: _find_first_error(terms) for kind, terms in kinds.items()}
    errors = [f"{kind}: {error}" for kind, error in found.items() if error]
    return selector_errors.aggregate_errors(errors) if errors else ""


def _list_preferred_terms(affinity: objects.PodAffinity) -> list[objects.PodAffinityTerm]:
    weighted = affinity.preferred_during_scheduling_ignored_during_execution
    return [w.pod_affinity_term for w in weighted]


def _find_first_error(terms: Iterable[objects.PodAffinityTerm]) -> str:
    selectors = (s for t in terms for s in (t.label_selector, t.namespace_selector))
    return next(filter(None, map(selector_errors.find_label_selector_error, selectors)), "")
