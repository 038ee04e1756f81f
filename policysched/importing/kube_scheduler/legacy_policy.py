"""Imports Policy (`kind: Policy`, `apiVersion: v1`): predicates and priorities, until 1.22."""

from __future__ import annotations

import dataclasses
from typing import Any

from policysched import spelling
from policysched.importing.facts import legacy_policy_facts, plugin_facts
from policysched.importing.kube_scheduler import extenders
from policysched.importing.reading import fields
from policysched.importing.result import findings, import_draft, policy_text, profile_plan
from policysched.lang.syntax import syntax, syntax_expr

KIND = "Policy"
API_VERSIONS = ("", "v1", "kubescheduler.config.k8s.io/v1")
_FILTERS = ("NodeAffinity", "InterPodAffinity", "NodeResourcesFit", "PodTopologySpread")
_ALWAYS_ALL = "policysched always reports every reason"


@dataclasses.dataclass(slots=True)
class _RequestedFiltersAndScores:
    """The filters and scores that a Policy requests.

    Attributes:
        filters: plugin → the comment on the predicate that requests its filter.
        scores: plugin → (weight, comment, place).
        resource_scores: scores by requested resources.
    """

    plan: profile_plan.ProfileDraft
    made: import_draft.ImportDraft
    filters: dict[str, str] = dataclasses.field(default_factory=dict)
    scores: dict[str, tuple[int, str, findings.ValueLocation]] = dataclasses.field(
        default_factory=dict
    )
    resource_scores: list[profile_plan.ResourceStrategyScore] = dataclasses.field(
        default_factory=list
    )


def import_legacy_policy(
    given: fields.StrictFields, made: import_draft.ImportDraft, scheduler_name: str
) -> None:
    """Add a profile named `scheduler_name`, and a policy for the parts that no plugin covers.

    Raises:
        InputError: a field has the wrong type.
    """
    given.skip_fields("kind", "apiVersion")
    plan = profile_plan.ProfileDraft(scheduler_name, "v1beta1", given.place)
    reading = _RequestedFiltersAndScores(plan, made)
    _import_predicates(given, reading)
    _import_priorities(given, reading)
    _apply_requests_to_plugins(reading)
    hard_weight = given.read_integer("hardPodAffinitySymmetricWeight")
    affinity = plan.choices["InterPodAffinity"]
    if hard_weight is not None and affinity.is_on:
        affinity.args = {"hardPodAffinityWeight": hard_weight}
        affinity.args_at = given.locate_field("hardPodAffinitySymmetricWeight")
        affinity.comment = affinity.args_at.origin_comment
    ignored = extenders.import_extenders(given, made, is_legacy=True)
    if ignored:
        plan.replace_ignored_resources(ignored, "resources of extenders")
    if given.read_boolean("alwaysCheckAllPredicates", default=False):
        at = given.locate_field("alwaysCheckAllPredicates")
        made.report.note(at, "`alwaysCheckAllPredicates` changes nothing", _ALWAYS_ALL)
    given.report_unread_fields()
    made.add_plan(plan)


# ---------------------------------------------------------------------------- predicates


def _import_predicates(given: fields.StrictFields, reading: _RequestedFiltersAndScores) -> None:
    for plugin in legacy_policy_facts.MANDATORY:
        reading.filters[plugin] = ""
    if "predicates" not in given:
        for name in legacy_policy_facts.DEFAULT_PREDICATES:
            reading.filters |= dict.fromkeys(legacy_policy_facts.PREDICATES[name], "")
    for predicate in given.read_objects("predicates"):
        _import_predicate(predicate, reading)


def _import_predicate(predicate: fields.StrictFields, reading: _RequestedFiltersAndScores) -> None:
    """Record the filters that a predicate requests, or report an unknown predicate."""
    name = predicate.read_text("name")
    argument = predicate.read_object("argument")
    plugins = legacy_policy_facts.PREDICATES.get(name)
    if argument is not None:
        _import_custom_predicate(name, argument, reading)
    elif plugins is not None:
        for plugin in plugins:
            reading.filters[plugin] = f"{predicate.place.origin_comment} {name}"
    else:
        _report_unknown_name(
            "predicate", name, predicate.place, tuple(legacy_policy_facts.PREDICATES), reading
        )


