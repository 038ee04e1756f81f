"""Credentials and their renewal: token files, plugins, identity providers, certificates."""

from __future__ import annotations

import base64
import datetime
import json
import pathlib
import random
import ssl
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from policysched import clock as clocks
from policysched.kube import errors
from policysched.kube.auth import credential_sources, credentials, kubeconfig
from policysched.kube.http import client
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, json_body, status

if TYPE_CHECKING:
    from tests.realcluster import control_plane as control_planes

MINUTE = 60.0
SECRET = "super-secret-token"

# Counts its runs in a file and prints what the other file says.
PLUGIN = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
runs = folder / "runs"
runs.write_text(str(int(runs.read_text()) + 1) if runs.exists() else "1")
text = (folder / "answer").read_text().replace("RUNS", runs.read_text())
if text.startswith("fail"):
    sys.exit(text)
print(text)
"""


class PluginUser:
    """A kubeconfig whose user has an exec plugin."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.clock = clocks.ManualClock(builders.EPOCH)
        (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(folder / "plugin.py"), str(folder)],
            "installHint": "get it from your cloud",
        }
        self.path = write_kubeconfig(folder, {"exec": plugin})

    def answers(self, **credential: object) -> None:
        """Let the plugin give this `status` from now on; RUNS in it is the number of the run."""
        answer = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": credential,
        }
        (self.folder / "answer").write_text(json.dumps(answer), encoding="utf-8")

    def says(self, text: str) -> None:
        """Let the plugin print this text, or fail with it if it starts with `fail`."""
        (self.folder / "answer").write_text(text, encoding="utf-8")

    @property
    def runs(self) -> int:
        """How often the plugin ran."""
        return int((self.folder / "runs").read_text(encoding="utf-8"))

    async def load(self) -> credentials.Credentials:
        """Load the kubeconfig."""
        return (await kubeconfig.load_kubeconfig_files(self.path, None, self.clock)).credentials


