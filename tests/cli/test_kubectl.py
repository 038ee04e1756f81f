"""policysched as a plugin of kubectl: how it calls itself, what it completes."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from policysched.cli import kubectl_completion, main
from policysched.lang.diagnostics import diagnostics
from tests.cli import clusters
from tests.realcluster import components, manifests
from tests.realcluster import control_plane as control_planes

_PROGRAM = "#!{python}\nimport {module}\n{module}.run()\n"
_MODULES = {
    "kubectl-policysched": "policysched.__main__",
    "kubectl_complete-policysched": "policysched.cli.kubectl_completion",
}


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is the one that `kubectl policysched` runs."""
    monkeypatch.setattr("sys.argv", ["/opt/bin/kubectl-policysched"])


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    "argv, said",
    [
        pytest.param(["--help"], "usage: kubectl policysched [-h]", id="help"),
        pytest.param(["lint", "--help"], "usage: kubectl policysched lint [-h]", id="usage"),
        pytest.param(
            ["lint", "--help"], "`kubectl policysched explain rule PS203` describes", id="epilog"
        ),
        pytest.param(["explain", "pod", "--help"], "usage: kubectl policysched explain", id="form"),
        pytest.param(
            ["lint", "--nothing", "a"],
            "kubectl policysched: unrecognized arguments: --nothing; "
            "see `kubectl policysched lint --help`",
            id="wrong-option",
        ),
        pytest.param(
            ["nothing"],
            "kubectl policysched: `nothing` is not a command; see `kubectl policysched --help`",
            id="unknown",
        ),
        pytest.param(
            ["-n", "prod", "explain", "pod", "web"],
            "kubectl policysched: `-n` is before the command `explain`; write the namespace in "
            "the name: `kubectl policysched explain NAMESPACE/NAME`",
            id="namespace-first",
        ),
        pytest.param(
            ["explain", "pod", "web", "-n", "prod"],
            "kubectl policysched: unrecognized arguments: -n prod; write the namespace in the "
            "name: `kubectl policysched explain NAMESPACE/NAME`; see",
            id="namespace-last",
        ),
        pytest.param(
            ["--context=test", "explain", "pod", "web"],
            "kubectl policysched: `--context` is before the command `explain`; write options "
            "after it: `kubectl policysched explain …`",
            id="option-first",
        ),
        pytest.param(["check", "/none"], "kubectl policysched: /none: cannot be read", id="error"),
    ],
)
def test_it_calls_itself_as_it_was_called(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In usage, help and errors; nothing names a command that is not on the PATH."""
    main.main(argv)
    captured = capsys.readouterr()
    told = " ".join((captured.out + captured.err).split())
    assert said in told
    assert "`policysched " not in told


@pytest.mark.usefixtures("plugin")
def test_its_notes_are_its_own(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is told on the side begins with the same name."""
    profiles = tmp_path / "p.policy"
    profiles.write_text("policy a { for pods }\nprofile one { policies a }\nprofile two { }\n")
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod("x"))
    main.main(["simulate", "--cluster", cluster, "--policies", str(profiles)])
    assert capsys.readouterr().err.startswith("kubectl policysched: note: 1 pod left out")


@pytest.mark.parametrize(
    "words, answers",
    [
        pytest.param(["ex"], ["explain", ":4"], id="command"),
        pytest.param(["-"], ["--help", "--version", ":4"], id="program"),
        pytest.param(["explain", "--clus"], ["--cluster", ":4"], id="option"),
        pytest.param(["lint", "--fail-level", "w"], ["warning", ":4"], id="choice"),
        pytest.param(["explain", "--all", "po"], ["pod", ":4"], id="form"),
        pytest.param(["explain", "pod", "--all-"], ["--all-nodes", ":4"], id="form-option"),
        pytest.param(["check", ""], ["policy", "yaml", "yml", "json", ":8"], id="policies"),
        pytest.param(["simulate", "--cluster", ""], [":0"], id="any-file"),
        pytest.param(["import", "--out", ""], [":16"], id="folders"),
        pytest.param(["simulate", "--now", ""], [":4"], id="unknown"),
        pytest.param(
            ["explain", "rule", "PS80"],
            [
                *sorted(
                    c for c in diagnostics.CODES | diagnostics.LINT_CODES if c.startswith("PS80")
                ),
                ":4",
            ],
            id="codes",
        ),
    ],
)
def test_it_completes(words: list[str], answers: list[str]) -> None:
    """Commands, options, values, forms; how files are completed is the shell's to know."""
    assert list(kubectl_completion.generate_completions(words)) == answers


