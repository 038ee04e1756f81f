"""`karmada run` with cluster policies: a metric per cluster divides replicas of live bindings."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from policysched.cli import main
from tests.karmada import twins
from tests.karmada.running import metrics_scene
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

LOADS = {"member1": 0.2, "member2": 0.6}


@pytest.mark.e2e
def test_a_live_metric_divides_until_an_outage(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """In an outage the declared rule counts: `skip` divides by room, with `hold` bindings wait.

    Prometheus is killed and started again; nothing that was placed moves.
    """
    client = karmada_plane.client
    with metrics_scene.playing(karmada_plane, tmp_path, metrics_scene.policy(), LOADS) as scene:
        metrics_scene.create(client, "first")
        scene.wait_shares("first", member1=7, member2=3)
        version = scene.scheduler.log.partition("hash=")[2][:8]
        said = "Binding has been scheduled successfully. Result: {member1:7, member2:3}"
        told = f"{said} (policies: web; {version})"
        scene.scheduler.wait_until(lambda: told in metrics_scene.notes(client, "first"))
        scene.prometheus.process.kill()
        scene.wait_own(1.0, "policysched_metric_outage", metric="busy")
        scene.wait_own(0.0, "policysched_metrics_source_up", source="default")
        assert scene.own("policysched_metric_newest_sample_age_seconds", metric="busy") > 6
        metrics_scene.create(client, "second")
        scene.wait_shares("second", member1=5, member2=5)
        scene.scheduler.wait_until(
            lambda: any(
                event["reason"] == "MetricsSourceDown" for event in client.items("/api/v1/events")
            )
        )
        scene.write(metrics_scene.policy("hold"))
        scene.wait_own(1.0, "policysched_reload_total", result="loaded")
        metrics_scene.create(client, "held")
        told = scene.wait_condition("held", "Unschedulable")
        assert told.startswith("binding waits for metric busy, which policy web/")
        scene.put("member2", 0.2)
        scene.put("member1", 0.6)
        scene.prometheus.start()
        scene.wait_condition("held", "Success")
        scene.wait_own(0.0, "policysched_metric_outage", metric="busy")
        scene.wait_asked()
        metrics_scene.create(client, "third")
        scene.wait_shares("third", member1=3, member2=7)
    assert metrics_scene.shares(client, "first") == {"member1": 7, "member2": 3}
    assert metrics_scene.shares(client, "second") == {"member1": 5, "member2": 5}


@pytest.mark.e2e
def test_policies_are_reloaded_whole_or_not_at_all(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """A bad version changes nothing; a good one counts for what is decided after it.

    What no policy or sample let go anywhere is tried again when one does.
    """
    client = karmada_plane.client
    text = metrics_scene.policy()
    with metrics_scene.playing(karmada_plane, tmp_path, text, LOADS) as scene:
        scene.write(text.replace("prefer low", "prefer slow"))
        scene.wait_own(1.0, "policysched_policy_refused")
        metrics_scene.create(client, "first")
        scene.wait_shares("first", member1=7, member2=3)
        assert "stays in use" in scene.scheduler.log
        scene.write(text)
        scene.wait_own(0.0, "policysched_policy_refused")
        scene.write(text.replace("prefer low", "prefer high"))
        scene.wait_own(1.0, "policysched_reload_total", result="loaded")
        assert scene.own("policysched_metric_clusters", metric="busy", state="ok") == 2
        metrics_scene.create(client, "second")
        scene.wait_shares("second", member1=3, member2=7)
        scene.write(text.replace("> 90%", ">= 50%"))
        scene.wait_own(2.0, "policysched_reload_total", result="loaded")
        scene.put("member1", 0.7)
        scene.wait_asked()
        for name in ("third", "fourth"):
            metrics_scene.create(client, name)
        told = scene.wait_condition("third", "NoClusterFit")
        assert told.endswith("2 cluster(s) rejected by policy web/full.")
        scene.wait_condition("fourth", "NoClusterFit")
        scene.put("member2", 0.3)
        scene.wait_shares("third", member2=10)
        tried = "karmada_scheduler_queue_incoming_bindings_total"
        assert scene.own(tried, event="MetricsRefreshed") >= 1
        scene.wait_shares("fourth", member2=10)
        scene.put("member2", 0.8)
        scene.wait_asked()
        metrics_scene.create(client, "fifth")
        scene.wait_condition("fifth", "NoClusterFit")
        scene.write(text)
        scene.wait_shares("fifth", member1=6, member2=4)
        assert scene.own(tried, event="PoliciesLoaded") == 1
    assert metrics_scene.shares(client, "first") == {"member1": 7, "member2": 3}


@pytest.mark.e2e
@pytest.mark.proof
def test_clusters_come_and_go_while_metrics_are_read(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """One that is gone gets nothing; under its old name it has samples again.

    In the end SIGTERM comes while Prometheus hangs: the exit code is 0, without a traceback.
    """
    client = karmada_plane.client
    with metrics_scene.playing(karmada_plane, tmp_path, metrics_scene.policy(), LOADS) as scene:
        client.delete(f"{karmada.CLUSTERS}/member1")
        scene.wait_own(1.0, "policysched_metric_clusters", metric="busy", state="ok")
        metrics_scene.create(client, "first")
        scene.wait_shares("first", member2=10)
        karmada.create(client, twins.cluster("member1"))
        scene.wait_own(2.0, "policysched_metric_clusters", metric="busy", state="ok")
        metrics_scene.create(client, "second")
        scene.wait_shares("second", member1=7, member2=3)
        scene.prometheus.process.signal(signal.SIGSTOP)
        age = "policysched_metric_newest_sample_age_seconds"
        scene.scheduler.wait_until(lambda: scene.own(age, metric="busy") > 3)
        scene.scheduler.process.signal(signal.SIGTERM)
        assert scene.scheduler.process.wait(60.0) == 0
        assert "Traceback" not in scene.scheduler.log
        assert "never awaited" not in scene.scheduler.log


@pytest.mark.e2e
def test_policies_may_come_from_a_config_map_and_values_from_a_file(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Both are followed; events about the ConfigMap tell of versions, the last good one stays."""
    client = karmada_plane.client
    for name in LOADS:
        karmada.create(client, twins.cluster(name))
    values = tmp_path / "values.yaml"
    values.write_text("busy: {}\n")
    text = metrics_scene.policy("hold").replace("maxAge 6s", "maxAge 10m")
    config_maps = "/api/v1/namespaces/default/configmaps"
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-policies"}}
    client.create(config_maps, head | {"data": {"web.policy": text}})
    flags = ["--policy-configmap=default/cluster-policies", "--metrics-file", str(values)]
    metrics_scene.create(client, "first")
    with twins.ours(karmada_plane, tmp_path, flags) as scheduler:
        scheduler.wait_until(
            lambda: metrics_scene.condition(client, "first").get("reason") == "Unschedulable"
        )
        bad = {"data": {"web.policy": "clusterPolicy {"}}
        client.patch(f"{config_maps}/cluster-policies", bad)
        scheduler.wait_until(
            lambda: any(
                event["reason"] == "PoliciesRefused"
                and event["involvedObject"]["name"] == "cluster-policies"
                for event in client.items("/api/v1/events")
            )
        )
        values.write_text("busy: {member1: 20%, member2: 60%}\n")
        scheduler.wait_until(
            lambda: metrics_scene.shares(client, "first") == {"member1": 7, "member2": 3}
        )
        history = f"{config_maps}/cluster-policies-history"
        scheduler.wait_until(lambda: len(client.get(history)["binaryData"]) == 1)
    for name in ("cluster-policies", "cluster-policies-history"):
        client.delete(f"{config_maps}/{name}")


