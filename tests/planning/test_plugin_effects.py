"""Edits of plugins are compared by effect, and taking them back restores the old effect."""

from __future__ import annotations

import itertools

import pytest

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.planning import plugin_effects, profile_edits, wording
from policysched.plugins import defaults

_PROFILES = (
    "",
    "disable all scores",
    "disable all scores  plugin NodeAffinity weight 2",
    "disable all scores  plugin NodeAffinity weight 5  plugin ImageLocality weight 1",
    "plugin NodeAffinity weight 2",
    "plugin NodeAffinity weight 5  builtin weight 3",
    "disable NodeAffinity  disable scores ImageLocality",
    "disable scores NodeAffinity, ImageLocality",
    "plugin InterPodAffinity args { hardPodAffinityWeight: 1 }",
    "plugin InterPodAffinity args { hardPodAffinityWeight: 7 }",
)
_NO_WORDS = wording.DefinitionTexts(), wording.DefinitionTexts()


def _profile(statements: str) -> checked.CheckedProfile:
    text = source.SourceText("a.policy", f"profile policysched {{ {statements} }}")
    program = checker.check([text]).program
    assert program is not None
    return program.profiles[0]


def _effects(profile: checked.CheckedProfile) -> dict[str, plugin_effects.PluginEffect]:
    return {
        name: plugin_effects.compute_effective_plugin_settings(profile, name)
        for name in defaults.DEFAULT_WEIGHTS
    }


@pytest.mark.parametrize("before, after", list(itertools.product(_PROFILES, repeat=2)))
def test_all_edits_taken_back_restore_the_old_effect(before: str, after: str) -> None:
    """There are edits if and only if an effect differs, and without them the profiles agree."""
    old, new = _profile(before), _profile(after)
    found = profile_edits.find_profile_edits(old, new, _NO_WORDS)
    is_same = _effects(old) == _effects(new) and old.builtin_weight == new.builtin_weight
    assert (found == []) == is_same
    undone = profile_edits.undo_profile_edits(new, found)
    assert _effects(undone) == _effects(old)
    assert undone.builtin_weight == old.builtin_weight


def test_taking_the_disabled_scores_back_keeps_a_score_that_did_not_change() -> None:
    """The old text spelled its weight out, and the new one relies on the default."""
    old, new = _profile("disable all scores  plugin NodeAffinity weight 2"), _profile("")
    (edit,) = profile_edits.find_profile_edits(old, new, _NO_WORDS)
    assert edit.name == "scores of plugins"
    assert _effects(profile_edits.undo_profile_edits(new, [edit]))["NodeAffinity"].weight == 2
