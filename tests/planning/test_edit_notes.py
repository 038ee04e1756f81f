"""The notes about params and lets that change what a rule with the same text means."""

from __future__ import annotations

from policysched.planning import edit_notes, wording
from tests.compiler import desk


def test_lists_of_strings_are_shown_as_written() -> None:
    """And not as the regular expression that queries get."""
    text = """
    param pools: strings = "{}"
    policy p {{ for pods nodeAffinity required pool In ($pools) as own }}
    """
    old, new = (desk.check(text.format(each)).profiles[0] for each in ("spot", "spot, od"))
    said = (wording.DefinitionTexts(), wording.DefinitionTexts())
    (rule,) = old.policies[0].rules
    note = edit_notes.describe_changed_params_and_lets(rule, old, new, said)
    assert "spot → spot, od" in note
