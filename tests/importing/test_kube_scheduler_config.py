"""KubeSchedulerConfiguration of all versions."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from policysched import errors
from policysched.config import config_reading
from tests.conformance.generate import families
from tests.importing import deciding

HEAD = """\
apiVersion: kubescheduler.config.k8s.io/{version}
kind: KubeSchedulerConfiguration
"""


def _configuration(version: str = "v1", rest: str = "") -> str:
    return HEAD.format(version=version) + "leaderElection: {leaderElect: false}\n" + rest


def _profile(plugins: str, version: str = "v1") -> str:
    return _configuration(version, f"profiles:\n- plugins: {plugins}\n")


MOST = "{ scoringStrategy: { type: MostAllocated } }"
OLD_WEIGHTS = [
    "plugin TaintToleration weight 1",
    "plugin NodeAffinity weight 1",
    "plugin InterPodAffinity weight 1",
]


@pytest.mark.parametrize(
    "version, lines",
    [
        pytest.param("v1", [], id="v1"),
        pytest.param("v1beta3", [], id="v1beta3"),
        pytest.param("v1beta2", OLD_WEIGHTS, id="v1beta2"),
        pytest.param("v1beta1", OLD_WEIGHTS, id="v1beta1"),
    ],
)
def test_a_default_configuration_has_the_default_weights_of_its_version(
    version: str, lines: list[str]
) -> None:
    """Three weights were raised in v1beta3; nothing else has to be said."""
    imported = deciding.convert(_configuration(version))
    assert deciding.body(imported) == ["profile default-scheduler {", *lines, "}"]
    assert deciding.told(imported) == []
    deciding.require_accepted(imported)


@pytest.mark.parametrize("family", ["mixed", "resources", "spread", "podaffinity", "taints"])
def test_the_default_configuration_decides_as_the_default_profile(
    family: str, tmp_path: pathlib.Path
) -> None:
    """On generated clusters every verdict, score and message is that of a run without policies."""
    imported = deciding.convert(_configuration())
    for number in range(4):
        cluster = families.case(family, 7, number)["cluster"]
        ours = deciding.verdicts(tmp_path, cluster, imported.policy, None, "default-scheduler")
        assert ours == deciding.verdicts(tmp_path, cluster)


@pytest.mark.parametrize(
    "plugins, version, lines, warned",
    [
        pytest.param(
            "{score: {disabled: [{name: ImageLocality}], "
            "enabled: [{name: NodeAffinity, weight: 7}]}}",
            "v1",
            ["plugin NodeAffinity weight 7", "disable ImageLocality"],
            [],
            id="a-score-off-and-one-weighted",
        ),
        pytest.param(
            "{score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}}",
            "v1",
            [
                "disable scores TaintToleration, NodeAffinity, PodTopologySpread, InterPodAffinity",
                "disable NodeResourcesBalancedAllocation, ImageLocality",
            ],
            [],
            id="all-scores-off-but-one",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: NodePorts}], "
            "enabled: [{name: ImageLocality, weight: 9}]}}",
            "v1",
            ["plugin ImageLocality weight 9", "disable NodePorts"],
            [],
            id="multipoint",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: TaintToleration, weight: 9}]}, "
            "score: {enabled: [{name: TaintToleration, weight: 4}]}}",
            "v1",
            ["plugin TaintToleration weight 4"],
            [],
            id="a-point-comes-before-multipoint",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: TaintToleration}]}}",
            "v1",
            ["plugin TaintToleration weight 1"],
            [],
            id="a-weight-not-given-is-1",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: '*'}], enabled: "
            "[{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]}}",
            "v1",
            [
                (
                    "disable SchedulingGates, NodeUnschedulable, NodeName, TaintToleration, "
                    "NodeAffinity, NodePorts, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, "
                    "VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, "
                    "DefaultPreemption, NodeResourcesBalancedAllocation, ImageLocality, "
                    "NodeDeclaredFeatures"
                )
            ],
            [],
            id="nothing-but-what-is-named",
        ),
        pytest.param(
            "{filter: {disabled: [{name: NodePorts}]}, preFilter: {disabled: [{name: NodePorts}]}}",
            "v1beta3",
            ["disable NodePorts"],
            [],
            id="a-filter-off-at-its-points",
        ),
        pytest.param(
            "{filter: {disabled: [{name: TaintToleration}]}}",
            "v1",
            [],
            ["5: `TaintToleration` is enabled without filter; here it is enabled as a whole"],
            id="a-filter-off-but-its-score-on",
        ),
        pytest.param(
            "{preFilter: {disabled: [{name: NodePorts}]}}",
            "v1",
            [],
            ["5: `NodePorts` filters without its preFilter; kube-scheduler then fails pods"],
            id="a-filter-without-its-preparation",
        ),
        pytest.param(
            "{queueSort: {disabled: [{name: '*'}]}}",
            "v1",
            [],
            ["5: `PrioritySort` is disabled, but every profile needs it; it stays enabled"],
            id="no-order-of-the-queue",
        ),
        pytest.param(
            "{filter: {enabled: [{name: Coscheduling}]}}",
            "v1",
            [],
            ["5: the plugin `Coscheduling` is not installed here"],
            id="a-plugin-of-somebody-else",
        ),
        pytest.param(
            "{score: {enabled: [{name: NodeResourcesFit, weight: 500}, "
            "{name: ImageLocality, weight: 250}], disabled: [{name: '*'}]}}",
            "v1",
            [
                "plugin NodeResourcesFit weight 2",
                "disable scores TaintToleration, NodeAffinity, PodTopologySpread, InterPodAffinity",
                "disable NodeResourcesBalancedAllocation",
            ],
            [],
            id="great-weights-in-proportion",
        ),
        pytest.param(
            "{score: {enabled: [{name: NodeResourcesFit, weight: 501}]}}",
            "v1",
            ["plugin NodeResourcesFit weight 100"],
            ["5: the weight 501 is too large; 100 is used"],
            id="a-weight-beyond-the-language",
        ),
        pytest.param(
            "{score: {disabled: [{name: NodeResourcesLeastAllocated}], "
            "enabled: [{name: NodeResourcesMostAllocated, weight: 5}]}}",
            "v1beta1",
            [
                OLD_WEIGHTS[0],
                OLD_WEIGHTS[1],
                f"plugin NodeResourcesFit weight 5 args {MOST}",
                OLD_WEIGHTS[2],
            ],
            [],
            id="the-strategy-of-another-time",
        ),
        pytest.param(
            "{score: {disabled: [{name: NodeResourcesLeastAllocated}]}}",
            "v1beta1",
            [*OLD_WEIGHTS, "disable scores NodeResourcesFit"],
            [],
            id="no-score-by-requests",
        ),
        pytest.param(
            "{score: {enabled: [{name: NodePreferAvoidPods, weight: 10}]}, "
            "filter: {enabled: [{name: NodeLabel}], disabled: [{name: EBSLimits}]}}",
            "v1beta1",
            OLD_WEIGHTS,
            [
                "5: Kubernetes has removed the plugin `NodeLabel`",
                "5: Kubernetes has removed the plugin `NodePreferAvoidPods`",
                "5: `EBSLimits` cannot be off by itself",
            ],
            id="plugins-that-are-gone",
        ),
    ],
)
def test_plugin_sets(plugins: str, version: str, lines: list[str], warned: list[str]) -> None:
    """Sets of extension points become statements of a profile, or a warning each."""
    imported = deciding.convert(_profile(plugins, version))
    profile = deciding.body(imported)
    assert profile == ["profile default-scheduler {", *lines, "}"]
    assert deciding.warnings(imported) == warned
    deciding.require_accepted(imported)


def test_arguments_are_handed_on() -> None:
    """Arguments that a plugin takes stand in the profile, others in a warning with their line."""
    imported = deciding.convert(
        _configuration(
            rest="""\