def test_every_command_is_a_candidate() -> None:
    """Also if nothing is written yet."""
    assert list(kubectl_completion.generate_completions([])) == [
        *main.build_command_parsers(),
        ":4",
    ]


def test_every_option_is_a_candidate() -> None:
    """They come from the parsers, as those of the scripts for shells."""
    for name, parser in main.build_command_parsers().items():
        options = [each for action in parser._actions for each in action.option_strings]
        assert list(kubectl_completion.generate_completions([name, "-"])) == [*options, ":4"]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> str:
    """A PATH that begins with a folder that has what a wheel installs for kubectl."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in _MODULES.items():
        program = folder / name
        program.write_text(_PROGRAM.format(python=sys.executable, module=module))
        program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def _kubectl(
    path: str, folder: pathlib.Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(components.binary("kubectl")), *words],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.e2e
def test_kubectl_runs_it(path: str, tmp_path: pathlib.Path) -> None:
    """kubectl finds the plugin, hands words through and passes on the exit code."""
    assert (
        f"{tmp_path}/bin/kubectl-policysched" in _kubectl(path, tmp_path, "plugin", "list").stdout
    )
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod("web"))
    words = ("policysched", "explain", "--cluster", cluster, "pod", "prod/web", "-o", "json")
    done = _kubectl(path, tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["feasible"] == 1
    wrong = _kubectl(path, tmp_path, "policysched", "explain", "--nothing")
    assert wrong.returncode == 3
    assert "see `kubectl policysched explain --help`" in wrong.stderr


@pytest.mark.e2e
def test_kubectl_explains_a_pod_of_a_running_cluster(
    control_plane: control_planes.ControlPlane, namespace: str, path: str, tmp_path: pathlib.Path
) -> None:
    """Of the cluster of $KUBECONFIG or --kubeconfig, as text and as JSON; a deleted pod, too."""
    control_plane.client.create_nodes(manifests.fleet(3))
    going = manifests.pod("going", scheduler_name="policysched")
    going["metadata"]["finalizers"] = ["example.com/stays"]
    pods = [manifests.pod("web", scheduler_name="policysched"), going]
    control_plane.client.create_pods(namespace, pods)
    kubeconfig = str(control_plane.write_kubeconfig(tmp_path / "kubeconfig"))
    words = ("policysched", "explain", "pod", f"{namespace}/web", "--live")
    text = _kubectl(path, tmp_path, *words, KUBECONFIG=kubeconfig)
    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.startswith(f"{namespace}/web fits on 3 of 3 nodes\n")
    found = _kubectl(path, tmp_path, *words, "--kubeconfig", kubeconfig, "-o", "json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)[0]["feasible"] == 3
    name, going_path = f"{namespace}/going", f"/api/v1/namespaces/{namespace}/pods/going"
    control_plane.client.delete(going_path)
    deleted = _kubectl(path, tmp_path, "policysched", "explain", name, "--kubeconfig", kubeconfig)
    control_plane.client.patch(going_path, {"metadata": {"finalizers": None}})
    assert (deleted.returncode, deleted.stdout) == (2, "")
    assert deleted.stderr == (
        f"kubectl policysched: `{name}`: the pod is being deleted, so it does not wait for a node\n"
    )


@pytest.mark.e2e
def test_kubectl_completes_it(path: str, tmp_path: pathlib.Path) -> None:
    """`kubectl policysched ex<Tab>` offers `explain`."""
    done = _kubectl(path, tmp_path, "__complete", "policysched", "ex")
    assert done.stdout.split() == ["explain", ":4"]
