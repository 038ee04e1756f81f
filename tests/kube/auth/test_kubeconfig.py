"""Where the server is and who we are; what is said about kubeconfigs that cannot be used."""

from __future__ import annotations

import base64
import logging
import pathlib
import ssl
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from policysched import clock as clocks
from policysched import errors as base_errors
from policysched.kube import errors
from policysched.kube.auth import kubeconfig
from tests import builders
from tests.kube.asynchronous import asynchronous

SECRET = "super-secret-token"
CLOCK = clocks.ManualClock(builders.EPOCH)
NO_ENVIRONMENT: Mapping[str, str] = {}


def config(**changes: Any) -> dict[str, Any]:
    """Return a good kubeconfig with some of its parts replaced."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"token": SECRET}}],
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
    } | changes


def cluster(**settings: object) -> list[dict[str, Any]]:
    """Return the list of clusters with these settings for the one."""
    return [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"} | settings}]


def user(**settings: object) -> list[dict[str, Any]]:
    """Return the list of users with these settings for the one, and a secret."""
    return [{"name": "u", "user": {"password": SECRET} | settings}]


def write(path: pathlib.Path, content: object) -> str:
    """Write YAML and return the path as text."""
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


@asynchronous
async def test_a_plain_kubeconfig(tmp_path: pathlib.Path) -> None:
    """Server, token and trust come from the current context."""
    path = write(tmp_path / "config", config())
    connection = await kubeconfig.load_api_client_config(path, None, CLOCK, NO_ENVIRONMENT)
    assert connection.server == "https://127.0.0.1:6443"
    assert connection.credentials.authorization == f"Bearer {SECRET}"
    assert connection.ssl_context is not None
    assert connection.ssl_context.verify_mode is ssl.CERT_REQUIRED
    assert connection.ssl_context.check_hostname
    assert connection.namespace == "default"
    assert connection.proxy is None


@asynchronous
async def test_the_settings_of_a_context(tmp_path: pathlib.Path) -> None:
    """Another context than the current one, with all that a cluster's entry can say."""
    content = config(
        clusters=[
            *config()["clusters"],
            {
                "name": "other",
                "cluster": {
                    "server": "https://api.example:443/k8s/clusters/c-1/",
                    "insecure-skip-tls-verify": True,
                    "tls-server-name": "kubernetes",
                    "proxy-url": "http://proxy.example:3128",
                },
            },
        ],
        contexts=[
            *config()["contexts"],
            {"name": "two", "context": {"cluster": "other", "user": "u", "namespace": "batch"}},
        ],
    )
    path = write(tmp_path / "config", content)
    connection = await kubeconfig.load_api_client_config(path, "two", CLOCK, NO_ENVIRONMENT)
    assert connection.server == "https://api.example:443/k8s/clusters/c-1"
    assert connection.ssl_context is not None
    assert connection.ssl_context.verify_mode is ssl.CERT_NONE
    assert connection.server_hostname == "kubernetes"
    assert connection.proxy == "http://proxy.example:3128"
    assert connection.namespace == "batch"


@pytest.mark.parametrize(
    "settings, authorization",
    [
        pytest.param({"token": "abc"}, "Bearer abc", id="token"),
        pytest.param({"tokenFile": "token"}, "Bearer from-file", id="token file beside"),
        pytest.param(
            {"username": "me", "password": "pass"},
            "Basic " + base64.b64encode(b"me:pass").decode(),
            id="password",
        ),
        pytest.param({}, "", id="nobody"),
    ],
)
@asynchronous
async def test_kinds_of_users(
    tmp_path: pathlib.Path, settings: dict[str, str], authorization: str
) -> None:
    """Tokens, files relative to the kubeconfig, passwords, or nothing at all."""
    (tmp_path / "token").write_text("from-file\n", encoding="utf-8")
    path = write(tmp_path / "config", config(users=[{"name": "u", "user": settings}]))
    connection = await kubeconfig.load_api_client_config(path, None, CLOCK, NO_ENVIRONMENT)
    assert connection.credentials.authorization == authorization


@asynchronous
async def test_several_files_are_merged(tmp_path: pathlib.Path) -> None:
    """KUBECONFIG may list files, some of which may be missing; they complete each other."""
    first = write(tmp_path / "first", {**config(), "users": [], "kind": "Config"})
    content = config()
    del content["current-context"]
    second = write(tmp_path / "second", content)
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"}
    connection = await kubeconfig.load_api_client_config(None, None, CLOCK, environ)
    assert connection.credentials.authorization == f"Bearer {SECRET}"


