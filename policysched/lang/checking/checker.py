"""Check texts and return a CheckedProgram, or all errors at once.

The passes, in order; each reports errors and continues with the valid parts:

    parse      each text separately                          parser
    names      definitions, imports, lets in cycles          symbols
    params     declared values, or values from outside       params
    metrics    queries with params inserted                  check_metrics
    lets       each on its own, including unused ones
    policies   scope, rules                                  check_policies
    profiles   plugins; policies again under its params      check_profiles
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from policysched.lang import source, text_limits
from policysched.lang.checked import checked, checked_expr, content_hash, rule_parts
from policysched.lang.checking import (
    check_characters,
    check_leading_zeros,
    diagnostic_collector,
    number_reading,
    params,
    symbols,
)
from policysched.lang.checking.expressions import check_exprs
from policysched.lang.checking.metrics import check_metrics
from policysched.lang.checking.selectors import check_selectors, pod_value_tests
from policysched.lang.checking.statements import check_policies, check_profiles
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import vocabulary


@dataclasses.dataclass(frozen=True, slots=True)
class CheckResult:
    """The meaning of a set of texts, or their errors.

    Attributes:
        program: None if there is any error.
        diagnostics: ordered by position.
        texts: the texts keyed by name, for rendering; includes the text that represents
            given params.
        parsed: the parse results, in the order of the texts.
    """

    program: checked.CheckedProgram | None
    diagnostics: tuple[diagnostics.Diagnostic, ...]
    texts: Mapping[str, source.SourceText]
    parsed: tuple[parser.ParseResult, ...] = ()


def check(
    sources: Sequence[source.SourceText],
    *,
    given: Mapping[str, str] | None = None,
    plugins: Collection[str] | None = None,
    now: float | None = None,
) -> CheckResult:
    """Check texts that form one namespace; no content makes this function raise.

    Args:
        sources: texts with distinct names, such as the files of a folder or the keys of a
            ConfigMap.
        given: values of params from the configuration or the command line; they override profiles.
        plugins: names of the installed plugins, to check profiles; None to accept any name.
        now: seconds since the epoch, to warn about expired rules; None to skip this check.
    """
    return _ProgramChecker(sources, given or {}, plugins, now).run()


class _ProgramChecker:
    def __init__(
        self,
        sources: Sequence[source.SourceText],
        given: Mapping[str, str],
        plugins: Collection[str] | None,
        now: float | None,
    ) -> None:
        outside = params.format_supplied_params(given)
        self.texts = {text.name: text for text in (*sources, *([outside] if given else []))}
        self.sources = sources
        self.given_texts = given
        self.given = params.locate_supplied_params(given, outside)
        self.plugins = plugins
        self.now = now
        self.parsed = parser.parse_policy_texts(sources)
        lost = frozenset().union(*(each.lost_words for each in self.parsed.values()))
        damaged = [span for each in self.parsed.values() for span in each.damaged]
        self.found = diagnostic_collector.DiagnosticCollector(self.texts, lost, damaged)

    def run(self) -> CheckResult:
        """Run all passes and collect their diagnostics."""
        self._check_text_names()
        for result in self.parsed.values():
            for finding in result.diagnostics:
                self.found.add_diagnostic(finding)
            check_characters.check_suspect_characters(result.text, self.found)
            check_leading_zeros.check_leading_zeros(result, self.found)
        program = None if self._exceeds_text_limits() else self._check_program()
        return CheckResult(
            None if self.found.has_errors else program,
            self.found.list_by_position(),
            self.texts,
            tuple(self.parsed.values()),
        )

    def _check_text_names(self) -> None:
        """Report texts with the same name, such as a key that two ConfigMaps in one file share."""
        seen: set[str] = set()
        for text in self.sources:
            if text.name in seen:
                self.found.add_error(
                    "PS104",
                    f"there are two texts named `{text.name}`",
                    text.span(0, 0),
                    help="give each policy text its own key",
                )
            seen.add(text.name)

    def _exceeds_text_limits(self) -> bool:
        """Report the first item that exceeds the limit on items and statements."""
        count = 0
        for result in self.parsed.values():
            for item in result.file.items:
                count += 1
                if isinstance(item, (syntax.Policy, syntax.Profile)):
                    count += len(item.statements)
                if count > text_limits.MAX_STATEMENTS:
                    self.found.add_error(
                        "PS004",
                        f"there are more than {text_limits.MAX_STATEMENTS} items and statements",
                        item.span,
                        help="split the policies among several schedulers",
                    )
                    return True
        return False

    def _check_program(self) -> checked.CheckedProgram:
        """Check names, params, metrics, lets, policies and profiles, in this order."""
        names = symbols.collect_symbols(list(self.parsed.values()), self.found)
        for name, given in self.given.items():
            if name not in names.params:
                self.found.report_undefined_name("param", given.name, names.params)
        env = self._make_environment(names, {}, {})
        self._check_lets(names, env)
        policies = self._check_policies(names, env, names.policies)
        profiles = [
            self._check_profile(profile, names, env, policies)
            for profile in names.profiles.values()
        ]
        if not profiles:
            metrics = _list_metrics_read(policies.values(), env)
            implied = check_profiles.build_implied_profile(
                tuple(policies.values()), metrics, tuple(env.params.values())
            )
            profiles = [implied]
        if not self.found.has_errors:
            check_profiles.warn_about_unused_policies(names, profiles, self.found)
        return checked.CheckedProgram(
            params=tuple(env.params.values()),
            metrics=tuple(env.metrics.values()),
            policies=tuple(each for each in policies.values() if each.clusters is None),
            profiles=tuple(profiles),
            content_hash=content_hash.hash_policy_texts_and_params(self.sources, self.given_texts),
            cluster_policies=tuple(each for each in policies.values() if each.clusters is not None),
        )

    # ------------------------------------------------------------------------ environments

    def _make_environment(
        self,
        names: symbols.PolicySymbols,
        overrides: Mapping[str, syntax_expr.Amount],
        base: Mapping[str, checked.CheckedMetric],
    ) -> number_reading.NameEnvironment:
        """Resolve params, lets and metrics with the param values of a profile.

        `base` contains the metrics outside profiles.
        """
        values: dict[str, checked.CheckedParam] = {}
        for name, param in names.params.items():
            given = self.given.get(name)
            if given is not None:
                value = params.resolve_param(param, given.value, self.found, is_text=True)
            else:
                value = params.resolve_param(param, overrides.get(name), self.found)
            if value is not None:
                values[name] = value
        env = number_reading.NameEnvironment(
            params=values,
            param_names=frozenset(names.params),
            lets=names.lets,
            broken_lets=names.broken_lets,
            metrics={},
            metric_names=frozenset(names.metrics),
            found=self.found,
            now=self.now,
        )
        metrics = check_metrics.check_metrics(names.metrics, env, base)
        return dataclasses.replace(env, metrics=metrics)

    def _check_lets(
        self, names: symbols.PolicySymbols, env: number_reading.NameEnvironment
    ) -> None:
        """Check each let separately; a single literal is valid although its unit is unknown."""
        env = dataclasses.replace(env, target=None)
        for let in names.lets.values():
            if isinstance(let, syntax.LetSelector):
                self._check_let_selector(let, env)
            elif number_reading.resolve_literal(env, let.expr) is None:
                check_exprs.ExprChecker(env).check_number_or_condition(let.expr)

    def _check_let_selector(
        self, let: syntax.LetSelector, env: number_reading.NameEnvironment
    ) -> None:
        """Check that a selector is valid for at least one kind of object.

        If it is not, report the diagnostics for the kind of object that has the fewest.
        """
        if pod_value_tests.has_pod_values(let.selector, env.lets):
            test = syntax_expr.NodeTest(let.selector.span, let.selector)
            check_exprs.ExprChecker(env).check_condition(test)
            return
        trials = []
        domains: tuple[vocabulary.Domain, ...] = ("node", "pod", "namespace", "cluster", "resource")
        for domain in domains:
            trial = diagnostic_collector.DiagnosticCollector(self.texts, self.found.lost_words)
            checker = check_selectors.SelectorChecker(dataclasses.replace(env, found=trial), domain)
            checker.check_selector(let.selector)
            if not trial.has_errors:
                return
            trials.append(trial)
        for finding in min((trial.list_by_position() for trial in trials), key=len):
            self.found.add_diagnostic(finding)

    # ------------------------------------------------------------------------ policies, profiles

    def _check_policies(
        self,
        names: symbols.PolicySymbols,
        env: number_reading.NameEnvironment,
        chosen: Collection[str],
    ) -> dict[str, checked.CheckedPolicy]:
        """Check the chosen policies; return them keyed by name."""
        return {
            name: check_policies.check_policy(names.policies[name], env, names, self.parsed)
            for name in chosen
        }

    def _check_profile(
        self,
        profile: syntax.Profile,
        names: symbols.PolicySymbols,
        env: number_reading.NameEnvironment,
        policies: Mapping[str, checked.CheckedPolicy],
    ) -> checked.CheckedProfile:
        """Check a profile; if it sets params, check its policies again with these values."""
        checker = check_profiles.ProfileChecker(profile, env, names, self.plugins)
        values = checker.check_param_values()
        chosen = checker.check_policy_names()
        own = {name: policies[name] for name in chosen if name in policies}
        if values:
            env = self._make_environment(names, values, env.metrics)
            checker = dataclasses.replace(checker, env=env)
            own = self._check_policies(names, env, chosen)
        return checker.check_profile(own, _list_metrics_read(own.values(), env))


def _list_metrics_read(
    policies: Collection[checked.CheckedPolicy], env: number_reading.NameEnvironment
) -> tuple[checked.CheckedMetric, ...]:
    """Return the metrics that the policies' rules read."""
    keys = {
        key
        for policy in policies
        for rule in policy.rules
        for expr in rule_parts.list_rule_expressions(rule)
        for key in checked_expr.list_read_metrics(expr)
    }
    return tuple(metric for metric in env.metrics.values() if metric.key in keys)
