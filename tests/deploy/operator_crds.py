"""The CRDs of the Prometheus operator, from its Go module, which go.sum pins."""

from __future__ import annotations

import json
import pathlib
import subprocess

from tests.realcluster import components, go

MODULE = "github.com/prometheus-operator/prometheus-operator"
KINDS = ("servicemonitors", "prometheusrules")


def files() -> list[pathlib.Path]:
    """Return the manifests of the CRDs that deploy/ has objects of, fetched where that is needed.

    Raises:
        GoError: there is no Go, or the module cannot be had.
    """
    done = subprocess.run(
        [str(go.install()), "mod", "download", "-json", MODULE],
        cwd=components.MODULES_FOLDER / "prometheus-operator",
        env=go.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise go.GoError(f"`go mod download {MODULE}` failed: {done.stdout}{done.stderr}")
    folder = pathlib.Path(json.loads(done.stdout)["Dir"]) / "example" / "prometheus-operator-crd"
    return [folder / f"monitoring.coreos.com_{kind}.yaml" for kind in KINDS]
