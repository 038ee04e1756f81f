"""The package of docs/karmada.md, built and installed as its author would."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests import page_examples

pytestmark = pytest.mark.slow  # each test starts processes

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_APIS = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    package = tmp_path_factory.mktemp("package")
    for block in page_examples.read_blocks(page_examples.DOCS / "karmada.md"):
        if block.file in ("pyproject.toml", "no_test_clusters.py"):
            (package / block.file).write_text(block.body, encoding="utf-8")
    target = tmp_path_factory.mktemp("site-packages")
    offline = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    _pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", str(package), str(package))
    (wheel,) = package.glob("*.whl")
    _pip("install", *offline, "--target", str(target), str(wheel))
    path = os.pathsep.join(filter(None, (str(target), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _pip(*arguments: str) -> None:
    argv = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "plugins, expected",
    [
        ("*", ["live1"]),
        ("*,-TestFilter", ["live1", "test1"]),
        ("TestFilter", ["live1"]),
    ],
)
def test_a_plugin_of_a_wheel_takes_part_unless_turned_off(
    plugins: str, expected: list[str], environment: dict[str, str], tmp_path: pathlib.Path
) -> None:
    """It keeps a production binding off a test cluster."""
    items = [
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name},
            "status": {"apiEnablements": _APIS},
        }
        for name in ("test1", "live1")
    ]
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "production"}
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "b", "namespace": "production"},
        "spec": {"resource": resource, "replicas": 1, "placement": {}},
    }
    plane = {"apiVersion": "v1", "kind": "List", "items": [*items, binding]}
    (tmp_path / "plane.json").write_text(json.dumps(plane))
    argv = [sys.executable, "-m", "policysched", "karmada", "simulate", "-o", "json"]
    argv += ["--cluster", str(tmp_path / "plane.json"), f"--plugins={plugins}"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [each["name"] for each in json.loads(done.stdout)[0]["clusters"]] == expected