@pytest.mark.parametrize(
    "words, problem",
    [
        (["--prometheus", "http://p"], "need policies; give --policies"),
        (["--params", "a=1"], "need policies; give --policies"),
        (["--metrics-file", "f"], "need policies; give --policies"),
        (["--policies", "x", "--prometheus", "http://p", "--metrics-file", "f"], "not both"),
        (["--policies", "x", "--policy-configmap", "a/b"], "not both"),
        (["--policies="], "is empty"),
    ],
)
def test_options_that_make_no_sense_are_told(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is connected."""
    assert main.main(["karmada", "run", *words]) == 3
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("bad.policy", "clusterPolicy p {", "bad.policy:1"),
        (
            "config.yaml",
            "leaderElection: {leaderElect: true}",
            "`leaderElection` is not allowed for",
        ),
        ("config.yaml", "policies: {paths: [gone.policy]}", "gone.policy"),
    ],
)
def test_what_is_wrong_in_files_is_told(
    name: str, text: str, problem: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is connected, with the exit code of wrong input."""
    file = tmp_path / name
    head = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"
    file.write_text(head + text if name == "config.yaml" else text, encoding="utf-8")
    option = "--config" if name == "config.yaml" else "--policies"
    assert main.main(["karmada", "run", option, str(file)]) == 2
    assert problem in capsys.readouterr().err
