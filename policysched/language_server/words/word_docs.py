"""Short documentation of the words of the language, in Markdown, for hover and completion.

docs/language-reference.md has the details. A test ensures that this module covers each word of the
grammar.
"""

from __future__ import annotations

from policysched.lang.words import vocabulary

DOCS: dict[str, str] = {
    # label operators
    "In": "The label is there and has one of the values.",
    "NotIn": "The label has none of the values. **Also matches where the label is absent**, as in "
    "Kubernetes; add `and KEY Exists` to leave those out.",
    "Exists": "The label is there, with any value.",
    "DoesNotExist": "The label is not there.",
    "Gt": "The label is a whole number greater than this one. An absent label, or one that is no "
    "decimal int64, does not match.",
    "Lt": "The label is a whole number less than this one. An absent label, or one that is no "
    "decimal int64, does not match.",
    "=": "Has this value: `In` with one value. An absent label does not match.",
    "==": "Has this value: `In` with one value. An absent label does not match.",
    "!=": "Does not have this value. **Also matches where the label is absent**, as in Kubernetes; "
    "add `and KEY Exists` to leave those out.",
    # items
    "version": "The version of the language that the text is written in; stands first.",
    "import": "Says that another text of the same folder or ConfigMap must be there. All texts "
    "see each other's names, imported or not.",
    "param": "A value that can be given from outside: by `--param`, the configuration, a profile. "
    "In queries it is `$name`.",
    "let": "A name for an expression, or for a selector in braces; it stands for what it names.",
    "metric": "A PromQL query with one sample for each node, the unit of its values, and what "
    "stale and absent data mean.",
    "policy": "Rules for the pods that `for pods` selects. Conditions of all policies of a pod "
    "must hold; scores add up.",
    "clusterPolicy": "Rules about which clusters resources go to.",
    "profile": "The policies and plugins of one schedulerName. Without any profile, one is implied "
    "that has all policies.",
    # statements
    "description": "What the policy is for, in a sentence.",
    "owner": "Who answers for the policy.",
    "mode": "`enforce` acts; `shadow` only counts what would be otherwise.",
    "for": "For which pods the policy is: `for pods [in namespace …] [where …]`. Behind `placed "
    "adds` it says how long a pod counts.",
    "nodeAffinity": "Which nodes pods go to: `required` rejects all others, `preferred` gives "
    "points. Added to the pod's own affinity.",
    "podAffinity": "Near which pods: `required` wants at least one of them in the domain of the "
    "topologyKey, `preferred` gives points by their number.",
    "podAntiAffinity": "Away from which pods. `required` also keeps later ones away from pods that "
    "are placed.",
    "topologySpread": "How unevenly pods may be spread over the domains of a topologyKey.",
    "tolerate": "Taints that pods of this policy tolerate, besides their own tolerations. Without "
    "an effect: NoSchedule and PreferNoSchedule.",
    "reject": "`reject when CONDITION`: leaves out nodes for which the condition holds.",
    "score": "Points for nodes, 0 to 100 after normalisation, times the weight. Behind `missing`: "
    "final points of a node without data.",
    "disable": "`disable POLICY.RULE`: a named rule does not act on pods of this policy. In a "
    "profile: turns off plugins.",
    "clusterAffinity": "Which clusters resources go to.",
    "clusterGroup": "A named set of clusters; the groups of a policy are tried in their order.",
    "spreadConstraint": "Over how many clusters, regions, zones or providers replicas are spread.",
    "replicas": "How replicas are divided among clusters.",
    "policies": "The policies of the profile.",
    "plugin": "A plugin of the profile, with its weight and arguments.",
    "builtin": "`builtin weight N` multiplies the weights of all built-in scores.",
    "onOutage": "What rules do while no node has data of a metric: `skip` them or `hold` pods.",
    # strength, connectives
    "required": "Nodes that do not match are left out.",
    "preferred": "Nodes that match get points; all others stay possible.",
    "and": "Both hold. Mixed with `or` only in parentheses.",
    "or": "At least one holds. Mixed with `and` only in parentheses.",
    "not": "Does not hold. `not key In (a)` is `key NotIn (a)`: it also matches without the key.",
    "else": "What to take where the value before is missing.",
    "where": "A selector follows.",
    "when": "A condition follows; nodes for which it holds are left out.",
    "adds": "What each just-placed pod adds to the metric of its node until samples show it.",
    "by": "What clusters are grouped by, or what replicas are divided by.",
    "namespace": "Only pods of these namespaces: by name, or `where` by labels of the namespace.",
    "tainted": "`tainted(key=value:Effect)`: the node has a taint of this pattern.",
    "node": "`node(selector)`: labels and taints of the node. Of a metric: the label of the result "
    "that names the node.",
    "pod": "`pod(selector)`: labels and fields of the pod that is to be placed.",
    "pods": "`pods where …`: pods with these labels, in the pod's own namespace unless said "
    "otherwise.",
    "resources": "What a cluster policy is about: resource bindings.",
    "self": "Pods that this policy selects, in the pod's namespace.",
    "sameWorkload": "Pods of the same controller, else of the same pod-template-hash.",
    "all": "Every namespace; or, with `disable`, the scores of all built-in plugins.",
    "scores": "Only the scores of plugins, not their filters.",
    "args": "Arguments of a plugin, as in KubeSchedulerConfiguration.",
    "Duplicated": "Every cluster gets all replicas.",
    "Divided": "Replicas are divided among clusters.",
    "Aggregated": "As few clusters as can hold the replicas.",
    "Weighted": "Divided by weights.",
    "AvailableReplicas": "Weights are how many replicas a cluster has room for.",
    # options of metrics
    "cluster": "The label of the result that names the cluster.",
    "refresh": "Time between two queries.",
    "maxAge": "Samples older than this, by their own timestamp, count as missing.",
    "between": "Values outside of this range count as missing.",
    "placed": "`placed adds EXPR for TIME`: what each just-placed pod adds until samples show it.",
    "fallback": "What stands for a missing value of the metric.",
    "source": "The Prometheus that is asked, by its name in the configuration.",
    "over": "`over 10m max`: of the samples of this time, not the newest one alone.",
    "missing": "What a node without data means: `allow` or `reject` it, or `score N` final points. "
    "Absence is never read as 0.",
    # clauses
    "weight": "1 to 100: how much the points count beside other scores and the built-in ones.",
    "topologyKey": "The label of nodes whose values make up domains, such as zones.",
    "maxSkew": "How many more pods a domain may have than the emptiest one.",
    "minDomains": "With fewer domains than this, the emptiest one counts as having no pods.",
    "minGroups": "At least so many clusters, regions, zones or providers.",
    "maxGroups": "At most so many clusters, regions, zones or providers.",
    "whenUnsatisfiable": "`DoNotSchedule` leaves out nodes, `ScheduleAnyway` gives points.",
    "nodeAffinityPolicy": "Whether nodes that the pod's affinity leaves out count as domains.",
    "nodeTaintsPolicy": "Whether nodes with taints the pod does not tolerate count as domains.",
    "prefer": "Whether `low` or `high` values are better.",
    "as": "The name of the rule, in events, tables and `disable`.",
    "namespaces": "In which namespaces pods are counted.",
    "matchLabelKeys": "Counted pods have the incoming pod's values of these labels.",
    "mismatchLabelKeys": "Counted pods have other values of these labels than the incoming pod.",
    "namespaceSelector": "In namespaces with these labels pods are counted.",
    "message": "What users are told when the rule rejects nodes.",
    "during": "When the rule acts: `Mon-Fri 08:00-20:00 Europe/Berlin`.",
    "expires": "From when on the rule does not act any more.",
    "normalize": "How values become 0 to 100 points.",
    "until": "A node that was rejected stays so until this condition holds (hysteresis).",
    # values
    "enforce": "The policy acts.",
    "shadow": "The policy does not act; what it would change is counted.",
    "low": "Low values are better.",
    "high": "High values are better.",
    "DoNotSchedule": "Nodes that would make the skew too large are left out.",
    "ScheduleAnyway": "Nodes that make the skew smaller get more points.",
    "Honor": "Only nodes that the pod could go to count.",
    "Ignore": "All nodes count.",
    "allow": "A node without data is let in.",
    "reject when": "Leaves out nodes for which the condition holds.",
    "skip": "Rules that read the metric do not act while no node has data.",
    "hold": "Pods wait while no node has data.",
    "NoSchedule": "Pods that do not tolerate the taint are not placed.",
    "PreferNoSchedule": "Pods that do not tolerate the taint are placed elsewhere if possible.",
    "NoExecute": "Pods that do not tolerate the taint are evicted; a policy cannot tolerate it for "
    "nodes, kubelets do not see policies.",
    "avg": "The mean of the samples.",
    "quantile": "A quantile of the samples: `quantile(0.95)`.",
}
"""Word -> its documentation, for words with the same meaning in all statements."""

