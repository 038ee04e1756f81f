"""Check profiles: the policies, params and plugins for one scheduler name."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from policysched.lang.checked import checked
from policysched.lang.checking import clauses, diagnostic_collector, number_reading, symbols
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import vocabulary

_PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}\Z")
_JSON_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?\Z")

_S = TypeVar("_S", bound=syntax.ProfileStatement)


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileChecker:
    """Checks the statements of one profile.

    Attributes:
        profile: the profile as written.
        env: resolves names with the profile's params.
        names: all definitions.
        plugins: names of the installed plugins; None to accept any name.
    """

    profile: syntax.Profile
    env: number_reading.NameEnvironment
    names: symbols.PolicySymbols
    plugins: Collection[str] | None

    @property
    def found(self) -> diagnostic_collector.DiagnosticCollector:
        """The collector of diagnostics, from `env`."""
        return self.env.found

    def check_profile(
        self,
        policies: Mapping[str, checked.CheckedPolicy],
        metrics: tuple[checked.CheckedMetric, ...],
    ) -> checked.CheckedProfile:
        """Return the checked profile.

        Args:
            policies: policies and clusterPolicies of the profile, keyed by name and checked with
                its params.
            metrics: the metrics that the policies read.
        """
        told_apart = partition_policies(policies.values(), metrics)
        disabled, scores, all_scores = self._check_disabled_plugins()
        return checked.CheckedProfile(
            name=self.profile.name.text,
            policies=told_apart.policies,
            metrics=told_apart.metrics,
            plugins=self._check_plugins(disabled),
            disabled=disabled,
            disabled_scores=scores,
            disable_all_scores=all_scores,
            builtin_weight=self._check_builtin_weight(),
            on_outage=cast("Any", self._read_outage_action()),
            params=tuple(self.env.params.values()),
            span=self.profile.name.span,
            cluster_policies=told_apart.cluster_policies,
            cluster_metrics=told_apart.cluster_metrics,
            excluded=tuple(
                name.text
                for statement in self._list_statements(syntax.ExcludePolicies)
                for name in statement.names
            ),
        )

    def check_policy_names(self) -> tuple[str, ...]:
        """Return the names of the policies that the profile uses, and report wrong names.

        These are the policies that it lists, and those of all profiles that it does not exclude.
        """
        listed = self._check_names(syntax.ProfilePolicies)
        excluded = self._check_names(syntax.ExcludePolicies)
        for name, written in excluded.items():
            if not has_all_profiles(self.names.policies[name]):
                self._report_needless_exclusion(written)
            elif name in listed:
                self._report_repeated_statement(name, written, listed[name])
        others = (
            name
            for name, policy in self.names.policies.items()
            if has_all_profiles(policy) and name not in excluded
        )
        return tuple(dict.fromkeys((*listed, *others)))

    def _check_names(
        self, kind: type[syntax.ProfilePolicies | syntax.ExcludePolicies]
    ) -> dict[str, syntax_expr.Value]:
        """Return the names of policies in statements of one kind; report unknown and repeated."""
        listed: dict[str, syntax_expr.Value] = {}
        for statement in self._list_statements(kind):
            for name in statement.names:
                if name.text not in self.names.policies:
                    self.found.report_undefined_name("policy", name, self.names.policies)
                elif name.text in listed:
                    self._report_repeated_statement(name.text, name, listed[name.text])
                else:
                    listed[name.text] = name
        return listed

    def _report_needless_exclusion(self, name: syntax_expr.Value) -> None:
        """Report an excluded policy that profiles use only if they list it."""
        self.found.add_error(
            "PS108",
            f"`{name.text}` is not a policy of all profiles",
            name.span,
            help=f"leave `{name.text}` out of `policies`, or write `profiles all` in the policy",
        )

    def check_param_values(self) -> dict[str, syntax_expr.Amount]:
        """Return the values that the profile sets, keyed by param; report invalid ones."""
        values: dict[str, syntax.ProfileParam] = {}
        for statement in self._list_statements(syntax.ProfileParam):
            name = statement.name
            if name.text not in self.names.params:
                self.found.report_undefined_name("param", name, self.names.params)
            elif name.text in values:
                self._report_repeated_statement(name.text, statement, values[name.text])
            else:
                values[name.text] = statement
        return {name: statement.value for name, statement in values.items()}

    def _list_statements(self, kind: type[_S]) -> list[_S]:
        return [each for each in self.profile.statements if isinstance(each, kind)]

    def _get_only_statement(self, kind: type[_S], what: str) -> _S | None:
        statements = self._list_statements(kind)
        for again in statements[1:]:
            self._report_repeated_statement(what, again, statements[0])
        return statements[0] if statements else None

    def _report_repeated_statement(
        self, what: str, node: syntax_expr.SyntaxNode, first: syntax_expr.SyntaxNode
    ) -> None:
        """Report a statement that a profile must not have twice."""
        self.found.add_error(
            "PS108",
            f"`{what}` appears twice in this profile",
            node.span,
            secondary=(diagnostics.SpanLabel(first.span, "first here"),),
            help="keep one of them",
        )

    # ------------------------------------------------------------------------ plugins

    def _check_disabled_plugins(self) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """Return which plugins and which scores to disable, and whether to disable all scores."""
        everywhere: dict[str, syntax_expr.Value] = {}
        scores: dict[str, syntax_expr.Value] = {}
        all_scores = False
        for statement in self._list_statements(syntax.DisablePlugins):
            all_scores = all_scores or not statement.names
            for name in statement.names:
                first = everywhere.get(name.text) or scores.get(name.text)
                if first is not None:
                    self._report_repeated_statement(name.text, name, first)
                elif self._is_known_plugin(name):
                    (scores if statement.scores_only else everywhere)[name.text] = name
        return tuple(everywhere), tuple(scores), all_scores

    def _is_known_plugin(self, name: syntax_expr.Value) -> bool:
        if self.plugins is not None and name.text not in self.plugins:
            self.found.report_undefined_name("plugin", name, self.plugins)
            return False
        if not _PLUGIN_NAME.match(name.text):
            self.found.add_error("PS107", f"`{name.text[:80]}` is not a plugin's name", name.span)
            return False
        return True

    def _check_plugins(self, disabled: Collection[str]) -> tuple[checked.PluginSetting, ...]:
        """Return the valid plugin settings; report plugins that are repeated or disabled."""
        settings: dict[str, checked.PluginSetting] = {}
        first: dict[str, syntax.UsePlugin] = {}
        for statement in self._list_statements(syntax.UsePlugin):
            name = statement.name
            if name.text in first:
                self._report_repeated_statement(name.text, statement, first[name.text])
                continue
            first[name.text] = statement
            if name.text in disabled:
                self.found.add_error(
                    "PS108", f"`{name.text}` is used and disabled in this profile", name.span
                )
            setting = self._check_plugin(statement)
            if self._is_known_plugin(name) and setting is not None:
                settings[name.text] = setting
        return tuple(settings.values())

    def _check_plugin(self, statement: syntax.UsePlugin) -> checked.PluginSetting | None:
        """Check the weight and the arguments of a plugin; return None for an invalid weight."""
        for what, given in (("weight", statement.weights), ("args", statement.args)):
            for again in given[1:]:
                self._report_repeated_statement(what, again, given[0])
        weight: int | None = None
        if statement.weights:
            weight = self._check_plugin_weight(statement.weights[0])
            if weight is None:
                return None
        args = self._convert_plugin_args(statement.args[0]) if statement.args else None
        return checked.PluginSetting(statement.name.text, weight, args, statement.span)

    def _check_plugin_weight(self, amount: syntax_expr.Amount) -> int | None:
        bounds = (1, clauses.MAX_WEIGHT)
        return number_reading.read_whole_number(
            self.env, amount, bounds, what="a weight", code="PS301"
        )

    def _check_builtin_weight(self) -> int:
        statement = self._get_only_statement(syntax.BuiltinWeight, "builtin weight")
        return 1 if statement is None else self._check_plugin_weight(statement.weight) or 1

    def _read_outage_action(self) -> str:
        """Return the action of `onOutage`, by default `skip`; report unknown actions."""
        statement = self._get_only_statement(syntax.OnOutage, "onOutage")
        if statement is None:
            return "skip"
        if statement.action.text not in vocabulary.OUTAGE_ACTIONS:
            self.found.report_word_not_allowed(
                "an action of `onOutage`", statement.action, vocabulary.OUTAGE_ACTIONS
            )
            return "skip"
        return statement.action.text

    # ------------------------------------------------------------------------ arguments

    def _convert_plugin_args(self, node: syntax.ArgsObject) -> Mapping[str, checked.JsonValue]:
        result: dict[str, checked.JsonValue] = {}
        first: dict[str, syntax_expr.Value] = {}
        for key, value in node.entries:
            if key.text in first:
                self._report_repeated_statement(key.text, key, first[key.text])
            first.setdefault(key.text, key)
            result[key.text] = self._convert_to_json(value)
        return result

    def _convert_to_json(self, node: syntax.ArgsValue) -> checked.JsonValue:
        match node:
            case syntax.ArgsObject():
                return self._convert_plugin_args(node)
            case syntax.ArgsList(items=items):
                return tuple(self._convert_to_json(item) for item in items)
            case syntax.ArgsScalar(value=value):
                return value.text if value.quoted else _convert_word_to_json(value.text)


def _convert_word_to_json(text: str) -> checked.JsonValue:
    """Return the JSON value of an unquoted word: a constant, a number, or the word itself."""
    if text in _JSON_WORDS:
        constant: checked.JsonValue = _JSON_WORDS[text]
        return constant
    match = _JSON_NUMBER.match(text)
    if match is None or len(text) > 20:  # noqa: PLR2004 - longer than any int64 or useful float
        return text
    number = float(text) if match.group("fraction") else int(text)
    return number if math.isfinite(number) else text


def has_all_profiles(policy: syntax.Policy) -> bool:
    """Return whether a policy says `profiles all`."""
    return any(isinstance(each, syntax.AllProfiles) for each in policy.statements)


def warn_about_unused_policies(
    names: symbols.PolicySymbols,
    profiles: Iterable[checked.CheckedProfile],
    found: diagnostic_collector.DiagnosticCollector,
) -> None:
    """Warn about policies that no profile uses."""
    used = {
        policy.name
        for profile in profiles
        for policy in (*profile.policies, *profile.cluster_policies)
    }
    for name, policy in names.policies.items():
        if name not in used:
            warning = diagnostics.Diagnostic(
                "PS806",
                f"no profile uses the {policy.keyword} `{name}`: it has no effect",
                policy.name.span,
                help="every profile excludes it: remove an `exclude`, or the policy"
                if has_all_profiles(policy)
                else f"add `policies {name}` to a profile, or remove the policy",
                severity=diagnostics.Severity.WARNING,
            )
            found.add_diagnostic(warning)


class PartitionedPolicies(NamedTuple):
    """Policies for pods and policies for clusters, each with the metrics for its target."""

    policies: tuple[checked.CheckedPolicy, ...]
    metrics: tuple[checked.CheckedMetric, ...]
    cluster_policies: tuple[checked.CheckedPolicy, ...]
    cluster_metrics: tuple[checked.CheckedMetric, ...]


def partition_policies(
    policies: Iterable[checked.CheckedPolicy], metrics: Iterable[checked.CheckedMetric]
) -> PartitionedPolicies:
    """Separate the policies and metrics for nodes from the ones for clusters."""
    all_policies, all_metrics = tuple(policies), tuple(metrics)
    return PartitionedPolicies(
        tuple(each for each in all_policies if each.clusters is None),
        tuple(each for each in all_metrics if each.target == "node"),
        tuple(each for each in all_policies if each.clusters is not None),
        tuple(each for each in all_metrics if each.target == "cluster"),
    )


def build_implied_profile(
    policies: Sequence[checked.CheckedPolicy],
    metrics: tuple[checked.CheckedMetric, ...],
    params: Sequence[checked.CheckedParam],
) -> checked.CheckedProfile:
    """Return the profile of a program without profiles: all policies and the default plugins."""
    told_apart = partition_policies(policies, metrics)
    return checked.CheckedProfile(
        name=None,
        policies=told_apart.policies,
        metrics=told_apart.metrics,
        plugins=(),
        disabled=(),
        disabled_scores=(),
        disable_all_scores=False,
        builtin_weight=1,
        on_outage="skip",
        params=tuple(params),
        span=None,
        cluster_policies=told_apart.cluster_policies,
        cluster_metrics=told_apart.cluster_metrics,
    )
