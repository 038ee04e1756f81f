from __future__ import annotations

import argparse

import pytest

from policysched.cli.options import label_selectors

_LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    "text, matches",
    [
        ("app=web", True),
        ("app==web", True),
        ("app = db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("other!=x", True),
        ("app in (db, web)", True),
        ("app in (db)", False),
        ("app notin (db,cache)", True),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("!app", False),
        ("app in (db,web),tier=front", True),
        ("app=web,tier=back", False),
        ("empty=", False),
    ],
)
def test_selectors_are_those_of_kubectl(text: str, *, matches: bool) -> None:
    """All forms, alone and together."""
    assert label_selectors.parse_label_selector(text).matches(_LABELS) is matches


@pytest.mark.parametrize("text", ["", "app=web,", "app in web", "app>1", "a b", "-=x", "app=a/b"])
def test_other_texts_are_refused(text: str) -> None:
    """A selector that selects nothing would protect nothing."""
    with pytest.raises(argparse.ArgumentTypeError):
        label_selectors.parse_label_selector(text)