OPERATORS = frozenset(
    {
        *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "==", "!=", "in", "notIn"),
        *("notin", "exists", "doesNotExist", "doesnotexist", "<", "<=", ">", ">="),
    }
)
"""Operators between a label and its values."""

_OF_STATEMENTS: dict[tuple[str, str], str] = {
    ("missing", "reject"): "`missing reject`: a node without data is left out.",
}


def describe_word(word: str, before: str = "") -> str:
    """Return the documentation of a word, or "" if it is not a word of the language.

    Args:
        word: the word as written.
        before: the previous word, which distinguishes some meanings.
    """
    if (before, word) in _OF_STATEMENTS:
        return _OF_STATEMENTS[before, word]
    canonical = {"in": "In", "notIn": "NotIn", "notin": "NotIn", "exists": "Exists"}
    canonical |= {"doesNotExist": "DoesNotExist", "doesnotexist": "DoesNotExist"}
    word = canonical.get(word, word)
    if word in DOCS:
        return DOCS[word]
    for table in (
        vocabulary.FUNCTIONS,
        vocabulary.STRATEGIES,
        vocabulary.NORMALIZATIONS,
    ):
        if word in table:
            return f"{table[word]}."
    if word in vocabulary.EXPRESSION_FIELDS:
        return f"{vocabulary.EXPRESSION_FIELDS[word][1]}."
    return ""
