"""`make image` with builders that record their arguments, and with a client that has no engine."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

import policysched

ROOT = pathlib.Path(__file__).resolve().parents[2]
_READY = '#!/bin/sh\n[ "$1" = info ] || echo "$PWD: $(basename "$0") $*"\n'
_IDLE = '#!/bin/sh\necho "cannot connect" >&2\nexit 1\n'
_BUILD = f"{ROOT}: {{}} build --tag {{}} --build-arg LOCK={{}} ."


class Machine:
    """A PATH with builders and the few programs that the script needs."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        for name in ("basename", "dirname", "sed"):
            self.link_program(name)

    def link_program(self, name: str) -> None:
        """Put a program of this machine on the PATH."""
        found = shutil.which(name)
        assert found is not None
        (self.folder / name).symlink_to(found)

    def add_builder(self, name: str, text: str) -> None:
        """Put a stand-in of a builder on the PATH."""
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def make_image(self, *variables: str) -> subprocess.CompletedProcess[str]:
        """Run `make image`; a real docker client looks for its engine at a place without one."""
        make = shutil.which("make")
        assert make is not None
        engine = f"unix://{self.folder}/docker.sock"
        return subprocess.run(
            [make, "--no-print-directory", "image", *variables],
            cwd=ROOT,
            env={"PATH": str(self.folder), "DOCKER_HOST": engine},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    """A machine without builders."""
    return Machine(tmp_path)


@pytest.mark.parametrize("name", ["docker", "podman", "buildah", "nerdctl"])
def test_the_builder_of_the_machine_builds(name: str, machine: Machine) -> None:
    """Without variables, the image has the name that the manifests of deploy/base use."""
    machine.add_builder(name, _READY)
    done = machine.make_image()
    image = f"policysched:{policysched.__version__}"
    assert done.stdout.splitlines() == [
        f"building {image} with {name}",
        _BUILD.format(name, image, "runtime"),
    ]
    assert (done.returncode, done.stderr) == (0, "")
    assert f"image: {image}\n" in (ROOT / "deploy/base/deployment.yaml").read_text("utf-8")


def test_name_lock_and_base_reach_the_builder(machine: Machine) -> None:
    """Names with a registry and a port, and a base image by its digest."""
    machine.add_builder("podman", _READY)
    done = machine.make_image(
        "IMAGE=r.example:5000/p:1", "LOCK=karmada", "PYTHON_IMAGE=python@sha256:12"
    )
    assert done.stdout.splitlines()[-1] == (
        f"{ROOT}: podman build --tag r.example:5000/p:1 --build-arg LOCK=karmada "
        "--build-arg PYTHON_IMAGE=python@sha256:12 ."
    )


def test_a_builder_without_an_engine_gives_way_to_the_next(machine: Machine) -> None:
    """As on a machine with the client of docker and with podman."""
    machine.add_builder("docker", _IDLE)
    machine.add_builder("podman", _READY)
    machine.add_builder("buildah", _READY)
    assert " with podman\n" in machine.make_image().stdout


def test_the_builder_can_be_chosen(machine: Machine) -> None:
    """Also one that the script does not know, by its path."""
    for name in ("docker", "podman", "other"):
        machine.add_builder(name, _READY)
    for builder in ("podman", str(machine.folder / "other")):
        done = machine.make_image(f"BUILDER={builder}")
        assert f" with {builder}\n" in done.stdout
        assert f": {pathlib.Path(builder).name} build " in done.stdout


def test_a_failed_build_is_a_failure(machine: Machine) -> None:
    """The exit code of the builder is not lost."""
    machine.add_builder("podman", '#!/bin/sh\n[ "$1" = info ]\n')
    assert machine.make_image().returncode == 2


@pytest.mark.parametrize(
    "variables, error",
    [
        pytest.param([], "no container builder on PATH; install docker, podman,", id="none"),
        pytest.param(["BUILDER=pod"], "BUILDER=pod is no program on PATH; name docker,", id="name"),
        pytest.param(["LOCK=dev"], "LOCK=dev is unknown; use runtime, tracing or", id="lock"),
    ],
)
def test_an_image_that_cannot_be_built_is_one_error(
    variables: list[str], error: str, machine: Machine
) -> None:
    """The second line is make's own."""
    done = machine.make_image(*variables)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(f"no image was built: {error}")
    assert second.startswith("make: ***")


_REAL_DOCKER = [pytest.param("", id="real docker")] if shutil.which("docker") else []


@pytest.mark.parametrize("text", [pytest.param(_IDLE, id="stand-in"), *_REAL_DOCKER])
@pytest.mark.parametrize(
    "variables, error",
    [
        pytest.param([], "or install podman or buildah, which need none", id="only"),
        pytest.param(["BUILDER=docker"], "or name another BUILDER", id="chosen"),
    ],
)
def test_a_client_without_an_engine_is_one_error(
    variables: list[str], error: str, text: str, machine: Machine
) -> None:
    """The words of the client are left out, and the error says where to read them."""
    if text:
        machine.add_builder("docker", text)
    else:
        machine.link_program("docker")
    done = machine.make_image(*variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        "no image was built: no engine answers docker; start it (`docker info` shows the reason), "
        + error
    )


def test_shellcheck_finds_nothing() -> None:
    """The script is for every POSIX shell."""
    shellcheck = shutil.which("shellcheck", path=pathlib.Path(sys.executable).parent)
    assert shellcheck is not None
    done = subprocess.run(
        [shellcheck, "build_image.sh"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
