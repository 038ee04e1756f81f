"""Explains why a rule with unchanged text has a different meaning."""

from __future__ import annotations

from policysched.lang.checked import checked, checked_expr, rule_parts
from policysched.planning import wording


def describe_changed_params_and_lets(
    rule: checked.Rule,
    old: checked.CheckedProfile,
    new: checked.CheckedProfile,
    said: tuple[wording.DefinitionTexts, wording.DefinitionTexts],
) -> str:
    """Return the changed params and lets that a rule with unchanged text uses, or ""."""
    names = wording.collect_names_in_rule(rule.head.text, *said)
    before, after = (
        {each.name: ", ".join(each.texts) or each.promql for each in side.params}
        for side in (old, new)
    )
    kinds = (("param", before, after), ("let", said[0].lets, said[1].lets))
    changed = [
        f"{kind} {name}: {was[name]} → {now[name]}"
        for kind, was, now in kinds
        for name in sorted(names & was.keys() & now.keys())
        if was[name] != now[name]
    ]
    return ", ".join(changed)


def describe_changed_mode(
    name: str, old: checked.CheckedProfile, new: checked.CheckedProfile
) -> str:
    """Return the change of mode that adds or removes all rules of a policy, or ""."""
    modes = [
        next((each.mode for each in profile.policies if each.name == name), None)
        for profile in (old, new)
    ]
    was, now = modes
    return f"mode {was} → {now}" if was and now and was != now else ""


def describe_changed_metrics(old: checked.Rule | None, new: checked.Rule | None) -> str:
    """Return the changed metrics that a rule with unchanged text reads, or else a general note."""
    read = [
        {
            key
            for expr in rule_parts.list_rule_expressions(rule)
            for key in checked_expr.list_read_metrics(expr)
        }
        for rule in (old, new)
        if rule is not None
    ]
    changed = sorted({key.partition("@")[0] for key in read[0] ^ read[1]})
    return f"metric {', '.join(changed)}" if changed else "its value"
