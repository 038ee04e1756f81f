"""Statements and clauses in the notation of other languages."""

from __future__ import annotations

import re

from policysched.lang.foreign import idiom_patterns

_idiom = idiom_patterns.make_idiom
_KEY = idiom_patterns.KEY
_VALUE = idiom_patterns.VALUE
_STRENGTHS = "required|preferred"


_CLAUSES = idiom_patterns.CLAUSES


def _rewrite_conditional_score(match: re.Match[str]) -> str | None:
    """Rewrite `if … then 100 else 0` as a condition; return None for other points."""
    points = (match["then"], match["else"] or "0")
    if points == ("100", "0"):
        return f"score {match['condition']}"
    return f"score not ({match['condition']})" if points == ("0", "100") else None


def _rewrite_toleration(match: re.Match[str]) -> str:
    value, effect = match["value"], match["effect"]
    return match["key"] + (f"={value}" if value else "") + (f":{effect}" if effect else "")


STATEMENTS = (
    _idiom(rf"\bpods\s*\{{\s*({_KEY})\s*:\s*({_VALUE})\s*\}}", r"pods where \1 = \2"),
    _idiom(r"\bpods\s*\{\s*([^{}]+?)\s*\}", r"pods where \1"),
    _idiom(
        r"\bfor\s+pods\s+where\s+node\s*\(([^()\n]*)\)",
        r"for pods nodeAffinity required \1",
        "`for pods` selects pods, not nodes",
    ),
    _idiom(r"\bfor\s+\*", "for pods", "`for pods` means all pods"),
    _idiom(
        r"\bpolicies\s+\*\s*",
        None,
        "wildcards are not supported in names of policies",
        help="list the policies: `policies a, b`; a text without a `profile` uses all its policies",
    ),
    _idiom(
        r"\bnamespaces?\s*(?:\*|\(\s*\*\s*\))",
        "namespaceSelector kubernetes.io/metadata.name Exists",
        "`*` needs quotes, and all namespaces have this label",
    ),
    _idiom(
        rf"\btolerate\s+([^\n{{}}]*?{_KEY})\s*=\s*(?:\*|\"\*\")(?=[\s:,}}]|$)",
        r"tolerate \1",
        "a toleration without a value tolerates all values",
    ),
    _idiom(rf"\b({_STRENGTHS})\s+nodes?\s+(?!\w+\()", r"nodeAffinity \1 "),
    _idiom(
        rf"\b({_STRENGTHS})\s+weight\s+(\d+)\s+(?:nodes?\s+)?([^\n{{}}]+?)\s*$",
        r"nodeAffinity \1 \3 weight \2",
    ),
    _idiom(
        rf"\bkey\s*[:=]?\s*(?P<key>{_KEY}),?\s*operator\s*[:=]?\s*(?:Equal|Exists)\b,?"
        rf"(?:\s*value\s*[:=]?\s*(?P<value>{_VALUE}),?)?(?:\s*effect\s*[:=]?\s*(?P<effect>\w+))?",
        _rewrite_toleration,
        "a toleration is written as one pattern",
    ),
    _idiom(rf"({_KEY})\s+[Ii]n\s*\(\s*({_VALUE})\s*\)", r"\1=\2", "taints are compared with `=`"),
    _idiom(
        rf"({_KEY}):((?:Prefer)?NoSchedule|NoExecute)\s*=\s*({_VALUE})",
        r"\1=\3:\2",
        "the effect of a taint comes after its value",
    ),
    _idiom(
        r"\btolerate\s+([^\n{}]*?)\s+for\s+\d\w*",
        r"tolerate \1",
        "a toleration in a policy has no time limit",
    ),
    _idiom(
        rf"\bscore\s+(?:prefer\s+)?(high|low)(?:est|er)?\s+([^\n{{}}]+?)(?=\s+(?:{_CLAUSES})\b|\s*$)",
        r"score \2 prefer \1",
        r"`\1` is written after the number, with `prefer`",
    ),
    _idiom(
        r"\bscore\s+if\s+(?P<condition>[^\n]+?)\s+then\s+(?P<then>\d+)(?:\s+else\s+(?P<else>\d+))?",
        _rewrite_conditional_score,
        "a condition scores 100 if it is true, and 0 otherwise",
    ),
    _idiom(
        r"\bscore\s+(\d+)\s+(?:when|if)\s+((?:(?!\belse\b)[^\n{}])+?)(?=\s*(?:$|\}))",
        r"score \2 weight \1",
        "a condition scores 100 times its weight",
    ),
    _idiom(
        r"\b(node|pod)[\s-]+(anti[\s-]*)?affinity\b",
        lambda match: f"{match[1]}{'Anti' if match[2] else ''}Affinity",
    ),
    _idiom(
        r"\bscore\s+if\b[^\n]*",
        None,
        "a score has no `if`",
        "a condition scores 100 if it is true, and 0 otherwise: `score CONDITION weight 10`",
    ),
    _idiom(
        rf"\breject\s+unless\s+([^\n{{}}]+?)(?=\s+(?:{_CLAUSES})\b|\s*$)",
        r"reject when not (\1)",
    ),
    _idiom(r"\bif\s+([^\n{}:]+?)\s+then\s+(?:reject|deny)\b", r"reject when \1"),
    _idiom(r",(?=\s*$)", "", "a trailing `,` is not allowed"),
    _idiom(r"\b(?:deny|violation|forbid)\s+if\b", "reject when"),
    _idiom(r"\bif\s+([^{}:\n]+?)\s*[:{]\s*(?:reject|deny)(?:[ \t]*\})?", r"reject when \1"),
    _idiom(
        r"\b(?:deny|reject|violation|forbid)\s*(?:when|if)?\s*\{\s*([^{}\n]*?)\s*\}",
        r"reject when \1",
    ),
    _idiom(r"\ballow\s+(?:when|if)\s+([^\n]+?)\s*$", r"reject when not (\1)"),
    _idiom(r"\brule\s+([\w-]+)\s*\{\s*([^{}\n]*?)\s*\}", r"\2 as \1"),
    _idiom(r"^([ \t]*)([a-z][a-z0-9-]*):\s*((?:reject|score|nodeAffinity)\b[^\n]*)", r"\1\3 as \2"),
    _idiom(
        r"\bscore\s+(weight\s+[\d.]+)\s+([^\n]+?)\s*$",
        r"score \2 \1",
        "`weight` follows what is scored",
    ),
    _idiom(r"\bscore\s+prefer\s+(low|high)\s+([^\n]+?)\s*$", r"score \2 prefer \1"),
    _idiom(r"\bscore\s+prefer\s+(?!low\b|high\b)", "score "),
    _idiom(
        r"\bscore\s+(?i:min|minimum|lowest|fewest|least)\s+(?!\()([^\n]+?)\s*$",
        r"score \1 prefer low",
    ),
    _idiom(
        r"\bscore\s+(?i:max|maximum|highest|most)\s+(?!\()([^\n]+?)\s*$", r"score \1 prefer high"
    ),
    _idiom(
        r"\bwhen\s+(pods\s+where\s+[^\n()<>]+?)\s*(<=|>=|<|>)\s*(\d+)",
        r"when count(\1) \2 \3",
    ),
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
    _idiom(r"[({]\s*(weight\s[^(){}\n]*?)\s*[)}]", r"\1", "clauses are written without brackets"),
    _idiom(r"\*\s*(\d+)\s*$", r"weight \1"),
    _idiom(
        r"\bdefault\s+(?:allow|deny|reject)\s*:?=\s*\w+[ \t]*\n?",
        "",
        "there are no defaults: a node that no rule rejects is allowed",
    ),
    _idiom(
        r"^[ \t]+(?:let\s+)?\w+\s*:?=[^\n]*",
        None,
        "names are defined outside policies",
        "move the definition before the policy: `let NAME = VALUE`",
    ),
)
