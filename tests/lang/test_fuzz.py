from __future__ import annotations

import pathlib
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import _resources
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, rendering
from policysched.lang.formatting import formatter
from policysched.lang.parsing import parser
from tests import seeds
from tests.lang import chunked, mutation

_FOLDER = pathlib.Path(__file__).parent
_MAX_LENGTH = 900
MUTATIONS = 300


def _read_originals() -> list[str]:
    """Return small texts: cases of these tests, and single items of the shipped policies."""
    texts = [chunk.text.text for chunk in chunked.chunks(_FOLDER / "cases")]
    for path in sorted(_resources.find_resource_folder("policies").glob("*.policy")):
        text = path.read_text(encoding="utf-8")
        items = parser.parse_policy_text(source.SourceText(path.name, text)).file.items
        texts += [text[item.span.start : item.span.end] for item in items]
    return [text[:_MAX_LENGTH] for text in texts]


@pytest.mark.slow
@seeds.drawn
def test_no_mutated_text_raises(seed: int) -> None:
    """Whatever is in a text, the answer is a program or diagnostics that can be shown."""
    rng = random.Random(seed)
    originals = _read_originals()
    for _ in range(MUTATIONS):
        text = mutation.mutate(rng.choice(originals), originals, rng)
        result = checker.check([source.SourceText("x.policy", text)])
        severities = {finding.severity for finding in result.diagnostics}
        assert (result.program is None) == (diagnostics.Severity.ERROR in severities)
        for finding in result.diagnostics:
            assert 0 <= finding.span.start <= finding.span.end <= len(text)
            assert finding.code in rendering.render_diagnostic(finding, result.texts)


@pytest.mark.slow
@seeds.drawn
def test_what_can_be_formatted_is_formatted_soundly(seed: int) -> None:
    """A text without syntax errors has a proven canonical form, mutated or not."""
    rng = random.Random(seed)
    originals = _read_originals()
    formatted = 0
    for _ in range(MUTATIONS):
        mutated = mutation.mutate(rng.choice(originals), originals, rng)
        text = source.SourceText("x.policy", mutated)
        result = formatter.format_text(text)
        assert result.problem == "", text.text
        formatted += result.text is not None
    assert formatted > MUTATIONS / 20


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=5), st.text(max_size=10), max_size=2))
def test_no_text_and_no_param_raises(text: str, given_params: dict[str, str]) -> None:
    """The same for texts that have nothing to do with policies."""
    result = checker.check([source.SourceText("x.policy", text)], given=given_params)
    for finding in result.diagnostics:
        shown = set(rendering.render_diagnostic(finding, result.texts)) - {"\n", "\t"}
        assert not any(unicodedata.category(char).startswith("C") for char in shown)
        rendering.encode_diagnostic(finding, result.texts)
