"""Stages and guards of rollouts in the configuration: fields, defaults, and all faults at once."""

from __future__ import annotations

import pytest

from policysched import errors
from policysched.config import config_printing, config_reading
from policysched.rollout import settings

_HEAD = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"
_SERVERS = "prometheus: {default: {url: 'http://p:9090'}, team: {url: 'http://t:9090'}}\n"
_POLICIES = f"{_HEAD}{_SERVERS}policies:\n  configMap: kube-system/policies\n  rollout:\n"
_LINES_BEFORE = len(_POLICIES.splitlines())
_SHARE = "stages: [{percent: 5}]"


def _read(text: str) -> settings.RolloutSettings:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return config_reading.parse_config(_POLICIES + lines, "c.yaml").policies.rollout


def test_all_fields() -> None:
    """As docs/rollouts.md describes them."""
    text = (
        "stages:\n"
        "- {shadow: true, duration: 10m, minPods: 50}\n"
        "- {percent: 10, duration: 1h30m}\n"
        "- {namespaces: [shop, cart], matchLabels: {tier: web}}\n"
        "guards:\n"
        "- {name: pending, measure: unschedulable, mostTimesOld: 1.5}\n"
        "- {name: errors, query: 'sum(bad{$new_pods})', source: team, most: 0.02}\n"
        "minPods: 30\n"
        "timeout: 6h\n"
        "onTimeout: wait\n"
    )
    found = _read(text)
    assert found == settings.RolloutSettings(
        stages=(
            settings.Stage(shadow=True, duration="10m", min_pods=50),
            settings.Stage(percent=10, duration="1h30m"),
            settings.Stage(namespaces=("shop", "cart"), match_labels={"tier": "web"}),
        ),
        guards=(
            settings.Guard("pending", "unschedulable", most_times_old=1.5),
            settings.Guard("errors", query="sum(bad{$new_pods})", source="team", most=0.02),
        ),
        min_pods=30,
        timeout="6h",
        on_timeout="wait",
    )
    assert [found.min_pods_of(stage) for stage in range(3)] == [50, 30, 30]
    assert [each.duration_seconds for each in found.stages] == [600, 5400, 0]
    assert [each.takes_all_pods for each in found.stages] == [False] * 3
    assert found.timeout_seconds == 21600
    given = config_reading.parse_config(
        _POLICIES + "".join(f"    {line}\n" for line in text.splitlines()), "c.yaml"
    )
    printed = config_printing.format_config_yaml(given)
    assert config_reading.parse_config(printed, "p.yaml").policies.rollout == found


def test_without_stages_an_edit_acts_at_once() -> None:
    """The default, also with other fields that have no effect then."""
    assert not config_reading.parse_config(_HEAD, "c.yaml").policies.rollout.stages
    assert not _read("stages: []\nminPods: 3").stages


@pytest.mark.parametrize(
    "stage, text",
    [
        (settings.Stage(shadow=True), "shadow"),
        (settings.Stage(percent=0.5), "0.5 % of the workloads"),
        (settings.Stage(namespaces=("shop", "cart")), "namespaces shop, cart"),
        (settings.Stage(match_labels={"tier": "web", "zone": "a"}), "labels tier=web, zone=a"),
        (
            settings.Stage(percent=10, namespaces=("shop",), match_labels={"tier": "web"}),
            "10 % of the workloads; namespaces shop; labels tier=web",
        ),
    ],
)
def test_stages_have_a_short_description(stage: settings.Stage, text: str) -> None:
    """For messages, annotations and reports."""
    assert stage.describe() == text


_STAGE = "`policies.rollout.stages[{}]`: {}"
_NO_PODS = "needs a stage without `shadow`, because no pods are bound"


