"""Numbers and conditions in the notation of other languages."""

from __future__ import annotations

import re

from policysched.lang.foreign import foreign_fields, idiom_patterns
from policysched.lang.words import numerals, vocabulary

_idiom = idiom_patterns.make_idiom
_KEY = idiom_patterns.KEY
_VALUE = idiom_patterns.VALUE
_LIST = idiom_patterns.LIST
_NAME = idiom_patterns.NAME
_TAINT = idiom_patterns.TAINT
_OPERAND = idiom_patterns.OPERAND
_EQUALITY = idiom_patterns.EQUALITY
_WORDS = "|".join((idiom_patterns.KEYWORDS, *vocabulary.STRATEGIES, *vocabulary.METRIC_UNITS))
_COMPARISON = r"==|!=|<=|>=|=|<|>"
_OBJECT = r"(?:input\.|object\.)?(?P<object>node|pod)\."
_AMOUNTS = r"allocatable|free|requested|requests|limits"
_LABELS = idiom_patterns.LABELS


def _rewrite_field_test(match: re.Match[str]) -> str | None:
    """Rewrite `pod.spec.nodeName = a` as `node(nodeName = a)`; return None for unknown fields."""
    key = match["key"]
    if match["object"] is None:
        meant = foreign_fields.find_unqualified_key_meaning("node", key)
    else:
        domain: vocabulary.Domain = "pod" if match["object"] == "pod" else "node"
        meant = foreign_fields.find_key_meaning(domain, key) or foreign_fields.FieldMeaning(
            domain, key
        )
    if not meant.subject:
        return None
    return f"{meant.domain}({meant.subject} {_translate_in_operators(match['test'])})"


def _rewrite_label_or_annotation_test(match: re.Match[str]) -> str | None:
    """Rewrite `pod.labels["app"] = web` as `pod(app = web)`; refuse annotations of nodes."""
    subject = match["key"]
    if match["map"] == "annotations":
        if match["object"] != "pod":
            return None
        subject = f"annotation({subject})"
    return f"{match['object']}({subject} {_translate_in_operators(match['test'])})"


def _translate_comparison_words(match: re.Match[str]) -> str:
    """Return the operator for a comparison in words, such as `<` for `less than`."""
    sign = "<" if match["word"].lower() in ("less", "fewer") else ">"
    return f"{sign}=" if match["equal"] else sign


def _translate_in_operators(test: str) -> str:
    listed = re.fullmatch(r"(?is)(not\s*)?in\s*[\[(]\s*(.*?)\s*[\])]", test)
    if listed is None:
        return " ".join(test.split())
    return f"{'NotIn' if listed[1] else 'In'} ({listed[2]})"


def _attach_unit_to_number(match: re.Match[str]) -> str | None:
    unit = {"percent": "%"}.get(match["unit"], match["unit"])
    ours = unit if unit in numerals.SUFFIXES else numerals.OTHER_SPELLINGS.get(unit)
    return match["number"] + ours if ours else None


