"""Sets of placed pods: whether one set certainly contains another."""

from __future__ import annotations

from policysched.lang.checked import checked_selector
from policysched.lint.sets import selector_sets


def is_selection_within(
    narrow: checked_selector.PodSelection,
    narrow_scope: checked_selector.PolicyPodScope,
    wide: checked_selector.PodSelection,
    wide_scope: checked_selector.PolicyPodScope,
) -> bool:
    """Return whether the pods of `narrow` are certainly a subset of the pods of `wide`.

    The incoming pod is in both scopes, so `self` of either rule selects pods in its namespace.
    """
    if not set(wide.match_label_keys) <= set(narrow.match_label_keys):
        return False
    if not set(wide.mismatch_label_keys) <= set(narrow.mismatch_label_keys):
        return False
    if narrow.namespaces != wide.namespaces or not set(wide.compared) <= set(narrow.compared):
        return False
    if "sameWorkload" in {narrow.kind, wide.kind}:
        return narrow.kind == wide.kind
    is_limited = wide.kind == "self" and wide_scope.namespaces is not None
    if is_limited and wide.namespaces is not None:
        return False
    narrow_pods, wide_pods = (
        get_pod_selector(narrow, narrow_scope),
        get_pod_selector(wide, wide_scope),
    )
    is_possible = not selector_sets.can_never_match_together(narrow_pods)
    return is_possible and selector_sets.does_selector_imply(narrow_pods, wide_pods)


def get_pod_selector(
    pods: checked_selector.PodSelection, scope: checked_selector.PolicyPodScope
) -> checked_selector.Selector:
    """Return the selector of a set; without `where`, that of the scope of its policy."""
    return scope.where if pods.selector is None else pods.selector