@pytest.mark.parametrize(
    "text, told",
    [
        pytest.param(
            "guards: [{name: a, measure: evictions, most: 1}]",
            ["1: `policies.rollout` needs `stages`"],
            id="guards-alone",
        ),
        pytest.param(
            "stages: [{percent: 5}]\nguards:\n- {name: a, measure: unschedulable, most: 1}\n"
            "- {name: b, measure: evictions, most: -1}",
            [
                "3: guard `a`: never trips, because `unschedulable` is a share of at most 1",
                "4: guard `b`: always trips, because `most` is less than 0",
            ],
            id="useless-bounds",
        ),
        pytest.param(
            "stages: [{}]",
            ["1: " + _STAGE.format(0, "needs `shadow`, `percent`, `namespaces` or `matchLabels`")],
            id="stage-of-no-pods",
        ),
        pytest.param(
            "stages:\n- {percent: 5}\n- {namespaces: [], matchLabels: {}}",
            ["3: " + _STAGE.format(1, "needs `shadow`, `percent`, `namespaces` or `matchLabels`")],
            id="empty-conditions",
        ),
        pytest.param(
            "stages: [{shadow: true, namespaces: [shop]}]",
            [
                "1: "
                + _STAGE.format(0, "a shadow stage decides about all pods; remove the other fields")
            ],
            id="shadow-of-a-share",
        ),
        pytest.param(
            "stages:\n- {percent: 5}\n- {shadow: true}",
            [
                "3: "
                + _STAGE.format(1, "a shadow stage must precede the stages in which pods are bound")
            ],
            id="late-shadow",
        ),
        pytest.param(
            "stages: [{percent: 0}]",
            ["1: `policies.rollout.stages[0].percent` must be more than 0"],
            id="percent-0",
        ),
        pytest.param(
            "stages: [{percent: 101}]",
            ["1: `policies.rollout.stages[0].percent` must be at most 100"],
            id="percent-101",
        ),
        pytest.param(
            "stages: [{percent: 5, minPods: 0}]\nminPods: 0",
            [
                "1: `policies.rollout.stages[0].minPods` must be at least 1",
                "2: `policies.rollout.minPods` must be at least 1",
            ],
            id="no-pods-needed",
        ),
        pytest.param(
            "stages: [{percent: 5, duration: 5 m}]",
            ["1: " + _STAGE.format(0, "`duration` must be a duration such as `10m`")],
            id="duration",
        ),
        pytest.param(
            f"{_SHARE}\ntimeout: soon", ["2: `timeout` must be a duration such as `24h`"], id="soon"
        ),
        pytest.param(
            "stages: [{percent: 5, duration: 1h}, {percent: 9, duration: 60m}]\ntimeout: 1h",
            ["2: `timeout` (1h) must exceed the duration of each stage"],
            id="timeout-too-short",
        ),
        pytest.param(
            f"{_SHARE}\ntimeout: 0s",
            ["2: `timeout` (0s) must exceed the duration of each stage"],
            id="no-time",
        ),
        pytest.param(
            f"{_SHARE}\nonTimeout: promote",
            ["2: `policies.rollout.onTimeout` is `rollBack` or `wait`"],
            id="never-promoted-by-time",
        ),
        pytest.param(
            f"{_SHARE}\nguards:\n- {{name: a, measure: evictions, most: 1}}\n"
            "- {name: a, measure: unschedulable, most: 0.5}",
            ["4: guard `a`: appears twice"],
            id="twice",
        ),
        pytest.param(
            f"{_SHARE}\nguards:\n- {{name: a, most: 1}}\n"
            "- {name: b, measure: evictions, query: 'x{$new_pods}', most: 1}",
            [
                f"{line}: guard `{name}`: needs either `measure` or `query`"
                for line, name in ((3, "a"), (4, "b"))
            ],
            id="measure-or-query",
        ),
        pytest.param(
            f"{_SHARE}\nguards:\n- {{name: a, measure: evictions}}\n"
            "- {name: b, measure: evictions, most: 1, mostTimesOld: 2}",
            [
                f"{line}: guard `{name}`: needs either `most` or `mostTimesOld`"
                for line, name in ((3, "a"), (4, "b"))
            ],
            id="one-bound",
        ),
        pytest.param(
            f"{_SHARE}\nguards: [{{name: a, measure: missingMetrics, mostTimesOld: 2}}]",
            ["2: guard `a`: `missingMetrics` is compared with `most`"],
            id="missing-metrics-of-the-old-version",
        ),
        pytest.param(
            f"{_SHARE}\nguards:\n- {{name: a, query: 'sum(x)', source: none, mostTimesOld: 2}}",
            [
                (
                    "3: guard `a`: `query` must contain `$new_pods` or `$old_pods` in each "
                    "selector; `x` reads the pods of both versions"
                ),
                (
                    "3: guard `a`: a query has no `mostTimesOld`; "
                    "compare with `$old_pods` in the query, and write `most`"
                ),
                "3: guard `a`: there is no `prometheus.none` in the configuration",
            ],
            id="query",
        ),
        pytest.param(
            "stages: [{shadow: true}]\nguards:\n- {name: a, query: 'x{$new_pods}', most: 1}\n"
            "- {name: b, measure: evictions, most: 1}\n"
            "- {name: c, measure: unschedulable, most: 0.5}",
            [f"3: guard `a`: a query {_NO_PODS}", f"4: guard `b`: evictions {_NO_PODS}"],
            id="guards-without-bound-pods",
        ),
        pytest.param(
            "stages: [{percent: 5}, {percent: 100}]\nguards:\n"
            "- {name: a, measure: unschedulable, mostTimesOld: 2}",
            [
                (
                    "3: guard `a`: `mostTimesOld` needs pods of the version in force; "
                    "a stage takes all pods"
                )
            ],
            id="nothing-to-compare-with",
        ),
        pytest.param(
            f"{_SHARE}\nguards: [{{name: a, measure: unschedulable, most: .nan}}]",
            ["2: `policies.rollout.guards[0].most` must be a number"],
            id="a-bound-that-nothing-exceeds",
        ),
    ],
)
def test_faults_are_told_all_at_once(text: str, told: list[str]) -> None:
    """With the line of each, and what to do."""
    with pytest.raises(errors.ConfigurationError) as caught:
        _read(text)
    lines = [each.split(":", 2) for each in str(caught.value).split("\n")]
    assert [f"{int(line) - _LINES_BEFORE}:{rest}" for _, line, rest in lines] == told


def test_rollouts_need_a_config_map() -> None:
    """Files have no place for the status, and no operator's requests."""
    text = f"{_HEAD}policies:\n  paths: [p]\n  rollout: {{stages: [{{percent: 5}}]}}\n"
    with pytest.raises(errors.ConfigurationError) as caught:
        config_reading.parse_config(text, "c.yaml")
    assert str(caught.value) == "c.yaml:5: `policies.rollout` needs `policies.configMap`"


def test_the_default_server_must_be_configured() -> None:
    """A query without `source` is for the server `default`."""
    guard = "{name: a, query: 'x{$new_pods}', most: 1}"
    text = f"{_HEAD}policies:\n  configMap: a/b\n  rollout:\n    {_SHARE}\n    guards: [{guard}]\n"
    with pytest.raises(errors.ConfigurationError) as caught:
        config_reading.parse_config(text, "c.yaml")
    told = "c.yaml:7: guard `a`: there is no `prometheus.default` in the configuration"
    assert str(caught.value) == told