def write_kubeconfig(folder: pathlib.Path, user: dict[str, Any]) -> str:
    """Write a kubeconfig with this user and return its path."""
    path = folder / "config"
    content = {
        "current-context": "test",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def text_of(time: datetime.datetime) -> str:
    """Return RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


@asynchronous
async def test_a_token_file_is_read_again(tmp_path: pathlib.Path) -> None:
    """A token that is rotated on disk is used a minute later at most."""
    token = tmp_path / "token"
    token.write_text("one\n", encoding="utf-8")
    clock = clocks.ManualClock(builders.EPOCH)
    path = write_kubeconfig(tmp_path, {"tokenFile": "token"})
    found = (await kubeconfig.load_kubeconfig_files(path, None, clock)).credentials
    token.write_text("two\n", encoding="utf-8")
    assert not found.is_renewal_due()
    clock.advance(MINUTE)
    assert found.is_renewal_due()
    await found.renew_credential()
    assert found.authorization == "Bearer two"
    assert not found.is_renewal_due()


@asynchronous
async def test_a_renewal_that_fails(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The old token stays in use, the reason is logged, and the next minute tries again."""
    token = tmp_path / "token"
    token.write_text(SECRET, encoding="utf-8")
    clock = clocks.ManualClock(builders.EPOCH)
    path = write_kubeconfig(tmp_path, {"tokenFile": "token"})
    found = (await kubeconfig.load_kubeconfig_files(path, None, clock)).credentials
    token.unlink()
    clock.advance(MINUTE)
    await found.renew_credential()
    assert found.authorization == f"Bearer {SECRET}"
    assert "keeping the old one" in caplog.text
    assert SECRET not in caplog.text
    token.write_text("new", encoding="utf-8")
    clock.advance(MINUTE)
    await found.renew_credential()
    assert found.authorization == "Bearer new"


@asynchronous
async def test_a_plugin_without_expiry_runs_once(tmp_path: pathlib.Path) -> None:
    """Its token holds until the server refuses it; then the plugin runs again."""
    user = PluginUser(tmp_path)
    user.answers(token="token-RUNS")
    found = await user.load()
    assert found.authorization == "Bearer token-1"
    user.clock.advance(99 * MINUTE)
    await found.renew_credential()
    assert user.runs == 1
    assert await found.replace_rejected_credential("Bearer token-1")
    assert found.authorization == "Bearer token-2"


@asynchronous
async def test_a_plugin_runs_again_before_its_token_expires(tmp_path: pathlib.Path) -> None:
    """No request goes out with a token that has expired."""
    user = PluginUser(tmp_path)
    expiry = builders.EPOCH + datetime.timedelta(minutes=14)
    user.answers(token="token-RUNS", expirationTimestamp=text_of(expiry))
    found = await user.load()
    for minute in range(1, 14):
        user.clock.advance(MINUTE)
        await found.renew_credential()
        assert user.runs == 1 + max(0, minute - 11), minute
    assert found.authorization == "Bearer token-3"


@pytest.mark.parametrize(
    "answer, problem",
    [
        pytest.param("fail: log in first", "failed: .*log in first", id="fails"),
        pytest.param("hello", "failed: .*decode", id="no JSON"),
        pytest.param("{}", "failed: .*missing key", id="no credential object"),
        pytest.param(
            '{"apiVersion":"client.authentication.k8s.io/v1","kind":"x","status":{}}',
            "neither a token nor a certificate",
            id="no token",
        ),
        pytest.param(
            '{"apiVersion":"client.authentication.k8s.io/v1","kind":"x","status":null}',
            "neither a token nor a certificate",
            id="no status",
        ),
        pytest.param(
            '{"apiVersion":"other/v1","kind":"x","status":{"token":"t"}}',
            "does not match",
            id="other version",
        ),
    ],
)
@asynchronous
async def test_a_plugin_that_fails(tmp_path: pathlib.Path, answer: str, problem: str) -> None:
    """Its failure is ours, with its own words."""
    user = PluginUser(tmp_path)
    user.says(answer)
    with pytest.raises(errors.CredentialError, match=problem) as caught:
        await user.load()
    assert user.path in str(caught.value)


@asynchronous
async def test_a_plugin_that_is_not_there(tmp_path: pathlib.Path) -> None:
    """The hint in the kubeconfig says where to get it."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "no-such-plugin",
        "installHint": "get it from your cloud",
    }
    path = write_kubeconfig(tmp_path, {"exec": plugin})
    with pytest.raises(errors.CredentialError, match="get it from your cloud"):
        await kubeconfig.load_kubeconfig_files(path, None, clocks.ManualClock(builders.EPOCH))


@asynchronous
async def test_a_plugin_that_fails_later_keeps_the_token(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A refused token without a successor leads to no further attempt."""
    user = PluginUser(tmp_path)
    user.answers(token="token-RUNS")
    found = await user.load()
    user.says("fail: the cloud is away")
    assert not await found.replace_rejected_credential("Bearer token-1")
    assert found.authorization == "Bearer token-1"
    assert "the cloud is away" in caplog.text


@asynchronous
async def test_a_plugin_is_not_run_for_every_refused_call(tmp_path: pathlib.Path) -> None:
    """When its tokens are all refused, it runs now and then, not once a call."""
    user = PluginUser(tmp_path)
    user.answers(token="always-the-same")
    found = await user.load()
    for _ in range(10):
        assert not await found.replace_rejected_credential("Bearer always-the-same")
    assert user.runs == 2
    user.clock.advance(credentials.REPLACE_SECONDS)
    user.answers(token="another")
    assert await found.replace_rejected_credential("Bearer always-the-same")
    assert user.runs == 3


# --- OIDC ----------------------------------------------------------------------------------------


def id_token(expiry: datetime.datetime, subject: str = "???>>>") -> str:
    """Return an unsigned JWT; the subject makes characters that base64 and base64url differ in."""
    claims = json.dumps({"exp": int(expiry.timestamp()), "sub": subject}).encode()
    return "e30." + base64.urlsafe_b64encode(claims).decode().rstrip("=") + ".sig"


def oidc_user(issuer: str, **config: str) -> dict[str, Any]:
    """Return a user of an identity provider."""
    settings = {"idp-issuer-url": issuer, "client-id": "me", "client-secret": "pass"} | config
    return {"auth-provider": {"name": "oidc", "config": settings}}


@asynchronous
async def test_an_id_token_is_renewed(tmp_path: pathlib.Path) -> None:
    """An ID token that runs out is exchanged, and so is the refresh token."""
    clock = clocks.ManualClock(builders.EPOCH)
    hour = datetime.timedelta(hours=1)
    tokens = [id_token(builders.EPOCH + n * hour) for n in (1, 2, 3)]
    async with FakeServer() as idp:
        metadata = {"token_endpoint": f"{idp.url}/token"}
        idp.on("GET", "/.well-known/openid-configuration", json_body(metadata))
        idp.on(
            "POST",
            "/token",
            json_body({"id_token": tokens[1], "refresh_token": "refresh-2"}),
            json_body({"id_token": tokens[2]}),
        )
        user = oidc_user(idp.url, **{"id-token": tokens[0], "refresh-token": "refresh-1"})
        path = write_kubeconfig(tmp_path, user)
        found = (await kubeconfig.load_kubeconfig_files(path, None, clock)).credentials
        assert found.authorization == f"Bearer {tokens[0]}"
        for expected in tokens[1:]:
            clock.advance(59 * MINUTE)
            await found.renew_credential()
            assert found.authorization == f"Bearer {expected}"
        forms = [one.body for one in idp.requests if one.path == "/token"]
        assert forms == [
            "grant_type=refresh_token&refresh_token=refresh-1",
            "grant_type=refresh_token&refresh_token=refresh-2",
        ]


@pytest.mark.parametrize(
    "config, problem",
    [
        pytest.param({}, "no refresh-token", id="nothing to exchange"),
        pytest.param({"id-token": "abc"}, "not a JSON web token", id="no token"),
        pytest.param({"id-token": "a.!!.c"}, "not a JSON web token", id="damaged token"),
        pytest.param(
            {"refresh-token": SECRET, "idp-certificate-authority-data": "eA=="},
            "certificate authority is not a PEM certificate",
            id="bad authority",
        ),
        pytest.param({"refresh-token": SECRET}, "identity provider refused", id="refused"),
    ],
)
@asynchronous
async def test_an_identity_provider_that_fails(
    tmp_path: pathlib.Path, config: dict[str, str], problem: str
) -> None:
    """What is missing, or that the provider refused, is said; no token is."""
    async with FakeServer() as idp:
        idp.on("GET", "/.well-known/openid-configuration", status(500))
        path = write_kubeconfig(tmp_path, oidc_user(idp.url, **config))
        with pytest.raises(errors.CredentialError, match=problem) as caught:
            await kubeconfig.load_kubeconfig_files(path, None, clocks.ManualClock(builders.EPOCH))
        assert SECRET not in str(caught.value)


@asynchronous
async def test_an_identity_provider_that_is_away(tmp_path: pathlib.Path) -> None:
    """Without an answer there is no credential."""
    async with FakeServer() as idp:
        pass
    path = write_kubeconfig(tmp_path, oidc_user(idp.url, **{"refresh-token": SECRET}))
    with pytest.raises(errors.CredentialError, match="identity provider did not answer"):
        await kubeconfig.load_kubeconfig_files(path, None, clocks.ManualClock(builders.EPOCH))


# --- in a pod ------------------------------------------------------------------------------------


@pytest.mark.e2e
@asynchronous
async def test_the_service_account_of_a_pod(
    tmp_path: pathlib.Path, control_plane: control_planes.ControlPlane
) -> None:
    """In a pod, address, authority and token come from where the kubelet puts them."""
    files = kubeconfig.ServiceAccountFiles(tmp_path / "token", control_plane.ca_file)
    files.token.write_text("wrong", encoding="utf-8")
    host, _, port = control_plane.server.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    clock = clocks.ManualClock(builders.EPOCH)
    connection = await kubeconfig.load_in_cluster_config(clock, environ, files)
    assert connection.server == control_plane.server
    async with client.ApiClient(connection, rng=random.Random(1)) as api:
        with pytest.raises(errors.UnauthorizedError):
            await api.send_request("GET", "/api/v1/nodes")
        files.token.write_text(control_plane.tokens["admin"] + "\n", encoding="utf-8")
        clock.advance(credentials.REPLACE_SECONDS)
        assert b'"kind":"NodeList"' in await api.send_request("GET", "/api/v1/nodes")


@pytest.mark.parametrize("namespace", ["ops", ""])
@pytest.mark.e2e
@asynchronous
async def test_the_namespace_of_a_pod(
    tmp_path: pathlib.Path, control_plane: control_planes.ControlPlane, namespace: str
) -> None:
    """A pod knows its namespace, unless its service account was mounted without that."""
    files = kubeconfig.ServiceAccountFiles(
        tmp_path / "token", control_plane.ca_file, tmp_path / "namespace"
    )
    files.token.write_text("token", encoding="utf-8")
    if namespace:
        files.namespace.write_text(f"{namespace}\n", encoding="utf-8")
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    clock = clocks.ManualClock(builders.EPOCH)
    connection = await kubeconfig.load_in_cluster_config(clock, environ, files)
    assert connection.own_namespace == namespace


@pytest.mark.parametrize(
    "environ, token, authority, problem",
    [
        pytest.param({}, "t", "x", "not set", id="no address"),
        pytest.param({"KUBERNETES_SERVICE_PORT": "1"}, None, "x", "token", id="no token"),
        pytest.param({"KUBERNETES_SERVICE_PORT": "1"}, "", "x", "empty", id="empty token"),
        pytest.param({"KUBERNETES_SERVICE_PORT": "1"}, "t", None, "does not exist", id="no trust"),
        pytest.param({"KUBERNETES_SERVICE_PORT": "1"}, "t", "x", "no PEM", id="bad trust"),
    ],
)
@asynchronous
async def test_a_pod_without_service_account(
    tmp_path: pathlib.Path,
    environ: dict[str, str],
    token: str | None,
    authority: str | None,
    problem: str,
) -> None:
    """What is missing is said."""
    files = kubeconfig.ServiceAccountFiles(tmp_path / "token", tmp_path / "ca.crt")
    for path, text in ((files.token, token), (files.certificate, authority)):
        if text is not None:
            path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.KubeconfigError, match=problem):
        await kubeconfig.load_in_cluster_config(
            clocks.ManualClock(builders.EPOCH),
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", **environ},
            files,
        )


