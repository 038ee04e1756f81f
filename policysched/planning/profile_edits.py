"""Finds the edits between two profiles: the smallest parts that can be undone separately."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import scope
from policysched.lang import source
from policysched.lang.checked import checked, checked_cluster
from policysched.planning import edit_notes, plugin_effects, wording
from policysched.plugins import defaults

Kind: TypeAlias = Literal["rule", "scope", "disable", "placement", "plugin", "profile"]
Key: TypeAlias = tuple[str, str, str, str]
Undo: TypeAlias = Callable[[checked.CheckedProfile], checked.CheckedProfile]
_ALL_SCORES = "disable_all_scores"
_PROFILE_FIELDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    _ALL_SCORES: ("scores of plugins", lambda is_off: "disabled" if is_off else "in use"),
    "builtin_weight": ("builtin weight", str),
    "on_outage": ("onOutage", str),
}
"""Maps a field to its name in reports and a function that formats its value."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileEdit:
    """One difference between the old and the new profile.

    Attributes:
        name: the name of the changed part: `POLICY/RULE`, a policy, a plugin or a profile
            statement.
        old: the old text; "" for an addition.
        new: the new text; "" for a removal.
        note: additional information, such as the param that makes the difference.
        span: the place in the new texts; in the old texts for a removal.
        undo: returns a profile without the edit. If the profile lacks the policy, it is added only
            to restore an old part.
        scopes: the scopes of the affected policies; None if the edit can concern every pod.
        homes: the names of the profiles that contain the edit; the old name for a removed profile.
    """

    kind: Kind
    name: str
    old: str
    new: str
    undo: Undo = dataclasses.field(compare=False, repr=False)
    note: str = ""
    span: source.Span | None = dataclasses.field(default=None, compare=False, repr=False)
    scopes: tuple[scope.PolicyScope, ...] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    homes: frozenset[str | None] = dataclasses.field(default=frozenset(), compare=False, repr=False)

    @property
    def key(self) -> Key:
        """A key that is unique among the edits between two profiles; also the sort key."""
        return self.kind, self.name, self.old, self.new

    @property
    def change(self) -> Literal["added", "removed", "changed"]:
        """Whether the part was added, removed or changed."""
        if not self.old:
            return "added"
        return "changed" if self.new else "removed"

    def concerns_pods_of_shape(
        self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels
    ) -> bool:
        """Return whether the edit can affect decisions for pods of `shape`."""
        if self.scopes is None:
            return True
        return any(each.selects(shape, namespaces) for each in self.scopes)


def find_profile_edits(
    old: checked.CheckedProfile,
    new: checked.CheckedProfile,
    said: tuple[wording.DefinitionTexts, wording.DefinitionTexts],
) -> list[ProfileEdit]:
    """Return the edits that turn the old profile into the new one, in the order of the new text.

    A shadow policy decides nothing, so it counts as absent. `said` contains the wording of the old
    side and of the new side.
    """
    before, after = get_enforced_policies(old), get_enforced_policies(new)
    found: list[ProfileEdit] = []
    for name in dict.fromkeys((*after, *before)):
        was, now = before.get(name), after.get(name)
        if was is not None and now is not None and was.scope != now.scope:
            scopes = said[0].get_scope_statement(was), said[1].get_scope_statement(now)
            found.append(_make_scope_edit(was, now, scopes))
        parts = _find_policy_edits(
            was, now, lambda rule: edit_notes.describe_changed_params_and_lets(rule, old, new, said)
        )
        mode = edit_notes.describe_changed_mode(name, old, new)
        found += (dataclasses.replace(each, note=mode or each.note) for each in parts)
    return [*found, *_find_plugin_edits(old, new), *_find_profile_field_edits(old, new)]


def select_repelling_edits(edits: Sequence[ProfileEdit]) -> list[ProfileEdit]:
    """Return the edits that can concern pods of other profiles."""
    return [each for each in edits if each.scopes is None and each.kind in ("rule", "scope")]


