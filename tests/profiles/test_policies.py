from __future__ import annotations

import datetime
import json
import pathlib

import pytest

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.config import config
from policysched.extenders import settings as extender_settings
from policysched.framework import handles
from policysched.inputs import cluster_file
from policysched.lang import source
from policysched.offline import sessions
from policysched.plugins import defaults
from policysched.profiles import plugin_sets, policies, profile_members
from tests import builders
from tests.cli import clusters


class NoBinder:
    """Binds nothing."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Refuse."""
        return handles.BindError(f"{pod.key} is not bound to {node_name}")


HANDLE = handles.Handle(NoBinder())


def _made(text: str, configuration: config.Config | None = None) -> policies.Profiles:
    sources = [source.SourceText("p.policy", "version 1\n" + text)]
    found = policies.make_policy_set_from_texts(sources, {}, None, configuration)
    return policies.require_profiles(policies.make_profiles(found, HANDLE))


def _weights(profiles: policies.Profiles, name: str) -> dict[str, int]:
    return dict(profiles.by_name[name].weights)


DEFAULT_SCORES = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


def test_without_policies_there_is_kube_schedulers_profile() -> None:
    """Its plugins and weights, under the default name or the one that is asked for."""
    for asked, name in ((None, "policysched"), ("default-scheduler", "default-scheduler")):
        found = policies.load_policy_set((), {}, asked)
        profiles = policies.require_profiles(policies.make_profiles(found, HANDLE))
        assert list(profiles.by_name) == [name]
        made = profiles.by_name[name]
        assert [plugin.name for plugin in made.plugins] == list(defaults.DEFAULT_WEIGHTS)
        assert made.weights == DEFAULT_SCORES
        assert (made.policy_hash, made.policies, found.content_hash) == ("", (), "")


def test_policies_without_a_profile_are_in_the_implied_one() -> None:
    """All policies of the text act, and their scores join the pool."""
    profiles = _made("policy p { for pods score free(cpu) prefer high weight 7 as roomy }")
    made = profiles.by_name["policysched"]
    assert made.policies == ("p",)
    assert len(made.policy_hash) == 12
    assert made.weights == {**DEFAULT_SCORES, "p/roomy": 7}


@pytest.mark.parametrize(
    "statements, weights",
    [
        pytest.param("", DEFAULT_SCORES, id="nothing-said"),
        pytest.param(
            "plugin NodeResourcesFit weight 9",
            {**DEFAULT_SCORES, "NodeResourcesFit": 9},
            id="weight",
        ),
        pytest.param(
            "disable scores TaintToleration, ImageLocality",
            {
                name: weight
                for name, weight in DEFAULT_SCORES.items()
                if name not in ("TaintToleration", "ImageLocality")
            },
            id="scores-off",
        ),
        pytest.param(
            "disable all scores plugin NodeAffinity weight 4", {"NodeAffinity": 4}, id="all-off"
        ),
        pytest.param(
            "builtin weight 3 plugin NodeAffinity weight 4",
            {name: 3 * weight for name, weight in (DEFAULT_SCORES | {"NodeAffinity": 4}).items()},
            id="scaled",
        ),
    ],
)
def test_what_a_profile_says_of_scores(statements: str, weights: dict[str, int]) -> None:
    """Weights, scores that are off, and the scale of the built-in ones."""
    assert _weights(_made(f"profile a {{ {statements} }}"), "a") == weights


def test_a_disabled_plugin_is_gone() -> None:
    """It neither filters nor scores."""
    made = _made("profile a { disable NodeResourcesFit }").by_name["a"]
    assert "NodeResourcesFit" not in [plugin.name for plugin in made.plugins]
    assert "NodeResourcesFit" not in made.weights


def test_the_configuration_stands_over_the_text() -> None:
    """It changes plugins of a declared profile and adds profiles without policies."""
    configuration = config.Config(
        profiles=(
            config.ProfileConfig(
                "a",
                plugins=(config.PluginConfig("NodeAffinity", 5),),
                disabled=("ImageLocality",),
                disabled_scores=("TaintToleration",),
            ),
            config.ProfileConfig("b"),
        )
    )
    profiles = _made("profile a { plugin NodeAffinity weight 4 }", configuration)
    assert list(profiles.by_name) == ["a", "b"]
    expected = dict(DEFAULT_SCORES, NodeAffinity=5)
    del expected["ImageLocality"], expected["TaintToleration"]
    assert _weights(profiles, "a") == expected
    assert _weights(profiles, "b") == DEFAULT_SCORES
    assert profiles.by_name["b"].policies == ()


def test_profiles_of_a_configuration_replace_the_implied_one() -> None:
    """Without policies the configuration says which profiles there are."""
    configuration = config.Config(profiles=(config.ProfileConfig("b"),))
    for asked, names in ((None, ["b"]), ("x", ["x", "b"])):
        found = policies.load_policy_set((), {}, asked, configuration)
        assert (
            list(policies.require_profiles(policies.make_profiles(found, HANDLE)).by_name) == names
        )


