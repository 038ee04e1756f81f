"""PS315: a score or preference that counts twice for the same pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator

from policysched.lang import checked, diagnostics
from policysched.lint import acting, rule, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    for profile in about.program.profiles:
        known = acting.Acting(profile)
        for policy in known.policies:
            own = [each for each in policy.rules if _weight(each) and not each.head.active]
            if own:
                yield from _of(policy, own, known)


def _of(
    policy: checked.CheckedPolicy, own: list[checked.Rule], known: acting.Acting
) -> Iterator[diagnostics.Diagnostic]:
    by_meaning: dict[Hashable, list[tuple[checked.CheckedPolicy, checked.Rule]]] = {}
    for other_policy, other in known.on_pods_of(policy):
        if _weight(other):
            by_meaning.setdefault(_meaning(other), []).append((other_policy, other))
    for each in own:
        for other_policy, other in by_meaning.get(_meaning(each), ()):
            if not known.stays(policy, each.head.span, other_policy, other.head.span):
                yield _finding(each, other)
                break


def _meaning(each: checked.Rule) -> Hashable:
    """Return what a rule scores, whatever its name and weight; `self` differs by policy."""
    is_of_policy = isinstance(each, checked.PodAffinityRule | checked.TopologySpreadRule)
    policy = each.head.policy if is_of_policy else ""
    fields = dataclasses.fields(each)
    kept = (getattr(each, one.name) for one in fields if one.name not in {"head", "weight"})
    return (type(each), policy, *kept)


def _weight(each: checked.Rule) -> int:
    match each:
        case checked.TolerateRule() | checked.RejectRule():
            return 0
        case _:
            return each.weight or 0


def _finding(each: checked.Rule, other: checked.Rule) -> diagnostics.Diagnostic:
    total = _weight(each) + _weight(other)
    return diagnostics.Diagnostic(
        "PS315",
        f"`{other.head.name}` scores the same for the same pods: its weight is {total} in all",
        each.head.span,
        secondary=(diagnostics.Label(other.head.span, "the same score"),),
        help="keep one of them, with the weight that is meant",
    )


RULE = rule.Rule("PS315", diagnostics.Severity.WARNING, _check)
