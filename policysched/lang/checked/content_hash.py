"""The hash that identifies a version of the policies in decisions and in the history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from policysched.lang import source

_DIGITS = 12


def hash_policy_texts_and_params(
    texts: Iterable[source.SourceText], given: Mapping[str, str]
) -> str:
    """Return the first 12 hex digits of a hash of all texts and the params given from outside.

    The hash does not depend on the order of the texts or on their folder.
    """
    content = [
        sorted((text.name.rpartition("/")[2], text.text) for text in texts),
        sorted(given.items()),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:_DIGITS]
