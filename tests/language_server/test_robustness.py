"""No text that an editor can have makes the server fail, however broken it is."""

from __future__ import annotations

import pathlib
import random

import pytest

from policysched.lang import text_limits
from tests.lang import mutation, test_fuzz
from tests.language_server import asking

MUTATIONS = 200
BATCHES = 4


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_request_about_mutated_texts_is_answered(batch: int, tmp_path: pathlib.Path) -> None:
    """All there is to ask, at any place, of a file and of a manifest; answers can be sent."""
    rng = random.Random(batch)
    seeds = test_fuzz._read_originals()
    asked = asking.Asking(tmp_path)
    for _ in range(MUTATIONS // BATCHES):
        asked.everything(mutation.mutate(rng.choice(seeds), seeds, rng), rng)


def test_a_text_beyond_the_limits_is_one_finding(tmp_path: pathlib.Path) -> None:
    """A huge text is told to be too large, and every other request is answered."""
    asked = asking.Asking(tmp_path)
    line = "# " + "x" * 98 + "\n"
    text = line * (text_limits.MAX_TEXT_BYTES // len(line) + 1)
    [found] = asked.session.list_diagnostics(asked.open("huge.policy", text))
    assert found.code == "PS004"
    asked.everything(text, random.Random(1))
