"""Idioms of other languages, and how this language writes them.

An idiom is a pattern for the text around a syntax error. `syntax_idioms` proposes a rewriting only
if the parser can read on behind it, so a pattern may be wider than the mistake, and one mistake may
have several rewritings: the one that lets the parser read furthest is proposed.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable

from policysched.lang import foreign_words, syntax_words, vocabulary

_KEY = r'"?[A-Za-z0-9_][\w./-]*"?'
_VALUE = r"""(?:"[^"\n]*"|'[^'"\n]*'|[\w./-]+)"""
_QUOTED = r"""(?:"[^"\n]*"|'[^'"\n]*')"""
_SINGLE_QUOTED = re.compile(r"'([^'\"\n]*)'")
_LIST = rf"{_VALUE}(?:\s*,\s*{_VALUE})*"
_NAME = r"[A-Za-z_]\w*"
_OPERAND = r"[\w.]+%?(?:\([^()\n]*\))?"
_EQUALITY = r"==|=|!="
_COMPARISON = r"==|!=|<=|>=|=|<|>"
_OBJECT = r"(?:input\.|object\.)?(?P<object>node|pod)\."
_AMOUNTS = r"allocatable|free|requested|requests|limits"
_LABELS = r"(?:metadata\.)?(?:labels\.)?"
_STRENGTHS = "required|preferred"

