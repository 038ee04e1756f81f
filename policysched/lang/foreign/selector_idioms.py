"""Requirements on labels in the notation of other languages."""

from __future__ import annotations

import re

from policysched.lang.foreign import idiom_patterns

_idiom = idiom_patterns.make_idiom
_KEY = idiom_patterns.KEY
_VALUE = idiom_patterns.VALUE
_QUOTED = r"""(?:"[^"\n]*"|'[^'"\n]*')"""
_LIST = idiom_patterns.LIST
_TAINT = idiom_patterns.TAINT
_NO_SIGN = "`!` is not a symbol of this language"
_NAME = idiom_patterns.NAME
_OPERAND = idiom_patterns.OPERAND
_EQUALITY = idiom_patterns.EQUALITY
_LABELS = idiom_patterns.LABELS
_KEYWORDS = idiom_patterns.KEYWORDS

_SUBJECT = r"[A-Za-z0-9_](?:[\w./-]*[\w-])?"
_IMAGE = rf"{_QUOTED}|[\w./:@*%-]+"
_OR = r"(?:\s+or\s+|\s*\|\|?\s*)"
_WHOLE_LABELS = 'write a pattern, in which `*` stands for any characters: `key = "web-*"`'


def _rewrite_regex_alternatives(match: re.Match[str]) -> str | None:
    """Rewrite a regular expression that only lists values; return None for other patterns."""
    values = match["regex"].split("|")
    if not all(re.fullmatch(r"[\w.-]+", value) for value in values):
        return None
    operator = "NotIn" if match["sign"].startswith("!") else "In"
    return f" {operator} ({', '.join(values)})"


def _rewrite_value_alternatives(match: re.Match[str]) -> str:
    """Rewrite `disk = ssd or nvme` and `disk = ssd|nvme` with `In`."""
    operator = "NotIn" if match[2] == "!=" else "In"
    return f"{match[1]} {operator} ({re.sub(_OR, ', ', match[3])})"


def _rewrite_partial_match(match: re.Match[str]) -> str | None:
    """Rewrite `image startsWith nginx`; return None for patterns that need more than `.*`."""
    word, text = match["word"].lower(), match["text"].strip("\"'")
    if "~" in word:
        text = text.removeprefix("^").removesuffix("$").replace(".*", "*")
    elif word.startswith("match"):
        text = f"*{text}*".replace("*^", "").replace("$*", "").replace(".*", "*")
    elif word.startswith("contain"):
        text = f"*{text}*"
    elif word.startswith("start"):
        text = f"{text}*"
    elif word.startswith("end"):
        text = f"*{text}"
    text = re.sub(r"\*+", "*", text.replace("%", "*"))
    if "*" not in text and match["key"] != "image":
        return None
    operator = "!=" if word.startswith("!") else "="
    return f'{match["key"]} {operator} "{text}"' if re.fullmatch(r"[\w./:@*-]+", text) else None


