"""Validate label keys, label values, namespaces and names by the rules of Kubernetes.

Source of rules and limits: apimachinery pkg/util/validation/validation.go (IsQualifiedName,
IsValidLabelValue, IsDNS1123Label, IsDNS1123Subdomain). Each `find_…_problem` function returns the
end of a sentence about the invalid text, or "" if the text is valid.
"""

from __future__ import annotations

import re

_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253
_MAX_DEVICE_DOMAIN = 63
_DEVICE_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\Z")


def find_label_key_problem(text: str) -> str:
    """Check a label, annotation or taint key: a name with an optional DNS prefix and slash."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > _MAX_SUBDOMAIN or not _SUBDOMAIN.match(prefix)):
        return "has a prefix that is not a lowercase DNS name"
    return _find_qualified_name_problem(name)


def _find_qualified_name_problem(name: str) -> str:
    if not name:
        return "has no name"
    if len(name) > _MAX_LABEL:
        return f"has {len(name)} characters; Kubernetes allows at most {_MAX_LABEL}"
    if not _NAME.match(name):
        return (
            "must consist of letters, digits, `-`, `_` and `.`, "
            "and begin and end with a letter or digit"
        )
    return ""


def find_label_value_problem(text: str) -> str:
    """Check a label or taint value; the empty value is valid."""
    return _find_qualified_name_problem(text) if text else ""


def find_dns_label_problem(text: str) -> str:
    """Check a namespace or the name of a policy."""
    if len(text) > _MAX_LABEL:
        return f"has {len(text)} characters; Kubernetes allows at most {_MAX_LABEL}"
    if not _DNS_LABEL.match(text):
        return (
            "must consist of lowercase letters, digits and `-`, "
            "and begin and end with a letter or digit"
        )
    return ""


def convert_to_dns_label(text: str) -> str:
    """Convert a text to a valid namespace or policy name; return "" if this is impossible."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return "" if find_dns_label_problem(name) else name


def find_dns_subdomain_problem(text: str) -> str:
    """Check a node name or a scheduler name."""
    if len(text) > _MAX_SUBDOMAIN:
        return f"has {len(text)} characters; Kubernetes allows at most {_MAX_SUBDOMAIN}"
    if not _SUBDOMAIN.match(text):
        return "must consist of lowercase letters, digits, `-` and `.`, as in a DNS name"
    return ""


def find_device_key_problem(text: str) -> str:
    """Check the name of an attribute or capacity of devices: an identifier, or DNS name/identifier.

    Source: `k8s.io/api/resource/v1`, QualifiedName.
    """
    domain, slash, identifier = text.rpartition("/")
    if slash and (len(domain) > _MAX_DEVICE_DOMAIN or not _SUBDOMAIN.match(domain)):
        return f"has a domain that is not a DNS name of at most {_MAX_DEVICE_DOMAIN} characters"
    if not _DEVICE_IDENTIFIER.match(identifier):
        return "must end with 1 to 32 letters, digits and `_`, of which the first is no digit"
    return ""


_NATIVE_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def find_resource_name_problem(text: str) -> str:
    """Check the name of a node resource: a native name, `hugepages-…`, or a name with a domain."""
    if text in _NATIVE_RESOURCES or text.startswith("hugepages-"):
        return ""
    if "/" not in text:
        return (
            "is not a resource: the resources without a domain are "
            "cpu, memory, ephemeral-storage, pods"
        )
    return find_label_key_problem(text)
