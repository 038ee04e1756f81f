"""kube-scheduler's flags."""

from __future__ import annotations

import pytest
import yaml

from policysched import errors
from tests.importing import deciding

PACKED = [
    "plugin TaintToleration weight 1",
    "plugin NodeAffinity weight 1",
    "plugin NodeResourcesFit args { scoringStrategy: { type: MostAllocated } }",
    "plugin InterPodAffinity weight 1",
]


@pytest.mark.parametrize(
    "words, lines, told",
    [
        pytest.param([], [], [], id="none"),
        pytest.param(["--algorithm-provider", "ClusterAutoscalerProvider"], PACKED, [], id="pack"),
        pytest.param(["--algorithm-provider=ClusterAutoscalerProvider"], PACKED, [], id="equals"),
        pytest.param(
            ["--algorithm-provider", "DefaultProvider"],
            [PACKED[0], PACKED[1], PACKED[3]],
            [],
            id="default-provider",
        ),
        pytest.param(
            ["--algorithm-provider=Mine"],
            [PACKED[0], PACKED[1], PACKED[3]],
            [
                "warning 1: there is no algorithm provider `Mine`; the default one is used",
            ],
            id="unknown-provider",
        ),
        pytest.param(
            ["--hard-pod-affinity-symmetric-weight=20"],
            [
                PACKED[0],
                PACKED[1],
                "plugin InterPodAffinity weight 1 args { hardPodAffinityWeight: 20 }",
            ],
            [],
            id="hard-weight",
        ),
        pytest.param(
            ["--feature-gates=EvenPodsSpread=true,VolumeCapacityPriority=true,PodOverhead=false"],
            [],
            [
                "warning 1: the feature gate VolumeCapacityPriority=true has no counterpart",
                "warning 1: the feature PodOverhead cannot be switched off",
            ],
            id="feature-gates",
        ),
        pytest.param(
            ["--v=2", "--secure-port", "10259", "--profiling=false", "--lock-object-name=x"],
            [],
            [
                "note 1: `--v` is left out",
                "note 1: `--profiling` is left out",
                "note 1: `--lock-object-name=x` is left out: policysched uses its own lease",
            ],
            id="operations",
        ),
        pytest.param(
            ["--master=http://a", "--failure-domains=zone"],
            [],
            [
                "warning 1: `--master http://a` is not supported",
                "warning 1: `--failure-domains` has no counterpart",
            ],
            id="without-a-counterpart",
        ),
        pytest.param(
            ["--config=/etc/kubernetes/scheduler.yaml"],
            [],
            ["warning 1: `--config` names `/etc/kubernetes/scheduler.yaml`, which is not read"],
            id="a-file-that-is-not-there",
        ),
    ],
)
def test_flags(words: list[str], lines: list[str], told: list[str]) -> None:
    """A flag becomes part of the profile, a field, an option of `run`, or a finding."""
    imported = deciding.convert_command("/usr/bin/kube-scheduler", *words)
    assert deciding.body(imported) == ["profile default-scheduler {", *lines, "}"]
    assert deciding.told(imported) == told
    deciding.require_accepted(imported)


def test_flags_that_are_configuration() -> None:
    """Fields of the configuration and options of `run`."""
    imported = deciding.convert_command(
        *("--leader-elect", "--leader-elect-lease-duration=8s"),
        *("--leader-elect-renew-deadline", "5s"),
        *("--kubeconfig", "/a", "--scheduler-name=mine", "--kube-api-qps=20", "--kube-api-burst=9"),
        "--pod-max-in-unschedulable-pods-duration=1m30s",
    )
    assert imported.config is not None
    found = yaml.safe_load(imported.config)
    assert found["leaderElection"] == {
        "leaderElect": True,
        "leaseDuration": "8s",
        "renewDeadline": "5s",
    }
    assert found["clientConnection"] == {"qps": 20, "burst": 9}
    assert found["podMaxInUnschedulablePodsSeconds"] == 90
    assert imported.run_options == {"--kubeconfig": "/a"}
    assert deciding.body(imported) == ["profile mine {", "}"]
    assert deciding.told(imported) == []


STATIC_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
  - name: kube-scheduler
    command:
    - kube-scheduler
    - --policy-config-file=/etc/policy/policy.cfg
    - --scheduler-name=old
    - --feature-gates=Foo=true
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: policy}
data:
  policy.cfg: |
    {"kind": "Policy",
     "apiVersion": "v1",
     "priorities": [
      {"name": "Nonsense", "weight": 1}]}
  notes.txt: something else
