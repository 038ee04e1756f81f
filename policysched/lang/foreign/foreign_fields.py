"""Foreign names for fields of Kubernetes objects, with their equivalents in this language.

In a selector, a foreign name would be the key of a label that hardly any object has.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Literal

from policysched.lang.words import vocabulary

_OURS: dict[vocabulary.Domain, dict[str, str]] = {
    "node": {
        **dict.fromkeys(("name", "metadata.name", "nodename", "node_name"), "nodeName"),
        **dict.fromkeys(
            ("kubeletVersion", "nodeInfo.kubeletVersion", "status.nodeInfo.kubeletVersion"),
            "nodeInfo(kubeletVersion)",
        ),
        **{
            key: f"condition({each})"
            for each in vocabulary.NODE_CONDITIONS
            for key in (each, f"conditions.{each}", f"status.conditions.{each}")
        },
    },
    "pod": {
        **dict.fromkeys(("priorityClass", "spec.priorityClassName"), "priorityClassName"),
        **dict.fromkeys(
            ("serviceAccount", "spec.serviceAccount", "spec.serviceAccountName"),
            "serviceAccountName",
        ),
        **dict.fromkeys(("qos", "qosclass", "status.qosClass"), "qosClass"),
        **dict.fromkeys(("metadata.ownerReferences.kind", "owner.kind"), "ownerKind"),
        **dict.fromkeys(("metadata.ownerReferences.name", "owner.name"), "owner(name)"),
        **dict.fromkeys(("nodename", "node_name", "spec.nodeName"), "nodeName"),
        **dict.fromkeys(("storageClassName", "spec.storageClassName"), "storageClass"),
        "spec.priority": "priority",
    },
    "namespace": {"metadata.name": "kubernetes.io/metadata.name"},
    "cluster": dict.fromkeys(("name", "metadata.name"), "clusterName"),
    "resource": {"metadata.name": "resourceName"},
}
NO_VALUES = frozenset({"null", "nil", "none"})
NO_TAINT_KEYS = frozenset({*vocabulary.TAINT_EFFECTS, "Exists", "Equal", "all"})
"""Words that are valid as unquoted texts but rarely intended as texts."""
_NAMESPACES = frozenset({"namespace", "metadata.namespace"})
_OF_LABELS = re.compile(r"(?:metadata\.)?labels\.")
_OF_ANNOTATIONS = re.compile(r"(?:metadata\.)?annotations\.")
_AMOUNTS = re.compile(r"(?:resources\.)?(requests|limits)\.(?P<resource>.+)")
_OF_OBJECTS = re.compile(r"(?:metadata|spec|status)\.")
_OTHER: dict[vocabulary.Domain, vocabulary.Domain] = {"pod": "node", "node": "pod"}
_HOMES: dict[vocabulary.Domain, str] = {"pod": "`pod(…)`", "node": "`nodeAffinity` or `node(…)`"}


@dataclasses.dataclass(frozen=True, slots=True)
class FieldMeaning:
    """The likely meaning of a key that resembles a field.

    Attributes:
        domain: the kind of object that has the field.
        subject: the field or label key to use instead, or "".
        help: advice if the field does not exist or belongs to another object.
    """

    domain: vocabulary.Domain
    subject: str
    help: str = ""


def find_key_meaning(domain: vocabulary.Domain, key: str) -> FieldMeaning | None:
    """Return the likely meaning of an unquoted key in a selector; None for an ordinary label."""
    if key in _NAMESPACES and domain in ("pod", "resource"):
        objects = "resources" if domain == "resource" else "pods"
        return FieldMeaning(
            domain, "", f"select {objects} with `for {objects} in namespace (a, b)`"
        )
    subject = _OURS[domain].get(key, key)
    other = _OTHER.get(domain)
    if other is not None and subject in vocabulary.FIELDS[other] and not subject.islower():
        advice = f"`{subject}` is a field of {other}s: use it in {_HOMES[other]}"
        return FieldMeaning(other, subject, advice)
    if subject != key:
        return FieldMeaning(domain, subject)
    if domain == "resource" and _is_field_of_pods_only(key):
        return FieldMeaning("pod", key, f"a binding does not know the `{key}` of pods")
    owner, _, rest = key.partition(".")
    if owner in _HOMES:
        return _find_prefixed_key_meaning(domain, "pod" if owner == "pod" else "node", rest)
    if _OF_LABELS.match(key):
        return FieldMeaning(domain, _OF_LABELS.sub("", key, count=1))
    if domain in ("pod", "node", "resource") and _OF_ANNOTATIONS.match(key):
        annotation = _OF_ANNOTATIONS.sub("", key, count=1)
        return FieldMeaning(domain, f"annotation({annotation})")
    amount = _AMOUNTS.fullmatch(key)
    if amount is not None and domain in vocabulary.SELECTOR_FUNCTIONS[amount[1]][0]:
        return FieldMeaning(domain, f"{amount[1]}({amount['resource']})")
    if _OF_OBJECTS.match(key):
        fields = ", ".join(vocabulary.FIELDS[domain])
        return FieldMeaning(domain, "", f"fields of a {domain} are {fields}" if fields else "")
    return None


def _is_field_of_pods_only(key: str) -> bool:
    return key in vocabulary.POD_FIELDS.keys() - vocabulary.RESOURCE_FIELDS and not key.islower()


def _find_prefixed_key_meaning(
    domain: vocabulary.Domain, owner: vocabulary.Domain, key: str
) -> FieldMeaning | None:
    """Return the meaning of a key such as `pod.labels.app`; None for other label keys."""
    ours = (
        FieldMeaning(owner, key)
        if key in vocabulary.FIELDS[owner]
        else find_key_meaning(owner, key)
    )
    if ours is None or ours.help or owner == domain:
        return ours
    advice = f"`{ours.subject}` is a field or label of {owner}s: use it in {_HOMES[owner]}"
    return FieldMeaning(owner, ours.subject, advice)


def find_unqualified_key_meaning(target: Literal["node", "cluster"], key: str) -> FieldMeaning:
    """Return the field or label that a key means in an expression that names no object."""
    ours = find_key_meaning(target, key)
    if ours is None and target == "node":
        is_field = key in vocabulary.POD_FIELDS
        ours = FieldMeaning("pod", key) if is_field else find_key_meaning("pod", key)
    return ours or FieldMeaning(target, key)


def resembles_reserved_word(key: str) -> bool:
    """Return whether an unquoted word resembles a field, an effect or an empty value."""
    if key in NO_TAINT_KEYS or key.lower() in NO_VALUES:
        return True
    return any(find_key_meaning(domain, key) is not None for domain in _OURS)
