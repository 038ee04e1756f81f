"""Options that make no sense are usage errors before anything is read."""

from __future__ import annotations

import pathlib

import pytest

from policysched import errors
from policysched.cli import main


def test_the_last_of_two_values_counts_for_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    """Overlays of manifests append flags, as for components of Kubernetes."""
    argv = ["run", "--print-config", "--kube-api-qps", "5", "--kube-api-qps", "7"]
    assert main.main(argv) == errors.EXIT_OK
    assert "qps: 7" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["simulate"], ["run"], ["karmada", "run"], ["karmada", "simulate"]]
)
def test_several_paths_follow_one_option(
    command: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of them is read; only the one that does not exist is an error."""
    (tmp_path / "a.policy").touch()
    paths = [str(tmp_path / f"{name}.policy") for name in ("a", "missing")]
    given = ["--cluster", "cluster.json"] if "simulate" in command else ["--kubeconfig", "none"]
    assert main.main([*command, *given, "--policies", *paths, "--policies", paths[0]]) == 2
    assert paths[1] in capsys.readouterr().err


def test_several_paths_are_printed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """A repeated option adds to the paths before it."""
    argv = ["run", "--print-config", "--policies", "b", "a", "--policies", "c"]
    assert main.main(argv) == errors.EXIT_OK
    assert "  paths:\n  - b\n  - a\n  - c\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv, message",
    [
        (["explain", "--all", "pod", "d/p"], "--all and `pod` are mutually exclusive"),
        (["explain"], "no pod is named"),
        (["explain", "--policies", "a", "b.policy", "d/p"], "--policies before each file"),
        (["explain", "--policies", "a", "x/b.policy", "d/p"], "--policies before each file"),
        (["simulate"], "--cluster is missing"),
        (["simulate", "--cluster", ""], "--cluster is empty"),
        (["simulate", "--context", ""], "--context is empty"),
        (["simulate", "--cluster", "cluster.json", "--live"], "give only one of them"),
        (["simulate", "--cluster", "x", "--seed", "-1"], "`-1` is not a seed"),
        (["simulate", "--cluster", "x", "--seed", "9" * 5000], "from 0 to 4294967295"),
        (["simulate", "--cluster", "x", "--seed", "4294967296"], "from 0 to 4294967295"),
        (["test", ".", "--fuzz", "1", "--seed", "-1"], "`-1` is not a seed"),
        (["simulate", "--cluster", "x", "--metrics", ""], "--metrics is empty"),
        (["simulate", "--cluster", "x", "--policies", ""], "a path of policies is empty"),
        (["simulate", "--cluster", "-", "--policies", "-"], "both the cluster and the policies"),
        (["run", "--policies", ""], "a path of policies is empty"),
        (["run", "--kubeconfig", ""], "--kubeconfig is empty"),
        (["run", "--config", ""], "--config is empty"),
        (["run", "--metrics-address", ""], "--metrics-address is empty"),
        (["run", "--metrics-address", ":9153"], "must be an address such as 127.0.0.1:9153"),
        (["run", "--scheduler-name", "Bad Name!"], "`Bad Name!` is not a name"),
        (["run", "--scheduler-name", ""], "`` is not a name"),
        (["run", "--scheduler-name", "a" * 254], "is not a name"),
        (["simulate", "--cluster", "a", "--cluster", "b"], "--cluster is given twice"),
        (["plan", "--now", "2026-01-01", "--now=2026-01-02"], "--now is given twice"),
        (["explain", "p/q", "--node", "a", "--node", "b"], "--node is given twice"),
        (["explain", "--all", "--node", "a"], "--node needs one pod"),
        (["explain", "--all-nodes", "rule", "PS104"], "--all-nodes needs one pod"),
    ],
)
def test_wrong_options_are_exit_3(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says which option, and nothing is done."""
    assert main.main(argv) == errors.EXIT_USAGE
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
