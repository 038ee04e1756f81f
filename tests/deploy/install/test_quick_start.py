"""docs/quick-start.md: each command is carried out, except for those that need docker."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING

import pytest

import policysched
from tests import page_examples
from tests.deploy import installed, shell_commands
from tests.realcluster import process

if TYPE_CHECKING:
    from tests.deploy.install import reader
    from tests.realcluster import control_plane as control_planes

_TIME_LIMIT_SECONDS = 150.0
_BLOCKS = [
    block.body
    for block in page_examples.read_blocks(page_examples.DOCS / "quick-start.md")
    if block.kind == "sh"
]


def _read_alternatives(commands: str) -> list[str]:
    """Return the commands in comments."""
    return re.findall(r"# (?:or|with Helm): (.*)", commands)


def _show_page(person: reader.Reader, command: str, log: pathlib.Path) -> None:
    """Run `policysched ui` until it has printed its URL."""
    command = re.sub(r"--open.*", f"--address 127.0.0.1:{process.free_port()}", command)
    typed = ["/bin/sh", "-euc", f"cd {person.checkout}; exec {command}"]
    server = process.ServerProcess(typed, log=log, environment=person.environment)
    server.start()
    try:
        server.wait_until(
            lambda: "/#key=" in log.read_text(encoding="utf-8"),
            time_limit_seconds=_TIME_LIMIT_SECONDS,
        )
    finally:
        server.kill()


@pytest.mark.e2e
def test_the_commands_lead_to_a_decision(
    person: reader.Reader, plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """With kubectl and with Helm; an edited policy is used, and in the end nothing is left."""
    image, apply, helm, pod, ask, edit, read, remove = _BLOCKS

    def install(commands: str) -> None:
        *first, rollout = commands.splitlines()
        person.type("\n".join(first))
        shell_commands.finish_rollout(plane.client)
        person.type(rollout)

    person.type("\n".join([image, *_read_alternatives(image)]))
    delete_pod, uninstall, delete_lease, delete_cluster = remove.splitlines()
    install(apply)
    person.type(uninstall)
    install(helm)
    run, get, events = pod.splitlines()
    make, explain, show = ask.splitlines()
    with installed.Installed(plane, tmp_path).scheduler as scheduler:
        person.type(run)
        scheduler.wait_until(lambda: "node-1" in person.type(get))
        scheduler.wait_until(lambda: "pack-tight" in person.type(events))
        assert make == "make .venv/ready"  # the reader has it
        assert "pack-tight" in person.type(explain)
        _show_page(person, show, tmp_path / "ui.log")
        person.type(edit)
        install(helm)
        scheduler.wait_until(lambda: _is_used(person.type(read)))
    person.type(f"{delete_pod} --wait=false")  # no kubelet ends it
    person.type("\n".join([*_read_alternatives(uninstall), delete_lease]))
    person.type("\n".join([delete_cluster, *_read_alternatives(delete_cluster)]))
    left = person.type("kubectl get all,configmaps,secrets --namespace kube-system --output name")
    assert "policysched" not in left


def _is_used(config_map: str) -> bool:
    """Return whether the ConfigMap has the edit, and annotations about it."""
    return "LeastAllocated" in config_map and "policysched.io/status: ok" in config_map


def test_the_image_is_that_of_the_example() -> None:
    """It is built, and then loaded by either tool."""
    images = set(re.findall(r"registry\.example\.com/\S+", _BLOCKS[0]))
    assert images == {f"registry.example.com/policysched:{policysched.__version__}"}
    assert [one.split()[0] for one in _read_alternatives(_BLOCKS[0])] == ["minikube"] * 2