EXPRESSIONS = (
    _idiom(rf"({_OPERAND})\s*//\s*(\d[\w.]*)", r"floor(\1 / \2)"),
    _idiom(rf"\b(?:{_OBJECT}(?:spec\.|status\.)?)?priority\b", "priority"),
    _idiom(rf"\b{_OBJECT}age\b", r"\g<object>Age"),
    _idiom(
        rf"\b{_OBJECT}(?:metadata\.)?name\s*({_EQUALITY})\s*({_VALUE})", r"node(nodeName \2 \3)"
    ),
    _idiom(rf"\b(?:{_OBJECT}(?:status\.)?)?({_AMOUNTS})\.(cpu|memory|pods)\b", r"\2(\3)"),
    _idiom(rf"\b({_AMOUNTS})\[\s*[\"']?(\w+)[\"']?\s*\]", r"\1(\2)"),
    _idiom(rf"\b{_OBJECT}({_AMOUNTS}|label)(?=\()", r"\2"),
    _idiom(
        r"\bcount\(\s*\)",
        None,
        "`count()` does not say which pods it counts",
        "write `count(pods where KEY = VALUE)`, or `count(pods)` for all",
    ),
    _idiom(r"\bmath\.(\w+)(?=\()", r"\1"),
    _idiom(r"=<", "<="),
    _idiom(r"=>", ">="),
    _idiom(r"[!=]==", lambda match: match[0][0].replace("!", "!=")),
    _idiom(r"<>", "!="),
    _idiom(
        rf"!\s*(?:has|exists)\(\s*{_OBJECT}{_LABELS}({_KEY})\s*\)", r"not \g<object>(\2 Exists)"
    ),
    _idiom(rf"\b(?:has|exists)\(\s*{_OBJECT}{_LABELS}({_KEY})\s*\)", r"\g<object>(\2 Exists)"),
    _idiom(rf"\"({_KEY})\"\s+in\s+{_OBJECT}(?:metadata\.)?labels\b", r"\g<object>(\1 Exists)"),
    _idiom(
        rf"\b{_OBJECT}(?P<key>{_KEY})\s*(?P<test>(?:{_EQUALITY})\s*{_VALUE})",
        _rewrite_field_test,
    ),
    _idiom(
        r"\b(?:pod\.)?(?:metadata\.)?namespace\s*(?:[=!]|(?i:not\s*)?(?i:in)\b)",
        None,
        "expressions cannot compare namespaces",
        "select pods with `for pods in namespace (a, b)`",
    ),
    _idiom(
        rf"\b{_OBJECT}(?:spec|status)\.[\w.]+",
        None,
        "policies cannot read `\\g<0>`",
        "fields of nodes and pods are nodeName, " + ", ".join(sorted(vocabulary.POD_FIELDS)),
    ),
    _idiom(rf"\bobject\.metadata\.labels\.({_KEY})\s*({_EQUALITY})\s*({_VALUE})", r"pod(\1 \2 \3)"),
    _idiom(
        rf"\b{_OBJECT}(?:metadata\.)?(?P<map>labels|annotations)\[\s*[\"'](?P<key>{_KEY})[\"']\s*\]"
        rf"\s*(?P<test>(?:{_EQUALITY})\s*{_VALUE}"
        rf"|(?<=\s)(?i:not\s*in|in)\s*[\[(]\s*{_LIST}\s*[\])])",
        _rewrite_label_or_annotation_test,
    ),
    _idiom(
        rf"\b(node|pod)\s+({_KEY})\s*({_COMPARISON})\s*({_VALUE})",
        r"\1(\2 \3 \4)",
        r"`\1` takes a selector in parentheses",
    ),
    _idiom(
        rf"\b(?:(?P<object>node|pod)\.)?(?P<key>{_KEY})\s+"
        rf"(?P<test>(?i:not\s*in|in)\s*[\[(]\s*{_LIST}\s*[\])])",
        _rewrite_field_test,
    ),
    _idiom(rf"\b({_KEY})\s+(Exists|DoesNotExist)\b", r"node(\1 \2)"),
    _idiom(
        rf"\b(avg|min|max)_over_time\(\s*({_NAME})\s*\[\s*(\w+)\s*\]\s*\)([^\n]*)",
        r"\2\4 over \3 \1",
    ),
    _idiom(
        rf"\b(i?rate|i?delta|increase|deriv)\(\s*({_NAME})\s*\[[^\[\]\n]*\]\s*\)",
        r"\2",
        r"`\1` is a function of queries",
        help=r"put `\1` into the query of the metric, and write `\2` here",
    ),
    _idiom(rf"\b({_NAME})\s*\[\s*(\d\w*)\s*\]([^()\n]*)", r"\1\3 over \2 avg"),
    _idiom(
        r"\b(?:on|ignoring)\s*\([^()\n]*\)\s*(?:group_(?:left|right)\s*(?:\([^()\n]*\))?)?",
        "",
        "in a rule, a metric is the value of one node",
    ),
    _idiom(rf"\bcast\s*\(\s*({_OPERAND})\s+as\s+\w+\s*\)", r"\1", "amounts have no type"),
    _idiom(
        rf"\b(?!(?:{_WORDS})\b)({_NAME})\s*\{{[^{{}}\n]*[=~]\s*[\"'][^{{}}\n]*\}}",
        r"\1",
        "matchers belong in the query of the metric",
    ),
    _idiom(r"\bfor\s+(\d\w*)", r"over \1 min"),
    _idiom(r"\bover\s+([a-z]\w*)\s+(\d\w*)", r"over \2 \1"),
    _idiom(r"\bover\s+(\d+)\s*(?:minutes?|mins?)\b", r"over \1m"),
    _idiom(
        r"\bover\s+(\d\w*)(?=\s*$)",
        None,
        "a window needs a function",
        "add `avg`, `min`, `max` or `quantile(0.9)`",
    ),
    _idiom(
        rf"(?<!\btainted\()(?<!\bcondition\()(?<!\bannotation\()"
        rf"(?:\$\{{?|\b(?:var|local|params?|values)\.)({_NAME})\}}?",
        r"\1",
        "write `$` before a param only in values of selectors and in queries",
    ),
    _idiom(r"\?\s*(?:true|100)\s*:\s*(?:false|0)\b", "", "a condition needs no `?`"),
    _idiom(r"\b(?:100|[Tt]rue)\s+if\s+(.+?)\s+else\s+(?:0|false|False)\b", r"\1"),
    _idiom(r"(?i:\bcase\s+when\s+(.+?)\s+then\s+100\s+else\s+0\s+end\b)", r"\1"),
    _idiom(r"\?\?", "else"),
    _idiom(rf"\b({_NAME})\.or(?:Value|Else)?\(([^()\n]*)\)", r"\1 else \2"),
    _idiom(r"\bunless\b", "and not"),
    _idiom(
        r"(?<![\w.])(?P<number>\d[\d.]*)\s+(?P<unit>%|[A-Za-z]+)(?=[\s)]|$)",
        _attach_unit_to_number,
        "a number and its unit are written without a blank",
    ),
    _idiom(
        r"(?<![\w.])\d[\w.]*%?\s+\d[\w.]*%?",
        None,
        r"`\g<0>` is two numbers",
        "remove one of them, or write an operator between them",
    ),
    _idiom(r"(?<=\d)\s+(?:cores?|cpus?)\b", "", "cores are written as plain numbers"),
    _idiom(
        r"(?<![\w.])(\d[\d.]*[kMGTPE]?)i?\s*(?:[bB]ytes?|B)/s(?:ec)?\b",
        r"\1",
        "an amount takes its unit from the value that it is compared with",
    ),
    _idiom(
        r"\b\d{1,3}(?:[_,]\d{3})+(?![\d_,])[A-Za-z]*%?",
        lambda match: re.sub("[_,]", "", match[0]),
        "digits cannot be grouped",
    ),
    _idiom(r"(?<![\w.])(\d+),(\d+)(?![\d,])", r"\1.\2", "the decimal separator is `.`"),
    _idiom(rf"\btainted\s+({_TAINT})", r"node(tainted(\1))", "taints are tested in `node(…)`"),
    _idiom(r"\s*\b((?:and|or)(?:\s+not)?)(?=\s*$)", "", r"no condition follows `\1`"),
    _idiom(r"(?<![\w)])\.(\d\w*%?)", r"0.\1", "a number begins with a digit"),
    _idiom(
        rf"({_OPERAND})\s*(<=?|>=?)\s*({_OPERAND})\s*(<=?|>=?)\s*({_OPERAND})",
        r"\1 \2 \3 and \3 \4 \5",
        r"a comparison has two sides; `\4` begins a third",
    ),
    _idiom(
        rf"\b(?P<object>node|pod)(?P<map>)\[\s*[\"'](?P<key>{_KEY})[\"']\s*\]"
        rf"\s*(?P<test>(?:{_EQUALITY})\s*{_VALUE})",
        _rewrite_label_or_annotation_test,
    ),
    _idiom(
        r"(?i:\b(?:is\s+)?(?P<word>less|fewer|greater|more)\s+than"
        r"(?P<equal>\s+or\s+equals?(?:\s+to)?)?\b)",
        _translate_comparison_words,
    ),
    _idiom(
        r"\bxor\b",
        None,
        "`xor` is not supported",
        "write both cases: `(a and not b) or (b and not a)`",
    ),
    _idiom(rf"({_OPERAND})\s*%\s*({_OPERAND})", r"mod(\1, \2)"),
    _idiom(
        r"\*\*",
        None,
        "there is no power operator",
        "multiply the number by itself: `a * a`",
    ),
)