SELECTORS = (
    _idiom(
        rf"(?<![\w./-])(?P<key>{_SUBJECT})\s*\.?\s*(?P<word>[=!]~|(?i:like|glob|starts?_?with|ends?_?with|contains?"
        rf"|match(?:es)?)\b)\s*\(?\s*(?P<text>{_IMAGE})(?:\s*\))?",
        _rewrite_partial_match,
        "labels cannot be matched in part without `*`",
    ),
    _idiom(
        rf"\bcondition\(\s*({_KEY})\s*\)(?=\s*(?:$|[)}}]|(?:and|or|as|weight|message)\b))",
        r"condition(\1) = True",
        "expected a comparison with a status after `\\g<0>`",
    ),
    _idiom(
        rf"\bnot\s+in\s+namespaces?\s*\(?\s*({_LIST})\s*\)?",
        r"namespaceSelector kubernetes.io/metadata.name NotIn (\1)",
        "namespaces are excluded by their labels",
    ),
    _idiom(
        rf"({_KEY})\s*=\s*\*(?=\s*(?:$|[)}}]|and\b|or\b))",
        r"\1 Exists",
        "`*` needs quotes, and is short for `Exists`",
    ),
    _idiom(
        r"(?<=[\s(,=])(?<!policies )(?=[.*-]*\w)([\w.-]*\*[\w.*-]*)(?=[\s),}]|$)",
        r'"\1"',
        "a value with `*` needs quotes",
    ),
    _idiom(
        r"(?<!\*)(?<!policies )\(?(?:[\w.-]*\*(?!\*)|[\w.-]+\?(?!\?))[\w.*?-]*\)?",
        None,
        "`\\g<0>` contains a wildcard",
        'the only wildcard is `*`, in values with quotes: `"web-*"`',
    ),
    _idiom(r"(?i:\bnot[\s_]+in\b)|!\s*in\b", "NotIn"),
    _idiom(r"(?<=\s)!\s*Exists\b", "DoesNotExist", _NO_SIGN, code="PS003"),
    _idiom(r"(?<=\S)!\s*Exists\b", " DoesNotExist", _NO_SIGN, code="PS003"),
    _idiom(rf"(?i:(?<=\s)({_KEY})\s+is\s+not\s+(?:null|none|nil)\b)", r"\1 Exists"),
    _idiom(rf"(?i:(?<=\s)({_KEY})\s+is\s+(?:null|none|nil)\b)", r"\1 DoesNotExist"),
    _idiom(r"(?i:\b(?:does\s*n[o']t|not|does not)\s*exists?\b)", "DoesNotExist"),
    _idiom(
        rf"(?i:({_OPERAND})\s+between\s+({_OPERAND})\s+and\s+({_OPERAND}))",
        r"\1 >= \2 and \1 <= \3",
    ),
    _idiom(
        rf"\b(In|in|NotIn|notin|namespaces?)\b\s*[\[{{]\s*({_LIST})\s*[\]}}]",
        r"\1 (\2)",
        r"`\1` takes its values in parentheses",
    ),
    _idiom(
        rf"!\s*(?:has|exists|defined)\s*\(\s*(?:node\.|pod\.)?{_LABELS}({_KEY})\s*\)",
        r"not \1 Exists",
    ),
    _idiom(
        rf"\b(?:has|exists|defined)\s*\(\s*(?:node\.|pod\.)?{_LABELS}({_KEY})\s*\)", r"\1 Exists"
    ),
    _idiom(rf"\b(?:has|exists|defined)\s+({_KEY})", r"\1 Exists"),
    _idiom(rf"\b({_KEY})\s+has\s+({_VALUE})", r"\1 = \2"),
    _idiom(
        rf"(?<!\w)!\s*({_KEY})(?=\s*(?:$|[)\}}]|and\b|or\b))",
        r"\1 DoesNotExist",
        _NO_SIGN,
        code="PS003",
    ),
    _idiom(rf"({_QUOTED})\s+in\s+({_NAME})\b", r"\2 = \1"),
    _idiom(
        rf"({_EQUALITY})\s*[(\[{{]\s*({_LIST})\s*[)\]}}]",
        lambda match: f"{'NotIn' if match[1] == '!=' else 'In'} ({match[2]})",
    ),
    _idiom(
        rf"({_KEY})\s*(==|=|!=)\s*({_VALUE}(?:{_OR}{_VALUE})+)(?=\s*(?:$|[)}}]|and\b))",
        _rewrite_value_alternatives,
    ),
    _idiom(
        rf"\b(In|in|NotIn|notin)[ \t]+(?!(?:{_KEYWORDS})\b)({_VALUE})"
        r"(?=\s*$|\s*[)}]|\s+and\b)",
        r"\1 (\2)",
        r"`\1` takes its values in parentheses",
        safe=True,
    ),
    _idiom(
        rf"\b(In|in|NotIn|notin|namespaces?)\b(?!\s*(?:namespace|in\b|not\b))\s*({_LIST})",
        r"\1 (\2)",
        r"`\1` takes its values in parentheses",
    ),
    _idiom(
        r"\s*(?P<sign>[=!]~)\s*\"(?P<regex>[^\"\n]*)\"",
        _rewrite_regex_alternatives,
        "labels cannot be compared with regular expressions",
    ),
    _idiom(
        r"[=!]~\s*\"[^\"\n]*\"",
        None,
        "labels cannot be compared with regular expressions",
        _WHOLE_LABELS,
    ),
    _idiom(
        rf"\b(?:{_KEY}\.)?(?:startswith|startsWith|endswith|endsWith|matches|contains|match)"
        r"\s*\([^()\n]*\)",
        None,
        "labels cannot be matched in part",
        _WHOLE_LABELS,
    ),
    _idiom(
        r"(?i:\b(?:like|glob|(?:starts?|ends?)[_\s]?with|contains?|match(?:es)?|has(?:Pre|Suf)fix))"
        r"\s+[^\s()]+",
        None,
        "labels cannot be matched in part",
        _WHOLE_LABELS,
    ),
    _idiom(
        rf"({_KEY})\s*(==|=|!=)\s*({_VALUE}(?:\s*,\s*{_VALUE})+)(?=\s*(?:$|[)}}]|and\b|or\b))",
        lambda match: f"{match[1]} {'NotIn' if match[2] == '!=' else 'In'} ({match[3]})",
        r"`\2` takes one value",
    ),
    _idiom(r"\b(Exists|DoesNotExist)\s*\([^()\n]*\)", r"\1", r"`\1` takes no values"),
    _idiom(
        r"\b(tainted\([^()\n]*\))\s*(?:==|=|!=)\s*(?P<truth>true|false)\b",
        lambda match: (
            match[1] if (match["truth"] == "true") != ("!=" in match[0]) else f"not {match[1]}"
        ),
        "a requirement cannot be compared with `\\g<truth>`",
    ),
    _idiom(rf"\btainted\s+({_TAINT})", r"tainted(\1)", "`tainted` takes its taint in parentheses"),
    _idiom(rf"\b(?:node\.|pod\.)?labels\[\s*[\"']({_KEY})[\"']\s*\]", r"\1"),
    _idiom(
        rf"(?:\btolerate\s+(?:[^\n{{}}]*,\s*)?|\btainted\(\s*){_KEY}\s*=\s*pod\s*\([^()\n]*\)",
        None,
        "taints are not compared with values of the pod",
        "write a rule for each value of the taint",
    ),
    _idiom(r"(?<![=])(?<!= )\b(?:node|pod)\s*\(([^()\n]*)\)", r"\1"),
    _idiom(
        r"\b(?P<function>tainted|condition|annotation)\s*\(\s*\$\{?\w+\}?",
        None,
        "`\\g<function>` takes a name, not a param",
        "write the name in a rule for each value of the param",
    ),
    _idiom(
        r"\b(?P<function>condition|annotation|nodeInfo|namespaceLabel|owner)\(\s*\)",
        None,
        "`\\g<function>` needs a name in its parentheses",
        "write it, as in `condition(Ready)` or `annotation(team)`",
    ),
    _idiom(
        r'(?<=\s)"([\w./-]+)"(?=\s*$)', r"\1 Exists", "expected a label operator after `\\g<0>`"
    ),
    _idiom(r"\b(?:taint|taints|hasTaint|has_taint)\s*\(([^()\n]*)\)", r"tainted(\1)"),
    _idiom(
        r"(?<=\()(?<!\bcount\()\s*(?=\))",
        None,
        "a list needs at least one value",
        "write the values: `(a, b)`",
    ),
    _idiom(
        rf"\bkey:\s*({_KEY}),?\s*operator:\s*(\w+),?\s*values:\s*\[\s*({_LIST})\s*\]", r"\1 \2 (\3)"
    ),
    _idiom(rf"\{{\s*({_KEY})\s*:\s*({_VALUE})\s*\}}", r"(\1 = \2)"),
    _idiom(r"\{\s*([^{}\n]*?)\s*\}", r"(\1)"),
    _idiom(rf"\[\s*({_LIST})\s*\]", r"(\1)"),
    _idiom(r"[\[(]\s*([^\[\]()\n]+?)\s*[\])]", r"\1"),
    _idiom(r"\bpods\s+namespaces?\b", "pods in namespace"),
    _idiom(r"\b(in\s+namespace\s*\([^()\n]*\))\s+and\b", r"\1 where"),
    _idiom(
        r"\bin\s+namespace\s*(\([^()\n]*\))\s+namespaceSelector\b",
        r"namespaceSelector kubernetes.io/metadata.name In \1 and",
        "`in namespace` and `namespaceSelector` cannot be combined",
    ),
    _idiom(
        r"\bwhere\s+([^\n{}]+?)\s+in\s+namespace\s+(\([^()\n]*\)|[\w-]+)",
        r"in namespace \2 where \1",
    ),
)
