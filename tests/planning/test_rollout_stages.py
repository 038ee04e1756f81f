"""The stages that a change passes with `run`, as a plan names them."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from policysched.cli import main
from tests.cli import clusters
from tests.planning import plans


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> plans.Folder:
    """Return a folder to plan in."""
    return plans.Folder(tmp_path, capsys)


_STAGES = """\
apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
policies:
  configMap: kube-system/policies
  rollout:
    stages:
    - {shadow: true, duration: 10m, minPods: 1}
    - {percent: 10, duration: 30m}
    - {namespaces: [prod]}
    minPods: 50
"""


def _rollout(folder: plans.Folder, old: str, *words: str, new: str = "") -> str:
    rule = plans.policy("nodeAffinity required a = b", head="")
    sides = ("--from", old, "--to", new or folder.write("new.policy", rule))
    cluster = folder.cluster(clusters.node("a", a="b"), clusters.pod("p", on="a"))
    code, out, _ = folder.run("--cluster", cluster, *sides, *words)
    assert code == 0
    return out


def test_the_stages_of_a_change_are_told(folder: plans.Folder) -> None:
    """Those of the configuration of `run`, with what each needs; also if no pod moves."""
    old = folder.write("old.policy", plans.policy("nodeAffinity required a Exists", head=""))
    config = ("--config", folder.write("config.yaml", _STAGES))
    told = (
        "with `run`, this change passes: 1. shadow (10m, 1 pod), 2. 10 % of the workloads "
        "(30m, 50 pods), 3. namespaces prod (50 pods), then all pods"
    )
    assert _rollout(folder, old, *config).splitlines()[-1] == told
    assert _rollout(folder, old, *config, "-o", "markdown").rstrip().endswith(
        "With `run`, this change passes:\n\n1. `shadow` (10m, 1 pod)\n"
        "2. `10 % of the workloads` (30m, 50 pods)\n3. `namespaces prod` (50 pods)\n4. all pods"
    )  # fmt: skip
    report = plans.checked(_rollout(folder, old, *config, "-o", "json"))
    assert report["rollout"] == [
        {"pods": "shadow", "duration": "10m", "minPods": 1},
        {"pods": "10 % of the workloads", "duration": "30m", "minPods": 50},
        {"pods": "namespaces prod", "duration": "0s", "minPods": 50},
    ]


def test_a_change_that_acts_at_once_has_no_stages(folder: plans.Folder) -> None:
    """Without a configuration, without stages in it, the first version, and no change at all."""
    old = folder.write("old.policy", plans.policy("nodeAffinity required a Exists", head=""))
    plain = folder.write("plain.yaml", _STAGES.partition("policies:")[0])
    staged = ("--config", folder.write("config.yaml", _STAGES))
    same = folder.write("same/new.policy", plans.policy("nodeAffinity required a = b", head=""))
    for before, *words in ((old,), (old, "--config", plain), ("none", *staged), (same, *staged)):
        report = plans.checked(_rollout(folder, before, *words, "-o", "json"))
        assert "rollout" not in report
        assert "passes" not in _rollout(folder, before, *words)


_SHARE = "stages: [{percent: 5, duration: 1h}]"


def _manifest(folder: plans.Folder, name: str, rule: str, rollout: str | None) -> str:
    """Write a ConfigMap with one policy, and `rollout.yaml` if it is given."""
    texts = {"web.policy": plans.policy(rule, head="")}
    if rollout is not None:
        texts["rollout.yaml"] = rollout
    data = "".join(
        f"  {key}: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
        for key, text in texts.items()
    )
    kind = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
    return folder.write(f"{name}.yaml", f"{kind}data:\n{data}")


def _list_stages(folder: plans.Folder, new: str, *words: str) -> list[str]:
    """Return the stages of the change from a manifest whose `rollout.yaml` is broken to `new`."""
    old = _manifest(folder, "old", "nodeAffinity required a Exists", "stages: nonsense")
    report = plans.checked(_rollout(folder, old, *words, "-o", "json", new=new))
    return [stage["pods"] for stage in report.get("rollout", [])]


def test_the_new_manifest_declares_the_stages(folder: plans.Folder) -> None:
    """It needs no configuration, and has precedence over one, as with `run`."""
    rule = "nodeAffinity required a = b"
    config = ("--config", folder.write("config.yaml", _STAGES))
    share = _manifest(folder, "share", rule, _SHARE)
    none = _manifest(folder, "none", rule, "{}")
    silent = _manifest(folder, "silent", rule, None)
    assert _list_stages(folder, share) == ["5 % of the workloads"]
    assert _list_stages(folder, share, *config) == ["5 % of the workloads"]
    assert _list_stages(folder, none, *config) == []
    assert _list_stages(folder, silent) == []
    assert _list_stages(folder, silent, *config)[0] == "shadow"
    sentence = (
        "with `run`, this change passes: 1. 5 % of the workloads (1h, 20 pods), then all pods"
    )
    old = folder.write("old.policy", plans.policy("nodeAffinity required a Exists", head=""))
    assert _rollout(folder, old, new=share).splitlines()[-1] == sentence


def test_a_manifest_of_a_revision_declares_the_stages(
    folder: plans.Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull request changes manifests, and its plan is made from revisions."""
    monkeypatch.chdir(folder.path)
    _manifest(folder, "share", "nodeAffinity required a = b", _SHARE)
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "share.yaml"), (*author, "commit", "-q", "-m", "a")):
        subprocess.run(["git", *words], check=True)
    assert _list_stages(folder, "git:HEAD:share.yaml") == ["5 % of the workloads"]


def test_a_broken_rollout_of_the_new_manifest_is_the_error_of_check(
    folder: plans.Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the line in the key; what the old manifest has does not matter."""
    path = _manifest(folder, "bad", "nodeAffinity required a = b", "stages:\n- {percent: 0}")
    assert main.main(["check", path]) == 2
    expected = capsys.readouterr().err
    assert f"{path}/rollout.yaml:2: " in expected
    old = _manifest(folder, "old", "nodeAffinity required a Exists", "stages: nonsense")
    cluster = folder.cluster(clusters.node("a", a="b"))
    assert folder.run("--cluster", cluster, "--from", old, "--to", path) == (2, "", expected)


def test_two_manifests_must_not_declare_different_stages(folder: plans.Folder) -> None:
    """A scheduler reads one of them, and the plan cannot know which."""
    old = folder.write("old.policy", plans.policy("nodeAffinity required a Exists", head=""))
    share = _manifest(folder, "share", "nodeAffinity required a = b", _SHARE)
    other = folder.write(
        "other.yaml",
        "kind: ConfigMap\nmetadata: {name: other}\ndata:\n  a.policy: 'version 1'\n"
        "  rollout.yaml: 'stages: [{percent: 9}]'\n",
    )
    cluster = folder.cluster(clusters.node("a", a="b"))
    code, out, err = folder.run("--cluster", cluster, "--from", old, "--to", share, other)
    assert (code, out) == (2, "")
    problem = "--to: `rollout.yaml` differs between ConfigMaps (`run` reads one ConfigMap)"
    assert err == f"policysched: {problem}\n"
