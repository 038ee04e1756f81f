"""`mode shadow`: programs in which one shadow policy is in force beside the enforced ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import scope
from policysched.lang.checked import checked


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A program that tries one shadow policy.

    Attributes:
        policy: the policy, as the profile resolves its params.
        program: the program with this policy in force, and the other shadow policies still not.
        profile: the profile in it, None for one that the texts do not name.
    """

    policy: checked.CheckedPolicy
    program: checked.CheckedProgram
    profile: checked.CheckedProfile | None


def tried(program: checked.CheckedProgram, index: int | None) -> Iterator[Tried]:
    """Yield what a profile would be with each shadow policy that can matter to its pods.

    These are its own, and those of other profiles that keep pods of all profiles away (required
    anti-affinity). `index` is the profile's place in the program, None for one it does not name.
    """
    own = [] if index is None else program.profiles[index].policies
    elsewhere = [policy for each in program.profiles for policy in each.policies]
    candidates: dict[str, checked.CheckedPolicy] = {}
    for policy in [*own, *(each for each in elsewhere if _repels(each))]:
        if policy.mode == "shadow":
            candidates.setdefault(policy.name, policy)
    for policy in candidates.values():
        enforcing = _enforcing(program, policy.name)
        yield Tried(policy, enforcing, None if index is None else enforcing.profiles[index])


def _enforcing(program: checked.CheckedProgram, name: str) -> checked.CheckedProgram:
    """Return the program with a policy in force, in every profile that has it."""
    profiles = tuple(
        dataclasses.replace(
            each,
            policies=tuple(
                dataclasses.replace(policy, mode="enforce") if policy.name == name else policy
                for policy in each.policies
            ),
        )
        for each in program.profiles
    )
    return dataclasses.replace(program, profiles=profiles)


def _repels(policy: checked.CheckedPolicy) -> bool:
    """Return whether pods that the policy selects keep later ones away, whatever these are."""
    return any(
        isinstance(rule, checked.PodAffinityRule) and rule.anti and rule.weight is None
        for rule in policy.rules
    )


class Concern:
    """Which pods a shadow policy can decide otherwise."""

    def __init__(self, policy: checked.CheckedPolicy) -> None:
        """Follow the scope of `policy`; one that repels concerns every pod."""
        self._concerns_all = _repels(policy)
        self._scope = scope.PolicyScope(policy.scope)

    def __call__(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether the policy has a say about pods of `shape`."""
        return self._concerns_all or self._scope.selects(shape, namespaces)