def _ignoring(name: str, resource: str) -> config.ProfileConfig:
    """Return a profile of a configuration whose NodeResourcesFit ignores a resource."""
    plugin = config.PluginConfig("NodeResourcesFit", None, {"ignoredResources": [resource]})
    return config.ProfileConfig(name, (plugin,))


def _pod_requesting(resource: str, profile: str) -> clusters.Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {resource: "1"}}}
    name = f"{profile}-{resource.partition('.')[0]}"
    return clusters.pod(name, containers=[container], schedulerName=profile)


_IGNORING_IN_TEXT = (
    'profile a { plugin NodeResourcesFit args { ignoredResources: ["old.com/x"] } }\n'
    "profile c { disable scores NodeResourcesFit }"
)


@pytest.mark.parametrize(
    "text, profiles, names",
    [
        pytest.param("", (), ["policysched"], id="no-profile"),
        pytest.param("", (_ignoring("b", "old.com/x"),), ["b"], id="of-the-configuration"),
        pytest.param(_IGNORING_IN_TEXT, (), ["a", "c"], id="of-the-text"),
        pytest.param(
            _IGNORING_IN_TEXT,
            (_ignoring("a", "older.com/x"), _ignoring("b", "old.com/x")),
            ["a", "c", "b"],
            id="of-both",
        ),
    ],
)
def test_every_profile_ignores_the_resources_that_extenders_take_over(
    text: str, profiles: tuple[config.ProfileConfig, ...], names: list[str]
) -> None:
    """They replace the argument of the profile; a pod that requests one fits on any node."""
    managed = (
        extender_settings.ManagedResource("new.com/x", ignored_by_scheduler=True),
        extender_settings.ManagedResource("kept.com/x"),
    )
    extenders = (extender_settings.ExtenderSettings("http://h", managed_resources=managed),)
    configuration = config.Config(profiles=profiles, extenders=extenders)
    if text:
        sources = [source.SourceText("p.policy", f"version 1\n{text}")]
        policy_set = policies.make_policy_set_from_texts(sources, {}, None, configuration)
    else:
        policy_set = policies.load_policy_set((), {}, None, configuration)
    resources = ("new.com/x", "old.com/x", "kept.com/x")
    pods = [_pod_requesting(resource, name) for name in names for resource in resources]
    listed = json.dumps(clusters.list_of(clusters.node("n"), *pods)).encode()
    found = cluster_file.parse_cluster(listed, "cluster")
    decider = sessions.DeciderFactory(policy_set, builders.EPOCH).make_decider(found, "cluster")
    placed = [each.pod for each in decider.simulate_placements() if each.node is not None]
    assert sorted(placed) == sorted(f"prod/{name}-new" for name in names)


def test_without_ignored_resources_extenders_change_no_profile() -> None:
    """As in kube-scheduler."""
    managed = (extender_settings.ManagedResource("kept.com/x"),)
    extenders = (extender_settings.ExtenderSettings("http://h", managed_resources=managed),)
    profiles = (_ignoring("a", "old.com/x"),)
    with_extenders = config.Config(profiles=profiles, extenders=extenders)
    without = policies.load_policy_set((), {}, None, config.Config(profiles=profiles))
    assert policies.load_policy_set((), {}, None, with_extenders).specs == without.specs


def test_a_name_that_no_declared_profile_has_is_refused() -> None:
    """Who names a scheduler is not left with one that serves other pods."""
    text = source.SourceText("p.policy", "version 1\nprofile a { }\nprofile b { }")
    assert [spec.name for spec in policies.make_policy_set_from_texts([text], {}, "b").specs] == [
        "a",
        "b",
    ]
    with pytest.raises(errors.ConfigurationError) as caught:
        policies.make_policy_set_from_texts([text], {}, "c")
    assert str(caught.value) == (
        "--scheduler-name: there is no profile `c` (the policies declare `a` or `b`)"
    )


def test_annotations_that_policies_read_are_known() -> None:
    """Pods must not count as equal where a policy tells them apart."""
    profiles = _made('policy p { for pods where annotation("team") = a }')
    assert profiles.annotation_keys == frozenset({"team"})


def test_the_next_change_by_time_is_known() -> None:
    """Windows and expiry dates of any profile count."""
    profiles = _made(
        'policy p { for pods reject when node(a = b) during "Mon-Fri 08:00-20:00 UTC" as day }'
    )
    monday_noon = datetime.datetime(2026, 1, 5, 12, 0, tzinfo=datetime.UTC)
    assert profiles.next_change(monday_noon) == monday_noon.replace(hour=20)
    assert _made("policy p { for pods }").next_change(monday_noon) is None


