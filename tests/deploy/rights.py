"""What roles allow, and what was done with them: RBAC rules and the API server's audit log.

A right is the smallest thing that RBAC can give: one verb on one resource, in one namespace or in
all, for one name or for any.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator, Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """A service account."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """Whom it is to the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


NAMESPACE = "kube-system"
ACCOUNT = "policysched"
SCHEDULER = Account(NAMESPACE, ACCOUNT)
USER = SCHEDULER.user
READER = "prometheus"
USERS: Mapping[str, Sequence[str]] = {READER: [], "nobody": []}

_ALL = "*"
_CHECKED_INSIDE: Mapping[str, str] = {"resourceclaims/status": "resourceclaims/binding"}
"""The resource on which the API server checks the same verb while it processes a request.

The audit log does not name it, and `test_missing_rights` shows that it is needed.
"""


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class Right:
    """One verb; `*` stands for all namespaces, and for any name."""

    verb: str
    group: str
    resource: str
    namespace: str = _ALL
    name: str = _ALL

    def __str__(self) -> str:
        where = "" if self.namespace == _ALL else f" in {self.namespace}"
        named = "" if self.name == _ALL else f" {self.name}"
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}{named}{where}"

    def covers(self, done: Right) -> bool:
        """Return whether it allows what was done."""
        return (
            (self.verb, self.group, self.resource) == (done.verb, done.group, done.resource)
            and self.namespace in (_ALL, done.namespace)
            and self.name in (_ALL, done.name)
        )


def granted(objects: Iterable[Mapping[str, Any]], account: Account = SCHEDULER) -> dict[Right, int]:
    """Return the rights that manifests give to an account, and how often each."""
    manifests = list(objects)
    roles = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one
        for one in manifests
        if one["kind"] in ("Role", "ClusterRole")
    }
    found: dict[Right, int] = {}
    for binding in manifests:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if not _is_of(account, binding):
            continue
        namespace = binding["metadata"].get("namespace")
        kind = binding["roleRef"]["kind"]
        role = roles[kind, namespace if kind == "Role" else None, binding["roleRef"]["name"]]
        for right in of_rules(role["rules"], namespace or _ALL):
            found[right] = found.get(right, 0) + 1
    return found


def of_rules(rules: Iterable[Mapping[str, Any]], namespace: str = _ALL) -> Iterator[Right]:
    """Yield the single rights of rules about resources."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [_ALL]):
                        yield Right(verb, group, resource, namespace, name)


def without(rules: Iterable[Mapping[str, Any]], right: Right) -> list[dict[str, Any]]:
    """Return rules that give the same but for one right."""
    return [
        {
            "apiGroups": [one.group],
            "resources": [one.resource],
            "verbs": [one.verb],
            **({} if one.name == _ALL else {"resourceNames": [one.name]}),
        }
        for one in of_rules(rules, right.namespace)
        if one != right
    ]


def audit_flags(folder: pathlib.Path, account: Account = SCHEDULER) -> tuple[str, ...]:
    """Return flags of kube-apiserver that let it write down what an account asks for."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": [account.user]}, {"level": "None"}],
    }
    file = folder / "audit-policy.yaml"
    file.write_text(yaml.safe_dump(policy), encoding="utf-8")
    _log(folder).touch()
    return (f"--audit-policy-file={file}", f"--audit-log-path={_log(folder)}")


def _log(folder: pathlib.Path) -> pathlib.Path:
    return folder / "audit.log"


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What our account was seen to ask for.

    Attributes:
        allowed: what RBAC let it do, narrowed to single objects.
        refused: what it did not.
        paths: paths of no resource.
    """

    allowed: frozenset[Right]
    refused: frozenset[Right]
    paths: frozenset[str]


def log_length(folder: pathlib.Path) -> int:
    """Return how many lines the audit log has so far."""
    return len(_log(folder).read_text(encoding="utf-8").splitlines())


def asked(folder: pathlib.Path, *, since: int) -> Asked:
    """Return what the audit log of a control plane with `audit_flags` holds.

    Args:
        folder: of the control plane.
        since: how many lines are older than what is asked about.
    """
    allowed: set[Right] = set()
    refused: set[Right] = set()
    paths: set[str] = set()
    for line in _log(folder).read_text(encoding="utf-8").splitlines()[since:]:
        entry = json.loads(line)
        if "objectRef" not in entry:
            paths.add(entry["requestURI"].partition("?")[0])
            continue
        may = entry["annotations"]["authorization.k8s.io/decision"] == "allow"
        (allowed if may else refused).add(_right(entry))
    inside = {
        dataclasses.replace(right, resource=_CHECKED_INSIDE[right.resource])
        for right in allowed
        if right.resource in _CHECKED_INSIDE
    }
    return Asked(frozenset(allowed | inside), frozenset(refused), frozenset(paths))


def _right(entry: Mapping[str, Any]) -> Right:
    ref = entry["objectRef"]
    parts = (ref["resource"], ref.get("subresource"))
    return Right(
        entry["verb"],
        ref.get("apiGroup", ""),
        "/".join(part for part in parts if part),
        ref.get("namespace", ""),
        ref.get("name", ""),
    )


def _is_of(account: Account, binding: Mapping[str, Any]) -> bool:
    return any(
        (subject["kind"], subject.get("namespace"), subject["name"])
        == ("ServiceAccount", account.namespace, account.name)
        for subject in binding["subjects"]
    )
