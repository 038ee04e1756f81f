"""Words and signs of other languages, with their likely meanings in this language.

`syntax_idioms` proposes the meaning with which the parser continues furthest.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_REJECT = ("reject", "reject when")
_TOLERATE = ("tolerate", "")
_REQUIRED = ("required", "nodeAffinity required")
_PREFERRED = ("preferred", "nodeAffinity preferred")
_WHERE = ("where", "and", "")
_EQUALS = ("=", "")
_AT_LEAST = (">=",)
_AT_MOST = ("<=",)
_ABSENT = ("DoesNotExist",)
_POLICY = ("policy",)
_LET = ("let",)
_PARAM = ("param",)
_METRIC = ("metric",)
_NODE = ("node",)
_REFRESH = ("refresh",)

WORDS: dict[str, tuple[str, ...]] = {
    # statements
    **dict.fromkeys(("filter", "deny", "violation", "forbid", "exclude", "block"), _REJECT),
    **dict.fromkeys(("toleration", "tolerations", "tolerates", "taint", "taints"), _TOLERATE),
    **dict.fromkeys(("require", "requires", "must", "hard"), _REQUIRED),
    **dict.fromkeys(("prefer", "prefers", "soft", "should"), (*_PREFERRED, "prefer")),
    "required": ("nodeAffinity required",),
    "preferred": ("nodeAffinity preferred",),
    "affinity": ("nodeAffinity", "nodeAffinity required"),
    "topology": ("topologyKey", "topologySpread topologyKey"),
    "nodeselector": ("nodeAffinity required",),
    "antiaffinity": ("podAntiAffinity",),
    "antiAffinity": ("podAntiAffinity",),
    "spread": ("topologySpread",),
    "topologySpreadConstraint": ("topologySpread",),
    "selector": ("for pods where", "pods where"),
    "labelSelector": ("pods where", "for pods where"),
    "match": ("for pods where",),
    "from": ("for",),
    "rank": ("score",),
    **{name: (f"score {name}",) for name in ("LeastAllocated", "MostAllocated")},
    "prioritize": ("score",),
    "disabled": ("disable",),
    **dict.fromkeys(("eviction", "evictions", "evict"), ("preemption",)),
    "policy": ("policies",),
    "plugins": ("plugin",),
    # clauses
    "by": ("topologyKey", "node"),
    **dict.fromkeys(("over", "per"), ("topologyKey",)),
    "on": ("topologyKey", "node"),
    "skew": ("maxSkew",),
    "name": ("as",),
    "if": ("when", "where"),
    "when": ("where",),
    "where": ("nodeAffinity required", "when", "and"),
    "with": _WHERE,
    "order": ("prefer", ""),
    "unless": ("",),
    "effect": (":",),
    # operators of labels
    **dict.fromkeys(("eq", "equals", "equal", "is"), _EQUALS),
    **dict.fromkeys(("ne", "neq", "notequals", "notequal"), ("!=",)),
    **dict.fromkeys(("ge", "gte", "gteq"), _AT_LEAST),
    **dict.fromkeys(("le", "lte", "lteq"), _AT_MOST),
    **dict.fromkeys(("gt", "greaterthan"), (">",)),
    **dict.fromkeys(("lt", "lessthan"), ("<",)),
    **dict.fromkeys(("notexists", "notexist", "absent"), _ABSENT),
    # connectives and fillers
    "and": (",",),
    "or": (",",),
    "operator": ("",),
    "all": ("",),
    "some": ("",),
    "the": ("",),
    # items and options of metrics
    **dict.fromkeys(("rule", "def", "class", "ruleset"), _POLICY),
    **dict.fromkeys(("const", "var", "local", "define"), _LET),
    **dict.fromkeys(("variable", "parameter", "input", "arg"), _PARAM),
    **dict.fromkeys(("query", "record", "expr", "series", "gauge"), _METRIC),
    "label": _NODE,
    "instance": ("node instance",),
    **dict.fromkeys(("interval", "every", "period", "scrape_interval"), (*_REFRESH, "")),
    "default": ("fallback", "let"),
}
"""Word, as written or in lower case -> likely meanings; "" removes the word."""

FIRST_WORDS: dict[str, str] = {"where": "for pods where", "in": "for pods in"}
"""Word -> meaning at the start of a policy."""

SIGNS: dict[str, tuple[str, ...]] = {
    ":": ("", "="),
    "=": ("", ":"),
    "==": ("=",),
    ",": ("",),
    ";": (",",),
    "|": (",", "or"),
    "&": ("and",),
    "[": ("(",),
    "]": (")",),
}
"""Sign -> likely meanings; "" removes the sign."""

UNITS: dict[str, str] = {
    **dict.fromkeys(("%", "percent", "percentage", "share", "fraction"), "ratio"),
    **dict.fromkeys(("b", "byte", "kb", "kib", "mb", "mib", "gb", "gib"), "bytes"),
    **dict.fromkeys(("s", "sec", "second", "ms", "duration", "milliseconds"), "seconds"),
    **dict.fromkeys(("bytes/s", "byte/s", "b/s", "bps", "bytespersec"), "bytesPerSecond"),
    **dict.fromkeys(("1/s", "hz", "/s", "rate", "persec", "qps", "rps"), "perSecond"),
    **dict.fromkeys(("requests/s", "req/s", "errors/s", "ops/s"), "perSecond"),
    **dict.fromkeys(("cpu", "cpus", "core", "millicores"), "cores"),
    **dict.fromkeys(("float", "int", "integer", "double", "count", "gauge", "num"), "number"),
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("time", "timedelta", "interval"), "duration"),
}
"""Foreign unit or type, in lower case -> unit or type of this language."""

VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("dry-run", "dryrun", "audit", "observe", "off", "warn"), ("shadow",)),
    **dict.fromkeys(("on", "active", "enabled", "true"), ("enforce",)),
    **dict.fromkeys(("ignore", "skip", "pass", "keep"), ("allow", "skip", "ScheduleAnyway")),
    **dict.fromkeys(("deny", "block", "fail"), ("reject", "hold")),
    **dict.fromkeys(("wait", "pause"), ("hold",)),
    **dict.fromkeys(("soft", "preferred"), ("ScheduleAnyway",)),
    **dict.fromkeys(("hard", "required", "never"), ("DoNotSchedule",)),
    **dict.fromkeys(("none", "no", "disabled", "forbidden"), ("never",)),
    **dict.fromkeys(("max", "more", "most", "desc", "larger", "higher"), ("high",)),
    **dict.fromkeys(("min", "less", "least", "asc", "smaller", "lower"), ("low",)),
    **dict.fromkeys(("average", "mean"), ("avg",)),
    **dict.fromkeys(("maximum", "highest"), ("max", "high")),
    **dict.fromkeys(("minimum", "lowest"), ("min", "low")),
}
"""Foreign value, in lower case -> values of this language; the place determines which is valid."""

RESOURCES: dict[str, str] = {
    **dict.fromkeys(("mem", "ram"), "memory"),
    **dict.fromkeys(("cpus", "cores", "core"), "cpu"),
    **dict.fromkeys(("gpu", "gpus"), '"nvidia.com/gpu"'),
    **dict.fromkeys(("disk", "storage"), '"ephemeral-storage"'),
}
"""Foreign name of a resource, in lower case -> resource of this language."""

FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(("capacity", "total"), "allocatable"),
    **dict.fromkeys(("available", "remaining", "unused"), "free"),
    **dict.fromkeys(("used", "usage", "allocated", "reserved"), "requested"),
    "request": "requests",
    "limit": "limits",
    **dict.fromkeys(("greatest", "maximum", "clamp_min"), "max"),
    **dict.fromkeys(("least", "minimum", "clamp_max"), "min"),
    **dict.fromkeys(("round", "int", "trunc"), "floor"),
    **dict.fromkeys(("float", "double"), "number"),
    "modulo": "mod",
    **dict.fromkeys(("availabledevices", "unuseddevices", "idledevices"), "freeDevices"),
    **dict.fromkeys(("freegpus", "gpusfree", "availablegpus"), "freeDevices"),
    **dict.fromkeys(("alldevices", "totaldevices", "allocatabledevices"), "devices"),
    **dict.fromkeys(("devicecount", "countdevices"), "devices"),
    **dict.fromkeys(("attribute", "deviceattr"), "deviceAttribute"),
}
"""Foreign function -> function of this language with the same arguments."""

CALLS: dict[str, str] = {
    **dict.fromkeys(("coalesce", "ifnull", "nvl", "orElse"), "({0} else {1})"),
    **dict.fromkeys(("has", "exists", "defined", "some"), "node({0} Exists)"),
    **dict.fromkeys(("tainted", "taint"), "node(tainted({0}))"),
    **dict.fromkeys(("len", "size"), "requested({0})"),
    "condition": "node(condition({0}) = True)",
    **dict.fromkeys(
        ("useddevices", "allocateddevices", "requesteddevices", "busydevices"),
        '(devices("{0}") - freeDevices("{0}"))',
    ),
    "quantity": "{0}",
    "sum": "({0} + {1})",
}
"""Foreign function -> template of the whole call, including arguments."""

OTHER_SIGNS: dict[str, str] = {
    "&&": "and",
    "||": "or",
    "!": "not",
    ";": "",
}
"""Foreign sign -> replacement; "" removes the sign."""

KUBERNETES_WORDS: dict[str, str] = {
    "requiredDuringSchedulingIgnoredDuringExecution": "required",
    "requiredDuringSchedulingRequiredDuringExecution": "required",
    "preferredDuringSchedulingIgnoredDuringExecution": "preferred",
    "nodeSelector": "nodeAffinity required",
    "tolerations": "tolerate",
    "topologySpreadConstraints": "topologySpread",
    "labelSelector": "pods where",
    "podAntiAffinityTerm": "",
    "podAffinityTerm": "",
    "nodeSelectorTerms": "",
    "matchExpressions": "",
    "matchFields": "",
    "matchLabels": "",
    "preference": "",
}
"""Word of Kubernetes manifests -> replacement; "" removes the word."""

NOT_THE_SAME = frozenset({"requiredDuringSchedulingRequiredDuringExecution"})
"""Words of manifests whose replacements lose part of the meaning."""

_AGES = "write `nodeAge` or `podAge`, and compare it with a duration: `nodeAge < 10m`"
_WAITING = "write `waiting`, and compare it with a duration: `waiting > 10m`"
CALLS_OF_OTHERS: dict[str, str] = {
    **dict.fromkeys(
        ("avg", "mean", "average"),
        "write the metric alone, and `over 5m avg` after the comparison",
    ),
    **dict.fromkeys(("age", "now", "podage", "nodeage", "time", "timestamp"), _AGES),
    **dict.fromkeys(("wait", "waiting"), _WAITING),
    "absent": "write the metric in a comparison, and `missing reject` after it",
    "pods": "`requested(pods)` counts all pods of a node, `count(pods where …)` some of them",
}
"""Foreign function without an equivalent call, in lower case -> advice."""

_DEVICES = (
    'write `free("nvidia.com/gpu")` for an extended resource, or `freeDevices(gpu)` for the '
    "DeviceClass `gpu`"
)
DEVICES: dict[str, str] = dict.fromkeys(
    ("gpus", "gpufree", "gpusfree", "freegpu", "freegpus", "gpu_free", "free_gpus"), _DEVICES
)
"""Foreign name of a number of devices, in lower case -> advice."""

LITERALS: dict[str, str] = {
    **dict.fromkeys(("true", "false"), "conditions are comparisons or selectors: remove this word"),
    **dict.fromkeys(
        ("null", "none", "nil"),
        "for an absent label, write `DoesNotExist`; for a metric without a value, "
        "`missing reject`; a priority that is not set is `0`",
    ),
}
"""Foreign literal, in lower case -> advice."""

TIMES: dict[str, str] = {
    **dict.fromkeys(("age", "created", "creationtimestamp", "now", "time", "uptime"), _AGES),
    **dict.fromkeys(("pending", "pendingtime", "queued", "waited"), _WAITING),
    **dict.fromkeys(("waiting", "waitingtime", "waiting_time", "waittime"), _WAITING),
}
"""Name of a time in other languages, or of a time in a selector, in lower case -> advice."""

NAMES: dict[str, str] = {**LITERALS, **TIMES, **DEVICES}
"""Foreign name in an expression, in lower case -> advice."""

MISSING: tuple[str, ...] = (
    *("where", "when", "required", "topologyKey", "pods where", "self", "namespace", "prefer"),
    *("node", ":", ",", "and"),
)
"""Words and signs that users may have left out before the location of an error."""


def translate_value(word: str, allowed: Collection[str]) -> str:
    """Return the allowed value that a word of another language means, or "" if unknown."""
    folded = word.lower()
    share = re.fullmatch(r"p(\d\d?)", folded)
    if share is not None and "quantile" in allowed:
        return f"quantile({int(share[1]) / 100:g})"
    for value in (*VALUES.get(folded, ()), UNITS.get(folded, "")):
        if value in allowed:
            return value
    return ""


_AMOUNT = re.compile(
    r"(?P<before>cpu|memory|mem|pods?)?_?(?P<function>free|allocatable|requested|requests|available"
    r"|used)_?(?P<after>cpu|memory|mem|pods?)?",
    re.IGNORECASE,
)


def translate_to_resource_call(name: str) -> str:
    """Return `free(cpu)` for `freecpu` or `cpu_free`; "" for other names."""
    match = _AMOUNT.fullmatch(name)
    if match is None or (match["before"] is None) == (match["after"] is None):
        return ""
    function = match["function"].lower()
    resource = (match["before"] or match["after"]).lower()
    resource = RESOURCES.get(resource, {"pod": "pods"}.get(resource, resource))
    return f"{FUNCTIONS.get(function, function)}({resource})"