def undo_profile_edits(
    profile: checked.CheckedProfile, taken_back: Sequence[ProfileEdit]
) -> checked.CheckedProfile:
    """Return the profile with some edits undone."""
    for edit in taken_back:
        profile = edit.undo(profile)
    return profile


def get_enforced_policies(profile: checked.CheckedProfile) -> dict[str, checked.CheckedPolicy]:
    """Return the policies in mode `enforce`, keyed by name."""
    return {each.name: each for each in profile.policies if each.mode == "enforce"}


# --- policies ------------------------------------------------------------------------------------


def _find_policy_edits(
    old: checked.CheckedPolicy | None,
    new: checked.CheckedPolicy | None,
    through: Callable[[checked.Rule], str],
) -> Iterator[ProfileEdit]:
    """Yield the edits to the rules and `disable` statements of one policy.

    `through` explains a rule whose text is unchanged.
    """
    some = new or old
    assert some is not None  # noqa: S101 - the name comes from one of them
    scopes = collect_policy_scopes(old, new)
    shell = make_policy_without_rules(old or some)
    for was, now in _pair_differing_rules(old.rules if old else (), new.rules if new else ()):
        yield _make_rule_edit(shell, was, now, scopes, through)
    for each in _find_disable_edits(old, new):
        yield dataclasses.replace(each, scopes=scopes)


