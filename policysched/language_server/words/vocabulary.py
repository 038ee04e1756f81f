"""Words of a cluster and of Prometheus that completion proposes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from policysched.cluster.objects import device_names, device_objects, storage_objects
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import glob_patterns
from policysched.promql import query_tokens

if TYPE_CHECKING:
    from policysched.inputs import dump_file  # imports NumPy
    from policysched.karmada import objects

Domain: TypeAlias = Literal["node", "pod", "namespace", "cluster"]
Labels: TypeAlias = Mapping[str, frozenset[str]]
"""Label key -> its values."""

WELL_KNOWN_NODE_LABELS = (
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)
"""Labels that kubelets and clouds set on nodes (k8s.io/api core/v1 well_known_labels.go)."""
MAX_VALUES = 1000
"""The maximum number of stored values of a label; longer lists are useless in an editor."""


@dataclasses.dataclass(frozen=True)
class CompletionVocabulary:
    """The words that completion can propose.

    Attributes:
        labels: the labels of nodes, pods, namespaces and member clusters.
        facts: function -> its arguments in the cluster, with their values; `devices` has the
            arguments of all functions that count devices.
        taints: the taints in the syntax of `tolerate`, `key=value:Effect`.
        resources: the resources that nodes offer.
        series: the names of series in Prometheus, including the results of recording rules.
        meanings: series name -> its help text from the exporter.
    """

    labels: Mapping[Domain, Labels] = dataclasses.field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    taints: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    series: frozenset[str] = frozenset()
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, Labels] = dataclasses.field(default_factory=dict)

    def get_labels(self, domain: Domain) -> Labels:
        """Return the labels of one domain: nodes, pods, namespaces or member clusters."""
        return self.labels.get(domain, {})

    def merge_vocabulary(self, other: CompletionVocabulary) -> CompletionVocabulary:
        """Return the words of both vocabularies."""
        domains = {*self.labels, *other.labels}
        return CompletionVocabulary(
            {
                domain: _join_words(self.get_labels(domain), other.get_labels(domain))
                for domain in domains
            },
            self.namespaces | other.namespaces,
            self.taints | other.taints,
            self.resources | other.resources,
            self.series | other.series,
            {**other.meanings, **self.meanings},
            {
                function: _join_words(self.facts.get(function, {}), other.facts.get(function, {}))
                for function in {*self.facts, *other.facts}
            },
        )


def _join_words(one: Labels, other: Labels) -> Labels:
    return {key: one.get(key, frozenset()) | other.get(key, frozenset()) for key in {*one, *other}}


def collect_cluster_vocabulary(dump: dump_file.ObjectDump) -> CompletionVocabulary:
    """Return the words of a cluster, and of a Karmada control plane.

    Propagated resources count as pods, because the same selectors apply to both.
    """
    found, plane = dump.cluster, dump.plane
    bindings = plane.bindings
    taints = [taint for node in found.nodes for taint in node.spec.taints]
    taints += [taint for cluster in plane.clusters for taint in cluster.spec.taints]
    resources = {name for node in found.nodes for name in node.status.allocatable}
    for cluster in plane.clusters:
        summary = cluster.status.resource_summary
        resources |= set(summary.allocatable) if summary else set()
    return CompletionVocabulary(
        {
            "node": _count_label_values(node.metadata.labels for node in found.nodes),
            "pod": _count_label_values(
                (
                    *(pod.metadata.labels for pod in found.pods),
                    *(binding.metadata.labels for binding in bindings),
                    *_list_storage_classes(found.storage),
                )
            ),
            "namespace": _count_label_values(each.metadata.labels for each in found.namespaces),
            "cluster": _count_label_values(
                _collect_member_labels(cluster) for cluster in plane.clusters
            ),
        },
        namespaces=frozenset(
            {each.metadata.name for each in found.namespaces}
            | {pod.metadata.namespace for pod in found.pods}
            | {binding.spec.resource.namespace for binding in bindings} - {""}
        ),
        taints=frozenset(map(str, taints)),
        resources=frozenset(resources),
        facts={
            "annotation": _count_label_values(node.metadata.annotations for node in found.nodes),
            "condition": _count_label_values(
                {each.type: each.status for each in node.status.conditions} for node in found.nodes
            ),
            "nodeInfo": _count_label_values(
                {"kubeletVersion": node.status.node_info.kubelet_version} for node in found.nodes
            ),
            "owner": _count_label_values(
                {"name": owner.name}
                for pod in found.pods
                for owner in pod.metadata.owner_references
                if owner.controller
            ),
            **_collect_device_facts(found.devices),
        },
    )


def _list_storage_classes(
    stored: Iterable[storage_objects.StorageObject],
) -> Iterator[Mapping[str, str]]:
    """Yield each class of storage, also of claims, as the field of pods that names it."""
    for each in stored:
        if isinstance(each, storage_objects.PersistentVolumeClaim) and each.class_name:
            yield {"storageClass": each.class_name}
        elif isinstance(each, storage_objects.StorageClass):
            yield {"storageClass": each.metadata.name}


def _collect_device_facts(found: Iterable[device_objects.DeviceObject]) -> Mapping[str, Labels]:
    """Return the classes, the attributes that are whole numbers, and the capacities of devices."""
    classes: dict[str, frozenset[str]] = {}
    attributes: list[Mapping[str, str]] = []
    capacities: list[Mapping[str, str]] = []
    for each in found:
        if isinstance(each, device_objects.DeviceClass):
            classes[each.metadata.name] = frozenset()
        if not isinstance(each, device_objects.ResourceSlice):
            continue
        for device in each.spec.devices:
            for key, attribute in device.attributes.items():
                if attribute.int_value is not None:
                    forms = device_names.list_name_forms(key, each.spec.driver)
                    attributes.append(dict.fromkeys(forms, str(attribute.int_value)))
            for key, capacity in device.capacity.items():
                forms = device_names.list_name_forms(key, each.spec.driver)
                capacities.append(dict.fromkeys(forms, str(capacity.value)))
    return {
        "devices": classes,
        "deviceAttribute": _count_label_values(attributes),
        "deviceCapacity": _count_label_values(capacities),
    }


def _collect_member_labels(cluster: objects.Cluster) -> Mapping[str, str]:
    """Return the labels of a member cluster, and its fields keyed by field name."""
    spec, name = cluster.spec, cluster.metadata.name
    fields = {"clusterName": name, "provider": spec.provider, "region": spec.region}
    fields["zone"] = spec.zones[0] if spec.zones else ""
    return {**cluster.metadata.labels, **{key: value for key, value in fields.items() if value}}


def _count_label_values(all_labels: Iterable[Mapping[str, str]]) -> Labels:
    found: dict[str, set[str]] = {}
    for labels in all_labels:
        for key, value in labels.items():
            values = found.setdefault(key, set())
            if len(values) < MAX_VALUES:
                values.add(value)
    return {key: frozenset(values) for key, values in found.items()}


# ---------------------------------------------------------------------------- of policies


def collect_policy_vocabulary(parsed: Iterable[parser.ParseResult]) -> CompletionVocabulary:
    """Return the words in the policies, which other rules often need too."""
    domains: tuple[Domain, ...] = ("node", "pod", "namespace", "cluster")
    labels: dict[Domain, dict[str, set[str]]] = {domain: {} for domain in domains}
    namespaces: set[str] = set()
    series: set[str] = set()
    for result in parsed:
        for item in result.file.items:
            if isinstance(item, syntax.Metric):
                series |= set(query_tokens.find_series_names(item.query.text))
            if isinstance(item, syntax.Policy):
                for statement in item.statements:
                    for domain, requirement in _iterate_requirements(statement):
                        values = labels[domain].setdefault(requirement.subject.name.text, set())
                        values |= _list_exact_texts(requirement.words)
                    if isinstance(statement, syntax.Scope) and statement.namespaces is not None:
                        namespaces |= _list_exact_texts(statement.namespaces.names)
    return CompletionVocabulary(
        {
            domain: {key: frozenset(values) for key, values in found.items()}
            for domain, found in labels.items()
        },
        namespaces=frozenset(namespaces),
        series=frozenset(series),
    )


def _list_exact_texts(values: Iterable[syntax_expr.Value]) -> set[str]:
    return {each.text for each in values if not glob_patterns.is_pattern(each.text)}


def _iterate_requirements(
    statement: syntax.Statement,
) -> Iterator[tuple[Domain, syntax_expr.Requirement]]:
    """Yield the label requirements in a statement, each with the domain of its label."""
    match statement:
        case syntax.NodeAffinity(selector=selector):
            yield from (("node", each) for each in _list_requirements(selector))
        case syntax.ClusterAffinity(selector=selector) | syntax.ClusterGroup(selector=selector):
            yield from (("cluster", each) for each in _list_requirements(selector))
        case syntax.Scope(where=where, namespaces=namespaces):
            if where is not None:
                yield from (("pod", each) for each in _list_requirements(where))
            if namespaces is not None and namespaces.selector is not None:
                yield from (("namespace", each) for each in _list_requirements(namespaces.selector))
        case syntax.PodAffinity(pods=syntax_expr.PodSet(where=where), clauses=clauses):
            if where is not None:
                yield from (("pod", each) for each in _list_requirements(where))
            for clause in clauses:
                if isinstance(clause, syntax_expr.SelectorClause):
                    yield from (("namespace", each) for each in _list_requirements(clause.selector))
        case _:
            pass


def _list_requirements(selector: syntax_expr.Selector) -> Iterator[syntax_expr.Requirement]:
    """Yield the requirements on labels and fields in a selector."""
    pending: list[syntax_expr.Selector] = [selector]
    while pending:
        node = pending.pop()
        match node:
            case syntax_expr.Requirement(subject=syntax_expr.Subject(argument=None)):
                yield node
            case (
                syntax_expr.SelectorAnd(operands=operands)
                | syntax_expr.SelectorOr(operands=operands)
            ):
                pending += operands
            case syntax_expr.SelectorNot(operand=operand):
                pending.append(operand)
            case _:
                pass
