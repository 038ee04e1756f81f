"""Format texts of Kubernetes events, with the profile and policies behind the decision."""

from __future__ import annotations

from policysched.framework import profile

NOTE_LIMIT_BYTES = 1024
"""Maximum length of a note in bytes (apis/core/validation, NoteLengthLimit)."""

_MAX_POLICIES = 4
_HASH_LENGTH = 8
_ELLIPSIS = " ..."


def format_policy_provenance(prof: profile.Profile) -> str:
    """Return ` (NAME: policies; hash)` for the end of a note.

    Without policies, the result is empty, so that notes are identical to kube-scheduler's.
    """
    if not prof.policies:
        return ""
    named = ", ".join(prof.policies[:_MAX_POLICIES])
    if len(prof.policies) > _MAX_POLICIES:
        named += f" and {len(prof.policies) - _MAX_POLICIES} more"
    return f" ({prof.scheduler_name}: {named}; {prof.policy_hash[:_HASH_LENGTH]})"


def compute_max_note_text_bytes(prof: profile.Profile) -> int:
    """Return the number of bytes that the provenance leaves for the text of a note."""
    return NOTE_LIMIT_BYTES - len(_format_provenance_suffix(prof).encode())


def format_note(text: str, prof: profile.Profile) -> str:
    """Return `text` followed by its provenance, and truncate `text` to the length limit."""
    return _cut_to_bytes(text, compute_max_note_text_bytes(prof)) + _format_provenance_suffix(prof)


def _format_provenance_suffix(prof: profile.Profile) -> str:
    return _cut_to_bytes(format_policy_provenance(prof), NOTE_LIMIT_BYTES // 2)


def _cut_to_bytes(text: str, limit_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= limit_bytes:
        return text
    return encoded[: limit_bytes - len(_ELLIPSIS)].decode(errors="ignore") + _ELLIPSIS
