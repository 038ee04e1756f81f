"""A profile under construction: its plugins, and their scores, weights and arguments."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable
from typing import Any

from policysched.importing.facts import plugin_facts
from policysched.importing.result import findings, policy_text
from policysched.lang.checking import clauses
from policysched.lang.syntax import syntax, syntax_expr
from policysched.plugins import defaults

_OLD_DEFAULT = "the default weight until v1beta2"
_TOO_HEAVY = "reduce the other weights, so that none exceeds 100"


@dataclasses.dataclass(slots=True)
class DraftPluginSettings:
    """The settings of a profile for one plugin.

    Attributes:
        weight: the weight of the plugin's score.
        comment: the origin of the settings, or "" for a default.
        at: the location of the origin; None for a default.
        args_at: the location of the arguments if it differs from `at`.
    """

    weight: int = 1
    is_on: bool = True
    scores: bool = True
    args: dict[str, Any] | None = None
    comment: str = ""
    at: findings.ValueLocation | None = None
    args_at: findings.ValueLocation | None = None


@dataclasses.dataclass(slots=True)
class ReplacementRule:
    """A rule that replaces a plugin that policysched does not have.

    Attributes:
        node: the statement, without the `weight` clause that `weight` adds.
        weight: the weight of the rule's score; None for a filter.
        at: the location in the source.
    """

    node: syntax.Score | syntax.NodeAffinity
    comment: str
    weight: int | None = None
    at: findings.ValueLocation | None = None


@dataclasses.dataclass(slots=True)
class ProfileDraft:
    """A profile under construction.

    Attributes:
        name: the schedulerName of the profile.
        version: the API version whose default weights the profile starts with.
        at: the location of the profile in the source.
        choices: the settings of built-in plugins, keyed by plugin name.
        others: the settings of installed out-of-tree plugins, keyed by plugin name.
        rules: the rules that replace plugins; they form a policy of their own.
    """

    name: str
    version: str
    at: findings.ValueLocation
    choices: dict[str, DraftPluginSettings] = dataclasses.field(default_factory=dict)
    others: dict[str, DraftPluginSettings] = dataclasses.field(default_factory=dict)
    rules: list[ReplacementRule] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        """Start with the default plugins and weights of the version."""
        weights = defaults.DEFAULT_WEIGHTS | plugin_facts.get_default_score_weights(self.version)
        self.choices = {name: DraftPluginSettings(weights[name]) for name in plugin_facts.POINTS}

    def ignore_resources(self, names: Iterable[str], comment: str) -> None:
        """Make NodeResourcesFit also ignore resources that pods request but no node has."""
        known = (self.choices["NodeResourcesFit"].args or {}).get("ignoredResources", [])
        self.replace_ignored_resources(dict.fromkeys([*known, *names]), comment)

    def replace_ignored_resources(self, names: Iterable[str], comment: str) -> None:
        """Make NodeResourcesFit ignore only these resources.

        `run` does so too if its configuration has extenders; the argument is for commands that read
        only the policies, such as `simulate`.
        """
        fit = self.choices["NodeResourcesFit"]
        fit.args = {**(fit.args or {}), "ignoredResources": list(names)}
        fit.comment = (f"{fit.comment}; " if fit.comment else "") + comment

    def make_policy_and_profile(
        self,
        policies: Iterable[str],
        names: policy_text.UniqueNames,
        report: findings.FindingCollector,
    ) -> list[policy_text.CommentedBlock]:
        """Return the policy with the rules, if there are any, and the profile.

        Args:
            policies: the names of the other policies in the profile.
            names: assigns the name of the policy.
            report: receives findings about weights that are too large.
        """
        self._scale_weights(report)
        acting, found = list(policies), []
        if self.rules:
            acting.append(names.reserve_name(f"{self.name}-rules"))
            found.append(self._make_rules_policy(acting[-1]))
        statements = tuple(self._make_profile_statements(acting))
        comment = f"from {self.at.origin_comment}"
        owner = f"the profile {self.name}"
        block = policy_text.CommentedBlock(
            "profile", self.name, statements, comment, self.at, owner
        )
        return [*found, block]

    # ------------------------------------------------------------------------ weights

    def _scale_weights(self, report: findings.FindingCollector) -> None:
        """Divide all weights by their greatest common divisor if one exceeds the maximum."""
        scoring = [
            choice
            for name, choice in (*self.choices.items(), *self.others.items())
            if choice.is_on
            and choice.scores
            and (name in self.others or plugin_facts.is_scoring_plugin(name))
        ]
        weighted: list[DraftPluginSettings | ReplacementRule] = [
            *scoring,
            *(r for r in self.rules if r.weight),
        ]
        if max((each.weight or 1 for each in weighted), default=1) <= clauses.MAX_WEIGHT:
            return
        common = functools.reduce(math.gcd, (each.weight or 1 for each in weighted))
        for each in weighted:
            each.weight = (each.weight or 1) // common
            if common > 1:
                each.comment = f"{each.comment or 'default'}; all weights divided by {common}"
            if each.weight > clauses.MAX_WEIGHT:
                problem = f"the weight {each.weight * common} is too large; 100 is used"
                at = each.at.locate_child("weight") if each.at else self.at
                report.warn(at, problem, _TOO_HEAVY)
                each.weight = clauses.MAX_WEIGHT

    # ------------------------------------------------------------------------ text

    def _make_profile_statements(self, policies: list[str]) -> list[policy_text.CommentedStatement]:
        """Return the statements of the profile: its policies, plugins and `disable`."""
        found = []
        if policies:
            names = tuple(policy_text.make_keyword(name) for name in policies)
            found.append(
                policy_text.CommentedStatement(syntax.ProfilePolicies(policy_text.SPAN, names))
            )
        off: dict[tuple[str, bool], list[str]] = {}
        for name, choice in (*self.choices.items(), *self.others.items()):
            found += self._make_plugin_statement(name, choice)
            has_no_scores = plugin_facts.is_scoring_plugin(name) and not choice.scores
            if not choice.is_on or has_no_scores:
                off.setdefault((choice.comment, choice.is_on), []).append(name)
        return [*found, *(_make_disable_statements(*key, listed) for key, listed in off.items())]

    def _make_plugin_statement(
        self, name: str, choice: DraftPluginSettings
    ) -> list[policy_text.CommentedStatement]:
        """Return the `use` statement of a plugin, or nothing if its settings are defaults."""
        if not choice.is_on:
            return []
        can_score = plugin_facts.is_scoring_plugin(name)
        default = defaults.DEFAULT_WEIGHTS.get(name, 0)
        weight = choice.weight if choice.scores and choice.weight != default else None
        if name in self.choices and not can_score:
            weight = None
        if weight is None and not choice.args and name not in self.others:
            return []
        weights = () if weight is None else (policy_text.make_numeral(weight),)
        args = (policy_text.make_plugin_args_node(choice.args),) if choice.args else ()
        use = syntax.UsePlugin(policy_text.SPAN, policy_text.make_keyword(name), weights, args)
        at = choice.args_at or choice.at
        return [policy_text.CommentedStatement(use, choice.comment or _OLD_DEFAULT, at)]

    def _make_rules_policy(self, name: str) -> policy_text.CommentedBlock:
        """Return a policy for all pods with the rules that replace plugins."""
        scope = syntax.Scope(policy_text.SPAN, "pods", None, None)
        statements = [policy_text.CommentedStatement(scope)]
        for rule in self.rules:
            node = rule.node
            if rule.weight is not None:
                weight = policy_text.make_amount_clause("weight", rule.weight)
                node = dataclasses.replace(node, clauses=(*node.clauses, weight))
            statements.append(policy_text.CommentedStatement(node, rule.comment, rule.at))
        comment = f"rules of `{self.name}`"
        owner = f"the profile {self.name}"
        return policy_text.CommentedBlock(
            "policy", name, tuple(statements), comment, self.at, owner
        )


def _make_disable_statements(
    comment: str,
    scores_only: bool,  # noqa: FBT001 - half of a key
    names: Iterable[str],
) -> policy_text.CommentedStatement:
    listed = tuple(policy_text.make_keyword(name) for name in names)
    node = syntax.DisablePlugins(policy_text.SPAN, listed, scores_only=scores_only)
    return policy_text.CommentedStatement(node, comment)


# ---------------------------------------------------------------------------- resource strategies


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceStrategyScore:
    """A score by requested resources that was a separate plugin.

    Attributes:
        strategy: the equivalent strategy of NodeResourcesFit.
        args: the fields of its `scoringStrategy` except the type.
        at: the location in the source.
    """

    strategy: str
    weight: int
    comment: str
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    at: findings.ValueLocation | None = None

    @property
    def scoring_strategy(self) -> dict[str, Any]:
        """The score as a `scoringStrategy` of NodeResourcesFit."""
        return {"type": self.strategy, **self.args}

    def build_rule(self) -> ReplacementRule:
        """Return the score as a `score` rule."""
        resources = self.args.get("resources") or []
        arguments = [
            _make_argument_pair(_make_resource_expression(each["name"]), each.get("weight") or 1)
            for each in resources
        ]
        ratio = self.args.get("requestedToCapacityRatio")
        if ratio:
            points = tuple(
                _make_argument_pair(
                    policy_text.make_number_expression(f"{each['utilization']}%"),
                    each["score"] * 10,
                )
                for each in ratio["shape"]
            )
            shape = syntax_expr.Call(policy_text.SPAN, policy_text.make_keyword("shape"), points)
            arguments.append(syntax_expr.Argument(policy_text.SPAN, None, shape))
        call = syntax_expr.Call(
            policy_text.SPAN, policy_text.make_keyword(self.strategy), tuple(arguments)
        )
        node = syntax.Score(policy_text.SPAN, call, ())
        return ReplacementRule(node, self.comment, self.weight, self.at)


def add_resource_scores(
    plan: ProfileDraft, scores: list[ResourceStrategyScore], *, replaces_fit: bool
) -> None:
    """Score by resources: NodeResourcesFit uses the first strategy, and the others become rules.

    Args:
        plan: the profile.
        scores: the scores in the order of the source, at most one for each strategy.
        replaces_fit: whether the source has no score of NodeResourcesFit itself; if False, all
            strategies become rules.
    """
    fit = plan.choices["NodeResourcesFit"]
    rest = list(scores)
    if replaces_fit:
        fit.scores = False
        if scores and fit.is_on:
            own = rest.pop(0)
            fit.scores, fit.weight, fit.comment, fit.at = True, own.weight, own.comment, own.at
            if own.strategy != "LeastAllocated" or own.args:
                fit.args = (fit.args or {}) | {"scoringStrategy": own.scoring_strategy}
    plan.rules += [each.build_rule() for each in rest]


def _make_argument_pair(key: syntax_expr.Expr, value: object) -> syntax_expr.Argument:
    return syntax_expr.Argument(policy_text.SPAN, key, policy_text.make_number_expression(value))


def _make_resource_expression(name: str) -> syntax_expr.Expr:
    if name in ("cpu", "memory"):
        return syntax_expr.Ref(policy_text.SPAN, policy_text.make_keyword(name))
    return syntax_expr.Text(policy_text.SPAN, policy_text.make_string(name))
