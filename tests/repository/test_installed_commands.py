"""policysched, installed with the packages of the lock and nothing else, does its work."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import tarfile
import urllib.request

import pytest

import policysched
from tests.deploy import shell_commands
from tests.deploy.install import reader
from tests.page import page_process
from tests.repository import installations

_PICTURES = installations.CHECKOUT / "docs" / "pictures"
_STATIC = installations.CHECKOUT / "policysched" / "serving" / "static"
_CLUSTER = ("--cluster", "cluster.yaml", "--metrics", "metrics.yaml", "--policies", "web.policy")


@pytest.mark.slow
def test_an_installation_needs_no_checkout(tmp_path: pathlib.Path) -> None:
    """The wheel is built from the sdist, and installed by the commands of README.md.

    One test, because each worker of the tests would install its own environment.
    """
    installation = _install_as_in_readme(tmp_path)
    for name in ("cluster.yaml", "metrics.yaml", "web.policy"):
        shutil.copy(_PICTURES / name, installation.folder)
    _try_commands(installation)
    _try_page(installation)


def _install_as_in_readme(home: pathlib.Path) -> installations.Installation:
    """Type the commands of the section in the files of the sdist, with the tools of the tests."""
    with tarfile.open(installations.build("build_sdist", home)) as sdist:
        sdist.extractall(home, filter="data")
    checkout = home / f"policysched-{policysched.__version__}"
    tools = pathlib.Path(sys.executable).parent
    (checkout / ".venv").symlink_to(tools.parent)
    [commands] = reader.read_blocks("Wheel")
    cache = pathlib.Path.home() / ".cache" / "pip"
    environment = {"PIP_CACHE_DIR": str(cache)} | {
        name: text for name, text in os.environ.items() if name.startswith("PIP_")
    }
    environment |= {"PIP_COMPILE": "no", "POLICYSCHED_KERNELS": "none"}  # for speed
    environment |= {"HOME": str(home), "PATH": f"{tools}:{os.defpath}"}
    printed = shell_commands.run_commands(commands, checkout, environment)
    assert printed.splitlines()[-1] == f"policysched {policysched.__version__}"
    return installations.Installation(home / "policysched")


def _try_commands(installation: installations.Installation) -> None:
    assert "1 policy, 1 profile" in installation.run("policysched", "check", "web.policy")
    explained = installation.run("policysched", "explain", "prod/web-3", *_CLUSTER)
    assert explained.startswith("prod/web-3 fits on 2 of 6 nodes\n")
    assert "1 of 1 pod placed" in installation.run("policysched", "simulate", *_CLUSTER)
    assert "kernels" not in installation.run("policysched", "demo", "--fast", "--plain")
    tests = str(installation.find_folder("policies") / "tests" / "web-tier_test.yaml")
    assert " passed" in installation.run("policysched", "test", tests)


def _try_page(installation: installations.Installation) -> None:
    """Fetch every file of the page, as the checkout has it, and data with the key."""
    files = [path for path in _STATIC.rglob("*") if path.suffix in (".css", ".js", ".svg")]
    assert _STATIC / "vendor" / "preact.js" in files
    program = [str(installation.get_program("policysched"))]
    with page_process.serve_page(
        *_CLUSTER, program=program, folder=installation.folder, environment={}
    ) as url:
        base, _, key = url.partition("#key=")
        assert _fetch(base) == (_STATIC / "index.html").read_bytes()
        for file in files:
            assert _fetch(f"{base}{file.relative_to(_STATIC)}") == file.read_bytes()
        status = json.loads(_fetch(f"{base}api/status", Authorization=f"Bearer {key}"))
    assert (status["kind"], status["nodes"]) == ("file", 6)


def _fetch(url: str, **headers: str) -> bytes:
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - of our own process
    with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
        body: bytes = answer.read()
    return body