def make_policy_without_rules(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
    """Return a policy with the same scope but without rules."""
    clusters = policy.clusters and checked_cluster.ClusterPlacement()
    return dataclasses.replace(policy, rules=(), disables=(), clusters=clusters)


def collect_policy_scopes(
    *policies: checked.CheckedPolicy | None,
) -> tuple[scope.PolicyScope, ...] | None:
    """Return the scopes of policies; None if one of their rules can concern every pod."""
    present = [each for each in policies if each is not None]
    if any(_concerns_every_pod(rule) for each in present for rule in each.rules):
        return None
    return tuple(scope.PolicyScope(each.scope) for each in present)


def _concerns_every_pod(rule: checked.Rule) -> bool:
    # A required anti-affinity also repels later pods, whichever policies select them. Protected
    # pods are protected from all pods.
    if isinstance(rule, checked.ProtectRule):
        return True
    return isinstance(rule, checked.PodAffinityRule) and rule.anti and rule.weight is None


def _pair_differing_rules(
    old: Sequence[checked.Rule], new: Sequence[checked.Rule]
) -> Iterator[tuple[checked.Rule | None, checked.Rule | None]]:
    """Yield pairs of old and new rules that differ.

    Rules are paired by name. The name of an unnamed rule depends on its text, so unnamed rules are
    paired by their meaning, or else by kind and order.
    """
    before = {rule.head.name: rule for rule in old}
    after = {rule.head.name: rule for rule in new}
    left = [rule for rule in old if rule.head.name not in after]
    for rule in new:
        was = before.get(rule.head.name)
        if was is None and rule.head.given_name is None:
            was = _find_old_rule_version(rule, left)
            if was is not None:
                left.remove(was)
        if was is None or _remove_wording(was) != _remove_wording(rule):
            yield was, rule
    for rule in left:
        yield rule, None


def _find_old_rule_version(new: checked.Rule, left: Sequence[checked.Rule]) -> checked.Rule | None:
    """Return the predecessor of an unnamed rule: an identical rule, or the first of its kind."""
    alike = [
        each for each in left if each.head.given_name is None and each.head.kind == new.head.kind
    ]
    same = (each for each in alike if _remove_wording(each) == _remove_wording(new))
    return next(same, alike[0] if alike else None)


def _remove_wording(rule: checked.Rule) -> checked.Rule:
    """Return a rule without its wording, so that explicit and implicit defaults compare equal."""
    head = dataclasses.replace(rule.head, text="", name=rule.head.given_name or "")
    return dataclasses.replace(rule, head=head)


def _make_rule_edit(
    shell: checked.CheckedPolicy,
    old: checked.Rule | None,
    new: checked.Rule | None,
    scopes: tuple[scope.PolicyScope, ...] | None,
    through: Callable[[checked.Rule], str],
) -> ProfileEdit:
    """Return the edit between two versions of a rule; None means an absent version."""
    some = new or old
    assert some is not None  # noqa: S101 - a pair has one of them
    is_same_text = old is not None and new is not None and old.head.text == new.head.text
    gone = new.head.name if new else None

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        def changed(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
            kept = tuple(rule for rule in policy.rules if rule.head.name != gone)
            return dataclasses.replace(policy, rules=(*kept, *((old,) if old else ())))

        return change_policy_in_profile(profile, shell, changed, is_needed=old is not None)

    return ProfileEdit(
        "rule",
        some.head.name,
        old.head.text if old else "",
        new.head.text if new else "",
        undo,
        note=(through(some) or edit_notes.describe_changed_metrics(old, new))
        if is_same_text
        else "",
        span=some.head.span,
        scopes=scopes,
    )


def _make_scope_edit(
    old: checked.CheckedPolicy,
    new: checked.CheckedPolicy,
    said: tuple[str, str],
) -> ProfileEdit:
    """Return the edit to a policy's scope; `said` contains the old and the new statement."""

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        return change_policy_in_profile(
            profile,
            old,
            lambda policy: dataclasses.replace(policy, scope=old.scope),
            is_needed=False,
        )

    return ProfileEdit(
        "scope", new.name, *said, undo, span=new.span, scopes=collect_policy_scopes(old, new)
    )


def _find_disable_edits(
    old: checked.CheckedPolicy | None, new: checked.CheckedPolicy | None
) -> Iterator[ProfileEdit]:
    """Yield the edits to the `disable` statements of a policy."""
    before = {each.rule: each for each in old.disables} if old else {}
    after = {each.rule: each for each in new.disables} if new else {}
    some = old or new
    assert some is not None  # noqa: S101 - as above
    for rule in dict.fromkeys((*after, *before)):
        was, now = before.get(rule), after.get(rule)
        if was == now:
            continue
        words = f"disable {rule.replace('/', '.')}"
        undo = _make_disable_undo(make_policy_without_rules(some), was, rule)
        old_text, new_text = (words if was else ""), (words if now else "")
        span = now.span if now else was.span if was else None
        yield ProfileEdit("disable", f"{some.name}: {words}", old_text, new_text, undo, span=span)


def _make_disable_undo(
    shell: checked.CheckedPolicy, old: checked.DisabledRule | None, rule: str
) -> Undo:
    """Return a function that restores the old `disable` statement of a rule, or removes it."""

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        def changed(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
            kept = tuple(each for each in policy.disables if each.rule != rule)
            return dataclasses.replace(policy, disables=(*kept, *((old,) if old else ())))

        return change_policy_in_profile(profile, shell, changed, is_needed=old is not None)

    return undo


def change_policy_in_profile(
    profile: checked.CheckedProfile,
    shell: checked.CheckedPolicy,
    change: Callable[[checked.CheckedPolicy], checked.CheckedPolicy],
    *,
    is_needed: bool,
) -> checked.CheckedProfile:
    """Return a profile with a changed policy.

    Args:
        profile: the profile to change.
        shell: the policy to add if the profile does not contain it.
        change: returns the changed policy.
        is_needed: whether to add the policy if it is missing; if false, a profile without the
            policy is returned unchanged.
    """
    is_there = any(each.name == shell.name and each.mode == "enforce" for each in profile.policies)
    if not is_there and not is_needed:
        return profile
    others = tuple(each for each in profile.policies if each.name != shell.name)
    mine = next(
        (p for p in profile.policies if p.name == shell.name and p.mode == "enforce"), shell
    )
    return dataclasses.replace(profile, policies=(*others, change(mine)))


# --- profiles ------------------------------------------------------------------------------------


def _find_plugin_edits(
    old: checked.CheckedProfile, new: checked.CheckedProfile
) -> Iterator[ProfileEdit]:
    """Yield the edits to plugins whose effective settings differ."""
    for name in sorted(_collect_plugin_names(old) | _collect_plugin_names(new)):
        if _has_same_effective_settings(name, old, new):
            continue
        said = (
            _describe_plugin_settings(*_get_plugin_settings(old, name)) or "as usual",
            _describe_plugin_settings(*_get_plugin_settings(new, name)) or "as usual",
        )
        yield ProfileEdit("plugin", name, *said, _make_plugin_undo(name, old), span=new.span)


def _has_same_effective_settings(
    name: str, old: checked.CheckedProfile, new: checked.CheckedProfile
) -> bool:
    return plugin_effects.compute_effective_plugin_settings(
        old, name
    ) == plugin_effects.compute_effective_plugin_settings(new, name)


_PluginState: TypeAlias = tuple[checked.PluginSetting | None, bool, bool]


def _collect_plugin_names(profile: checked.CheckedProfile) -> set[str]:
    set_up = {each.name for each in profile.plugins}
    return set_up | set(profile.disabled) | set(profile.disabled_scores)


def _get_plugin_settings(profile: checked.CheckedProfile, name: str) -> _PluginState:
    setting = next((each for each in profile.plugins if each.name == name), None)
    return setting, name in profile.disabled, name in profile.disabled_scores


def _describe_plugin_settings(
    setting: checked.PluginSetting | None,
    is_off: bool,  # noqa: FBT001 - a part of a `_PluginState`
    is_score_off: bool,  # noqa: FBT001 - as above
) -> str:
    """Return the settings of a plugin as a report shows them; "" for the default settings."""
    words = []
    if setting is not None:
        words.append("in use")
        words += [f"weight {setting.weight}"] if setting.weight is not None else []
        words += (
            [f"args {json.dumps(setting.args, default=dict)}"] if setting.args is not None else []
        )
    words += ["disabled"] if is_off else []
    words += ["score disabled"] if is_score_off else []
    return ", ".join(words)


def _make_plugin_undo(name: str, old: checked.CheckedProfile) -> Undo:
    """Return a function that restores the old settings of a plugin."""
    setting, is_off, is_score_off = _get_plugin_settings(old, name)

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        others = tuple(each for each in profile.plugins if each.name != name)
        return dataclasses.replace(
            profile,
            plugins=(*others, *((setting,) if setting else ())),
            disabled=_set_plugin_membership(profile.disabled, name, is_kept=is_off),
            disabled_scores=_set_plugin_membership(
                profile.disabled_scores, name, is_kept=is_score_off
            ),
        )

    return undo


def _set_plugin_membership(names: tuple[str, ...], name: str, *, is_kept: bool) -> tuple[str, ...]:
    return (*(each for each in names if each != name), *((name,) if is_kept else ()))


def _find_profile_field_edits(
    old: checked.CheckedProfile, new: checked.CheckedProfile
) -> Iterator[ProfileEdit]:
    for field, (name, said) in _PROFILE_FIELDS.items():
        was, now = getattr(old, field), getattr(new, field)
        if was == now or (field == _ALL_SCORES and not _find_differing_plugins(old, new)):
            continue
        undo = _make_field_undo(field, old, new)
        yield ProfileEdit("profile", name, said(was), said(now), undo, span=new.span)


def _find_differing_plugins(old: checked.CheckedProfile, new: checked.CheckedProfile) -> list[str]:
    return [
        each
        for each in defaults.DEFAULT_WEIGHTS
        if not _has_same_effective_settings(each, old, new)
    ]


def _make_field_undo(field: str, old: checked.CheckedProfile, new: checked.CheckedProfile) -> Undo:
    """Return a function that restores the old value of a profile field."""
    # A plugin may have the same effect on both sides only because of this field, so its settings
    # are also restored.
    names = (
        _collect_plugin_names(old) | _collect_plugin_names(new) if field == _ALL_SCORES else set()
    )
    kept = [
        _make_plugin_undo(each, old)
        for each in sorted(names)
        if _has_same_effective_settings(each, old, new)
    ]

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        changes: dict[str, Any] = {field: getattr(old, field)}
        profile = dataclasses.replace(profile, **changes)
        for each in kept:
            profile = each(profile)
        return profile

    return undo