@asynchronous
async def test_plain_http_has_no_trust(tmp_path: pathlib.Path) -> None:
    """A proxy on this machine (`kubectl proxy`) speaks http."""
    path = write(
        tmp_path / "config",
        config(clusters=[{"name": "c", "cluster": {"server": "http://127.0.0.1:8001"}}]),
    )
    connection = await kubeconfig.load_api_client_config(path, None, CLOCK, NO_ENVIRONMENT)
    assert connection.ssl_context is None


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param(
            config(**{"current-context": ""}),
            "there is no current context .*`test`",
            id="no context",
        ),
        pytest.param(
            config(**{"current-context": "nope"}), "no context `nope` .*`test`", id="bad context"
        ),
        pytest.param(config(contexts=[]), "no context `test` .*none", id="no contexts"),
        pytest.param(config(clusters=[]), "names the cluster `c`, which does", id="no cluster"),
        pytest.param(config(users=[]), "names the user `u`, which does not exist", id="no user"),
        pytest.param(
            config(clusters=[{"name": "c", "cluster": {"x": 1}}]),
            "`` is not the address of a server",
            id="no server",
        ),
        pytest.param(
            config(clusters=cluster(server="127.0.0.1:6443")),
            "`127.0.0.1:6443` is not the address of a server .https://HOST:PORT",
            id="server without scheme",
        ),
        pytest.param(
            config(clusters=cluster(**{"certificate-authority": "missing.crt"})),
            "File does not exists: .*missing.crt",
            id="authority missing",
        ),
        pytest.param(
            config(clusters=cluster(**{"certificate-authority-data": "!!!"})),
            "certificate",
            id="authority not base64",
        ),
        pytest.param(
            config(
                clusters=cluster(**{"certificate-authority-data": base64.b64encode(b"x").decode()})
            ),
            "the certificate authority is not a PEM certificate",
            id="authority not PEM",
        ),
        pytest.param(
            config(
                users=user(
                    **{
                        "client-certificate-data": base64.b64encode(b"x").decode(),
                        "client-key-data": base64.b64encode(b"y").decode(),
                    }
                )
            ),
            "the certificate and its key cannot be used together",
            id="client certificate not PEM",
        ),
        pytest.param(
            config(users=user(tokenFile="missing")), "missing.* cannot be read", id="token file"
        ),
        pytest.param(
            config(users=user(token="two\nlines")),
            "the token contains invalid characters",
            id="token with line break",
        ),
        pytest.param(
            config(users=user(**{"as": "somebody"})),
            "impersonation .* is not supported",
            id="impersonation",
        ),
        pytest.param(
            config(contexts=[{"name": "test", "context": SECRET}]),
            r"got `str` - at `\$.contexts\[0\].context",
            id="context is text",
        ),
        pytest.param(config(users={"u": SECRET}), r"\$.users", id="users are a mapping"),
        pytest.param(config(users=[SECRET]), r"\$.users\[0\]", id="users are texts"),
        pytest.param(
            config(users=[{"user": {"token": SECRET}}]), "required field `name`", id="no name"
        ),
        pytest.param(
            config(users=[{"name": "u", "usr": {"token": SECRET}}]),
            "required field `user`",
            id="entry without user",
        ),
        pytest.param(config(users=user(exec=SECRET)), "expected form", id="plugin is text"),
        pytest.param(
            config(users=user(exec={"args": [SECRET]})),
            "the credential plugin `` does not exist",
            id="no command",
        ),
        pytest.param(
            config(users=user(**{"auth-provider": {"name": "oidc"}})),
            "Expected key config in",
            id="provider without config",
        ),
        pytest.param(
            config(users=user(**{"auth-provider": {"name": "oidc", "config": {"x": SECRET}}})),
            "no refresh-token",
            id="provider with nothing",
        ),
        pytest.param([SECRET], "not a kubeconfig", id="a list"),
        pytest.param({"a": SECRET}, "required field `clusters`", id="another file"),
        pytest.param(None, "not a kubeconfig", id="empty"),
        pytest.param(
            config(users=user(exec={"command": "no-such-plugin", "apiVersion": "v1"})),
            "the credential plugin `no-such-plugin` does not exist",
            id="plugin missing",
        ),
    ],
)
@asynchronous
async def test_what_cannot_be_used(
    tmp_path: pathlib.Path, content: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each fault is one sentence that names the file, and never shows a secret."""
    caplog.set_level(logging.DEBUG)
    path = write(tmp_path / "config", content)
    with pytest.raises(base_errors.PolicySchedError, match=problem) as caught:
        await kubeconfig.load_api_client_config(path, None, CLOCK, NO_ENVIRONMENT)
    assert path in str(caught.value) or "client certificate" in str(caught.value)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert SECRET not in str(chain)
        chain = chain.__cause__
    assert SECRET not in caplog.text
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, problem",
    [
        pytest.param("clusters: [\n  a: b: " + SECRET, ":2: not YAML", id="not YAML"),
        pytest.param("\x00", "not YAML", id="control characters"),
    ],
)
@asynchronous
async def test_what_is_no_yaml(tmp_path: pathlib.Path, text: str, problem: str) -> None:
    """The line is named and not quoted."""
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.KubeconfigError, match=problem) as caught:
        await kubeconfig.load_api_client_config(str(path), None, CLOCK, NO_ENVIRONMENT)
    assert SECRET not in str(caught.value)


@asynchronous
async def test_nothing_to_be_found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that does not exist, or no file at all, is said with what to do."""
    missing = str(tmp_path / "missing")
    with pytest.raises(errors.KubeconfigError, match=r"missing: no such file .*--kubeconfig"):
        await kubeconfig.load_api_client_config(missing, None, CLOCK, NO_ENVIRONMENT)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(errors.KubeconfigError, match=r"none was given.*--kubeconfig"):
        await kubeconfig.load_api_client_config(None, None, CLOCK, NO_ENVIRONMENT)


@asynchronous
async def test_where_is_looked_in_turn(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument goes before KUBECONFIG, that before the pod's own, that before the home's."""

    def written(name: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return write(path, config(clusters=cluster(server=f"https://{path.stem}.example")))

    argument, variable = written("argument"), written("variable")
    written(".kube/config")
    monkeypatch.setenv("HOME", str(tmp_path))
    in_cluster = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    environ = {"KUBECONFIG": variable, **in_cluster}

    async def server(path: str | None, environ: Mapping[str, str]) -> str:
        return (await kubeconfig.load_api_client_config(path, None, CLOCK, environ)).server

    assert await server(argument, environ) == "https://argument.example"
    assert await server(None, environ) == "https://variable.example"
    assert await server(None, NO_ENVIRONMENT) == "https://config.example"
    with pytest.raises(errors.KubeconfigError, match="in-cluster"):
        await server(None, in_cluster)


@pytest.mark.parametrize(
    "server, proxy",
    [
        pytest.param("https://api.example", "http://proxy.example:3128", id="elsewhere"),
        pytest.param("https://127.0.0.1:6443", None, id="this machine"),
        pytest.param("https://internal.example", None, id="excepted"),
    ],
)
@asynchronous
async def test_proxies_of_the_environment(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, server: str, proxy: str | None
) -> None:
    """HTTPS_PROXY and NO_PROXY are obeyed, as by kubectl."""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "internal.example")
    path = write(tmp_path / "config", config(clusters=cluster(server=server)))
    connection = await kubeconfig.load_api_client_config(path, None, CLOCK, NO_ENVIRONMENT)
    assert connection.proxy == proxy


@asynchronous
async def test_no_secret_is_shown(tmp_path: pathlib.Path) -> None:
    """The repr of a connection says where, not with what."""
    content = config(clusters=cluster(**{"proxy-url": f"http://me:{SECRET}@proxy.example"}))
    connection = await kubeconfig.load_api_client_config(
        write(tmp_path / "config", content), None, CLOCK, NO_ENVIRONMENT
    )
    shown = repr(connection) + repr(vars(connection.credentials))
    assert "https://127.0.0.1:6443" in shown
    assert SECRET not in shown


def test_no_api_model_is_loaded() -> None:
    """The model classes of the kubernetes package cost seconds and memory: none is imported."""
    program = (
        "import sys\n"
        "from policysched.kube.auth import kubeconfig\n"
        "from policysched.kube.events import event_recorder\n"
        "from policysched.kube.http import client\n"
        "from policysched.kube.reading import reflector\n"
        "from policysched.kube.writing import binding, pod_status\n"
        "models = [name for name in sys.modules if '.client.models.' in name]\n"
        "apis = [name for name in sys.modules if '.client.api.' in name]\n"
        "print(models, apis)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] []\n"


@asynchronous
async def test_a_folder_that_may_not_be_entered_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether a kubeconfig exists may be a secret of the system."""

    def refuse(_path: pathlib.Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "exists", refuse)
    with pytest.raises(errors.KubeconfigError, match="cannot be read: Permission denied"):
        await kubeconfig.load_kubeconfig_files("k.yaml", None, clocks.SystemClock())