def _import_custom_predicate(
    name: str, argument: fields.StrictFields, reading: _RequestedFiltersAndScores
) -> None:
    """Convert labelsPresence to a rule; warn about serviceAffinity, which has no counterpart."""
    presence = argument.read_object("labelsPresence")
    if presence is not None:
        labels = presence.read_texts("labels")
        operator: Any = (
            "Exists" if presence.read_boolean("presence", default=False) else "DoesNotExist"
        )
        if labels:
            node = syntax.NodeAffinity(
                policy_text.SPAN,
                "required",
                policy_text.join_by_and(
                    [policy_text.make_label_requirement(each, operator) for each in labels]
                ),
                (),
            )
            comment = f"{presence.place.origin_comment}, {name}"
            rule = profile_plan.ReplacementRule(node, comment, at=presence.place)
            reading.plan.rules.append(rule)
    affinity = argument.read_object("serviceAffinity")
    if affinity is not None:
        labels = affinity.read_texts("labels")
        problem = f"`{name}` keeps the pods of a service on nodes with equal {', '.join(labels)}"
        reading.made.report.warn(affinity.place, problem, plugin_facts.GONE["ServiceAffinity"])


# ---------------------------------------------------------------------------- priorities


def _import_priorities(given: fields.StrictFields, reading: _RequestedFiltersAndScores) -> None:
    """Record the scores of the priorities, or of the defaults if the Policy lists none."""
    if "priorities" not in given:
        for name, weight in legacy_policy_facts.DEFAULT_PRIORITIES.items():
            _import_exact_priority(name, weight, "", given.place, reading)
    for priority in given.read_objects("priorities"):
        name = priority.read_text("name")
        weight = priority.read_integer("weight") or 0
        argument = priority.read_object("argument")
        comment = f"{priority.place.origin_comment} {name}"
        if weight <= 0:
            problem = f"`{name}` has the weight {weight}, which kube-scheduler refuses"
            reading.made.report.warn(priority.place, problem, "remove it or give it a weight")
            if argument is not None:
                argument.read_all_values()
        elif argument is not None:
            _import_custom_priority(name, weight, argument, priority.place, reading)
        elif not _import_exact_priority(name, weight, comment, priority.place, reading):
            _substitute_inexact_priority(name, priority.place, weight, reading)


def _import_exact_priority(
    name: str,
    weight: int,
    comment: str,
    place: findings.ValueLocation,
    reading: _RequestedFiltersAndScores,
) -> bool:
    """Record the score of a priority with a counterpart; return False for any other priority."""
    if name in legacy_policy_facts.STRATEGIES:
        strategy = legacy_policy_facts.STRATEGIES[name]
        args = _RATIO_DEFAULT if strategy == "RequestedToCapacityRatio" else {}
        reading.resource_scores.append(
            profile_plan.ResourceStrategyScore(strategy, weight, comment, dict(args), place)
        )
        return True
    plugin = legacy_policy_facts.PRIORITIES.get(name)
    if plugin is not None:
        reading.scores[plugin] = (weight, comment, place)
    return plugin is not None


