"""Short documentation of the words of the language, in Markdown, for hover and completion.

docs/language-reference.md has the details. A test ensures that this module covers each word of the
grammar.
"""

from __future__ import annotations

from policysched.lang.words import vocabulary

DOCS: dict[str, str] = {
    # label operators
    "In": "The label exists and has one of the values. In a value, `*` stands for any characters.",
    "NotIn": "The label has none of the values. **Also matches if the label is absent**, as in "
    "Kubernetes; add `and KEY Exists` to exclude these objects.",
    "Exists": "The label exists, with any value.",
    "DoesNotExist": "The label does not exist.",
    "Gt": "The label is a whole number greater than this one. An absent label, or one that is "
    "not a decimal int64, does not match.",
    "Lt": "The label is a whole number less than this one. An absent label, or one that is not "
    "a decimal int64, does not match.",
    "=": "Has this value: `In` with one value, in which `*` stands for any characters. An absent "
    "label does not match.",
    "==": "Has this value: `In` with one value. An absent label does not match.",
    "!=": "Does not have this value. **Also matches if the label is absent**, as in "
    "Kubernetes; add `and KEY Exists` to exclude these objects.",
    # items
    "version": "The version of the language of this text; the first item.",
    "import": "Requires another text of the same folder or ConfigMap. All texts see each "
    "other's names, imported or not.",
    "param": "A value that can be set from outside: by `--params`, the configuration or a "
    "profile. In queries it is `$name`.",
    "let": "A name for an expression, or for a selector in braces.",
    "metric": "A PromQL query with one sample for each node, the unit of its values, and the "
    "meaning of stale and absent data.",
    "policy": "Rules for the pods that `for pods` selects. The conditions of all policies of a "
    "pod must be true; scores add up.",
    "clusterPolicy": "Rules that select the clusters of resources.",
    "profile": "The policies and plugins of one schedulerName. Without profiles, there is an "
    "implied one with all policies.",
    # statements
    "description": "The purpose of the policy, in a sentence.",
    "owner": "The person or team responsible for the policy.",
    "mode": "`enforce` decides; `shadow` only counts the decisions that it would change.",
    "for": "The pods of the policy: `for pods [in namespace …] [where …]`. After `placed "
    "adds`: how long a pod counts.",
    "nodeAffinity": "The nodes for the pods: `required` rejects all others, `preferred` gives "
    "points. Adds to the pod's own affinity.",
    "podAffinity": "Pods to be near: `required` needs at least one of them in the domain of "
    "the topologyKey, `preferred` gives points by their number.",
    "podAntiAffinity": "Pods to stay away from. `required` also keeps later pods away from "
    "placed ones.",
    "topologySpread": "How unevenly pods may be spread over the domains of a topologyKey.",
    "tolerate": "Taints that pods of this policy tolerate, besides their own tolerations. Without "
    "an effect: NoSchedule and PreferNoSchedule.",
    "reject": "`reject when CONDITION`: rejects nodes for which the condition is true.",
    "score": "Points for nodes, 0 to 100 after normalisation, times the weight. After "
    "`missing`: final points of a node without data.",
    "preempt": "The pods that pods of this policy may evict by preemption: `preempt pods where …`, "
    "or `preempt never`.",
    "protect": "`protect from preemption`: no pod evicts pods of this policy by preemption.",
    "disable": "`disable POLICY.RULE`: a named rule does not apply to pods of this policy. In "
    "a profile: disables plugins.",
    "clusterAffinity": "The clusters for the resources.",
    "clusterGroup": "A named set of clusters; the groups of a policy are tried in order.",
    "spreadConstraint": "How many clusters, regions, zones or providers replicas are spread over.",
    "replicas": "How replicas are divided among clusters.",
    "policies": "The policies of the profile, besides those with `profiles all`.",
    "exclude": "Policies with `profiles all` that this profile does not use.",
    "profiles": "`profiles all`: every profile uses the policy, unless the profile excludes it.",
    "plugin": "A plugin of the profile, with its weight and arguments.",
    "builtin": "`builtin weight N` multiplies the weights of all built-in scores.",
    "onOutage": "If no node has data for a metric: `skip` the rules that read it, or `hold` pods.",
    # strength, connectives
    "required": "Nodes that do not match are rejected.",
    "preferred": "Nodes that match get points; all others remain feasible.",
    "and": "Both are true. Mix with `or` only in parentheses.",
    "or": "At least one is true. Mix with `and` only in parentheses.",
    "not": "Is not true. `not key In (a)` is `key NotIn (a)`: it also matches without the key.",
    "else": "The value to use if the value before it is missing.",
    "where": "A selector follows.",
    "when": "A condition follows; nodes for which it is true are rejected.",
    "from": "`protect from preemption`: no pod evicts pods of this policy by preemption.",
    "never": "Pods of this policy evict no pods by preemption.",
    "adds": (
        "The load that each just-placed pod adds to the metric of its node until samples "
        "include it."
    ),
    "by": "The property that groups clusters, or the basis for dividing replicas.",
    "namespace": "Only pods of the namespaces with these names.",
    "tainted": "`tainted(key=value:Effect)`: the node has a taint of this pattern.",
    "node": "`node(selector)`: labels and taints of the node. Of a metric: the label of the result "
    "that names the node.",
    "pod": "`pod(selector)`: labels and fields of the pod to place.",
    "count": "`count(pods where … topologyKey KEY)`: the pods in the domain of the node; without "
    "topologyKey, those on the node itself.",
    "pods": "`pods where …`: pods with these labels, in the pod's own namespace unless another "
    "is given.",
    "resources": "The objects of a cluster policy: resource bindings.",
    "self": "Pods that this policy selects, in the pod's namespace.",
    "sameWorkload": "Pods of the same controller, or else with the same pod-template-hash.",
    "all": "Every namespace; or, with `disable`, the scores of all built-in plugins.",
    "scores": "Only the scores of plugins, not their filters.",
    "args": "Arguments of a plugin, as in KubeSchedulerConfiguration.",
    "Duplicated": "Every cluster gets all replicas.",
    "Divided": "Replicas are divided among clusters.",
    "Aggregated": "As few clusters as have room for the replicas.",
    "Weighted": "Divided by weights.",
    "AvailableReplicas": "The weight of a cluster is the number of replicas for which it has room.",
    # options of metrics
    "cluster": "The label of the result that names the cluster.",
    "refresh": "Time between two queries.",
    "maxAge": "Samples older than this, by their own timestamp, count as missing.",
    "between": "Values outside of this range count as missing.",
    "placed": (
        "`placed adds EXPR for TIME`: the load that each just-placed pod adds until samples "
        "include it."
    ),
    "fallback": "The replacement for a missing value of the metric.",
    "source": "The Prometheus server to query, by its name in the configuration.",
    "over": "`over 10m max`: aggregates all samples of this time, not only the newest.",
    "missing": "The effect of missing data: `allow` or `reject` the node, or `score N` final "
    "points. Missing data never counts as 0.",
    # clauses
    "weight": "1 to 100: the factor of the points, relative to other and built-in scores.",
    "otherwise": "The weight outside the times of `during`.",
    "topologyKey": "The label of nodes whose values define domains, such as zones.",
    "maxSkew": "The number of pods that a domain may have in excess of the emptiest one.",
    "minDomains": "With fewer domains than this, the emptiest domain counts as having no pods.",
    "minGroups": "The minimum number of clusters, regions, zones or providers.",
    "maxGroups": "The maximum number of clusters, regions, zones or providers.",
    "whenUnsatisfiable": "`DoNotSchedule` rejects nodes, `ScheduleAnyway` gives points.",
    "nodeAffinityPolicy": "Whether nodes that the pod's affinity rejects count as domains.",
    "nodeTaintsPolicy": "Whether nodes with taints the pod does not tolerate count as domains.",
    "prefer": "Whether `low` or `high` values are better.",
    "preemption": "`preemption never`: no pod is evicted from a node that this rule rejects.",
    "as": "The name of the rule, in events, tables and `disable`.",
    "namespaces": "The namespaces of the counted pods.",
    "matchLabelKeys": "Counted pods have the incoming pod's values of these labels.",
    "mismatchLabelKeys": "Counted pods have other values of these labels than the incoming pod.",
    "namespaceSelector": "Only pods in namespaces with these labels.",
    "message": "The text for users if the rule rejects nodes.",
    "during": "When the rule applies: `Mon-Fri 08:00-20:00 Europe/Berlin`.",
    "expires": "The time at which the rule expires.",
    "normalize": "The conversion of values into 0 to 100 points.",
    "until": "A rejected node stays rejected until this condition is true (hysteresis).",
    # values
    "enforce": "The policy decides.",
    "shadow": "The policy does not decide; the decisions that it would change are counted.",
    "low": "Low values are better.",
    "high": "High values are better.",
    "DoNotSchedule": "Nodes that would make the skew too large are rejected.",
    "ScheduleAnyway": "Nodes that make the skew smaller get more points.",
    "Honor": "Only nodes on which the pod could run count.",
    "Ignore": "All nodes count.",
    "allow": "A node without data passes.",
    "reject when": "Rejects nodes for which the condition is true.",
    "skip": "Rules that read the metric have no effect while no node has data.",
    "hold": "Pods wait while no node has data.",
    "NoSchedule": "Pods that do not tolerate the taint are not placed.",
    "PreferNoSchedule": "Pods that do not tolerate the taint are placed elsewhere if possible.",
    "NoExecute": "Pods that do not tolerate the taint are evicted; a policy cannot tolerate "
    "it, because kubelets do not read policies.",
    "avg": "The mean of the samples.",
    "quantile": "A quantile of the samples: `quantile(0.95)`.",
}
"""Word -> its documentation, if the word means the same in all statements."""

OPERATORS = frozenset(
    {
        *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "==", "!=", "in", "notIn"),
        *("notin", "exists", "doesNotExist", "doesnotexist", "<", "<=", ">", ">="),
    }
)
"""The operators between a label and its values."""

_OF_STATEMENTS: dict[tuple[str, str], str] = {
    ("missing", "reject"): "`missing reject`: a node without data is rejected.",
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
        vocabulary.ELAPSED_TIMES,
        vocabulary.STRATEGIES,
        vocabulary.NORMALIZATIONS,
    ):
        if word in table:
            return f"{table[word]}."
    if word in vocabulary.SELECTOR_FUNCTIONS:
        return f"{vocabulary.SELECTOR_FUNCTIONS[word][1]}."
    if word in vocabulary.EXPRESSION_FIELDS:
        return f"{vocabulary.EXPRESSION_FIELDS[word][1]}."
    return ""
