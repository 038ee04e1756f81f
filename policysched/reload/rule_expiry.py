"""Export the expiry times of rules, for alerts before expiry and for removing expired rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import core

from policysched.profiles import policies

if TYPE_CHECKING:
    from policysched.lang.checked import checked


def _get_node_policies(profile: checked.CheckedProfile) -> Iterable[checked.CheckedPolicy]:
    return profile.policies


def collect_rule_expiry_metrics(
    current: Callable[[], policies.PolicySet],
    policies_of: Callable[
        [checked.CheckedProfile], Iterable[checked.CheckedPolicy]
    ] = _get_node_policies,
) -> Iterator[core.Metric]:
    """Yield the expiry times of the rules of each profile, including shadow policies."""
    found = core.GaugeMetricFamily(
        "policysched_rule_expires_timestamp_seconds",
        "Time at which a rule expires or has expired.",
        labels=("profile", "rule"),
    )
    for profile, rule, expires_at in _iterate_expiries(current(), policies_of):
        found.add_metric((profile, rule), expires_at)
    yield found


def _iterate_expiries(
    policy_set: policies.PolicySet,
    policies_of: Callable[[checked.CheckedProfile], Iterable[checked.CheckedPolicy]],
) -> Iterator[tuple[str, str, float]]:
    """Yield profile, rule and expiry time (Unix seconds) of each expiring rule."""
    if policy_set.program is None:
        return
    for spec in policy_set.specs:
        if spec.number is None:
            continue
        for policy in policies_of(policy_set.program.profiles[spec.number]):
            for rule in policy.rules:
                active = rule.head.active
                if active is not None and active.expires_at is not None:
                    yield spec.name, rule.head.name, active.expires_at
