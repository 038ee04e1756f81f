"""The locks pin every dependency by hash and say nothing about where it comes from."""

from __future__ import annotations

import pathlib
import re
import tomllib

import pytest
from packaging import requirements, utils

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCKS = (
    "runtime.txt",
    "tracing.txt",
    "karmada.txt",
    "dev.txt",
    "build.txt",
    "compiler.txt",
    "go.txt",
    "browser.txt",
)

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)", re.MULTILINE)


def _text(lock: str) -> str:
    return (ROOT / "requirements" / lock).read_text(encoding="utf-8")


def _pins(lock: str) -> dict[str, str]:
    return {
        utils.canonicalize_name(pin["name"]): pin["version"] for pin in _PIN.finditer(_text(lock))
    }


def _declared(names: list[str]) -> list[requirements.Requirement]:
    return [requirements.Requirement(name) for name in names]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(lock: str) -> None:
    """Each pinned version is followed by at least one sha256."""
    blocks = re.split(r"\n(?=\S)", _text(lock).strip())
    pinned = [block for block in blocks if not block.startswith(("#", " "))]
    assert len(pinned) == len(_pins(lock))
    assert all("--hash=sha256:" in block for block in pinned)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_address_or_an_option(lock: str) -> None:
    """Whoever installs decides where from: no index, no link, no host, no absolute path."""
    said = _text(lock)
    assert re.findall(r"^\s*-(?!-hash)\S*", said, re.MULTILINE) == []
    assert re.findall(r"://|\s/\S+", said) == []


def test_the_locks_agree() -> None:
    """What runs, what builds the image and what develops use the same versions."""
    development = _pins("dev.txt")
    for extra in ("tracing.txt", "karmada.txt"):
        assert _pins("runtime.txt").items() <= _pins(extra).items() <= development.items()
    assert _pins("build.txt").items() <= development.items()


@pytest.mark.parametrize(
    "lock, extra",
    [
        ("runtime.txt", None),
        ("tracing.txt", "tracing"),
        ("karmada.txt", "karmada"),
        ("dev.txt", "dev"),
    ],
)
def test_what_pyproject_declares_is_locked(lock: str, extra: str | None) -> None:
    """Every declared dependency is pinned, at a version that the declaration allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = project["optional-dependencies"][extra] if extra else project["dependencies"]
    pins = _pins(lock)
    for requirement in _declared(names):
        version = pins[utils.canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement
