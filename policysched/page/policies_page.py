"""The policies view: texts with the findings of the check, and the rules of each profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policysched.lang import source
from policysched.lang.words import syntax_words
from policysched.profiles import policies


def describe_text(text: source.SourceText) -> dict[str, Any]:
    """Return a text with its file, and the ConfigMap in this file that has it as a key."""
    origin = text.origin
    return {
        "name": text.name,
        "text": text.text,
        "file": text.name if origin is None else origin.file,
        "configMap": "" if origin is None else origin.config_map,
    }


def describe_policies(
    policy_set: policies.PolicySet | None, rules: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Return the findings of the check, and the rules in use, keyed by profile."""
    return {
        "hash": policy_set.content_hash if policy_set else "",
        "keywords": syntax_words.list_keywords(),
        "findings": [
            {
                "file": each.span.file,
                "line": each.span.line,
                "column": each.span.column,
                "severity": each.severity.value,
                "code": each.code,
                "message": each.message,
                "help": each.help,
            }
            for each in (policy_set.findings if policy_set else ())
        ],
        "profiles": [{"name": name, "rules": found} for name, found in rules.items()],
    }