@pytest.mark.parametrize(
    "statements, problems",
    [
        pytest.param(
            "disable PrioritySort", ["no QueueSort: exactly one plugin must"], id="no-queue-sort"
        ),
        pytest.param("disable DefaultBinder", ["no plugin binds pods"], id="no-bind"),
        pytest.param(
            "disable PrioritySort, DefaultBinder",
            ["no QueueSort: exactly one plugin must", "no plugin binds pods"],
            id="neither",
        ),
        pytest.param(
            "plugin NodeResourcesFit args { scoringStrategy: { type: Best } }",
            ["NodeResourcesFit: "],
            id="wrong-argument",
        ),
        pytest.param(
            "plugin NodeName args { a: 1 }", ["NodeName: "], id="argument-where-none-is-taken"
        ),
    ],
)
def test_what_a_profile_cannot_be_is_told_all_at_once(statements: str, problems: list[str]) -> None:
    """Faults are values with the place in the policy text."""
    text = source.SourceText("p.policy", f"version 1\nprofile a {{ {statements} }}")
    found = policies.make_profiles(policies.make_policy_set_from_texts([text], {}), HANDLE)
    assert isinstance(found, list)
    assert [fault.problem[: len(p)] for fault, p in zip(found, problems, strict=True)] == problems
    assert all(fault.where.startswith("p.policy:2:") for fault in found)
    with pytest.raises(errors.ConfigurationError, match=r"^p\.policy:2:"):
        policies.require_profiles(found)


def test_unknown_plugins_of_a_configuration_are_named_with_the_nearest() -> None:
    """A misspelt name in the configuration file is no silent gap."""
    configuration = config.Config(
        profiles=(
            config.ProfileConfig(
                "a", plugins=(config.PluginConfig("NodeAfinity"),), disabled=("ImageLocalty",)
            ),
        )
    )
    found = policies.make_profiles(policies.load_policy_set((), {}, None, configuration), HANDLE)
    assert isinstance(found, list)
    where = "profile `a` of the configuration: there is no plugin"
    assert [str(fault) for fault in found] == [
        f"{where} `NodeAfinity` (did you mean `NodeAffinity`?)",
        f"{where} `ImageLocalty` (did you mean `ImageLocality`?)",
    ]


def test_params_of_the_command_line_stand_over_those_of_the_configuration(
    tmp_path: pathlib.Path,
) -> None:
    """Both change the hash, so that decisions can be told apart."""
    (tmp_path / "p.policy").write_text("version 1\nparam low: cores = 1\n")
    configuration = config.Config(params={"low": 2})
    found = [
        policies.load_policy_set([str(tmp_path)], given, None, used)
        for given, used in (({}, None), ({}, configuration), ({"low": "3"}, configuration))
    ]
    values = [each.program.params[0].value for each in found if each.program]
    assert values == [1000, 2000, 3000]
    assert len({each.content_hash for each in found}) == 3


def test_each_plugin_and_rule_of_each_profile_is_described() -> None:
    """Start-up logs name policies, weights and extension points."""
    profiles = _made(
        "policy p { for pods reject when node(a = b) as off score free(cpu) prefer high as roomy }"
        "profile a { policies p plugin NodeAffinity weight 4 }"
    )
    lines = list(profile_members.describe_profiles(profiles))
    assert lines[0] == f"profile=a policies=p hash={profiles.by_name['a'].policy_hash}"
    points = "PreFilter,Filter,PreScore,Score,NormalizeScore"
    assert f"profile=a plugin=NodeAffinity weight=4 points={points}" in lines
    assert "profile=a plugin=DefaultBinder points=Bind" in lines
    plugins = [line for line in lines if " plugin=" in line]
    assert len(plugins) == len(defaults.DEFAULT_PLUGINS)
    rules = [line.partition(" points=")[0] for line in lines if " rule=" in line]
    assert rules == ["profile=a rule=p/off", "profile=a rule=p/roomy weight=1"]


def test_a_plugin_names_its_extension_points_in_order() -> None:
    """The order is that of a pod's way through them."""
    assert list(plugin_sets.EXTENSION_POINTS.values())[:3] == [
        "PreEnqueue",
        "QueueSort",
        "PreFilter",
    ]


def test_shadow_policies_are_described_and_have_plugins_of_their_own() -> None:
    """A line tells that one is tried; nothing that decides is shared with what it is tried by."""
    text = """
    policy now { for pods }
    policy next { mode shadow for pods reject when free(cpu) < 1 }
    profile one { policies now, next }
    profile two { policies now }
    """
    made = policies.require_profiles(
        policies.make_profiles(
            policies.make_policy_set_from_texts([source.SourceText("test.policy", text)], {}),
            handles.Handle(NoBinder()),
        )
    )
    assert [line for line in profile_members.describe_profiles(made) if "shadow" in line] == [
        "profile=one shadow=next"
    ]
    assert list(made.shadows) == ["one"]
    (candidate,) = made.shadows["one"]
    tried = candidate._framework.profile
    assert tried.policies == ("now", "next")
    assert not {id(plugin) for plugin in tried.plugins} & {
        id(plugin) for plugin in made.by_name["one"].plugins
    }
