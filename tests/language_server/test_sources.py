"""What is read of clusters and of Prometheus to be proposed, from real ones."""

from __future__ import annotations

import pathlib

import pytest

from policysched.language_server.project import cluster_data, editor_settings
from policysched.promapi import series_names
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, prometheus

SERIES = """\
# HELP cpu_seconds CPU time.
# TYPE cpu_seconds counter
cpu_seconds_total{instance="n1"} 1 1700000000
# TYPE free_bytes gauge
free_bytes{instance="n1"} 5 1700000000
# EOF
"""


@pytest.mark.e2e
def test_a_prometheus_tells_its_series(tmp_path: pathlib.Path) -> None:
    """All names that it has are proposed in queries."""
    with prometheus.Prometheus(tmp_path, openmetrics=SERIES) as server:
        loaded = cluster_data.load_cluster_data(
            editor_settings.EditorSettings(prometheus=server.url), tmp_path
        )
    assert loaded.problems == ()
    assert {"cpu_seconds_total", "free_bytes"} <= loaded.words.series


@pytest.mark.e2e
def test_a_running_cluster_tells_its_labels(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Labels of nodes and pods, and namespaces, read through a kubeconfig."""
    control_plane.client.create_nodes(manifests.fleet(2))
    control_plane.client.create_pods(namespace, [manifests.pod("a", scheduler_name="nobody")])
    file = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    loaded = cluster_data.load_cluster_data(
        editor_settings.EditorSettings(kubeconfig=file.name), tmp_path
    )
    assert loaded.problems == ()
    assert loaded.name == control_plane.server
    assert "kubernetes.io/hostname" in loaded.words.get_labels("node")
    assert namespace in loaded.words.namespaces


@pytest.mark.parametrize(
    "wanted, problem",
    [
        (editor_settings.EditorSettings(cluster="none.json"), "none.json"),
        (editor_settings.EditorSettings(kubeconfig="none"), "none"),
        (editor_settings.EditorSettings(prometheus="http://127.0.0.1:1"), "http://127.0.0.1:1"),
        (editor_settings.EditorSettings(prometheus="nowhere"), "prometheus"),
    ],
    ids=["file", "kubeconfig", "prometheus", "address"],
)
def test_what_cannot_be_read_is_told(
    wanted: editor_settings.EditorSettings, problem: str, tmp_path: pathlib.Path
) -> None:
    """One problem that names it, and nothing to propose."""
    loaded = cluster_data.load_cluster_data(wanted, tmp_path)
    [told] = loaded.problems
    assert problem in told
    assert loaded.objects is None
    assert not loaded.words.series


def test_what_exporters_say_is_kept_where_it_has_a_form() -> None:
    """Help and type of a series; answers of any other form are left out."""
    metadata = {"up": [{"type": "gauge", "help": "1 if up"}], "a": [], "b": "x", "c": [None]}
    assert series_names._decode_help_texts(metadata) == {"up": "1 if up (gauge)"}
    assert series_names._decode_help_texts(["up"]) == {}
