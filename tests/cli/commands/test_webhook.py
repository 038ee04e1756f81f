from __future__ import annotations

import pathlib

import pytest
import trustme

from policysched.cli import main

NEEDED = ("--secure-address", "127.0.0.1:0", "--cert-file", "tls.crt", "--key-file", "tls.key")


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate is there."""
    monkeypatch.chdir(tmp_path)
    certificate = trustme.CA().issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
    certificate.private_key_pem.write_to_path(tmp_path / "tls.key")


@pytest.mark.parametrize(
    "options, exit_code, told",
    [
        pytest.param([], 3, "--secure-address", id="nothing"),
        pytest.param([*NEEDED, "--cert-file", ""], 3, "--cert-file is empty", id="empty"),
        pytest.param([*NEEDED, "--secure-address", ":9443"], 3, "is not an address", id="address"),
        pytest.param([*NEEDED, "--policy-configmap", "web"], 3, "NAMESPACE/NAME", id="name"),
        pytest.param([*NEEDED, "--label", "web"], 3, "KEY=VALUE", id="label"),
        pytest.param([*NEEDED, "--params", "web"], 3, "is not a param", id="params"),
        pytest.param([*NEEDED, "--config", "none.yaml"], 2, "none.yaml", id="no-config"),
        pytest.param([*NEEDED, "--key-file", "none.key"], 2, "`none.key`", id="no-key"),
        pytest.param([*NEEDED, "--key-file", "tls.crt"], 2, "cannot be used", id="no-pair"),
    ],
)
def test_what_cannot_work_is_told_at_the_start(
    options: list[str], exit_code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one line, with the exit code of its kind."""
    assert main.main(["webhook", *options]) == exit_code
    said = capsys.readouterr()
    assert told in said.err
    assert "Traceback" not in said.err
