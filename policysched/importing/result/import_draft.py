"""The intermediate result of an import, to which all sources add."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from policysched.importing.facts import config_fields, plugin_facts
from policysched.importing.result import findings, policy_text, profile_plan

IMPLIED = "policysched"
"""The name of the profile that `run` uses if no profile is configured."""

Offered: TypeAlias = tuple[findings.ValueLocation, object]
"""A value of a field, and its location."""


@dataclasses.dataclass(slots=True)
class ImportDraft:
    """Collects policies, profiles, configuration and options of `run`.

    Attributes:
        metrics: the metrics, keyed by name.
        policies: the policies in the order of the input; they apply in all profiles.
        plans: the profiles, keyed by schedulerName.
        ignored_resources: resources that pods request only for another scheduler's extension.
        config: the fields of the configuration file.
        run_options: the options of `policysched run`, as written on a command line.
        names: the policy names in use.
        report: the findings.
    """

    report: findings.FindingCollector = dataclasses.field(default_factory=findings.FindingCollector)
    metrics: dict[str, policy_text.CommentedMetric] = dataclasses.field(default_factory=dict)
    policies: list[policy_text.CommentedBlock] = dataclasses.field(default_factory=list)
    plans: dict[str, profile_plan.ProfileDraft] = dataclasses.field(default_factory=dict)
    ignored_resources: list[str] = dataclasses.field(default_factory=list)
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    run_options: dict[str, str] = dataclasses.field(default_factory=dict)
    names: policy_text.UniqueNames = dataclasses.field(default_factory=policy_text.UniqueNames)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.policies or self.plans or self.config or self.run_options)

    def add_plan(self, plan: profile_plan.ProfileDraft) -> None:
        """Add a profile; if the name is taken, keep the first profile and report the second."""
        if plan.name in self.plans:
            problem = f"the profile `{plan.name}` already exists; this one is left out"
            self.report.warn(plan.at, problem, "import the two separately, or rename one")
            return
        self.plans[plan.name] = plan

    def list_policy_items(self, at: findings.ValueLocation) -> list[policy_text.Item]:
        """Return all items of the policy text.

        If there are profiles, or `ignored_resources` needs one, all policies apply in each profile.
        Otherwise the text has no profile, and `run` uses an implied one.

        Args:
            at: the location assigned to a profile that no source contains.
        """
        if self.ignored_resources and not self.plans:
            self.add_plan(profile_plan.ProfileDraft(IMPLIED, plugin_facts.NEWEST, at))
        acting = [block.name for block in self.policies]
        blocks: list[policy_text.CommentedBlock] = []
        for plan in self.plans.values():
            if self.ignored_resources:
                plan.ignore_resources(self.ignored_resources, "no node has this resource")
            blocks += plan.make_policy_and_profile(acting, self.names, self.report)
        return [*self.metrics.values(), *self.policies, *blocks]

    def set_config_field(self, name: str, at: findings.ValueLocation, value: object) -> None:
        """Set a field of the configuration, or report that its value is refused."""
        self.set_config_fields({name: (at, value)})

    def set_config_fields(self, given: Mapping[str, Offered]) -> None:
        """Set fields of the configuration, and report those that are refused."""
        fitting, problems = _select_valid_fields(given, lambda fields: fields)
        self.config |= fitting
        for name, problem in problems.items():
            at, value = given[name]
            told = f"`{name}: {value}` cannot be set: {problem}"
            self.report.warn(at, told, config_fields.ADVICE)

    def set_config_group(self, name: str, group: Mapping[str, Offered]) -> None:
        """Add fields to a group of the configuration, and report those that are refused."""
        known = self.config.get(name, {})
        fitting, problems = _select_valid_fields(group, lambda fields: {name: known | fields})
        if fitting:
            self.config[name] = known | fitting
        for key, problem in problems.items():
            at, value = group[key]
            told = f"`{name}.{key}: {value}` cannot be set: {problem}"
            self.report.note(at, told, config_fields.ADVICE)

    def enable_leader_election_by_default(self) -> None:
        """Set `leaderElect`, whose default in kube-scheduler is true, if no source sets it."""
        said = self.config.get("leaderElection", {})
        self.config["leaderElection"] = {"leaderElect": True} | said


def _select_valid_fields(
    given: Mapping[str, Offered], whole: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields that are valid together, and the reasons why the others are not.

    Both are in the order of the input.

    A field may depend on others, in any order: a certificate on its key, `burst` on `qps`, a
    duration on a longer one. Therefore all fields are tried together first, then all except one,
    and then fields are added one by one until no remaining field is valid with the added ones.

    Args:
        given: the fields with their locations.
        whole: builds a configuration from fields.
    """
    values = {name: value for name, (_, value) in given.items()}
    without_one = [{k: v for k, v in values.items() if k != name} for name in values]
    together = (
        each
        for each in (values, *without_one)
        if not config_fields.find_config_fields_problem(whole(each))
    )
    fitting = dict(next(together, {}))
    problems: dict[str, str] = {}
    is_growing = True
    while is_growing:
        is_growing = False
        for name in [each for each in values if each not in fitting]:
            problem = config_fields.find_config_fields_problem(
                whole(fitting | {name: values[name]})
            )
            if problem is None:
                fitting[name] = values[name]
                problems.pop(name, None)
                is_growing = True
            else:
                problems[name] = problem
    ordered = {name: value for name, value in values.items() if name in fitting}
    return ordered, {name: problems[name] for name in values if name in problems}
