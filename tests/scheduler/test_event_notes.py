"""Texts of events."""

from __future__ import annotations

import pytest

from policysched.framework import profile
from policysched.scheduler import event_notes


def _profile(*policies: str) -> profile.Profile:
    return profile.Profile("web", (), {}, policies=policies, policy_hash="0123456789abcdef")


@pytest.mark.parametrize(
    "policies, expected",
    [
        pytest.param((), "", id="none: kube-scheduler's own text"),
        pytest.param(("a",), " (web: a; 01234567)", id="one"),
        pytest.param(
            ("a", "b", "c", "d", "e", "f"), " (web: a, b, c, d and 2 more; 01234567)", id="many"
        ),
    ],
)
def test_provenance(policies: tuple[str, ...], expected: str) -> None:
    """A note names profile, policies and hash, in little space."""
    assert event_notes.format_policy_provenance(_profile(*policies)) == expected


@pytest.mark.parametrize(
    "text, policies",
    [
        pytest.param("x" * 1024, (), id="exactly"),
        pytest.param("x" * 1025, (), id="one too long"),
        pytest.param("x" * 5000, ("a",), id="with policies"),
        pytest.param("ü" * 700, ("a",), id="two bytes a character"),
        pytest.param("x", ("p" * 3000,), id="a very long policy name"),
    ],
)
def test_notes_fit(text: str, policies: tuple[str, ...]) -> None:
    """A note is never longer than the API server accepts, and never cut inside a character."""
    note = event_notes.format_note(text, _profile(*policies))
    assert len(note.encode()) <= event_notes.NOTE_LIMIT_BYTES
    is_whole = note == text + event_notes.format_policy_provenance(_profile(*policies))
    assert is_whole == (
        len((text + event_notes.format_policy_provenance(_profile(*policies))).encode()) <= 1024
    )
    assert is_whole or " ..." in note
