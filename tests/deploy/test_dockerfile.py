"""The Dockerfile: linted, and its commands carried out, as no container can be built here."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import pytest

import policysched
from policysched.kernels import installation
from tests.deploy import shell_commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_JOINED = re.sub(r"\\\n\s*", "", TEXT)
INSTRUCTIONS = re.findall(r"^([A-Z]+) (.*)$", _JOINED, re.MULTILINE)
_TARGET, _WHEEL = "/opt/policysched", "/tmp/wheel"  # noqa: S108 - in the container


def _all(instruction: str) -> list[str]:
    return [rest for word, rest in INSTRUCTIONS if word == instruction]


def test_hadolint_finds_nothing() -> None:
    """Neither an error nor a warning nor a remark, and nothing is told to be ignored."""
    hadolint = shutil.which("hadolint", path=pathlib.Path(sys.executable).parent)
    assert hadolint is not None
    command = [hadolint, "--no-color", "--disable-ignore-pragma", "Dockerfile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_starts_from_one_exact_version_and_ends_as_nobody() -> None:
    """Both stages have the same base, pinned to its patch release; the user is no root."""
    base, lock = _all("ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.\d+\.\d+-slim-[a-z]+", base)
    assert lock == "LOCK=runtime"
    assert _all("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", _all("USER")[-1])
    assert json.loads(_all("ENTRYPOINT")[-1]) == ["policysched"]
    assert not _all("ADD")


def test_whatever_is_installed_has_a_hash() -> None:
    """Locks with hashes, or what was built here: nothing else is asked of a package index."""
    for command in re.findall(r"pip (?:--python \S+ )?install (.*?)(?: && |$)", _JOINED):
        assert "--require-hashes" in command or "--no-index" in command, command


def test_the_tag_is_this_version() -> None:
    """The commands at its head make the image that deploy/ asks for."""
    assert set(re.findall(r"policysched:(\S+)", TEXT)) == {policysched.__version__}


def test_the_context_holds_what_the_wheel_is_made_of(context: pathlib.Path) -> None:
    """And no more: no tests, no .git, no caches."""
    top = {path.name for path in context.iterdir()}
    assert {"policysched", "pyproject.toml", "requirements"} <= top
    assert not top & {".git", "tests", "benchmarks", ".venv", ".cluster", "deploy"}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What `COPY . .` gets: .dockerignore shuts out all, and lets single paths in again."""
    folder = tmp_path_factory.mktemp("context")
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    excluded = ["*.so", "__pycache__"]  # compiled for the machine of the checkout
    assert (rules[0], rules[-2:]) == ("*", [f"**/{name}" for name in excluded])
    for rule in rules[1:-2]:
        assert rule.startswith("!")
        source, target = ROOT / rule[1:], folder / rule[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*excluded))
        else:
            shutil.copy(source, target)
    return folder


def test_it_can_be_built_with_another_lock() -> None:
    """Each one that `LOCK` may name is there when packages are installed."""
    copied = _all("COPY")[0].split()[:-1]
    for lock in ("runtime", "tracing"):
        assert f"requirements/{lock}.txt" in copied
        assert (ROOT / "requirements" / f"{lock}.txt").is_file()
    assert '-r "requirements/${LOCK}.txt"' in _JOINED
    assert "--build-arg LOCK=tracing" in TEXT


@pytest.mark.proof
@pytest.mark.slow
def test_its_commands_make_something_that_works(
    context: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Carried out with another Python as the base, they install a policysched that checks."""
    base = tmp_path / "base"
    venv.create(base, with_pip=True)
    target = tmp_path / "target"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    package = target / "lib" / version / "site-packages" / "policysched"
    environment = {"PATH": f"{base / 'bin'}:/usr/bin:/bin", "HOME": str(pathlib.Path.home())}
    environment |= {"LOCK": "runtime", "PIP_COMPILE": "no"}
    environment |= {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
    for command in _all("RUN"):
        here = command.replace(_TARGET, str(target)).replace(_WHEEL, str(tmp_path / "wheel"))
        # Bytecode of all packages takes long to compile; that of ours shows that the command works.
        here = here.replace(f"compileall -q {target}/lib", f"compileall -q {package}")
        shell_commands.run_commands(here, context, environment)
    assert list(package.glob("__pycache__/*.pyc"))
    program = str(target / "bin" / "policysched")
    policies = str(ROOT / "policies")
    done = subprocess.run(
        [program, "check", policies], env={}, cwd="/", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    subprocess.run([program, "run", "--help"], env={}, cwd="/", capture_output=True, check=True)
    folder = target / "lib"
    compiled = {path.name.split(".")[0] for path in folder.rglob("policysched/kernels/*.so")}
    assert compiled == {path.stem for path in installation.list_kernels()}
