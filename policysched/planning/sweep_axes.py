"""Parses and applies the axes of a sweep: rule weights and params, each with a list of values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policysched import errors, spelling
from policysched.lang.checked import checked
from policysched.profiles import policies

MAX_POINTS = 100
_PARAMS = "params."
_WEIGHT = "weight"
_MAX_WEIGHT = 100
_EXAMPLE = "write POLICY/RULE.weight=0,20,50 or params.NAME=60%,70%"


@dataclasses.dataclass(frozen=True, slots=True)
class SweepAxis:
    """A weight or param that a sweep varies.

    Attributes:
        name: `POLICY/RULE.weight` or `params.NAME`.
        values: the values as written.
    """

    name: str
    values: tuple[str, ...]

    @property
    def param(self) -> str | None:
        """The name of the param; None for a weight."""
        return self.name.removeprefix(_PARAMS) if self.name.startswith(_PARAMS) else None

    @property
    def rule(self) -> str:
        """The name of the rule whose weight is varied, if `param` is None."""
        return self.name.removesuffix(f".{_WEIGHT}")


Point = Mapping[str, str]
"""Maps the name of each axis to its value."""


def parse_sweep_axes(texts: Iterable[str]) -> list[SweepAxis]:
    """Parse the axes in the values of `--sweep`.

    Raises:
        UsageError: an axis is invalid or occurs twice, or there are too many points.
    """
    found = [_parse_axis(text) for text in texts]
    names = [axis.name for axis in found]
    for name in names:
        if names.count(name) > 1:
            raise errors.UsageError(f"--sweep varies `{name}` twice")
    number = 1
    for axis in found:
        number *= len(axis.values)
    if number > MAX_POINTS:
        raise errors.UsageError(f"--sweep has {number:,} points; at most {MAX_POINTS} are allowed")
    return found


def _parse_axis(text: str) -> SweepAxis:
    """Parse `POLICY/RULE.weight=V,V` or `params.NAME=V,V`."""
    name, equals, listed = text.partition("=")
    values = tuple(dict.fromkeys(value.strip() for value in listed.split(",")))
    if not equals or not all(values):
        raise errors.UsageError(f"`--sweep {text}` has no values; {_EXAMPLE}")
    axis = SweepAxis(name, values)
    if axis.param is None:
        _refuse_empty_axis(axis)
    elif not axis.param:
        raise errors.UsageError(f"`--sweep {text}` has no name of a param; {_EXAMPLE}")
    return axis


def _refuse_empty_axis(axis: SweepAxis) -> None:
    if not axis.name.endswith(f".{_WEIGHT}") or "/" not in axis.name:
        raise errors.UsageError(f"`{axis.name}` cannot be varied; {_EXAMPLE}")
    for value in axis.values:
        is_whole = value.isascii() and value.isdigit() and len(value) <= len(str(_MAX_WEIGHT))
        if not is_whole or int(value) > _MAX_WEIGHT:
            raise errors.UsageError(
                f"`{value}` is not a weight: write 1 to {_MAX_WEIGHT}, or 0 to omit the rule"
            )


def generate_sweep_points(axes: Sequence[SweepAxis]) -> Iterator[Point]:
    """Yield every combination of values; the last axis varies fastest."""
    names = [axis.name for axis in axes]
    for values in itertools.product(*(axis.values for axis in axes)):
        yield dict(zip(names, values, strict=True))


def set_rule_weights(
    policy_set: policies.PolicySet, weights: Mapping[str, int]
) -> policies.PolicySet:
    """Return policies with other rule weights, keyed by full name; weight 0 removes a rule.

    Raises:
        ConfigurationError: a rule does not exist or has no weight.
    """
    program = policy_set.program
    if program is None or not weights:
        return policy_set
    _refuse_unknown_rules(program, weights)
    profiles = tuple(
        dataclasses.replace(
            each, policies=tuple(_set_policy_weights(p, weights) for p in each.policies)
        )
        for each in program.profiles
    )
    return dataclasses.replace(policy_set, program=dataclasses.replace(program, profiles=profiles))


def _set_policy_weights(
    policy: checked.CheckedPolicy, weights: Mapping[str, int]
) -> checked.CheckedPolicy:
    """Return a policy with the given weights; rules with weight 0 are removed."""
    rules = []
    for rule in policy.rules:
        weight = weights.get(rule.head.name)
        if weight is None:
            rules.append(rule)
        elif weight:
            rules.append(_set_weight(rule, weight))
    return dataclasses.replace(policy, rules=tuple(rules))


def _set_weight(rule: checked.Rule, weight: int) -> checked.Rule:
    if isinstance(rule, checked.UnweightedRule):
        return rule
    return dataclasses.replace(rule, weight=weight)


def _refuse_unknown_rules(program: checked.CheckedProgram, weights: Mapping[str, int]) -> None:
    """Raise ConfigurationError for a rule that does not exist or has no weight."""
    rules = {
        rule.head.name: rule
        for profile in program.profiles
        for policy in profile.policies
        for rule in policy.rules
    }
    for name in weights:
        if name not in rules:
            advice = spelling.suggest_names(name, rules)
            raise errors.ConfigurationError("--sweep", f"there is no rule `{name}`", help=advice)
        if getattr(rules[name], "weight", None) is None:
            raise errors.ConfigurationError("--sweep", f"the rule `{name}` has no weight")
