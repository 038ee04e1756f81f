"""Sentences of the grammar lines in docs/language-reference.md, as policy texts.

A line uses the signs of the page's section "Notation". Its sentences have each optional part and
each alternative at least once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests import page_examples
from tests.lang import language_pages

_OPTIONAL = re.compile(r" ?\[ (?P<part>[^\[\]]*) \](?!\])")
_CHOICE = re.compile(r"(?<![^\s])[^\s|(),]+(?:\|[^\s|(),]+)+")
_COMMA_LIST = re.compile(r"(?P<part>[A-Z][A-Z-]*(?:: [A-Z]+)?), …")
_REPEATED = re.compile(r"(?P<part>[A-Z][A-Z-]*) …")
_PLACEHOLDER = re.compile(r"\b[A-Z][A-Z-]*\b(?![a-z])")

CONTEXTS: dict[str, str] = {
    "item": "{}",
    "selector": "policy p {{ for pods nodeAffinity required {} }}",
    "pattern": "policy p {{ for pods tolerate {} }}",
    "expression": "policy p {{ for pods score {} }}",
    "option": "metric m: ratio = `x` {}",
    "statement": "policy p {{ {} }}",
    "clause": "policy p {{ for pods topologySpread {} }}",
    "pods": "policy p {{ for pods podAffinity required {} topologyKey zone }}",
    "strategy": "policy p {{ for pods score {} }}",
    "method": "policy p {{ for pods score a prefer low normalize {} }}",
    "profile-statement": "profile p {{ {} }}",
    "cluster-statement": "clusterPolicy p {{ {} }}",
}
"""Kind of a grammar block -> the text around a sentence."""

SAMPLES: dict[str, tuple[str, ...]] = {
    "A": ("0%", "5"),
    "ARGUMENT": ("a", "cpu: 2", "shape(0%: 1, 100%: 2)"),
    "B": ("100%", "10"),
    "CLAUSE": ("as name", 'during "Mon 08:00-09:00"'),
    "CLUSTER": ("member1", "member2"),
    "CLUSTER-STATEMENT": ("for resources", "replicas Duplicated"),
    "CONDITION": ("a > 1", "(free(cpu) < 1)", "node(b = c)"),
    "D": ("30s", "a"),
    "EFFECT": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "EXPRESSION": ("a", "1.5", "(a + b)", "free(cpu)"),
    "FLOOR": ("10%", "a"),
    "FUNCTION": ("min", "free"),
    "KEY": ("example.com/k", '"k"'),
    "LABEL": ("instance", '"label"'),
    "LET-NAME": ("gpu_pool",),
    "LITERAL": ("5", "-1", '"text"'),
    "METHOD": ("rank", "linear(0%, 90%)", "shape(0%: 100, 90%: 0)"),
    "N": ("5", "7"),
    "NAME": ("a", "b"),
    "NAMESPACE": ("prod", "shop"),
    "NUMBER": ("5", "80%", "4Gi"),
    "OPTION": ("node instance", "refresh 15s"),
    "PATTERN": ("a", "b=c:NoSchedule", "d Exists"),
    "PERCENT": ("0%", "100%"),
    "PODS": ("self", "pods", "pods where a = b"),
    "PODS-CLAUSE": ("topologyKey zone", "namespaces all"),
    "POINTS": ("0", "100"),
    "POLICY": ("web", "batch"),
    "PROFILE-STATEMENT": ("policies web", "disable all scores"),
    "Q": ("0.95", "50%"),
    "QUERY": ("`sum(x)`",),
    "RESOURCE": ("cpu", '"nvidia.com/gpu"'),
    "RULE": ("errors",),
    "SELECTOR": ("a = b", "not a Exists", "(a In (b, c) or d = e)"),
    "STATEMENT": ("for pods", "tolerate a"),
    "STRING": ('"2099-12-31"',),
    "SUBJECT": ("key", '"key"', "annotation(k)", "requests(cpu)"),
    "TYPE": ("ratio", "duration"),
    "UNIT": ("ratio", "bytesPerSecond"),
    "VALUE": ("5", "7"),
    "WORD": ("web", "batch"),
}
"""Placeholder -> what may replace it in a sentence."""


class GrammarLine(NamedTuple):
    """One line of a grammar block."""

    kind: str
    text: str


def grammar_lines() -> list[GrammarLine]:
    """Return all lines of the grammar blocks of the reference."""
    return [
        GrammarLine(block.info.removeprefix("grammar "), line)
        for block in page_examples.read_blocks(language_pages.REFERENCE)
        if block.kind == "grammar"
        for line in block.body.splitlines()
    ]


def iterate_sentences(line: GrammarLine) -> Iterator[str]:
    """Yield policy texts that the line allows."""
    for text in _expand(line.text):
        used = _PLACEHOLDER.findall(text)
        for turn in range(max((len(SAMPLES[name]) for name in used), default=1)):
            yield CONTEXTS[line.kind].format(_fill(text, turn))


def _fill(text: str, turn: int) -> str:
    """Replace placeholders; each occurrence takes another sample."""
    number = itertools.count(turn)

    def take_sample(match: re.Match[str]) -> str:
        samples = SAMPLES[match[0]]
        return samples[next(number) % len(samples)]

    return _PLACEHOLDER.sub(take_sample, text)


def _expand(text: str) -> Iterator[str]:
    """Yield the text with its notation resolved; placeholders remain."""
    for pattern, alternatives in (
        (_OPTIONAL, lambda found: ["", f" {found['part']}"]),
        (_CHOICE, lambda found: found[0].split("|")),
        (_COMMA_LIST, lambda found: [found["part"], f"{found['part']}, {found['part']}"]),
        (_REPEATED, lambda found: [found["part"], f"{found['part']} {found['part']}"]),
    ):
        found = pattern.search(text)
        if found is not None:
            for each in alternatives(found):
                yield from _expand(text[: found.start()] + each + text[found.end() :])
            return
    yield text
