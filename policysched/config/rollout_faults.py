"""Find errors of `policies.rollout` that the schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import durations
from policysched.config import config
from policysched.inputs import plain_yaml
from policysched.rollout import guard_queries, settings

_SHARES = frozenset({"unschedulable", "missingMetrics"})

_Problems = Iterator[tuple[plain_yaml.Path, str]]
"""The path of each invalid value below `policies.rollout`, and a description of its problem."""


def find_rollout_problems(given: config.Config) -> _Problems:
    """Yield the problems of the stages, of the guards, and of both together."""
    plan = given.policies.rollout
    if not plan.stages and not plan.guards:
        return
    if not plan.stages:
        yield ("guards",), "`policies.rollout` needs `stages`"
        return
    if not given.policies.config_map:
        yield (), "`policies.rollout` needs `policies.configMap`"
    yield from _find_timeout_problems(plan)
    for index, stage in enumerate(plan.stages):
        for path, problem in _find_stage_problems(stage, plan.stages[:index]):
            yield ("stages", index, *path), f"`policies.rollout.stages[{index}]`: {problem}"
    for index, guard in enumerate(plan.guards):
        for path, problem in _find_guard_problems(guard, plan.guards[:index], given):
            yield ("guards", index, *path), f"guard `{guard.name}`: {problem}"
    yield from _find_unmeasurable_guards(plan)


def _find_timeout_problems(plan: settings.RolloutSettings) -> _Problems:
    if durations.parse_duration_seconds(plan.timeout) is None:
        yield ("timeout",), "`timeout` must be a duration such as `24h`"
        return
    longest = max(stage.duration_seconds for stage in plan.stages)
    if longest >= plan.timeout_seconds:
        yield ("timeout",), f"`timeout` ({plan.timeout}) must exceed the duration of each stage"


def _find_stage_problems(stage: settings.Stage, former: tuple[settings.Stage, ...]) -> _Problems:
    if durations.parse_duration_seconds(stage.duration) is None:
        yield ("duration",), "`duration` must be a duration such as `10m`"
    chooses_pods = stage.percent is not None or bool(stage.namespaces or stage.match_labels)
    if stage.shadow and chooses_pods:
        yield ("shadow",), "a shadow stage decides about all pods; remove the other fields"
    elif stage.shadow and any(not each.shadow for each in former):
        yield ("shadow",), "a shadow stage must precede the stages in which pods are bound"
    elif not stage.shadow and not chooses_pods:
        yield (), "needs `shadow`, `percent`, `namespaces` or `matchLabels`"


def _find_guard_problems(
    guard: settings.Guard, former: tuple[settings.Guard, ...], given: config.Config
) -> _Problems:
    if any(guard.name == each.name for each in former):
        yield ("name",), "appears twice"
    if (guard.measure is None) == (not guard.query):
        yield (), "needs either `measure` or `query`"
        return
    if (guard.most is None) == (guard.most_times_old is None):
        yield (), "needs either `most` or `mostTimesOld`"
        return
    if guard.query:
        yield from _find_query_problems(guard, given)
    elif guard.measure == "missingMetrics" and guard.most is None:
        yield ("mostTimesOld",), "`missingMetrics` is compared with `most`"
    elif guard.most is not None and guard.most < 0:
        yield ("most",), "always trips, because `most` is less than 0"
    elif guard.most is not None and guard.measure in _SHARES and guard.most >= 1:
        yield ("most",), f"never trips, because `{guard.measure}` is a share of at most 1"


def _find_query_problems(guard: settings.Guard, given: config.Config) -> _Problems:
    if guard.most is None:
        advice = f"compare with `{guard_queries.OLD_PODS}` in the query, and write `most`"
        yield ("mostTimesOld",), f"a query has no `mostTimesOld`; {advice}"
    if problem := guard_queries.find_query_problem(guard.query):
        yield ("query",), f"`query` {problem}"
    source = guard.source
    if source not in given.prometheus:
        yield ("source",), f"there is no `prometheus.{source}` in the configuration"


def _find_unmeasurable_guards(plan: settings.RolloutSettings) -> _Problems:
    """Yield a problem for each guard that no stage can measure, or that one stage never can."""
    is_shadow_only = all(each.shadow for each in plan.stages)
    leaves_no_pods = any(each.takes_all_pods for each in plan.stages)
    for index, guard in enumerate(plan.guards):
        if is_shadow_only and guard.measure not in settings.SHADOW_MEASURES:
            what = guard.measure or "a query"
            problem = f"{what} needs a stage without `shadow`, because no pods are bound"
            yield ("guards", index), f"guard `{guard.name}`: {problem}"
        if leaves_no_pods and guard.most_times_old is not None:
            problem = "`mostTimesOld` needs pods of the version in force; a stage takes all pods"
            yield ("guards", index, "mostTimesOld"), f"guard `{guard.name}`: {problem}"
