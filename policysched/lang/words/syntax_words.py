"""Define the keyword terminals of the grammar, grouped by purpose.

Syntax messages use the groups to write "a statement" or "a label operator" instead of listing up to
thirty terminals.
"""

from __future__ import annotations

LABEL_OPERATORS: dict[str, tuple[str, ...]] = {
    "IN": ("In",),
    "NOT_IN": ("NotIn",),
    "EXISTS": ("Exists",),
    "DOES_NOT_EXIST": ("DoesNotExist",),
    "GT": ("Gt",),
    "LT": ("Lt",),
}
STRENGTHS: dict[str, tuple[str, ...]] = {"STRENGTH": ("required", "preferred")}
CONNECTIVES: dict[str, tuple[str, ...]] = {
    "_AND": ("and",),
    "_OR": ("or",),
    "_NOT": ("not",),
    "_ELSE": ("else",),
    "_WHERE": ("where",),
    "_WHEN": ("when",),
    "_FOR": ("for",),
    "_FROM": ("from",),
    "_NEVER": ("never",),
    "_ADDS": ("adds",),
    "_BY": ("by",),
    "_NAMESPACE": ("namespace",),
    "_TAINTED": ("tainted",),
    "NODE": ("node",),
    "POD": ("pod",),
    "_COUNT": ("count",),
    "_POD_VALUE": ("pod",),
    "PODS": ("pods",),
    "RESOURCES": ("resources",),
    "SELF": ("self",),
    "SAME_WORKLOAD": ("sameWorkload",),
    "ALL": ("all",),
    "_SCORES": ("scores",),
    "_ARGS": ("args",),
    "DUPLICATED": ("Duplicated",),
    "_DIVIDED": ("Divided",),
    "AGGREGATED": ("Aggregated",),
    "WEIGHTED": ("Weighted",),
    "AVAILABLE_REPLICAS": ("AvailableReplicas",),
}
POLICY_STATEMENTS: dict[str, tuple[str, ...]] = {
    "DESCRIPTION": ("description",),
    "OWNER": ("owner",),
    "MODE": ("mode",),
    "_PROFILES": ("profiles",),
    "_FOR": ("for",),
    "_NODE_AFFINITY": ("nodeAffinity",),
    "POD_AFFINITY": ("podAffinity", "podAntiAffinity"),
    "_TOPOLOGY_SPREAD": ("topologySpread",),
    "_TOLERATE": ("tolerate",),
    "_REJECT": ("reject",),
    "_SCORE": ("score",),
    "_PREEMPT": ("preempt",),
    "_PROTECT": ("protect",),
    "_DISABLE": ("disable",),
}
CLUSTER_STATEMENTS: dict[str, tuple[str, ...]] = {
    "_CLUSTER_AFFINITY": ("clusterAffinity",),
    "_CLUSTER_GROUP": ("clusterGroup",),
    "_SPREAD_CONSTRAINT": ("spreadConstraint",),
    "_REPLICAS": ("replicas",),
}
PROFILE_STATEMENTS: dict[str, tuple[str, ...]] = {
    "_POLICIES": ("policies",),
    "_EXCLUDE": ("exclude",),
    "_PLUGIN": ("plugin",),
    "_DISABLE": ("disable",),
    "_BUILTIN": ("builtin",),
    "_ON_OUTAGE": ("onOutage",),
    "_PARAM": ("param",),
}
ITEMS: dict[str, tuple[str, ...]] = {
    "_VERSION": ("version",),
    "_IMPORT": ("import",),
    "_PARAM": ("param",),
    "_LET": ("let",),
    "_METRIC": ("metric",),
    "_POLICY": ("policy",),
    "_CLUSTER_POLICY": ("clusterPolicy",),
    "_PROFILE": ("profile",),
}
METRIC_OPTIONS: dict[str, tuple[str, ...]] = {
    "NODE": ("node",),
    "CLUSTER": ("cluster",),
    "REFRESH": ("refresh",),
    "MAX_AGE": ("maxAge",),
    "BETWEEN": ("between",),
    "PLACED": ("placed",),
    "FALLBACK": ("fallback",),
    "SOURCE": ("source",),
    "OVER": ("over",),
    "MISSING": ("missing",),
}
CLAUSES: dict[str, tuple[str, ...]] = {
    "WEIGHT": ("weight",),
    "OTHERWISE": ("otherwise",),
    "TOPOLOGY_KEY": ("topologyKey",),
    "MAX_SKEW": ("maxSkew",),
    "MIN_DOMAINS": ("minDomains",),
    "MIN_GROUPS": ("minGroups",),
    "MAX_GROUPS": ("maxGroups",),
    "WHEN_UNSATISFIABLE": ("whenUnsatisfiable",),
    "NODE_AFFINITY_POLICY": ("nodeAffinityPolicy",),
    "NODE_TAINTS_POLICY": ("nodeTaintsPolicy",),
    "PREFER": ("prefer",),
    "PREEMPTION": ("preemption",),
    "AS": ("as",),
    "NAMESPACES": ("namespaces",),
    "MATCH_LABEL_KEYS": ("matchLabelKeys",),
    "MISMATCH_LABEL_KEYS": ("mismatchLabelKeys",),
    "NAMESPACE_SELECTOR": ("namespaceSelector",),
    "MESSAGE": ("message",),
    "DURING": ("during",),
    "EXPIRES": ("expires",),
    "NORMALIZE": ("normalize",),
    "MISSING": ("missing",),
    "OVER": ("over",),
    "UNTIL": ("until",),
}
CLAUSE_WORDS = frozenset(word for words in CLAUSES.values() for word in words)
SIGNS: dict[str, str] = {
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUALS": "`=`",
    "_EQUALS": "`=`",
    "CMP": "`<`, `>`, `<=`, `>=`",
    "NOT_EQUALS": "`!=`",
    "PLUS": "`+`",
    "MINUS": "`-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "WORD": "a word",
    "NAME": "a name",
    "PARAM": "a param, as `$name`",
    "NUMERAL": "a number",
    "STRING": 'a string between `"`',
    "PROMQL": "a query between backticks",
}
KEYWORDS: dict[str, tuple[str, ...]] = {
    **LABEL_OPERATORS,
    **STRENGTHS,
    **CONNECTIVES,
    **POLICY_STATEMENTS,
    **CLUSTER_STATEMENTS,
    **PROFILE_STATEMENTS,
    **ITEMS,
    **METRIC_OPTIONS,
    **CLAUSES,
}
"""Keyword terminal -> its words."""

