"""`audit` on small clusters: its report in all forms, ages by a Prometheus server, exit codes."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from policysched.cli import main
from policysched.inputs import cluster_file, live_cluster
from policysched.lang import source
from policysched.lang.checked import content_hash
from tests import report_schemas
from tests.cli import clusters
from tests.promapi import fake_prometheus as fake

POLICY = """version 1
metric busy: ratio = `busy` node instance refresh 60s maxAge 5m
policy web {
  for pods where app = web
  nodeAffinity required pool = fast as fast
  reject when busy > 80% missing reject as too-hot
  topologySpread self topologyKey zone maxSkew 1 as even
}
policy tried {
  mode shadow
  for pods
  nodeAffinity required pool = other as never
}
"""
AT_SECONDS = 1_772_000_000.0
AT = "2026-02-25T06:13:20Z"


@pytest.fixture
def inputs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments for a cluster and a policy in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.policy").write_text(POLICY, encoding="utf-8")
    nodes = (
        clusters.node("a", pool="fast", zone="x"),
        clusters.node("b", pool="slow", zone="y"),
    )
    clusters.write(tmp_path, *nodes, _pod("one", "a"), _pod("two", "b"))
    return ["--cluster", "cluster.json", "web.policy"]


def _pod(name: str, node: str, **status: Any) -> dict[str, Any]:
    """Return a running pod of a Deployment."""
    pod = clusters.pod(name, on=node, schedulerName="policysched")
    pod["metadata"] |= {
        "uid": name,
        "creationTimestamp": "2026-02-25T05:13:20Z",
        "labels": {"app": "web", "pod-template-hash": "5f7"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5f7", "controller": True}
        ],
    }
    pod["status"] |= status
    return pod


def _audit(
    capsys: pytest.CaptureFixture[str], *argv: str, exit_code: int = 1
) -> dict[str, dict[str, Any]]:
    """Return the violations by rule, as pod → its entry in the report."""
    code = main.main(["audit", *argv, "--at", AT, "-o", "json"])
    said = capsys.readouterr()
    assert said.out, said.err
    report = json.loads(said.out)
    report_schemas.check_report(report, "audit")
    assert code == exit_code
    return {
        f"{rule['policy']}/{rule['rule']}": {
            pod["name"]: pod | {"node": node["node"]}
            for node in rule["nodes"]
            for pod in node["pods"]
        }
        for rule in report["rules"]
    }


def test_a_violation_has_place_workload_reason_and_evidence(
    inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Shadow policies judge no pod; without samples, a rule over metrics judges none either."""
    found = _audit(capsys, *inputs)
    assert list(found) == ["web/fast"]
    assert found["web/fast"] == {
        "two": {
            "namespace": "prod",
            "name": "two",
            "node": "b",
            "workload": {"kind": "Deployment", "name": "web"},
            "reason": "node(s) didn't match policy web/fast",
            "evidence": "pool=slow",
            "since": None,
            "ageSeconds": None,
            "isAgeMinimum": False,
            "podAgeSeconds": 3600.0,
        }
    }