NO_WILDCARDS = "labels have no wildcards: name the values, as in `key In (a, b)`"


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class Idiom:
    r"""A way to write something in another language.

    Attributes:
        pattern: of the text, on as many lines as it matches.
        ours: template (`\1`) of what to write, "" to leave it out, or a function of the match; None
            if nothing that the text says can be written instead.
        message: template of a message, or "" for the general one.
        help: template of a help instead of naming what to write.
        code: of the diagnostic.
        safe: whether what matches has one reading, the rule of `fixes`.
    """

    pattern: str
    ours: str | Callable[[re.Match[str]], str | None] | None
    message: str = ""
    help: str = ""
    code: str = "PS001"
    safe: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern; it is compiled at the first error only."""
        return _compile(self.pattern)

    def rewrite(self, match: re.Match[str]) -> str | None:
        """Return the replacement of the match; None if it is not known."""
        if self.ours is None:
            return None
        ours = self.ours(match) if callable(self.ours) else match.expand(self.ours)
        return None if ours is None else _SINGLE_QUOTED.sub(r'"\1"', ours)


def _idiom(
    pattern: str,
    ours: str | Callable[[re.Match[str]], str | None] | None,
    message: str = "",
    help: str = "",  # noqa: A002 - as in diagnostics
    code: str = "PS001",
    *,
    safe: bool = False,
) -> Idiom:
    return Idiom(pattern, ours, message, help, code, safe)


def _join_words(separator: str) -> Callable[[re.Match[str]], str]:
    """Return a function that joins the words of the group `name` by a separator."""
    return lambda match: match.group().replace(
        match["name"], re.sub(r"[^\w]+|_", separator, match["name"])
    )


def _braces_opened(match: re.Match[str]) -> str:
    return f"policy {match['name']} {{"


def _quote(match: re.Match[str]) -> str:
    return f'{match["word"]} "{match["text"].strip()}"'


def _alternatives(match: re.Match[str]) -> str | None:
    """Rewrite a regular expression that only lists values."""
    values = match["regex"].split("|")
    if not all(re.fullmatch(r"[\w.-]+", value) for value in values):
        return None
    operator = "NotIn" if match["sign"].startswith("!") else "In"
    return f" {operator} ({', '.join(values)})"


_KEYWORDS = "|".join(sorted(syntax_words.ALL_KEYWORDS, key=len, reverse=True))
_CLAUSES = "|".join(sorted(syntax_words.CLAUSE_WORDS, key=len, reverse=True))


def _known_unit(match: re.Match[str]) -> str | None:
    return foreign_words.UNITS.get(match["unit"].lower())


_TEXTS = (
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
        help="leave `:` out",
        code="PS003",
        safe=True,
    ),
    _idiom(
        rf"\b({_KEYWORDS})\s*([:=])\s*(?![:=])",
        r"\1 ",
        r"`\1` takes its value without `\2`",
        help=r"leave `\2` out",
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
        lambda match: f" {unit} " if (unit := _known_unit(match)) else None,
        r"`\g<unit>` is not a unit of metrics",
        help=f"units are {', '.join(vocabulary.METRIC_UNITS)}",
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
    _idiom(rf"`({_KEY})`", r"\1", "names take no backticks"),
    _idiom(
        r"\b(?P<word>description|owner)\s*[:=]?\s*(?P<text>[^\s\"'{:=<][^\"\n]*)$",
        _quote,
        r"expected a string between `\"` after `\1`",
    ),
    _idiom(
        r"\b(?P<word>message|during|expires)\s*[:=]?\s*(?P<text>[^\s\"'{:=][^\"\n]*?)"
        r"(?=$|\s+(?:as|missing|over|weight|during|expires|message)\b)",
        _quote,
        r"expected a string between `\"` after `\1`",
    ),
    _idiom(r"\b(description|owner)\s*<<-?(\w+)\n\s*([^\n\"]*?)\s*\n\s*\2", r'\1 "\3"'),
    _idiom(
        r"\{\{[^{}\n]*\}\}",
        None,
        "`{{ … }}` is a template of Helm, not of this language",
        "render the template first, and check what it writes",
    ),
)
_NAMES = (
    _idiom(
        r"\b(?:metric|param|let)\s+(?P<name>\w+(?:[-.]\w+)+)(?=\s*[:=])",
        _join_words("_"),
        r"names have letters, digits and `_` only, `\1` has others",
    ),
    _idiom(r"\b(as)\s+(\w+)\s+(\w+)\s*$", r"\1 \2-\3", "a name is one word"),
    _idiom(r"\b(policy|profile)\s*=?\s*\"([^\"\n]*)\"(?=\s*\{)", r"\1 \2"),
    _idiom(r"\bpolicy\s+(?P<name>[\w-]+)\s*:\s*$", _braces_opened, "a policy needs braces"),
    _idiom(r"\bpolicy\s+(?P<name>[\w-]+)\s*\([^()\n]*\)\s*\{", _braces_opened),
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
    _idiom(r"^package\s+[\w.]+[ \t]*\n", "", "a text has no package"),
    _idiom(
        r"^(?:apiVersion|kind|metadata|spec):[^\n]*\n", "", "a policy is not a Kubernetes manifest"
    ),
    _idiom(r"^variable\s+\"(\w+)\"\s*\{\s*default\s*=\s*([\d.]+%)\s*\}", r"param \1: ratio = \2"),
    _idiom(r"^locals?\s*\{\s*(\w+)\s*=\s*([^{}\n]*?)\s*\}", r"let \1 = \2"),
    _idiom(r"^(?:(?:const|var|default|local)\s+)?(\w+)\s*:?=\s*", r"let \1 = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+%)", r"\1: ratio = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+(?:ms|[smhdw])\b)", r"\1: duration = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+[KMGTPE]i\b)", r"\1: bytes = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=\")", r"\1: string = "),
    _idiom(r"\b(param\s+\w+)\s*[:=]\s*(?=[\d.]+\s*$)", r"\1: number = "),
    _idiom(r"\b(param\s+\w+:\s*)bool\s*=\s*(?:true|yes|on)\b", r"\1number = 1"),
    _idiom(r"\b(param\s+\w+:\s*)bool\s*=\s*(?:false|no|off)\b", r"\1number = 0"),
)
_SELECTORS = (
    _idiom(
        rf"\bnot\s+in\s+namespaces?\s*\(?\s*({_LIST})\s*\)?",
        r"in namespace where kubernetes.io/metadata.name NotIn (\1)",
        "namespaces are left out by their labels",
    ),
    _idiom(
        r"\(?[\w.-]*\*[\w.*-]*\)?",
        None,
        "`\\g<0>` has a wildcard",
        "namespaces and labels have no wildcards: name the values, or use a label selector, as "
        "in `in namespace where team = a`",
    ),
    _idiom(r"(?i:\bnot[\s_]+in\b)|!\s*in\b", "NotIn"),
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
    _idiom(
        rf"(?<!\w)!\s*({_KEY})(?=\s*(?:$|[)\}}]|and\b|or\b))",
        r"\1 DoesNotExist",
        "`!` is not a sign of this language",
        code="PS003",
    ),
    _idiom(rf"({_QUOTED})\s+in\s+({_NAME})\b", r"\2 = \1"),
    _idiom(
        rf"({_EQUALITY})\s*[(\[{{]\s*({_LIST})\s*[)\]}}]",
        lambda match: f"{'NotIn' if match[1] == '!=' else 'In'} ({match[2]})",
    ),
    _idiom(
        rf"({_KEY})\s*(=|!=)\s*({_VALUE})\s+or\s+({_VALUE})(?=\s*$)",
        lambda match: (
            f"{match[1]} {'NotIn' if match[2] == '!=' else 'In'} ({match[3]}, {match[4]})"
        ),
    ),
    _idiom(
        rf"\b(In|in|NotIn|notin)[ \t]+(?!(?:{_KEYWORDS})\b)({_VALUE})"
        r"(?=\s*$|\s*[)}]|\s+(?:and|or)\b)",
        r"\1 (\2)",
        r"`\1` takes its values in parentheses",
        safe=True,
    ),
    _idiom(
        rf"\b(In|in|NotIn|notin|namespaces?)\b(?!\s*namespace)\s*({_LIST})",
        r"\1 (\2)",
        r"`\1` takes its values in parentheses",
    ),
    _idiom(
        r"\s*(?P<sign>[=!]~)\s*\"(?P<regex>[^\"\n]*)\"",
        _alternatives,
        "labels are not compared with regular expressions",
    ),
    _idiom(
        r"[=!]~\s*\"[^\"\n]*\"",
        None,
        "labels are not compared with regular expressions",
        NO_WILDCARDS,
    ),
    _idiom(
        rf"\b(?:{_KEY}\.)?(?:startswith|startsWith|endswith|endsWith|matches|contains|match)"
        r"\s*\([^()\n]*\)",
        None,
        "labels are compared whole",
        NO_WILDCARDS,
    ),
    _idiom(r"(?i:\blike)\s+\S+", None, "labels are compared whole", NO_WILDCARDS),
    _idiom(rf"\b(?:node\.|pod\.)?labels\[\s*[\"']({_KEY})[\"']\s*\]", r"\1"),
    _idiom(r"\b(?:node|pod)\s*\(([^()\n]*)\)", r"\1"),
    _idiom(
        r'(?<=\s)"([\w./-]+)"(?=\s*$)', r"\1 Exists", "expected a label operator after `\\g<0>`"
    ),
    _idiom(r"\b(?:taint|taints|hasTaint|has_taint)\s*\(([^()\n]*)\)", r"tainted(\1)"),
    _idiom(
        r"(?<=\()\s*(?=\))", None, "a list needs at least one value", "write the values: `(a, b)`"
    ),
    _idiom(
        rf"\bkey:\s*({_KEY}),?\s*operator:\s*(\w+),?\s*values:\s*\[\s*({_LIST})\s*\]", r"\1 \2 (\3)"
    ),
    _idiom(rf"\{{\s*({_KEY})\s*:\s*({_VALUE})\s*\}}", r"(\1 = \2)"),
    _idiom(r"\{\s*([^{}\n]*?)\s*\}", r"(\1)"),
    _idiom(rf"\[\s*({_LIST})\s*\]", r"(\1)"),
    _idiom(r"[\[(]\s*([^\[\]()\n]+?)\s*[\])]", r"\1"),
    _idiom(
        r"\bwhere\s+([^\n{}]+?)\s+in\s+namespace\s+(\([^()\n]*\)|[\w-]+)",
        r"in namespace \2 where \1",
    ),
)
_EXPRESSIONS = (
    _idiom(rf"({_OPERAND})\s*//\s*(\d[\w.]*)", r"floor(\1 / \2)"),
    _idiom(rf"\b(?:{_OBJECT}(?:spec\.|status\.)?)?priority\b", "priority"),
    _idiom(
        rf"\b{_OBJECT}(?:metadata\.)?name\s*({_EQUALITY})\s*({_VALUE})", r"node(nodeName \2 \3)"
    ),
    _idiom(rf"\b(?:{_OBJECT}(?:status\.)?)?({_AMOUNTS})\.(cpu|memory|pods)\b", r"\2(\3)"),
    _idiom(rf"\b({_AMOUNTS})\[\s*[\"']?(\w+)[\"']?\s*\]", r"\1(\2)"),
    _idiom(rf"\b{_OBJECT}({_AMOUNTS}|label)(?=\()", r"\2"),
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
    _idiom(rf"\b{_OBJECT}{_LABELS}({_KEY})\s*({_EQUALITY})\s*({_VALUE})", r"\g<object>(\2 \3 \4)"),
    _idiom(rf"\bobject\.metadata\.labels\.({_KEY})\s*({_EQUALITY})\s*({_VALUE})", r"pod(\1 \2 \3)"),
    _idiom(
        rf"\b{_OBJECT}{_LABELS}labels\[\s*[\"']({_KEY})[\"']\s*\]\s*({_EQUALITY})\s*({_VALUE})",
        r"\g<object>(\2 \3 \4)",
    ),
    _idiom(
        rf"\b(node|pod)\s+({_KEY})\s*({_COMPARISON})\s*({_VALUE})",
        r"\1(\2 \3 \4)",
        r"`\1` takes a selector in parentheses",
    ),
    _idiom(
        rf"\b(?:(node|pod)\.{_LABELS})?({_KEY})\s+((?i:not\s*in|in))\s*[\[(]\s*({_LIST})\s*[\])]",
        lambda match: (
            f"{match[1] or 'node'}({match[2]} "
            f"{'in' if match[3].lower() == 'in' else 'notin'} ({match[4]}))"
        ),
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
        rf"\b({_NAME})\s*\{{[^{{}}\n]*[=~][^{{}}\n]*\}}",
        r"\1",
        "matchers belong in the query of the metric",
    ),
    _idiom(r"\bfor\s+(\d\w*)", r"over \1 min"),
    _idiom(r"\bover\s+([a-z]\w*)\s+(\d\w*)", r"over \2 \1"),
    _idiom(r"\bover\s+(\d+)\s*(?:minutes?|mins?)\b", r"over \1m"),
    _idiom(
        r"\bover\s+(\d\w*)(?=\s*$)",
        None,
        "a window has a function",
        "add `avg`, `min`, `max` or `quantile(0.9)`",
    ),
    _idiom(
        rf"(?:\$\{{?|\b(?:var|local|params?|values)\.)({_NAME})\}}?",
        r"\1",
        "params are named without a prefix",
    ),
    _idiom(r"\?\s*(?:true|100)\s*:\s*(?:false|0)\b", "", "a condition needs no `?`"),
    _idiom(r"\b(?:100|[Tt]rue)\s+if\s+(.+?)\s+else\s+(?:0|false|False)\b", r"\1"),
    _idiom(r"(?i:\bcase\s+when\s+(.+?)\s+then\s+100\s+else\s+0\s+end\b)", r"\1"),
    _idiom(r"\?\?", "else"),
    _idiom(rf"\b({_NAME})\.or(?:Value|Else)?\(([^()\n]*)\)", r"\1 else \2"),
    _idiom(r"\bunless\b", "and not"),
    _idiom(
        r"(?<=\d)\s+(?=(?:%|[munk]|[KMGTPE]i?|ms|[shdwy])(?:\s|$))",
        "",
        "a unit follows its number without a blank",
    ),
    _idiom(r"(?<=\d)\s+(?:cores?|cpus?)\b", "", "cores are plain numbers"),
    _idiom(r"\b(\d+)[_,](\d{3})\b", r"\1\2", "digits are not grouped"),
    _idiom(r"(?<![\w)])\.(?=\d)", "0.", "a number begins with a digit"),
    _idiom(
        rf"({_OPERAND})\s*(<=?|>=?)\s*({_OPERAND})\s*(<=?|>=?)\s*({_OPERAND})",
        r"\1 \2 \3 and \3 \4 \5",
        r"a comparison has two sides, `\4` begins a third",
    ),
    _idiom(rf"({_OPERAND})\s*%\s*({_OPERAND})", r"mod(\1, \2)"),
)
_STATEMENTS = (
    _idiom(r"\b(?:deny|violation|forbid)\s+if\b", "reject when"),
    _idiom(r"\bif\s+([^{}:\n]+?)\s*[:{]\s*(?:reject|deny)(?:[ \t]*\})?", r"reject when \1"),
    _idiom(
        r"\b(?:deny|reject|violation|forbid)\s*(?:when|if)?\s*\{\s*([^{}\n]*?)\s*\}",
        r"reject when \1",
    ),
    _idiom(r"\ballow\s+(?:when|if)\s+([^\n]+?)\s*$", r"reject when not (\1)"),
    _idiom(r"\brule\s+([\w-]+)\s*\{\s*([^{}\n]*?)\s*\}", r"\2 as \1"),
    _idiom(r"^([ \t]*)([a-z][a-z0-9-]*):\s*((?:reject|score|nodeAffinity)\b[^\n]*)", r"\1\3 as \2"),
    _idiom(r"(?i:\border\s+by\s+([^\n]+?)\s+desc\b)", r"score \1 prefer high"),
    _idiom(r"(?i:\border\s+by\s+([^\n]+?)\s+asc\b)", r"score \1 prefer low"),
    _idiom(r"(?i:(?:\border\s+)?\bdesc(?:ending)?\b)", "prefer high"),
    _idiom(r"(?i:(?:\border\s+)?\basc(?:ending)?\b)", "prefer low"),
    _idiom(r"(?i:\bselect\s+nodes?\s+where\b)", "nodeAffinity required"),
    _idiom(rf"\b({_STRENGTHS})\s+(nodeAffinity|podAffinity|podAntiAffinity)\b", r"\2 \1"),
    _idiom(rf"\bnodeAntiAffinity\s+({_STRENGTHS})\b", r"nodeAffinity \1 not"),
    _idiom(rf"\bnodeAffinity\s*\{{\s*({_STRENGTHS})([^{{}}]*?)\s*\}}", r"nodeAffinity \1\2"),
    _idiom(r"\s+effect\s*[:=]?\s*(\w+)", r":\1"),
    _idiom(rf"({_KEY})\s+[Ii]n\s*\(\s*({_VALUE})\s*,\s*({_VALUE})\s*\)", r"\1=\2, \1=\3"),
    _idiom(r"\bfor\s+\w+\s+in\s+pods\b", "for pods"),
    _idiom(rf"\btopologyKey\s*\(\s*({_KEY})\s*\)", r"topologyKey \1"),
    _idiom(r"\bnamespace\s*(?=\()", "namespaces "),
    _idiom(rf"\bover\s+(?!\d)({_KEY})(?=\s*$)", r"topologyKey \1"),
    _idiom(r"[({]\s*(weight\s[^(){}\n]*?)\s*[)}]", r"\1", "clauses follow without brackets"),
    _idiom(r"\*\s*(\d+)\s*$", r"weight \1"),
    _idiom(
        r"\bdefault\s+(?:allow|deny|reject)\s*:?=\s*\w+[ \t]*\n?",
        "",
        "there are no defaults: what no rule rejects is allowed",
    ),
    _idiom(
        r"^[ \t]+(?:let\s+)?\w+\s*:?=[^\n]*",
        None,
        "names are given outside of policies",
        "move it before the policy, as `let NAME = VALUE`",
    ),
)

IDIOMS: tuple[Idiom, ...] = (
    *_TEXTS,
    *_NAMES,
    *_SELECTORS,
    *_EXPRESSIONS,
    *_STATEMENTS,
)
"""All idioms; of equally good rewritings the first one is proposed."""
