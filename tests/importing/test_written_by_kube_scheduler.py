"""The configuration that kube-scheduler itself writes: every default, in full."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
import yaml

from policysched.config import config_reading
from tests.conformance.generate import families
from tests.importing import deciding
from tests.realcluster import components
from tests.realcluster import control_plane as planes

pytestmark = pytest.mark.e2e

_LIMIT_SECONDS = 60


def _written(plane: planes.ControlPlane, folder: pathlib.Path) -> str:
    """Return what `kube-scheduler --write-config-to` writes."""
    kubeconfig = plane.write_kubeconfig(folder / "kubeconfig")
    file = folder / "scheduler.yaml"
    asked = [
        *(f"--{name}={kubeconfig}" for name in ("kubeconfig", "authentication-kubeconfig")),
        *(f"--authorization-kubeconfig={kubeconfig}", "--secure-port=0"),
        f"--write-config-to={file}",
    ]
    command = [str(components.binary("kube-scheduler")), *asked]
    subprocess.run(command, check=True, capture_output=True, timeout=_LIMIT_SECONDS)
    return file.read_text()


def test_nothing_of_the_default_configuration_is_lost(
    control_plane: planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """No warning; limits and election as they are; and decisions are those of no policy."""
    imported = deciding.convert(_written(control_plane, tmp_path))
    assert deciding.warnings(imported) == []
    deciding.require_accepted(imported)
    assert imported.config is not None
    config_reading.parse_config(imported.config, "config.yaml")
    said = yaml.safe_load(imported.config)
    assert said["clientConnection"] == {"qps": 50, "burst": 100}
    assert said["leaderElection"]["leaderElect"] is True
    for number in range(4):
        cluster = families.case("mixed", 7, number)["cluster"]
        ours = deciding.verdicts(tmp_path, cluster, imported.policy, None, "default-scheduler")
        assert ours == deciding.verdicts(tmp_path, cluster)