profiles:
- schedulerName: mine
  pluginConfig:
  - name: InterPodAffinity
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: InterPodAffinityArgs
      hardPodAffinityWeight: 7
  - name: VolumeBinding
    args:
      bindTimeoutSeconds: 60
      shape: [{utilization: 0, score: 0}]
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10}
"""
        )
    )
    assert deciding.body(imported) == [
        "profile mine {",
        "plugin VolumeBinding args { bindTimeoutSeconds: 60 }",
        "plugin InterPodAffinity args { hardPodAffinityWeight: 7 }",
        "}",
    ]
    assert deciding.warnings(imported) == [
        "15: `profiles[0].pluginConfig[1].args.shape` does not exist in policysched",
        "17: the arguments of `Coscheduling` are left out with the plugin",
    ]
    assert "# line 9: profiles[0].pluginConfig[0].args" in imported.policy


def test_a_limit_of_searches_becomes_one_for_all_nodes() -> None:
    """kube-scheduler's is for one node; other arguments of the plugin mean the same."""
    rest = """\
profiles:
- pluginConfig:
  - name: DynamicResources
    args:
      bindingTimeout: 60s
      filterTimeout: 100ms
"""
    imported = deciding.convert(_configuration(rest=rest))
    assert 'args { filterTimeout: "100ms", bindingTimeout: "60s" }' in imported.policy
    assert [each for each in deciding.told(imported) if "Timeout" in each] == [
        "note 9: `filterTimeout` is for one node there, and for all nodes together here"
    ]


