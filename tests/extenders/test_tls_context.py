"""TLS of calls, by handshakes in memory."""

from __future__ import annotations

import base64
import pathlib
import ssl
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from policysched import errors
from policysched.extenders import settings, tls

HOST = "extender.example"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Signs the certificates of servers and clients."""
    return trustme.CA()


def _encode(pem: trustme.Blob) -> str:
    return base64.b64encode(pem.bytes()).decode()


def _make_server(
    certificate: trustme.LeafCert, clients: trustme.CA | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _make_client(url: str = "https://h", **fields: Any) -> ssl.SSLContext:
    return tls.make_tls_context(settings.ExtenderSettings(url, **fields))


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> dict[str, Any] | None:
    """Connect both, and return the client's certificate as the server sees it.

    Raises:
        SSLError: one refuses the other.
    """
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = (
        client.wrap_bio(to_client, to_server, server_hostname=HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return sides[1].getpeercert()


@pytest.mark.parametrize(
    "fields, is_verified",
    [
        pytest.param({}, True, id="authorities-of-the-machine"),
        pytest.param({"enable_https": True}, False, id="enableHTTPS"),
        pytest.param({"tls_config": settings.ExtenderTls(insecure=True)}, False, id="insecure"),
        pytest.param(
            {"enable_https": True, "tls_config": settings.ExtenderTls(server_name=HOST)},
            False,
            id="enableHTTPS-without-authority",
        ),
    ],
)
def test_whether_an_unknown_server_is_refused(
    authority: trustme.CA, fields: dict[str, Any], is_verified: bool
) -> None:
    """As in kube-scheduler, `enableHTTPS` alone means that every server is trusted."""
    assert settings.ExtenderSettings("https://h", **fields).verifies_server == is_verified
    server = _make_server(authority.issue_cert(HOST))
    if is_verified:
        with pytest.raises(ssl.SSLCertVerificationError):
            _shake_hands(_make_client(**fields), server)
    else:
        _shake_hands(_make_client(**fields), server)


@pytest.mark.parametrize("is_https", [True, False])
@pytest.mark.parametrize("is_file", [True, False])
def test_an_authority_verifies_the_server(
    authority: trustme.CA, tmp_path: pathlib.Path, *, is_file: bool, is_https: bool
) -> None:
    """From a file or as data, with and without `enableHTTPS`; its name must be right, too."""
    file = tmp_path / "ca.crt"
    authority.cert_pem.write_to_path(file)
    given: dict[str, Any] = (
        {"ca_file": str(file)} if is_file else {"ca_data": _encode(authority.cert_pem)}
    )
    client = _make_client(tls_config=settings.ExtenderTls(**given), enable_https=is_https)
    _shake_hands(client, _make_server(authority.issue_cert(HOST)))
    for other in (authority.issue_cert("other.example"), trustme.CA().issue_cert(HOST)):
        with pytest.raises(ssl.SSLCertVerificationError):
            _shake_hands(client, _make_server(other))


def test_the_name_must_not_only_be_the_common_name(authority: trustme.CA) -> None:
    """Go looks only at the other names, so a server must not pass here that fails there."""
    trust = settings.ExtenderTls(ca_data=_encode(authority.cert_pem))
    server = _make_server(authority.issue_cert("other.example", common_name=HOST))
    with pytest.raises(ssl.SSLCertVerificationError):
        _shake_hands(_make_client(tls_config=trust), server)


def test_the_certificate_of_the_server_can_be_the_authority(authority: trustme.CA) -> None:
    """As in Go."""
    issued = authority.issue_cert(HOST)
    trust = settings.ExtenderTls(ca_data=_encode(issued.cert_chain_pems[0]))
    client = _make_client(tls_config=trust)
    assert client.verify_mode is ssl.CERT_REQUIRED
    assert _shake_hands(client, _make_server(issued)) is None


def test_the_client_shows_a_certificate_that_can_be_replaced(
    authority: trustme.CA, tmp_path: pathlib.Path
) -> None:
    """Data takes precedence over files; files can be read again."""
    server = _make_server(authority.issue_cert(HOST), clients=authority)
    first, second = (authority.issue_cert(f"{name}.example") for name in ("first", "second"))
    files = {"cert_file": tmp_path / "tls.crt", "key_file": tmp_path / "tls.key"}

    def write(issued: trustme.LeafCert) -> None:
        issued.cert_chain_pems[0].write_to_path(files["cert_file"])
        issued.private_key_pem.write_to_path(files["key_file"])

    write(first)
    paths: dict[str, Any] = {name: str(file) for name, file in files.items()}
    configured = settings.ExtenderSettings(
        "https://h", tls_config=settings.ExtenderTls(ca_data=_encode(authority.cert_pem), **paths)
    )
    client = tls.make_tls_context(configured)
    assert "first.example" in str(_shake_hands(client, server))
    write(second)
    tls.load_client_certificate(client, configured)
    assert "second.example" in str(_shake_hands(client, server))
    data = settings.ExtenderTls(
        insecure=True,
        cert_data=_encode(first.cert_chain_pems[0]),
        key_data=_encode(first.private_key_pem),
        **paths,
    )
    assert "first.example" in str(_shake_hands(_make_client(tls_config=data), server))


def test_what_cannot_be_used_is_one_error(authority: trustme.CA, tmp_path: pathlib.Path) -> None:
    """Also with a URL without TLS; the error names the extender and shows no secret."""
    issued, other = authority.issue_cert(HOST), authority.issue_cert(HOST)
    certificate, key = _encode(issued.cert_chain_pems[0]), _encode(other.private_key_pem)
    decoded = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted = decoded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )
    gone = str(tmp_path / "gone")
    empty = tmp_path / "empty"
    empty.touch()
    pair = "the client certificate and its key cannot be used together"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ca_data": "abc"}, "`tlsConfig.caData` is not base64"),
        ({"ca_data": "abcd"}, "`caData` contains no certificate authority"),
        ({"ca_file": str(empty)}, f"`{empty}` contains no certificate authority"),
        (
            {"ca_file": gone},
            f"`{gone}` of `tlsConfig.caFile` cannot be read: No such file or directory",
        ),
        ({"cert_data": certificate, "key_data": key}, pair),
        ({"cert_data": certificate, "key_data": base64.b64encode(encrypted).decode()}, pair),
        ({"cert_data": "abcd", "key_data": "abcd"}, pair),
        (
            {"cert_data": certificate, "key_file": gone},
            f"`{gone}` of `tlsConfig.keyFile` cannot be read: No such file or directory",
        ),
    ]
    for fields, problem in cases:
        with pytest.raises(errors.ConfigurationError) as caught:
            _make_client("http://me:hunter2@h", tls_config=settings.ExtenderTls(**fields))
        assert str(caught.value) == (
            f"extender http://(hidden)@h: {problem} (each file must be readable and PEM, and the "
            "key must belong to the certificate)"
        )


def _write_certificate(folder: pathlib.Path, certificate: trustme.LeafCert) -> None:
    certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    certificate.private_key_pem.write_to_path(folder / "tls.key")


def test_follows_a_changed_client_certificate(
    authority: trustme.CA, tmp_path: pathlib.Path
) -> None:
    """New connections show it; a file that cannot be used leaves the former certificate."""
    server = _make_server(authority.issue_cert(HOST), clients=authority)
    _write_certificate(tmp_path, authority.issue_cert("first.example"))
    extender = settings.ExtenderSettings(
        "https://h",
        tls_config=settings.ExtenderTls(
            ca_data=_encode(authority.cert_pem),
            server_name=HOST,
            cert_file=str(tmp_path / "tls.crt"),
            key_file=str(tmp_path / "tls.key"),
        ),
    )
    client = tls.make_tls_context(extender)
    followed = tls.FollowedCertificate(client, extender)

    def show() -> object:
        seen = _shake_hands(client, server)
        return seen and seen["subjectAltName"]

    second = authority.issue_cert("second.example")
    second.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
    followed.load_if_changed()  # the key does not belong to it yet
    assert show() == (("DNS", "first.example"),)
    _write_certificate(tmp_path, second)
    assert show() == (("DNS", "first.example"),)
    followed.load_if_changed()
    assert show() == (("DNS", "second.example"),)
    (tmp_path / "tls.crt").write_text("no certificate", encoding="utf-8")
    followed.load_if_changed()
    assert show() == (("DNS", "second.example"),)