"""


def test_a_static_pod_and_the_policy_that_it_names() -> None:
    """The Policy's profile has the name of the command line; lines are those of the file."""
    imported = deciding.convert(f"{STATIC_POD}---\n{CONFIG_MAP}")
    assert deciding.body(imported)[0] == "profile old {"
    assert deciding.told(imported) == [
        "warning 11: the feature gate Foo=true has no counterpart",
        "warning 21: the priority `Nonsense` is not known",
        "note 22: the key `notes.txt` contains nothing that can be imported",
    ]


def test_a_static_pod_whose_files_are_not_there() -> None:
    """Files of another machine are not looked for."""
    imported = deciding.convert(STATIC_POD)
    assert deciding.warnings(imported)[0] == (
        "9: `--policy-config-file` names `/etc/policy/policy.cfg`, which is not read"
    )


def test_a_file_that_holds_a_command_line() -> None:
    """As a unit file or `ps` shows it, quotes and all."""
    text = "# a comment\nkube-scheduler --algorithm-provider 'ClusterAutoscalerProvider'\n"
    assert deciding.body(deciding.convert(text, "command-line"))[1:-1] == PACKED


def test_a_weight_that_is_no_number_is_one_error() -> None:
    """Not a traceback."""
    with pytest.raises(errors.InputError, match="hard-pod-affinity-symmetric-weight=much"):
        deciding.convert_command("--hard-pod-affinity-symmetric-weight=much")


@pytest.mark.parametrize(
    "command, lines",
    [
        pytest.param(["/usr/local/bin/kube-scheduler", "--v=2"], 0, id="path"),
        pytest.param(["/hyperkube", "scheduler", "--v=2"], 0, id="hyperkube"),
        pytest.param(
            ["/bin/sh", "-c", "exec kube-scheduler --algorithm-provider='DefaultProvider' 2>&1"],
            3,
            id="shell",
        ),
    ],
)
def test_containers_that_run_kube_scheduler(command: list[str], lines: int) -> None:
    """However it is started."""
    deployment = {
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [{"command": command}]}}},
    }
    imported = deciding.convert(deciding.as_yaml(deployment))
    assert deciding.body(imported)[0] == "profile default-scheduler {"
    assert len(deciding.body(imported)) == lines + 2


@pytest.mark.parametrize(
    "container, place",
    [
        ("{command: [kube-scheduler, --leader-elect, false]}", "command[2]` must be text"),
        ("{command: [kube-scheduler], args: 5}", "args` must be a list"),
    ],
)
def test_a_word_that_is_no_text_is_one_error(container: str, place: str) -> None:
    """As it is for the API server: no word is left out without a finding."""
    pod = f"kind: Pod\nspec:\n  containers:\n  - {container}\n"
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(pod)
    assert str(caught.value) == f"input.yaml:4: `spec.containers[0].{place}"


def test_another_scheduler_is_not_taken_for_it() -> None:
    """A container of the word `scheduler` is a workload like others."""
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "spec": {
                    "nodeSelector": {"c": "d"},
                    "containers": [{"command": ["airflow"], "args": ["scheduler"]}],
                }
            },
        },
    }
    assert deciding.body(deciding.convert(deciding.as_yaml(deployment)))[0] == "policy a {"


def test_a_quote_that_is_not_closed_is_one_error() -> None:
    """Not a traceback."""
    with pytest.raises(errors.InputError, match="not a command line: no closing quotation"):
        deciding.convert("kube-scheduler --a='b", "command-line")


@pytest.mark.parametrize(
    "word, value",
    [
        *((word, True) for word in ("1", "t", "T", "TRUE", "true", "True")),
        *((word, False) for word in ("0", "f", "F", "FALSE", "false", "False")),
    ],
)
def test_booleans_are_those_of_go(word: str, value: bool) -> None:
    """A boolean flag and a feature gate take every word that kube-scheduler takes."""
    imported = deciding.convert_command(
        f"--leader-elect={word}",
        f"--feature-gates=SchedulerQueueingHints={word},OpportunisticBatching={word}",
    )
    config = yaml.safe_load(imported.config or "{}")
    assert config["leaderElection"] == {"leaderElect": value}
    assert config.get("features", {}) == (
        {} if value else {"SchedulerQueueingHints": False, "OpportunisticBatching": False}
    )


