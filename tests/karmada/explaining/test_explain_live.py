"""`explain binding` of a running control plane."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import pytest

from policysched.cli import main
from policysched.cli.commands import ui
from policysched.cli.subcommands import ui_sources
from tests import report_schemas
from tests.karmada import twins
from tests.realcluster import karmada

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e


def test_it_reads_clusters_and_bindings(
    karmada_plane: control_planes.ControlPlane,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the API server has is explained as if it stood in a file, also by `ui`."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("roomy", cpu="30"))
    karmada.create(client, twins.cluster("small", cpu="15"))
    karmada.create(client, twins.binding("explained", twins.dynamic(), replicas=9))
    argv = ["explain", "binding", "default/explained", "-o", "json"]
    kubeconfig = karmada_plane.write_kubeconfig(tmp_path / "kubeconfig")
    assert main.main([*argv, "--kubeconfig", str(kubeconfig)]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    report_schemas.check_report([report], "explain-binding")
    (attempt,) = report["attempts"]
    assert {"roomy", "small"} <= attempt["verdicts"].keys()
    rooms = {each["cluster"]: each["room"] for each in attempt["ranking"]}
    assert rooms["roomy"] == 2 * rooms["small"] > 0
    assert sum(each["replicas"] for each in report["clusters"]) == 9
    parser = argparse.ArgumentParser()
    ui.configure(parser)
    shown = ui_sources.make_cluster_source(parser.parse_args(["--kubeconfig", str(kubeconfig)]))
    page = shown.get_view().answers.make_explanation("default/explained")
    assert page["shares"] == report["clusters"]
