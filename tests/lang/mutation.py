"""Random damage to policy texts, as hands and tools do it."""

from __future__ import annotations

import random
import re

_LEXEME = re.compile(r"\s+|[A-Za-z0-9_./-]+|\"[^\"\n]*\"|`[^`]*`|.", re.DOTALL)
_SPICE = (
    *("{", "}", "(", ")", "[", "]", '"', "`", "'", "\\", "#", "$", ":", ",", "=", "==", "%", "*"),
    *("\n", "\r", "\t", "\0", "é", "中", "\u202e", "\ud800", "🙂", "\x1b[31m"),
    *("and", "or", "not", "In", "Exists", "Gt", "score", "reject", "when", "policy", "metric"),
    *("let", "param", "weight", "5m", "80%", "-5", "1e9", "99999999999999999999", "0", "missing"),
    *("self", "pods", "where", "node", "else", "as", "topologyKey", "args", "profile", "import"),
)


def mutate(text: str, others: list[str], rng: random.Random) -> str:
    """Return the text with one to four random edits."""
    for _ in range(rng.randint(1, 4)):
        text = mutate_once(text, others, rng)
    return text


def mutate_once(text: str, others: list[str], rng: random.Random) -> str:
    """Return the text with one random edit."""
    return rng.choice(_EDITS)(text, others, rng)


def _drop_lexeme(text: str, _others: list[str], rng: random.Random) -> str:
    parts = _LEXEME.findall(text)
    if parts:
        del parts[rng.randrange(len(parts))]
    return "".join(parts)


def _repeat_lexemes(text: str, _others: list[str], rng: random.Random) -> str:
    parts = _LEXEME.findall(text) or [""]
    at = rng.randrange(len(parts))
    return "".join([*parts[:at], *(parts[at : at + rng.randint(1, 5)] * 2), *parts[at:]])


def _swap_lexemes(text: str, _others: list[str], rng: random.Random) -> str:
    parts = _LEXEME.findall(text) or [""]
    one, two = rng.randrange(len(parts)), rng.randrange(len(parts))
    parts[one], parts[two] = parts[two], parts[one]
    return "".join(parts)


def _insert(text: str, _others: list[str], rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(("", " ")) + rng.choice(_SPICE) + text[at:]


def _change_character(text: str, _others: list[str], rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return (
        text[:at]
        + chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x3000))))
        + text[at + 1 :]
    )


def _cut(text: str, _others: list[str], rng: random.Random) -> str:
    one, two = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    return text[:one] + text[two:] if rng.random() < 0.5 else text[one:two]


def _splice(text: str, others: list[str], rng: random.Random) -> str:
    other = rng.choice(others)
    return text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]


_EDITS = (
    *(_drop_lexeme, _repeat_lexemes, _swap_lexemes, _insert, _change_character),
    *(_cut, _splice, _insert, _swap_lexemes),
)