def test_sources_do_not_show_secrets(tmp_path: pathlib.Path) -> None:
    """The repr of a source names its file."""
    source = credential_sources.ServiceAccountSource(tmp_path / "token")
    assert repr(source) == f"ServiceAccountSource('{tmp_path / 'token'}')"
    shown = repr(credentials.Credential(SECRET, SECRET.encode(), SECRET.encode()))
    assert SECRET not in shown


# --- client certificates -------------------------------------------------------------------------


class PairSource:
    """A source of a certificate and key that a test can change."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        self.pair = (certificate, key)

    async def load(self, *, is_rejected: bool) -> credentials.Credential:
        """Return the pair."""
        return credentials.Credential("", *self.pair)


@pytest.mark.e2e
@asynchronous
async def test_a_client_certificate_is_reloaded(
    control_plane: control_planes.ControlPlane,
) -> None:
    """A pair that was rotated is loaded for new connections; the same pair changes nothing."""
    folder = control_plane.folder / "certificates"
    certificate = (folder / "apiserver.crt").read_bytes()
    key = (folder / "apiserver.key").read_bytes()
    context = ssl.create_default_context()
    clock = clocks.ManualClock(builders.EPOCH)
    source = PairSource(certificate, key)
    found = credentials.Credentials(source, await source.load(is_rejected=False), clock, context)
    generation = found.certificate_generation
    clock.advance(MINUTE)
    await found.renew_credential()
    assert found.certificate_generation == generation
    source.pair = (certificate + b"\n", key)
    clock.advance(MINUTE)
    await found.renew_credential()
    assert found.certificate_generation == generation + 1
    source.pair = (certificate, b"no key")
    assert not await found.replace_rejected_credential("")
    assert found.certificate_generation == generation + 1