def test_a_cluster_in_order_exits_with_0(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A pod that is being deleted, has ended or is a static pod is not judged."""
    ended = _pod("ended", "b", phase="Succeeded")
    leaving, static = _pod("leaving", "b"), _pod("static", "b")
    leaving["metadata"]["deletionTimestamp"] = "2026-02-25T05:13:20Z"
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    nodes = (clusters.node("a", pool="fast", zone="x"), clusters.node("b", pool="slow", zone="y"))
    clusters.write(tmp_path, *nodes, _pod("one", "a"), ended, leaving, static)
    assert _audit(capsys, *inputs, exit_code=0) == {}


def test_pods_of_other_schedulers_are_not_audited(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A note counts each of them once; --scheduler-name judges them."""
    nodes = (clusters.node("a", pool="fast", zone="x"), clusters.node("b", pool="slow", zone="y"))
    others = [_pod(f"other-{number}", "b") for number in range(3)]
    for each in others:
        each["spec"]["schedulerName"] = "volcano"
    others[2]["status"]["phase"] = "Failed"
    clusters.write(tmp_path, *nodes, _pod("one", "a"), *others)
    assert main.main(["audit", *inputs, "--at", AT]) == 0
    said = capsys.readouterr()
    assert "no violation among 1 running pod" in said.out
    assert "2 pods left out, no profile serves their schedulerName: `volcano` (2)" in said.err
    found = _audit(capsys, *inputs, "--scheduler-name", "policysched")
    assert list(found["web/fast"]) == ["other-0", "other-1"]


def test_samples_of_a_file_have_no_age(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A missing sample is no violation, although `missing reject` keeps new pods away."""
    (tmp_path / "metrics.json").write_text('{"busy": {"a": 0.9}}', encoding="utf-8")
    found = _audit(capsys, *inputs, "--metrics", "metrics.json")
    assert list(found) == ["web/fast", "web/too-hot"]
    assert list(found["web/too-hot"]) == ["one"]
    assert found["web/too-hot"]["one"]["ageSeconds"] is None
    assert "busy 90% > 80%" in found["web/too-hot"]["one"]["evidence"]


def _answer_range(values: dict[str, dict[float, str]]) -> Any:
    """Return what answers range queries: values by node and by minutes before the audit."""

    def answer(request: fake.Request) -> fake.Answer:
        assert request.path.endswith("/query_range")
        result = []
        for node, by_minute in values.items():
            times = [(AT_SECONDS - 60 * minutes, text) for minutes, text in by_minute.items()]
            points = sorted((at, text) for at, text in times)
            result.append({"metric": {"instance": node}, "values": points})
            measured = [(at, str(at)) for at, _ in points]
            mark = {"instance": node, "policysched": "measured_at"}
            result.append({"metric": mark, "values": measured})
        return fake.success(result, "matrix")

    return answer


def _hot(minutes: range) -> dict[float, str]:
    return {float(each): "0.9" for each in minutes}


def test_the_past_of_a_metric_gives_the_age(
    inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """From the first sample on from which the rule rejects without interruption."""
    cool = {float(each): "0.2" for each in range(15, 61)}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": _hot(range(15)) | cool, "b": _hot(range(61))})
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert (found["one"]["ageSeconds"], found["one"]["isAgeMinimum"]) == (14 * 60, False)
    assert found["one"]["since"] == "2026-02-25T05:59:20+00:00"
    assert (found["two"]["ageSeconds"], found["two"]["isAgeMinimum"]) == (3600, True)


def test_violations_by_metrics_must_last(
    inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--for` drops younger ones, and none of other rules."""
    cool = {float(each): "0.2" for each in range(15, 61)}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": _hot(range(15)) | cool, "b": _hot(range(61))})
        found = _audit(capsys, *inputs, "--prometheus", server.url, "--for", "20m")
    assert {rule: list(pods) for rule, pods in found.items()} == {
        "web/fast": ["two"],
        "web/too-hot": ["two"],
    }


def test_a_gap_in_the_samples_interrupts(
    inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is older than maxAge is no violation, so the age begins anew."""
    gap = {minutes: text for minutes, text in _hot(range(61)).items() if not 10 <= minutes < 30}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": gap, "b": dict.fromkeys(_hot(range(61)), "0.2")})
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert {name: pod["ageSeconds"] for name, pod in found.items()} == {"one": 9 * 60}


def test_hysteresis_follows_the_past(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A node that was hot stays rejected until the second condition holds."""
    text = POLICY.replace("missing reject as", "until busy < 50% missing reject as")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    warm = {float(each): "0.6" for each in range(20)}
    before = {float(each): "0.9" for each in range(20, 40)}
    cool = {float(each): "0.2" for each in range(40, 61)}
    never_hot = {float(each): "0.6" for each in range(61)}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": warm | before | cool, "b": never_hot})
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert {name: pod["ageSeconds"] for name, pod in found.items()} == {"one": 39 * 60}
    assert "held by `until`" in found["one"]["evidence"]


def _answer_steps(value_at: Callable[[float], str]) -> Any:
    """Return what answers range queries at each asked step: a value by minutes before the audit."""

    def answer(request: fake.Request) -> fake.Answer:
        start, end, step = (float(request.form[name]) for name in ("start", "end", "step"))
        times = [start + step * place for place in range(1 + round((end - start) / step))]
        points = [(at, value_at((AT_SECONDS - at) / 60)) for at in times]
        mark = {"instance": "a", "policysched": "measured_at"}
        measured = {"metric": mark, "values": [(at, str(at)) for at in times]}
        return fake.success([{"metric": {"instance": "a"}, "values": points}, measured], "matrix")

    return answer


_TWO_METRICS = """version 1
metric busy: ratio = `busy` node instance refresh 15s maxAge 75s
metric full: ratio = `full` node instance refresh 5m maxAge 30m
policy web {
  for pods
  reject when busy > 80% missing allow as too-hot
  reject when full > 95% missing allow as too-full
}
"""


@pytest.mark.parametrize("hours", [1, 3, 48])
def test_another_metric_does_not_interrupt(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, hours: int
) -> None:
    """At its steps, the samples of the metric of the rule may be too old."""
    (tmp_path / "web.policy").write_text(_TWO_METRICS, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(lambda _: "0.9")
        found = _audit(capsys, *inputs, "--prometheus", server.url, "--for", f"{hours}h")
    assert found["web/too-hot"]["one"]["ageSeconds"] == 3600 * hours
    assert found["web/too-hot"]["one"]["isAgeMinimum"]


def test_another_metric_does_not_hide_an_acceptance(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """The rule is judged at each step of its own metric."""
    (tmp_path / "web.policy").write_text(_TWO_METRICS, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(lambda minutes: "0.1" if 2 <= minutes <= 4 else "0.9")
        found = _audit(capsys, *inputs, "--prometheus", server.url)
    assert found["web/too-hot"]["one"]["ageSeconds"] == 60


def test_a_rule_over_two_metrics_is_judged_at_the_steps_of_both(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Between long steps of one of them, its last samples hold, although they are too old."""
    text = _TWO_METRICS.replace("maxAge 75s", "maxAge 75s over 2m min")
    text = text.replace("5m maxAge 30m", "10s maxAge 25s").replace("80%", "80% and full > 50%")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(lambda minutes: "0.1" if minutes == 20 else "0.9")
        found = _audit(capsys, *inputs, "--prometheus", server.url)
    assert found["web/too-hot"]["one"]["ageSeconds"] == 18 * 60


def test_an_outage_interrupts(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """At steps without any series, the last samples are too old."""
    text = POLICY.replace("maxAge 5m", "maxAge 1m")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    gap = {minutes: text for minutes, text in _hot(range(61)).items() if not 10 <= minutes < 30}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": gap})
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert {name: pod["ageSeconds"] for name, pod in found.items()} == {"one": 9 * 60}


@pytest.mark.parametrize("options", [[], ["--for", "10m"], ["--for", "24h"]])
def test_until_does_not_depend_on_the_length_of_the_history(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, options: Any
) -> None:
    """A node was released in a time that is shorter than the steps of a long history."""
    text = POLICY.replace("missing reject as", "until busy < 60% missing reject as")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(
            lambda minutes: "0.9" if minutes > 20 else "0.1" if minutes > 8 else "0.7"
        )
        found = _audit(capsys, *inputs, "--prometheus", server.url, *options)
    assert list(found) == ["web/fast"]


@pytest.mark.parametrize("options", [[], ["--for", "24h"]])
def test_a_state_of_until_from_before_the_last_hour_is_unknown(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, options: Any
) -> None:
    """The longer steps before may not show that the node was released."""
    text = POLICY.replace("missing reject as", "until busy < 60% missing allow as")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(lambda minutes: "0.9" if minutes > 90 else "0.7")
        assert main.main(["audit", *inputs, "--at", AT, "--prometheus", server.url, *options]) == 1
    out = capsys.readouterr().out
    assert "too-hot (" not in out
    assert "not judged by web/too-hot: 2 pods" in out


def test_an_age_is_a_minimum_if_until_may_have_held_the_node_before(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Before the first decisive sample, it is unknown whether the rule rejected the node."""
    text = POLICY.replace("missing reject as", "until busy < 60% missing allow as")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    with fake.FakePrometheus() as server:
        server.answer = _answer_steps(lambda minutes: "0.7" if minutes > 30 else "0.9")
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert (found["one"]["ageSeconds"], found["one"]["isAgeMinimum"]) == (30 * 60, True)


def test_windows_are_read_from_before_the_history(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A window at the beginning of the history has its samples."""
    text = POLICY.replace("busy > 80%", "busy > 80% over 10m min")
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    cool = {float(each): "0.2" for each in range(30, 71)}
    with fake.FakePrometheus() as server:
        server.answer = _answer_range({"a": _hot(range(30)) | cool, "b": _hot(range(71))})
        found = _audit(capsys, *inputs, "--prometheus", server.url)["web/too-hot"]
    assert found["one"]["ageSeconds"] == 20 * 60
    assert (found["two"]["ageSeconds"], found["two"]["isAgeMinimum"]) == (3600, True)


def test_text_has_a_table_for_each_rule(
    inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The age of the pod limits that of the violation."""
    assert main.main(["audit", *inputs, "--at", AT]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 running pods violates 1 rule" in out
    assert "b     prod/two  Deployment/web  at most 1h  pool=slow" in out
    assert "not judged by web/too-hot: 2 pods" in out


def test_sarif_points_to_the_rule(inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One result for each rule and node, at the place of the rule."""
    assert main.main(["audit", *inputs, "-o", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert rule["id"] == result["ruleId"] == "web/fast"
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "web.policy"
    assert place["region"]["startLine"] == 5
    assert location["logicalLocations"] == [{"name": "b", "kind": "resource"}]
    assert result["message"]["text"] == "1 pod on node b: prod/two (pool=slow)"


@pytest.mark.parametrize(
    "extra, code, words",
    [
        pytest.param(["--for", "10m"], 3, "--for needs --prometheus", id="for"),
        pytest.param(["--for", "soon"], 3, "is not a duration such as 10m", id="duration"),
        pytest.param(
            ["--metrics", "m", "--prometheus", "http://x"], 3, "mutually exclusive", id="both"
        ),
        pytest.param(["--prometheus", "http://127.0.0.1:1"], 2, "metric `busy`", id="server"),
        pytest.param(["--metrics", "none.yaml"], 2, "none.yaml", id="file"),
        pytest.param(["--evict"], 3, "--evict needs a running cluster", id="evict"),
        pytest.param(["--rate", "3/m"], 3, "--rate needs --evict", id="rate"),
        pytest.param(["--dry-run=false"], 3, "--dry-run needs --evict", id="dry run"),
        pytest.param(["--rate", "0/m"], 3, "is not a rate such as 6/m", id="no rate"),
        pytest.param(["--exclude", "a b"], 3, "is not a requirement", id="selector"),
        pytest.param(["--max-moves", "0"], 3, "is not a number from 1", id="count"),
        pytest.param(["--dry-run=maybe"], 3, "is not a boolean", id="boolean"),
    ],
)
def test_wrong_input_is_one_error(
    inputs: list[str],
    capsys: pytest.CaptureFixture[str],
    extra: list[str],
    code: int,
    words: str,
) -> None:
    """Exit 3 for usage, 2 for what cannot be read; no report."""
    assert main.main(["audit", *inputs, *extra]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err


@pytest.mark.parametrize("in_force, status", [("0123456789ab", "rollout"), ("", "ok")])
def test_a_config_map_whose_version_is_not_in_force_is_a_warning(
    inputs: list[str], capsys: pytest.CaptureFixture[str], in_force: str, status: str
) -> None:
    """During a rollout and after a rollback, another version than that of the texts decides."""
    own = content_hash.hash_policy_texts_and_params([source.SourceText("web.policy", POLICY)], {})
    notes = {"policysched.io/hash": in_force or own, "policysched.io/status": status}
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "policies", "annotations": notes},
        "data": {"web.policy": POLICY},
    }
    pathlib.Path("map.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    assert main.main(["audit", *inputs[:2], "map.yaml", "--at", AT]) == 1
    warning = f"names version {in_force} as the version in force (status {status})"
    assert (warning in capsys.readouterr().err) == bool(in_force)


def test_a_configuration_can_name_the_policies(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Without any policies, an audit would find nothing, which is not what is meant."""
    cluster = inputs[:2]
    head = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"
    (tmp_path / "config.yaml").write_text(head + "policies: {paths: [web.policy]}\n")
    assert list(_audit(capsys, *cluster, "--config", "config.yaml")) == ["web/fast"]
    (tmp_path / "config.yaml").write_text(head)
    assert main.main(["audit", *cluster, "--config", "config.yaml"]) == 3
    assert main.main(["audit", *cluster]) == 3
    assert "no policies are named" in capsys.readouterr().err


def test_a_cluster_without_nodes_is_an_error(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """A listing of pods alone is not an audit without findings."""
    clusters.write(tmp_path, _pod("one", "a"))
    assert main.main(["audit", *inputs]) == 2
    assert "--cluster: has no Node" in capsys.readouterr().err


def test_a_running_cluster_without_nodes_is_an_error_of_live(
    inputs: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the option that was given."""
    listed = ("https://127.0.0.1", cluster_file.ClusterObjects())
    monkeypatch.setattr(live_cluster, "read_live_cluster", lambda _: listed)
    assert main.main(["audit", "--live", inputs[-1]]) == 2
    assert "--live: has no Node" in capsys.readouterr().err


def test_equal_rules_of_two_profiles_are_told_apart(
    inputs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """By the profile, which is not named otherwise."""
    text = f"{POLICY}profile fast {{ policies web }}\nprofile calm {{ policies web }}\n"
    (tmp_path / "web.policy").write_text(text, encoding="utf-8")
    first, second = _pod("one", "b"), _pod("two", "b")
    first["spec"]["schedulerName"], second["spec"]["schedulerName"] = "fast", "calm"
    clusters.write(tmp_path, clusters.node("b", pool="slow", zone="y"), first, second)
    assert main.main(["audit", *inputs]) == 1
    out = capsys.readouterr().out
    assert "web/fast (web.policy:5), profile calm, 1 pod on 1 node" in out
    assert "web/fast (web.policy:5), profile fast, 1 pod on 1 node" in out
    assert main.main(["audit", *inputs, "-o", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [each["message"]["text"] for each in run["results"]] == [
        "1 pod of profile calm on node b: prod/two (pool=slow)",
        "1 pod of profile fast on node b: prod/one (pool=slow)",
    ]