_RATIO_DEFAULT = {
    "requestedToCapacityRatio": {
        "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    }
}
"""The default without arguments prefers empty nodes (`requested_to_capacity_ratio.go` of 1.17)."""


def _substitute_inexact_priority(
    name: str, place: findings.ValueLocation, weight: int, reading: _RequestedFiltersAndScores
) -> None:
    """Report a priority without an exact counterpart, and record the best substitute."""
    report = reading.made.report
    if name == legacy_policy_facts.CONSTANT:
        report.note(place, f"`{name}` gives every node the same points", "it is left out")
    elif name in legacy_policy_facts.GONE_PRIORITIES:
        plugin = legacy_policy_facts.GONE_PRIORITIES[name]
        problem = f"`{name}` has no counterpart: Kubernetes has removed {plugin}"
        report.warn(place, problem, plugin_facts.GONE[plugin])
    elif name in legacy_policy_facts.SELECTOR_SPREAD:
        spread = (weight, f"{place.origin_comment} {name}", place)
        reading.scores.setdefault("PodTopologySpread", spread)
        problem = (
            f"`{name}` no longer exists; PodTopologySpread with its default constraints replaces it"
        )
        report.warn(
            place,
            problem,
            "points differ; write `topologySpread` for pods that must be spread evenly",
        )
    else:
        known = (
            *legacy_policy_facts.PRIORITIES,
            *legacy_policy_facts.STRATEGIES,
            *legacy_policy_facts.SELECTOR_SPREAD,
        )
        _report_unknown_name("priority", name, place, known, reading)


def _import_custom_priority(
    name: str,
    weight: int,
    argument: fields.StrictFields,
    place: findings.ValueLocation,
    reading: _RequestedFiltersAndScores,
) -> None:
    """Convert a priority with an argument to a rule, a resource score or a warning."""
    preference = argument.read_object("labelPreference")
    if preference is not None:
        label = preference.read_text("label")
        operator: Any = (
            "Exists" if preference.read_boolean("presence", default=False) else "DoesNotExist"
        )
        test = syntax_expr.NodeTest(
            policy_text.SPAN, policy_text.make_label_requirement(label, operator)
        )
        comment = f"{preference.place.origin_comment}, {name}"
        node = syntax.Score(policy_text.SPAN, test, ())
        reading.plan.rules.append(profile_plan.ReplacementRule(node, comment, weight, place))
    spread = argument.read_object("serviceAntiAffinity")
    if spread is not None:
        problem = f"`{name}` spreads the pods of a service by `{spread.read_text('label')}`"
        reading.made.report.warn(spread.place, problem, plugin_facts.GONE["ServiceAntiAffinity"])
    ratio = argument.read_object("requestedToCapacityRatioArguments")
    if ratio is not None:
        _import_capacity_ratio(ratio, weight, place, reading)


def _import_capacity_ratio(
    ratio: fields.StrictFields,
    weight: int,
    place: findings.ValueLocation,
    reading: _RequestedFiltersAndScores,
) -> None:
    """Record the resource score of `requestedToCapacityRatioArguments`."""
    shape = [
        {
            "utilization": point.read_integer("utilization") or 0,
            "score": point.read_integer("score") or 0,
        }
        for point in ratio.read_objects("shape")
    ]
    resources = [
        {"name": each.read_text("name"), "weight": each.read_integer("weight") or 1}
        for each in ratio.read_objects("resources")
    ]
    args: dict[str, Any] = {"resources": resources} if resources else {}
    args |= {"requestedToCapacityRatio": {"shape": shape}}
    reading.resource_scores.append(
        profile_plan.ResourceStrategyScore(
            "RequestedToCapacityRatio", weight, ratio.place.origin_comment, args, place
        )
    )


def _report_unknown_name(
    kind: str,
    name: str,
    place: findings.ValueLocation,
    known: tuple[str, ...],
    reading: _RequestedFiltersAndScores,
) -> None:
    """Warn about an unknown predicate or priority, and suggest similar names."""
    advice = spelling.suggest_names(name, known) or "write a rule with the same effect"
    reading.made.report.warn(place, f"the {kind} `{name}` is not known", advice)


# ---------------------------------------------------------------------------- plugins


def _apply_requests_to_plugins(reading: _RequestedFiltersAndScores) -> None:
    """Set each plugin as the predicates and priorities request."""
    for name, decides in plugin_facts.DECIDES.items():
        if name not in _COVERED:
            continue
        choice = reading.plan.choices[name]
        is_filter, is_score = name in reading.filters, name in reading.scores
        choice.comment = reading.filters.get(name) or ""
        if is_score:
            choice.weight, comment, place = reading.scores[name]
            choice.comment, choice.at = comment or choice.comment, place
            if not is_filter and name in _FILTERS:
                _report_added_filter(name, place, reading)
        choice.is_on = is_filter or is_score
        choice.scores = is_score or "score" not in decides
        if not choice.is_on:
            choice.comment = "no predicate or priority uses it"
        elif not choice.scores:
            choice.comment = f"{choice.comment or 'a predicate by default'}, but no priority"
    profile_plan.add_resource_scores(reading.plan, reading.resource_scores, replaces_fit=True)


def _report_added_filter(
    name: str, place: findings.ValueLocation, reading: _RequestedFiltersAndScores
) -> None:
    problem = f"`{name}` only scores here; policysched's filters too"
    advice = f"write `disable {name}` if pods must run on nodes that it rejects"
    reading.made.report.warn(place, problem, advice)


_COVERED = frozenset(
    {plugin for plugins in legacy_policy_facts.PREDICATES.values() for plugin in plugins}
    | set(legacy_policy_facts.PRIORITIES.values())
)
"""Plugins that a Policy controls; other plugins are newer, or a Policy cannot configure them."""