def test_constraints_alone_were_a_list_in_v1beta1() -> None:
    """`defaultingType` came to mean System later."""
    rest = """\
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
"""
    imported = deciding.convert(_configuration("v1beta1", rest))
    assert "defaultingType: List" in imported.policy
    deciding.require_accepted(imported)


@pytest.mark.parametrize(
    "fields, expected, noted",
    [
        pytest.param(
            "clientConnection: {burst: 300, contentType: text, qps: 50}",
            {"clientConnection": {"burst": 300, "qps": 50}},
            ["clientConnection.contentType"],
            id="burst-before-qps-beside-a-stranger",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 20\npodMaxBackoffSeconds: 60",
            {"podInitialBackoffSeconds": 20, "podMaxBackoffSeconds": 60},
            [],
            id="a-first-backoff-beyond-the-default-of-the-longest",
        ),
        pytest.param(
            "podMaxBackoffSeconds: 5\npodInitialBackoffSeconds: 20",
            {"podMaxBackoffSeconds": 5},
            ["podInitialBackoffSeconds"],
            id="backoffs-that-contradict-each-other",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 2s, nonsense: 1, renewDeadline: 1s, "
            "retryPeriod: 500ms}",
            {
                "leaderElection": {
                    "leaderElect": True,
                    "leaseDuration": "2s",
                    "renewDeadline": "1s",
                    "retryPeriod": "500ms",
                }
            },
            ["leaderElection.nonsense"],
            id="durations-below-the-defaults-of-others",
        ),
    ],
)
def test_fields_are_judged_together(
    fields: str, expected: dict[str, object], noted: list[str]
) -> None:
    """Whether one can be set depends on others, wherever these stand; what cannot be is told."""
    imported = deciding.convert(HEAD.format(version="v1") + fields + "\n")
    assert imported.config is not None
    assert expected.items() <= yaml.safe_load(imported.config).items()
    said = [text.partition("`")[2] for text in deciding.told(imported) if "cannot be set" in text]
    assert [text.partition(":")[0] for text in said] == noted


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3", "v1"])
@pytest.mark.parametrize(
    "block, expected",
    [
        ("", {"leaderElect": True}),
        ("leaderElection: {}", {"leaderElect": True}),
        ("leaderElection: {leaderElect: null}", {"leaderElect": True}),
        (
            "leaderElection: {resourceNamespace: y}",
            {"leaderElect": True, "resourceNamespace": "y"},
        ),
        ("leaderElection: {leaderElect: false}", {"leaderElect": False}),
    ],
)
def test_leader_election_keeps_its_default(
    version: str, block: str, expected: dict[str, object]
) -> None:
    """kube-scheduler elects a leader if the file does not say so; policysched has to be asked."""
    imported = deciding.convert(HEAD.format(version=version) + block + "\n")
    config = yaml.safe_load(imported.config or "{}")
    assert config["leaderElection"] == expected
    assert deciding.told(imported) == []


