from __future__ import annotations

import pathlib
import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme

from policysched.promapi import connection, failures, settings
from tests.promapi import fake_prometheus as fake


@pytest.fixture
def authority() -> trustme.CA:
    """Who signs the certificates of a test."""
    return trustme.CA()


def _server_context(authority: trustme.CA, host: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(host).configure_cert(context)
    return context


def _ask(url: str, tls: settings.PrometheusTls) -> Any:
    source = settings.PrometheusSource(url, tls=tls)
    with connection.PrometheusClient("p", source) as connected:
        return connected.ask("up")


def _pem(folder: pathlib.Path, authority: trustme.CA, name: str = "ca.pem") -> str:
    path = folder / name
    authority.cert_pem.write_to_path(path)
    return str(path)


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param(lambda ca: settings.PrometheusTls(ca_file=ca), id="own-authority"),
        pytest.param(lambda _: settings.PrometheusTls(insecure_skip_verify=True), id="anybody"),
    ],
)
def test_a_server_is_trusted_as_configured(
    tmp_path: pathlib.Path, authority: trustme.CA, tls: Callable[[str], settings.PrometheusTls]
) -> None:
    """By an authority of its own, or without looking."""
    with fake.FakePrometheus(tls=_server_context(authority)) as server:
        assert _ask(server.url, tls(_pem(tmp_path, authority))).series == ()


@pytest.mark.parametrize(
    "case, text",
    [
        pytest.param(
            "machine", "its certificate is not trusted: self-signed|unable to get", id="m"
        ),
        pytest.param("other", "not trusted: unable to get local issuer", id="other"),
        pytest.param("host", "not trusted: IP address mismatch", id="host"),
    ],
)
def test_who_is_not_trusted_is_told_nothing(
    tmp_path: pathlib.Path, authority: trustme.CA, case: str, text: str
) -> None:
    """The error says why, and no query arrives."""
    ca_file = _pem(tmp_path, trustme.CA() if case == "other" else authority)
    tls = settings.PrometheusTls(ca_file=None if case == "machine" else ca_file)
    context = _server_context(authority, "127.0.0.9" if case == "host" else "127.0.0.1")
    with fake.FakePrometheus(tls=context) as server:
        with pytest.raises(failures.QueryError, match=text) as caught:
            _ask(server.url, tls)
        assert server.requests == []
    assert caught.value.cause == failures.QueryIssue.UNREACHABLE


def test_we_show_our_certificate(tmp_path: pathlib.Path, authority: trustme.CA) -> None:
    """Where servers ask for one; key and certificate may be in one file or two."""
    context = _server_context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    ours = authority.issue_cert("policysched.example")
    both, cert, key = (tmp_path / name for name in ("both.pem", "cert.pem", "key.pem"))
    ours.private_key_and_cert_chain_pem.write_to_path(both)
    ours.cert_chain_pems[0].write_to_path(cert)
    ours.private_key_pem.write_to_path(key)
    ca_file = _pem(tmp_path, authority)
    with fake.FakePrometheus(tls=context) as server:
        one = settings.PrometheusTls(ca_file=ca_file, cert_file=str(both))
        two = settings.PrometheusTls(ca_file=ca_file, cert_file=str(cert), key_file=str(key))
        assert _ask(server.url, one).series == ()
        assert _ask(server.url, two).series == ()
        with pytest.raises(failures.QueryError):
            _ask(server.url, settings.PrometheusTls(ca_file=ca_file))
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param(lambda path: settings.PrometheusTls(ca_file=path), id="authority"),
        pytest.param(lambda path: settings.PrometheusTls(cert_file=path), id="certificate"),
    ],
)
def test_a_file_that_is_missing_is_named(
    tmp_path: pathlib.Path, tls: Callable[[str], settings.PrometheusTls]
) -> None:
    """It may come later: files are mounted, and certificates renewed."""
    path = str(tmp_path / "none.pem")
    with pytest.raises(failures.QueryError, match=r"there is no file `.*none\.pem`"):
        _ask("https://127.0.0.1:1", tls(path))


def test_a_renewed_authority_is_read(tmp_path: pathlib.Path, authority: trustme.CA) -> None:
    """Without a restart: the file is read for each new connection."""
    ca_file = _pem(tmp_path, trustme.CA())
    source = settings.PrometheusSource("", tls=settings.PrometheusTls(ca_file=ca_file))
    with fake.FakePrometheus(tls=_server_context(authority)) as server:
        source = settings.PrometheusSource(server.url, tls=settings.PrometheusTls(ca_file=ca_file))
        with connection.PrometheusClient("p", source) as connected:
            with pytest.raises(failures.QueryError):
                connected.ask("up")
            _pem(tmp_path, authority)
            assert connected.ask("up").series == ()
