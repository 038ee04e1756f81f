"""Rules about preemption in other words."""

from __future__ import annotations

from policysched.lang.foreign import idiom_patterns

_idiom = idiom_patterns.make_idiom
_VALUE = idiom_patterns.VALUE
_BOTH = (
    "if pods of this policy must not evict others, write `preempt never`; if they must not be "
    "evicted, write `protect from preemption`"
)
_END = r"(?=\s*(?:\}|$|as\b|during\b|expires\b))"

PREEMPTION = (
    _idiom(
        r"\bpreempt(?:ed|ible|able)\s*[:=]?\s*(?:never|none|no|false)\b|\bnever\s+preempted\b",
        "protect from preemption",
        "pods that no pod evicts are protected",
    ),
    _idiom(
        rf"\bprotect(?:ed)?(?:\s+(?:never|always|pods|all|self|from\s+\w+))?{_END}",
        "protect from preemption",
        "a policy protects its pods from preemption",
    ),
    _idiom(
        r"\bprotect\s+from\s+(?:preemption\s+by\s+)?pods\b[^\n{}]*",
        None,
        "`protect from preemption` protects pods from all other pods",
        help="to restrict the pods that others may evict, write `preempt pods where …` in the "
        "policy of these others",
    ),
    _idiom(r"\bnever\s+preempts?\b", "preempt never"),
    _idiom(
        r"\bpreempt\s*[:=]?\s*(?:none|no\s+pods?|nothing|nobody|no|false|off)\b", "preempt never"
    ),
    _idiom(r"\bpreemptionPolicy\s*[:=]?\s*\"?Never\"?", "preempt never"),
    _idiom(
        r"\bpreemptionPolicy\s*[:=]?\s*\"?PreemptLowerPriority\"?",
        "",
        "without `preempt`, pods may evict all pods of lower priority",
    ),
    _idiom(r"\bpreempt\s+where\b", "preempt pods where"),
    _idiom(r"\bpreempt\s+only\b", "preempt", "`preempt` needs no `only`: it names all pods"),
    _idiom(
        rf"\bpreempt\s+pods\s+in\s+namespaces?\s+\(?\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)?"
        r"(?:\s+(where\s+[^\n{}]+?))?(?=\s*(?:\}|$))",
        lambda match: (
            "preempt pods " + (f"{match[2]} " if match[2] else "") + f"namespaces ({match[1]})"
        ),
        "the namespaces of these pods are written as a clause",
    ),
    _idiom(
        rf"\bpreempt{_END}",
        None,
        "`preempt` needs the pods that may be evicted",
        help="write `preempt pods where …` or `preempt never`",
    ),
    _idiom(
        r"\b(evict(?:ion|s)?)\s+(?:never|none|pods)\b[^\n{}]*",
        None,
        r"`\1` is not a statement",
        help=_BOTH,
    ),
)
