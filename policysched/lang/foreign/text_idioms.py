"""Comments, quotes, colons and names of items in the notation of other languages."""

from __future__ import annotations

import re
from collections.abc import Callable

from policysched.lang.foreign import foreign_words, idiom_patterns
from policysched.lang.words import vocabulary

_idiom = idiom_patterns.make_idiom
_KEY = idiom_patterns.KEY
_KEYWORDS = idiom_patterns.KEYWORDS
_CLAUSES = idiom_patterns.CLAUSES


def _make_word_joiner(separator: str) -> Callable[[re.Match[str]], str]:
    """Return a function that joins the words in the group `name` with a separator."""
    return lambda match: match.group().replace(
        match["name"], re.sub(r"[^\w]+|_", separator, match["name"])
    )


def _rewrite_policy_header(match: re.Match[str]) -> str:
    return f"policy {match['name']} {{"


def _rewrite_with_double_quotes(match: re.Match[str]) -> str:
    return f'{match["word"]} "{match["text"].strip()}"'


def _replace_foreign_unit(match: re.Match[str]) -> str | None:
    return foreign_words.UNITS.get(match["unit"].lower())


TEXTS = (
    _idiom(r"(?:--|//)[ \t]*(?!\d)([^\n]*)", r"# \1", "comments begin with `#`"),
    _idiom(r"/\*[^*]*\*/[ \t]*", "", "comments begin with `#`"),
    _idiom(r'"""([^"\n]*)"""', r'description "\1"'),
    _idiom(
        r"^[ \t]*---[ \t]*$",
        "",
        "`---` is not supported: write each policy text to its own file or key",
    ),
    _idiom(r"^[ \t]*- (?=\w)", "", "statements and items need no `-` before them"),
    _idiom(
        rf"\b({_CLAUSES}):[ \t]+",
        r"\1 ",
        r"`\1` takes its value without `:`",
        help="remove `:`",
        code="PS003",
        safe=True,
    ),
    _idiom(
        rf"\b({_KEYWORDS})\s*([:=])\s*(?![:=])",
        r"\1 ",
        r"`\1` takes its value without `\2`",
        help=r"remove `\2`",
        code="PS003",
    ),
    _idiom(
        r'\b(mode|policies|disable)\s*[:=]\s*"([^"\n]*)"',
        r"\1 \2",
        r"`\1` takes its value without `=` and quotes",
        code="PS003",
    ),
    _idiom(
        r"(?<=:)\s*(?P<unit>[\w%]+(?:/\w+)?)\s*(?==)",
        lambda match: f" {unit} " if (unit := _replace_foreign_unit(match)) else None,
        r"`\g<unit>` is not a metric unit",
    ),
    _idiom(
        rf"\bmetric\s+\w+\s*:\s*(?!(?:{'|'.join(vocabulary.METRIC_UNITS)})\b)"
        r"(?P<unit>[\w%]+(?:/\w+)?)\s*(?==)",
        None,
        r"`\g<unit>` is not a metric unit",
        help=f"units are {', '.join(vocabulary.METRIC_UNITS)}",
    ),
    _idiom(
        rf"\bmetric\s+(\w+)\s*\(\s*({'|'.join(vocabulary.METRIC_UNITS)})\s*\)\s*(?==)",
        r"metric \1: \2 ",
    ),
    _idiom(
        r"(?<=\w)\s*\{\s*(?:query|expr)\s*[:=]\s*(`[^`]*`)\s*\}",
        r" = \1",
        "a metric has no braces",
    ),
    _idiom(
        r"\bmetric\s+(\w+)\s*=",
        None,
        r"the metric `\1` has no unit",
        "write `metric NAME: UNIT = …`, with one of the units "
        + ", ".join(f"`{unit}`" for unit in vocabulary.METRIC_UNITS),
    ),
    _idiom(r'=\s*["\']([^"\'`\n]*)["\']', r"= `\1`", help="write the query between backticks"),
    _idiom(
        r"(?<==)\s*([^`\"'\n=]+?)\s+(?=node\b|cluster\b)",
        r" `\1` ",
        help="write the query between backticks",
    ),
    _idiom(r"""(?<!\w)[frbu]?'([^'"\n]*)'""", r'"\1"', "`'` does not quote here", code="PS003"),
    _idiom(r'\b[frbu]("[^"\n]*")', r"\1", "a string begins with its quotation mark"),
    _idiom(rf"`({_KEY})`", r"\1", "names are written without backticks"),
    _idiom(
        r"\b(?P<word>description|owner)\s*[:=]?\s*(?P<text>[^\s\"'{:=<][^\"\n]*)$",
        _rewrite_with_double_quotes,
        r"expected a string between `\"` after `\1`",
    ),
    _idiom(
        r"\b(?P<word>message|during|expires)\s*[:=]?\s*(?P<text>[^\s\"'{:=][^\"\n]*?)"
        r"(?=$|\s+(?:as|missing|over|weight|during|expires|message)\b)",
        _rewrite_with_double_quotes,
        r"expected a string between `\"` after `\1`",
    ),
    _idiom(r"\b(description|owner)\s*<<-?(\w+)\n\s*([^\n\"]*?)\s*\n\s*\2", r'\1 "\3"'),
    _idiom(
        r"\{\{[^{}\n]*\}\}",
        None,
        "`{{ … }}` is a Helm template, not part of this language",
        "render the template first, and check its output",
    ),
)
NAMES = (
    _idiom(
        r"\b(?:metric|param|let)\s+(?P<name>\w+(?:[-.]\w+)+)(?=\s*[:=])",
        _make_word_joiner("_"),
        r"names contain only letters, digits and `_`: `\1` contains others",
    ),
    _idiom(r"\b(as)\s+(\w+)\s+(\w+)\s*$", r"\1 \2-\3", "a name is one word"),
    _idiom(r"\b(policy|profile)\s*=?\s*\"([^\"\n]*)\"(?=\s*\{)", r"\1 \2"),
    _idiom(r"\bpolicy\s+(?P<name>[\w-]+)\s*:\s*$", _rewrite_policy_header, "a policy needs braces"),
    _idiom(r"\bpolicy\s+(?P<name>[\w-]+)\s*\([^()\n]*\)\s*\{", _rewrite_policy_header),
    _idiom(
        r"\bpolicy\s+(?P<name>[\w-]+)\s+(for\s[^{}\n]*)$",
        r"policy \g<name> { \2 }",
        "a policy needs braces",
    ),
    _idiom(
        r"\b(?:policy|profile)\s*(?=\{)",
        None,
        "expected a name before `{`",
        "write the name of the policy or profile before `{`",
    ),
    _idiom(r"(?i:^create\s+(?=policy\b|$))", ""),
    _idiom(r"\bresource\s+\"policy\"\s+\"([\w-]+)\"", r"policy \1"),
    _idiom(r"^(?:def|class|rule|module|package|policyset)\s+([\w-]+)(?=\s*\{)", r"policy \1"),
    _idiom(
        r"^(?!policy|profile|clusterPolicy)([a-z][\w-]*)(?=\s*\{)",
        r"policy \1",
        "an item begins with a keyword",
    ),
    _idiom(r"^package\s+[\w.]+[ \t]*\n", "", "policy texts have no package"),
    _idiom(
        r"^(?:apiVersion|kind|metadata|spec):[^\n]*\n", "", "a policy is not a Kubernetes manifest"
    ),
    _idiom(r"^variable\s+\"(\w+)\"\s*\{\s*default\s*=\s*([\d.]+%)\s*\}", r"param \1: ratio = \2"),
    _idiom(r"^locals?\s*\{\s*(\w+)\s*=\s*([^{}\n]*?)\s*\}", r"let \1 = \2"),
    _idiom(r"^(?:(?:const|var|default|local|def|define)\s+)?(\w+)\s*:?=\s*", r"let \1 = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+%)", r"\1: ratio = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+(?:ms|[smhdw])\b)", r"\1: duration = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+[KMGTPE]i\b)", r"\1: bytes = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=\")", r"\1: string = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+\s*$)", r"\1: number = "),
    _idiom(r"\b(param\s+\w+:\s*)bool\s*=\s*(?:true|yes|on)\b", r"\1number = 1"),
    _idiom(r"\b(param\s+\w+:\s*)bool\s*=\s*(?:false|no|off)\b", r"\1number = 0"),
)
