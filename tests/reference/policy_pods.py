"""Which pods policies are about, and which pods affinity and spread rules count."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from policysched.cluster.objects import objects
from policysched.lang.checked import checked, checked_selector
from tests.reference import policy_selectors, policy_world


@dataclasses.dataclass(frozen=True)
class Sets:
    """Which pods of a cluster are in the sets that policies name."""

    world: policy_world.World

    def in_namespaces(self, wanted: checked_selector.NamespaceSet, namespace: str) -> bool:
        """Return whether a namespace is in a set."""
        if policy_selectors.pattern_holds("In", wanted.names, namespace):
            return True
        if wanted.selector is None:
            return False
        labels = self.world.namespaces.get(namespace, {})
        return policy_selectors.labels_match(wanted.selector, labels)

    def selects(self, scope: checked_selector.PolicyPodScope, pod: objects.Pod) -> bool:
        """Return whether a policy is about a pod."""
        if scope.namespaces is not None and not self.in_namespaces(
            scope.namespaces, pod.metadata.namespace
        ):
            return False
        return policy_selectors.pod_matches(scope.where, pod)

    def in_set(
        self,
        pods: checked_selector.PodSelection,
        scope: checked_selector.PolicyPodScope,
        pod: objects.Pod,
        seer: objects.Pod,
    ) -> bool:
        """Return whether `pod` is in a set as `seer` sees it."""
        namespace = pod.metadata.namespace
        if pods.namespaces is None:
            if namespace != seer.metadata.namespace:
                return False
        elif not self.in_namespaces(pods.namespaces, namespace):
            return False
        if pods.kind == "self" and not self.selects(scope, pod):
            return False
        if pods.kind == "sameWorkload" and (workload(pod) == "" or workload(pod) != workload(seer)):
            return False
        if pods.selector is not None and not policy_selectors.pod_matches(pods.selector, pod):
            return False
        own, theirs = pod.metadata.labels, seer.metadata.labels
        matching = all(own.get(k) == theirs[k] for k in pods.match_label_keys if k in theirs)
        differing = all(
            k in own and own[k] != theirs[k] for k in pods.mismatch_label_keys if k in theirs
        )
        compared = all(compares(each, own, seer) for each in pods.compared)
        return matching and differing and compared

    def count(
        self,
        pods: checked_selector.PodSelection,
        scope: checked_selector.PolicyPodScope,
        seer: objects.Pod,
        nodes: Iterable[objects.Node],
    ) -> int:
        """Return how many pods of a set that are not terminating are placed on some nodes."""
        return sum(
            self.in_set(pods, scope, pod, seer)
            for node in nodes
            for pod in self.world.pods_on(node)
            if pod.metadata.deletion_timestamp is None
        )


@dataclasses.dataclass(frozen=True)
class Judge(Sets):
    """A cluster, and the program whose policies are asked about it."""

    program: checked.CheckedProgram

    def acts_on(
        self,
        rule: checked.Rule,
        policy: checked.CheckedPolicy,
        profile: checked.CheckedProfile,
        pod: objects.Pod,
    ) -> bool:
        """Return whether a rule of a profile acts on a pod now."""
        if not self.selects(policy.scope, pod) or not self.world.is_active(rule.head.active):
            return False
        return not any(
            disabled.rule == rule.head.name and self.selects(other.scope, pod)
            for other in profile.policies
            for disabled in other.disables
        )


def workload(pod: objects.Pod) -> str:
    """Return what pods of one workload have in common, "" for nothing."""
    owners = [o.uid for o in pod.metadata.owner_references if o.controller]
    return owners[0] if owners else pod.metadata.labels.get("pod-template-hash", "")


def compares(
    label: checked_selector.ComparedLabel, own: Mapping[str, str], seer: objects.Pod
) -> bool:
    """Return whether labels are as the values of another pod require; not if it lacks one."""
    texts = [own_text(each, seer) for each in label.pod_values]
    if None in texts:
        return False
    return (own.get(label.key) in (*label.words, *texts)) != label.is_negated


def lacks_text(pods: checked_selector.PodSelection, seer: objects.Pod) -> bool:
    """Return whether a pod lacks a value with which labels of the pods of a set are compared."""
    return any(own_text(text, seer) is None for each in pods.compared for text in each.pod_values)


def own_text(value: checked_selector.IncomingPodValue, pod: objects.Pod) -> str | None:
    """Return a text of a pod, None where it has none."""
    match value.kind:
        case "label":
            return pod.metadata.labels.get(value.key)
        case "annotation":
            return pod.metadata.annotations.get(value.key)
        case "namespace":
            return pod.metadata.namespace
        case "owner(name)":
            return policy_selectors.field_value("owner(name)", pod) or None
        case "serviceAccountName":
            return pod.spec.service_account_name or None
        case _:
            raise AssertionError(value)
