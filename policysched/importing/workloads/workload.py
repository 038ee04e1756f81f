"""Imports pods and their owners: converts the placement fields of a manifest to a policy."""

from __future__ import annotations

from policysched.importing.reading import fields
from policysched.importing.result import import_draft, policy_text
from policysched.importing.workloads import (
    label_terms,
    node_rules,
    pod_rules,
    unconverted_pod_fields,
)
from policysched.lang.syntax import syntax, syntax_expr

TEMPLATES: dict[str, tuple[str, ...]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Kind → the path from the object to its pod template."""

_JOB_LABEL = "batch.kubernetes.io/job-name"
_NO_LABELS = "give its pods a label of their own"


def import_workload(given: fields.StrictFields, made: import_draft.ImportDraft) -> None:
    """Convert the placement fields of one manifest to a policy, and add it to the draft.

    Raises:
        InputError: a field has the wrong type.
    """
    kind = given.read_text("kind")
    metadata = given.read_object("metadata")
    name = metadata.read_text("name") if metadata else ""
    namespace = metadata.read_text("namespace", "default") if metadata else "default"
    owner = f"{kind} {namespace}/{name or 'unnamed'}"
    pod = _read_pod_template(given, kind)
    spec = pod.read_object("spec") if pod is not None else None
    told = len(made.report.findings)
    statements = _drop_equal_rules(_convert_pod_spec(spec)) if spec is not None else []
    if spec is not None:
        is_running = kind == "Pod" and metadata is not None and "uid" in metadata
        unconverted_pod_fields.report_unconverted_fields(
            spec, is_running=is_running, served=frozenset(made.plans)
        )
    _report_claim_templates(given)
    if not statements:
        if told == len(made.report.findings):
            problem = f"the {owner} has no placement rules"
            made.report.note(given.place, problem, "it is left out")
        return
    where = _make_common_pod_selector(given, kind, name)
    if where is None:
        problem = f"the pods of {owner} have no labels, so no policy can select them"
        made.report.warn(given.place, problem, _NO_LABELS)
        return
    names = syntax.NamespaceScope(policy_text.SPAN, (policy_text.make_word(namespace),), None)
    scope = syntax.Scope(policy_text.SPAN, "pods", names, where)
    block = policy_text.CommentedBlock(
        "policy",
        made.names.reserve_name(name or kind),
        (policy_text.CommentedStatement(scope), *statements),
        f"from the {owner}, {given.place.origin_comment}; {_advise_on_placement_fields(kind)}",
        given.place,
        f"the {owner}",
    )
    made.policies.append(block)


def _advise_on_placement_fields(kind: str) -> str:
    """Return advice on whether pods with the policy still need their placement fields."""
    if kind == "DaemonSet":
        return "leave the fields in its pods: the DaemonSet controller reads them"
    return "its pods no longer need these fields"


def _report_claim_templates(given: fields.StrictFields) -> None:
    """Report the claims that a StatefulSet creates for each of its pods."""
    spec = given.read_object("spec")
    if spec is not None:
        unconverted_pod_fields.report_claim_templates(spec)


def _read_pod_template(given: fields.StrictFields, kind: str) -> fields.StrictFields | None:
    pod: fields.StrictFields | None = given
    for key in TEMPLATES[kind]:
        pod = pod.read_object(key) if pod is not None else None
    return pod


def _convert_pod_spec(spec: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return the rules for all placement fields of a pod spec that a policy can express."""
    found = node_rules.convert_node_selector(spec)
    affinity = spec.read_object("affinity")
    if affinity is not None:
        node = affinity.read_object("nodeAffinity")
        found += node_rules.convert_node_affinity(node) if node is not None else []
        together = affinity.read_object("podAffinity")
        found += (
            pod_rules.convert_pod_affinity("podAffinity", together) if together is not None else []
        )
        apart = affinity.read_object("podAntiAffinity")
        found += (
            pod_rules.convert_pod_affinity("podAntiAffinity", apart) if apart is not None else []
        )
        affinity.report_unread_fields()
    return [
        *found,
        *pod_rules.convert_spread_constraints(spec),
        *node_rules.convert_tolerations(spec),
    ]


def _drop_equal_rules(
    statements: list[policy_text.CommentedStatement],
) -> list[policy_text.CommentedStatement]:
    """Return the rules without duplicates, because a policy cannot contain two identical rules.

    Requiring or tolerating the same thing twice has no effect. Duplicate preferred terms already
    have a finding: several preferred terms have more weight than in a pod.
    """
    return list({each.node: each for each in reversed(statements)}.values())[::-1]


def _make_common_pod_selector(
    given: fields.StrictFields, kind: str, name: str
) -> syntax_expr.Selector | None:
    """Return a selector that matches all pods: the owner's selector, or else their labels."""
    spec = given.read_object("spec")
    if spec is not None and kind not in ("Pod", "Job", "CronJob", "ReplicationController"):
        selector = label_terms.convert_label_selector(spec.read_object("selector"))
        if not isinstance(selector, label_terms.TrivialSelector):
            return selector
    if kind == "Job" and name:
        return policy_text.make_label_requirement(_JOB_LABEL, "=", (name,))
    pod = _read_pod_template(given, kind)
    metadata = pod.read_object("metadata") if pod is not None else None
    labels = (
        label_terms.convert_labels_to_requirements(metadata.read_labels("labels"))
        if metadata is not None
        else []
    )
    return policy_text.join_by_and(labels) if labels else None
