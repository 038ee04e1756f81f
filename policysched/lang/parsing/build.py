"""Convert the parse tree to the syntax tree: items, statements and profiles."""

from __future__ import annotations

from typing import Any, Literal

from policysched.lang import source
from policysched.lang.parsing import build_clause, build_expr
from policysched.lang.syntax import syntax, syntax_expr


class PolicyTreeBuilder(build_clause.ClauseBuilder):
    """Builds whole items; each method has the name of a grammar rule and builds its node."""

    def start(self, _span: source.Span, children: build_expr.Children) -> tuple[syntax.Item, ...]:
        """Return the items of the text or slice."""
        return tuple(children)

    # ------------------------------------------------------------------------ top level

    def version(self, span: source.Span, children: build_expr.Children) -> syntax.Version:
        """Build `version 1`."""
        return syntax.Version(span, children[0])

    def import_(self, span: source.Span, children: build_expr.Children) -> syntax.Import:
        """Build `import "key"`."""
        return syntax.Import(span, children[0])

    def param(self, span: source.Span, children: build_expr.Children) -> syntax.Param:
        """Build `param name: type = constant`."""
        return syntax.Param(span, *children)

    def let_expr(self, span: source.Span, children: build_expr.Children) -> syntax.LetExpr:
        """Build `let name = expression`."""
        return syntax.LetExpr(span, *children)

    def let_selector(self, span: source.Span, children: build_expr.Children) -> syntax.LetSelector:
        """Build `let name = { selector }`."""
        return syntax.LetSelector(span, *children)

    def promql(self, span: source.Span, children: build_expr.Children) -> syntax.PromQL:
        """Build a query from its text between backticks."""
        return syntax.PromQL(span, children[0].text[1:-1])

    def metric(self, span: source.Span, children: build_expr.Children) -> syntax.Metric:
        """Build `metric name: type = query option…`."""
        name, unit, query, *options = children
        return syntax.Metric(span, name, unit, query, tuple(options))

    def policy(self, span: source.Span, children: build_expr.Children) -> syntax.Policy:
        """Build `policy name { … }`."""
        return syntax.Policy(span, "policy", children[0], tuple(children[1:]))

    def cluster_policy(self, span: source.Span, children: build_expr.Children) -> syntax.Policy:
        """Build `clusterPolicy name { … }`."""
        return syntax.Policy(span, "clusterPolicy", children[0], tuple(children[1:]))

    def profile(self, span: source.Span, children: build_expr.Children) -> syntax.Profile:
        """Build `profile name { … }`."""
        return syntax.Profile(span, children[0], tuple(children[1:]))

    # ------------------------------------------------------------------------ statements

    def meta(self, span: source.Span, children: build_expr.Children) -> syntax.Meta:
        """Build `description`, `owner` or `mode`."""
        keyword, value = children
        return syntax.Meta(span, keyword.text, value)

    def all_profiles(self, span: source.Span, _children: build_expr.Children) -> syntax.AllProfiles:
        """Build `profiles all`."""
        return syntax.AllProfiles(span)

    def namespace_names(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.NamespaceScope:
        """Build `in namespace (a, b)` or `in namespace a`."""
        names = children[1]
        listed = names if isinstance(names, tuple) else (names,)
        return syntax.NamespaceScope(span, listed, None)

    def namespace_selector(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.NamespaceScope:
        """Build `namespaceSelector selector`; in version 1, also `in namespace where selector`."""
        return syntax.NamespaceScope(span, (), children[1])

    def for_pods(self, span: source.Span, children: build_expr.Children) -> syntax.Scope:
        """Build `for pods …`."""
        return self._build_scope(span, "pods", children)

    def for_resources(self, span: source.Span, children: build_expr.Children) -> syntax.Scope:
        """Build `for resources …`."""
        return self._build_scope(span, "resources", children)

    def _build_scope(
        self,
        span: source.Span,
        keyword: Literal["pods", "resources"],
        children: build_expr.Children,
    ) -> syntax.Scope:
        _, namespaces, where = children
        return syntax.Scope(span, keyword, namespaces, where)

    def node_affinity(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.NodeAffinity:
        """Build the statement from strength, selector and clauses."""
        strength, selector, *clauses = children
        return syntax.NodeAffinity(span, strength.text, selector, tuple(clauses))

    def pods(self, span: source.Span, children: build_expr.Children) -> syntax_expr.PodSet:
        """Build `self`, `sameWorkload`, `pods …`."""
        kind, *where = children
        return syntax_expr.PodSet(span, kind.text, where[0] if where else None)

    def pod_affinity(self, span: source.Span, children: build_expr.Children) -> syntax.PodAffinity:
        """Build the statement from its kind, strength, pods and clauses."""
        kind, strength, pods, *clauses = children
        return syntax.PodAffinity(span, kind.text, strength.text, pods, tuple(clauses))

    def topology_spread(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.TopologySpread:
        """Build the statement from its pods and clauses."""
        pods, *clauses = children
        return syntax.TopologySpread(span, pods, tuple(clauses))

    def tolerate(self, span: source.Span, children: build_expr.Children) -> syntax.Tolerate:
        """Build the statement from its tolerations and clauses."""
        patterns = [child for child in children if isinstance(child, syntax_expr.Toleration)]
        return syntax.Tolerate(span, tuple(patterns), tuple(children[len(patterns) :]))

    def reject(self, span: source.Span, children: build_expr.Children) -> syntax.Reject:
        """Build the statement from its condition and clauses."""
        condition, *clauses = children
        return syntax.Reject(span, condition, tuple(clauses))

    def score(self, span: source.Span, children: build_expr.Children) -> syntax.Score:
        """Build the statement from its expression and clauses."""
        value, *clauses = children
        return syntax.Score(span, value, tuple(clauses))

    def preempt(self, span: source.Span, children: build_expr.Children) -> syntax.Preempt:
        """Build the statement from its pods, if it has any, and its clauses."""
        pods = children[0] if children and isinstance(children[0], syntax_expr.PodSet) else None
        return syntax.Preempt(span, pods, tuple(children if pods is None else children[1:]))

    def protect(self, span: source.Span, children: build_expr.Children) -> syntax.Protect:
        """Build the statement from its clauses, which follow the word `preemption`."""
        return syntax.Protect(span, tuple(children[1:]))

    def disable(self, span: source.Span, children: build_expr.Children) -> syntax.Disable:
        """Build the statement by splitting `policy.rule`, which the lexer reads as one word."""
        word = children[0]
        policy, _, rule = word.text.partition(".")
        middle = word.span.start + len(policy)
        return syntax.Disable(
            span,
            syntax_expr.Value(self.source.span(word.span.start, middle), policy),
            syntax_expr.Value(
                self.source.span(min(middle + 1, word.span.end), word.span.end), rule
            ),
        )

    # ------------------------------------------------------------------------ cluster policies

    def cluster_affinity(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.ClusterAffinity:
        """Build the statement from strength, selector and clauses."""
        strength, selector, *clauses = children
        return syntax.ClusterAffinity(span, strength.text, selector, tuple(clauses))

    def cluster_group(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.ClusterGroup:
        """Build the statement from its name and selector."""
        return syntax.ClusterGroup(span, *children)

    def spread_constraint(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.SpreadConstraint:
        """Build the statement from its field and clauses."""
        by, *clauses = children
        return syntax.SpreadConstraint(span, by, tuple(clauses))

    def replicas(self, span: source.Span, children: build_expr.Children) -> syntax.Replicas:
        """Build `replicas Duplicated` or `replicas Divided Aggregated`."""
        return syntax.Replicas(span, children[0].text)

    def replicas_dynamic(self, span: source.Span, _: build_expr.Children) -> syntax.Replicas:
        """Build `replicas Divided Weighted AvailableReplicas`."""
        return syntax.Replicas(span, "Weighted", dynamic="AvailableReplicas")

    def replicas_score(self, span: source.Span, children: build_expr.Children) -> syntax.Replicas:
        """Build `replicas Divided Weighted by score`."""
        return syntax.Replicas(span, "Weighted", dynamic="score", rule=children[1])

    def replicas_static(self, span: source.Span, children: build_expr.Children) -> syntax.Replicas:
        """Build `replicas Divided Weighted (cluster: weight, …)`."""
        return syntax.Replicas(span, "Weighted", weights=tuple(children[1:]))

    def static_weight(
        self, _span: source.Span, children: build_expr.Children
    ) -> tuple[syntax_expr.Value, syntax_expr.Amount]:
        """Return a pair of a cluster and its weight."""
        cluster, weight = children
        return cluster, weight

    # ------------------------------------------------------------------------ profiles

    def profile_policies(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.ProfilePolicies:
        """Build `policies a, b`."""
        return syntax.ProfilePolicies(span, tuple(children))

    def exclude_policies(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.ExcludePolicies:
        """Build `exclude a, b`."""
        return syntax.ExcludePolicies(span, tuple(children))

    def use_plugin(self, span: source.Span, children: build_expr.Children) -> syntax.UsePlugin:
        """Build the statement from the plugin's name, weight and arguments."""
        name, *options = children
        args = tuple(option for option in options if isinstance(option, syntax.ArgsObject))
        weights = tuple(option for option in options if not isinstance(option, syntax.ArgsObject))
        return syntax.UsePlugin(span, name, weights, args)

    def plugin_weight(
        self, _span: source.Span, children: build_expr.Children
    ) -> syntax_expr.Amount:
        """Return the amount of `weight N`."""
        amount: syntax_expr.Amount = children[1]
        return amount

    def plugin_args(self, _span: source.Span, children: build_expr.Children) -> syntax.ArgsObject:
        """Return the object of `args {…}`."""
        args: syntax.ArgsObject = children[0]
        return args

    def disable_plugins(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.DisablePlugins:
        """Build `disable NAME, …`."""
        return syntax.DisablePlugins(span, tuple(children), scores_only=False)

    def disable_scores(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.DisablePlugins:
        """Build `disable scores NAME, …`."""
        return syntax.DisablePlugins(span, tuple(children), scores_only=True)

    def disable_all_scores(
        self, span: source.Span, _children: build_expr.Children
    ) -> syntax.DisablePlugins:
        """Build `disable all scores`."""
        return syntax.DisablePlugins(span, (), scores_only=True)

    def builtin_weight(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.BuiltinWeight:
        """Build `builtin weight N`."""
        return syntax.BuiltinWeight(span, children[1])

    def on_outage(self, span: source.Span, children: build_expr.Children) -> syntax.OnOutage:
        """Build `onOutage WORD`."""
        return syntax.OnOutage(span, children[0])

    def profile_param(
        self, span: source.Span, children: build_expr.Children
    ) -> syntax.ProfileParam:
        """Build `param name = constant`."""
        return syntax.ProfileParam(span, *children)

    def args_object(self, span: source.Span, children: build_expr.Children) -> Any:  # noqa: ANN401 - as `_record_node_depth`
        """Build `{ key: value, … }`."""
        entries = tuple(child for child in children if child is not None)
        values = [value for _, value in entries]
        return self._record_node_depth(syntax.ArgsObject(span, entries), values)

    def args_list(self, span: source.Span, children: build_expr.Children) -> Any:  # noqa: ANN401 - as `_record_node_depth`
        """Build `[ value, … ]`."""
        items = tuple(child for child in children if child is not None)
        return self._record_node_depth(syntax.ArgsList(span, items), items)

    def entry(
        self, _span: source.Span, children: build_expr.Children
    ) -> tuple[syntax_expr.Value, syntax.ArgsValue]:
        """Return the key and the value of `key: value`."""
        key, value = children
        return key, value

    def scalar(self, span: source.Span, children: build_expr.Children) -> syntax.ArgsScalar:
        """Build a scalar from a word or string."""
        return syntax.ArgsScalar(span, self.value(span, children))