ALL_KEYWORDS = frozenset(word for words in KEYWORDS.values() for word in words)

_ALWAYS = frozenset({"as", "during", "expires"})
_WEIGHTED = _ALWAYS | {"weight", "otherwise"}
_COUNTED = frozenset(
    ("topologyKey", "namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys")
)
_POD_TERM = _ALWAYS | _COUNTED

ALLOWED_CLAUSES: dict[str, frozenset[str]] = {
    # Terms about nodes and pods have `missing` if a label is compared with a value of the pod.
    "nodeAffinity required": _ALWAYS | {"message", "missing"},
    "nodeAffinity preferred": _WEIGHTED | {"missing"},
    "podAffinity required": _POD_TERM | {"message", "missing", "preemption"},
    "podAffinity preferred": _POD_TERM | _WEIGHTED,
    "podAntiAffinity required": _POD_TERM | {"message", "missing", "preemption"},
    "podAntiAffinity preferred": _POD_TERM | _WEIGHTED,
    "topologySpread": _WEIGHTED
    | {
        *("topologyKey", "maxSkew", "minDomains", "whenUnsatisfiable", "matchLabelKeys"),
        *("nodeAffinityPolicy", "nodeTaintsPolicy", "message", "missing", "preemption"),
    },
    "count": _COUNTED,
    "tolerate": _ALWAYS,
    "reject": _ALWAYS | {"missing", "message", "over", "until", "preemption"},
    "score": _WEIGHTED | {"prefer", "normalize", "missing", "over"},
    "score strategy": _WEIGHTED,
    "preempt": _ALWAYS | {"namespaces", "namespaceSelector", "missing"},
    "protect": _ALWAYS,
    "metric": frozenset(
        {
            *("node", "cluster", "refresh", "maxAge", "missing", "between", "over", "placed"),
            *("fallback", "source"),
        }
    ),
    "clusterAffinity required": _ALWAYS | {"message"},
    "clusterAffinity preferred": _WEIGHTED,
    # Karmada's spread constraints have no active times, so `during` would have no effect.
    "spreadConstraint": frozenset({"as", "minGroups", "maxGroups"}),
}
"""Statement, with its strength if this matters -> the clauses that it allows."""


def list_keywords() -> list[str]:
    """Return all reserved words, sorted."""
    return sorted(word for words in KEYWORDS.values() for word in words)
