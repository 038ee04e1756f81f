"""List the plugins and rules of profiles in the order in which they act, with their weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from policysched.framework import interface, profile
from policysched.framework.scoring import scorers
from policysched.lang.checked import checked
from policysched.plugins import names
from policysched.profiles import plugin_sets, policies


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileMember:
    """A plugin or a rule of a profile.

    Attributes:
        kind: `plugin` or `rule`.
        name: name of the plugin, or `POLICY/RULE`.
        weight: what its score is multiplied by; None if it gives no score.
        points: names of its extension points, in their order.
    """

    kind: str
    name: str
    weight: int | None
    points: tuple[str, ...]


def list_profile_members(each: profile.Profile) -> Iterator[ProfileMember]:
    """Yield the members of a profile in the order in which they filter nodes.

    The first one that rejects a node is the one that events and conditions name.
    """
    for plugin in each.plugins:
        found = _find_name(plugin)
        if found is not None:
            kind, name = found
            weight = each.weights.get(scorers.score_name(plugin))
            points = tuple(plugin_sets.list_extension_points(plugin))
            yield ProfileMember(kind, name, weight, points)


def describe_profiles(profiles: policies.Profiles) -> Iterator[str]:
    """Yield lines about each profile: its policies, plugins and rules, with weights."""
    for name, each in profiles.by_name.items():
        if each.policies:
            yield f"profile={name} policies={','.join(each.policies)} hash={each.policy_hash}"
        for candidate in profiles.shadows.get(name, ()):
            yield f"profile={name} shadow={candidate.policy}"
        for member in list_profile_members(each):
            weight = "" if member.weight is None else f" weight={member.weight}"
            points = ",".join(member.points)
            yield f"profile={name} {member.kind}={member.name}{weight} points={points}"


def _find_name(plugin: interface.Plugin) -> tuple[str, str] | None:
    """Return the kind and name of a plugin or rule; None if it only represents the rules."""
    if plugin.name != names.POLICY:
        return "plugin", plugin.name
    from policysched.compiler.rules import base  # noqa: PLC0415 - only policies need it

    return ("rule", plugin.head.name) if isinstance(plugin, base.PolicyRule) else None


def make_profiles_report(
    profiles: policies.Profiles, program: checked.CheckedProgram | None
) -> dict[str, object]:
    """Return the members of the profiles of a program, in the form of profiles.schema.json."""
    every = program.policies if program else ()
    of_all = {each.name for each in every if each.is_of_all_profiles}
    excluded = {each.name: list(each.excluded) for each in (program.profiles if program else ())}
    return {
        "profiles": [
            {
                "name": name,
                "policies": list(each.policies),
                "ofAllProfiles": [policy for policy in each.policies if policy in of_all],
                "excluded": excluded.get(name, []),
                "shadow": [candidate.policy for candidate in profiles.shadows.get(name, ())],
                "members": [dataclasses.asdict(member) for member in list_profile_members(each)],
            }
            for name, each in profiles.by_name.items()
        ]
    }