def test_points_of_groups_are_told_where_something_is_there() -> None:
    """A file that kube-scheduler writes has them all, empty."""
    empty = deciding.convert(_profile("{placementGenerate: {}, placementScore: {}}"))
    assert deciding.told(empty) == []
    used = deciding.convert(_profile("{placementScore: {enabled: [{name: Foo}]}}"))
    (warning,) = deciding.warnings(used)
    assert "`profiles[0].plugins.placementScore.enabled` is for groups of pods" in warning


def test_everything_else_becomes_configuration_options_or_a_finding() -> None:
    """What has a field is set, and nothing is dropped without a word."""
    imported = deciding.convert(
        HEAD.format(version="v1")
        + """\
parallelism: 8
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 30
leaderElection:
  leaderElect: true
  leaseDuration: 8s
  renewDeadline: 5s
  resourceName: kube-scheduler
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
  qps: 100
  contentType: application/vnd.kubernetes.protobuf
enableProfiling: true
delayCacheUntilActive: true
extenders:
- urlPrefix: https://extender/
  filterVerb: filter
  nodeCacheCapable: true
  managedResources:
  - {name: example.com/foo, ignoredByScheduler: true}
- urlPrefix: https://other/
nonsense: {a: 1}
"""
    )
    assert imported.config is not None
    assert config_reading.parse_config(imported.config, "config.yaml").pod_max_backoff_seconds == 30
    assert yaml.safe_load(imported.config) == {
        "apiVersion": "policysched.io/v1alpha1",
        "kind": "PolicySchedulerConfiguration",
        "podInitialBackoffSeconds": 2,
        "podMaxBackoffSeconds": 30,
        "leaderElection": {"leaderElect": True, "leaseDuration": "8s", "renewDeadline": "5s"},
        "clientConnection": {"qps": 100},
        "extenders": [
            {
                "urlPrefix": "https://extender/",
                "filterVerb": "filter",
                "nodeCacheCapable": True,
                "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
            },
            {"urlPrefix": "https://other/"},
        ],
    }
    assert imported.run_options == {"--kubeconfig": "/etc/kubernetes/scheduler.conf"}
    assert [text.partition(": ")[0] for text in deciding.told(imported)] == [
        "note 3",
        "note 4",
        "note 11",
        "note 15",
        "note 16",
        "warning 17",
        "warning 25",
    ]
    assert deciding.body(imported)[1] == (
        'plugin NodeResourcesFit args { ignoredResources: ["example.com/foo"] }'
    )
    for line in imported.config.splitlines():
        assert f"# {line}" in imported.text


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            HEAD.format(version="v1alpha1"),
            "input.yaml:1: `kubescheduler.config.k8s.io/v1alpha1` is not a supported version",
            id="version",
        ),
        pytest.param(
            _configuration(rest="profiles: 3\n"),
            "input.yaml:4: `profiles` must be a list",
            id="type",
        ),
        pytest.param(
            _profile("{score: {enabled: [{name: NodeAffinity, weight: heavy}]}}"),
            "input.yaml:5: `profiles[0].plugins.score.enabled[0].weight` must be a whole number",
            id="type-deep-inside",
        ),
        pytest.param("a: [", "input.yaml:2:1: not YAML", id="yaml"),
    ],
)
def test_what_cannot_be_read_is_one_error_with_its_place(text: str, message: str) -> None:
    """Nothing is half imported."""
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "field, name",
    [
        ("leaderElection: {leaderElect: treu}", "leaderElection.leaderElect"),
        ("leaderElection: {leaderElect: 1}", "leaderElection.leaderElect"),
        ("enableProfiling: yes", "enableProfiling"),
    ],
)
def test_a_field_that_is_neither_true_nor_false(field: str, name: str) -> None:
    """kube-scheduler refuses such a configuration; nothing is switched off by it."""
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    with pytest.raises(errors.InputError, match=f"input.yaml:3: `{name}` must be true or false"):
        deciding.convert(head + field)


def test_an_argument_that_a_plugin_refuses_is_an_error_at_its_line() -> None:
    """kube-scheduler would not start with such a configuration."""
    text = _configuration(
        rest="profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n"
        "    args: {scoringStrategy: {type: Best}}\n"
    )
    where = r"input.yaml:7: `profiles\[0\].pluginConfig\[0\].args`: .*`Best`"
    with pytest.raises(errors.InputError, match=where):
        deciding.convert(text)