@pytest.mark.parametrize(
    "words, problem",
    [
        pytest.param(
            ["--leader-elect=treu"],
            "`--leader-elect=treu` is neither `true` nor `false` (write one of 1, t, T, TRUE, "
            "true, True, 0, f, F, FALSE, false, False)",
            id="misspelt",
        ),
        pytest.param(
            ["--leader-elect="], "`--leader-elect=` is neither `true` nor `false`", id="empty"
        ),
        pytest.param(
            ["--profiling=yes"], "`--profiling=yes` is neither `true` nor `false`", id="left-out"
        ),
        pytest.param(
            ["--leader-elect", "false"],
            "`--leader-elect false` is `--leader-elect` and an argument: a boolean flag needs `=` "
            "(write `--leader-elect=false`)",
            id="apart",
        ),
        pytest.param(
            ["--feature-gates=A=true,B=treu"],
            "the feature gate `B=treu` is neither `true` nor `false`",
            id="gate",
        ),
        pytest.param(
            ["--feature-gates=PodOverhead"],
            "the feature gate `PodOverhead=` is neither `true` nor `false`",
            id="gate-without-a-value",
        ),
    ],
)
def test_what_is_no_boolean_is_an_error_at_its_place(words: list[str], problem: str) -> None:
    """No misspelt word counts as false."""
    with pytest.raises(errors.InputError) as caught:
        deciding.convert_command(*words)
    assert str(caught.value).startswith(f"command:1: {problem}")
    pod = STATIC_POD.replace("--feature-gates=Foo=true", "\n    - ".join(map(repr, words)))
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(pod)
    assert str(caught.value).startswith(f"input.yaml:11: {problem}")


@pytest.mark.parametrize(
    "word, wanted",
    [
        ("--kube-api-qps=abc", "a number (write a number such as 50)"),
        ("--kube-api-qps=1e99", "a number"),
        ("--kube-api-burst=1e3", "a whole number (write only digits"),
        ("--v=loud", "a whole number"),
        ("--secure-port=99999", "a port (write a number from 0 to 65535)"),
        ("--port=-1", "a port"),
        ("--bind-address=scheduler.local", "an IP address (write an address such as"),
        ("--logging-format=xml", "a log format (write text or json)"),
        ("--leader-elect-lease-duration=15", "a duration (write each number with its unit"),
        ("--pod-max-in-unschedulable-pods-duration=", "a duration"),
        ("--authorization-webhook-cache-authorized-ttl=1d", "a duration"),
        ("--hard-pod-affinity-symmetric-weight=101", "a weight (write a number from 0 to 100)"),
    ],
)
def test_a_value_of_another_type_is_an_error_at_its_place(word: str, wanted: str) -> None:
    """kube-scheduler would not start with it."""
    with pytest.raises(errors.InputError) as caught:
        deciding.convert_command(word)
    assert str(caught.value).startswith(f"command:1: `{word}` is not {wanted}")
    pod = STATIC_POD.replace("--feature-gates=Foo=true", word)
    with pytest.raises(errors.InputError) as caught:
        deciding.convert(pod)
    assert str(caught.value).startswith(f"input.yaml:11: `{word}` is not {wanted}")


def test_values_that_kube_scheduler_takes() -> None:
    """Go reads numbers with an exponent or in hexadecimal, and durations of several parts."""
    imported = deciding.convert_command(
        *("--kube-api-qps=5e1", "--kube-api-burst=0x64", "--secure-port=0", "--v=-1"),
        *("--leader-elect-lease-duration=1m0.5s", "--leader-elect-retry-period", "1500ms"),
    )
    config = yaml.safe_load(imported.config or "{}")
    assert config["clientConnection"] == {"qps": 50.0, "burst": 100}
    assert config["leaderElection"] == {
        "leaderElect": True,
        "leaseDuration": "1m0.5s",
        "retryPeriod": "1500ms",
    }


FILE_WITH_GROUPS = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {resourceNamespace: mine, leaseDuration: 30s}
clientConnection: {qps: 7}
"""


@pytest.mark.parametrize("is_command_first", [False, True])
def test_flags_beside_a_file_add_to_its_groups(is_command_first: bool) -> None:
    """Flags override the file for leader election only, as in kube-scheduler."""
    flags = "--leader-elect-lease-duration=20s\n    - --kube-api-qps=9\n    - --kube-api-burst=8"
    pod = STATIC_POD.replace("--policy-config-file=/etc/policy/policy.cfg", "--config=/etc/s.yaml")
    texts = [FILE_WITH_GROUPS, pod.replace("--feature-gates=Foo=true", flags)]
    imported = deciding.convert("---\n".join(texts[::-1] if is_command_first else texts))
    config = yaml.safe_load(imported.config or "{}")
    assert config["leaderElection"] == {
        "leaderElect": True,
        "resourceNamespace": "mine",
        "leaseDuration": "20s",
    }
    assert config["clientConnection"] == {"qps": 7, "burst": 8}


@pytest.mark.parametrize("words", [[], ["--secure-port=0"], ["--leader-elect-retry-period=3s"]])
def test_a_command_line_elects_a_leader_by_default(words: list[str]) -> None:
    """kube-scheduler does in every version."""
    config = yaml.safe_load(deciding.convert_command("kube-scheduler", *words).config or "{}")
    assert config["leaderElection"]["leaderElect"] is True
