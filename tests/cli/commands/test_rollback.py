"""`rollback` as a command; what it does to a cluster is in tests/e2e/test_rollback.py."""

from __future__ import annotations

import pytest

from policysched.cli import main

POLICIES = ("--policy-configmap", "prod/policies")


@pytest.mark.parametrize(
    "argv, code, said",
    [
        pytest.param([], 3, "--policy-configmap", id="nothing"),
        pytest.param(
            ["--policy-configmap", "policies"],
            *(3, "--policy-configmap must be NAMESPACE/NAME, not `policies`"),
            id="no-namespace",
        ),
        pytest.param(
            [*POLICIES, "--history", "a/b/c"],
            *(3, "--history must be NAMESPACE/NAME, not `a/b/c`"),
            id="history",
        ),
        pytest.param(["abc", "--list", *POLICIES], 3, "--list changes nothing", id="list-and-hash"),
        pytest.param(["--list", "--freeze", *POLICIES], 3, "--list changes", id="list-and-freeze"),
        pytest.param([*POLICIES, "--kubeconfig", "/none"], 2, "/none", id="kubeconfig"),
    ],
)
def test_what_makes_no_sense(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, before anything is asked."""
    assert main.main(["rollback", *argv]) == code
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1
