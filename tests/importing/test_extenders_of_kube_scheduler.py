"""kube-scheduler itself reads configurations with extenders: what it accepts, and what it makes."""

from __future__ import annotations

import pathlib
import random
import subprocess
from typing import Any

import pytest
import trustme
import yaml

from policysched import errors
from policysched.config import config_reading
from policysched.extenders import settings, tls
from tests.importing import deciding
from tests.realcluster import components

pytestmark = pytest.mark.e2e

_LIMIT_SECONDS = 60
_CASES = 16
_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [{"name": "a", "user": {}}],
    "current-context": "a",
}


class KubeScheduler:
    """The real one, which writes its configuration and ends before it connects to a server."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(yaml.safe_dump(_KUBECONFIG))

    def read(self, fields: dict[str, Any]) -> tuple[str, str]:
        """Return the text of a configuration, and the text with all defaults; "" if refused."""
        given = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self._kubeconfig)},
            **fields,
        }
        file, written = self._folder / "given.yaml", self._folder / "written.yaml"
        file.write_text(deciding.as_yaml(given))
        written.unlink(missing_ok=True)
        options = [f"--config={file}", f"--write-config-to={written}", "--secure-port=0"]
        subprocess.run(
            [components.binary("kube-scheduler"), *options, "--authentication-skip-lookup"],
            check=False,
            capture_output=True,
            timeout=_LIMIT_SECONDS,
        )
        return file.read_text(), written.read_text() if written.exists() else ""


@pytest.fixture(scope="module")
def kube_scheduler(tmp_path_factory: pytest.TempPathFactory) -> KubeScheduler:
    """The program, with a folder of its own."""
    return KubeScheduler(tmp_path_factory.mktemp("kube-scheduler"))


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files with an authority, a certificate, its key, another key, and nothing useful."""
    folder = tmp_path_factory.mktemp("pem")
    authority = trustme.CA()
    issued, other = authority.issue_cert("h"), authority.issue_cert("h")
    contents = {
        "ca": authority.cert_pem.bytes(),
        "cert": issued.cert_chain_pems[0].bytes(),
        "key": issued.private_key_pem.bytes(),
        "other-key": other.private_key_pem.bytes(),
        "text": b"no certificate",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in (*contents, "gone")}


def _read_ours(text: str) -> tuple[settings.ExtenderSettings, ...] | None:
    """Return the extenders that `run` would call; None if it would not start."""
    try:
        imported = deciding.convert(text)
        assert imported.config is not None
        found = config_reading.parse_config(imported.config, "config.yaml").extenders
        for each in found:
            tls.make_tls_context(each)
    except errors.InputError:
        return None
    return found


def _make_comparable(extenders: tuple[settings.ExtenderSettings, ...]) -> list[Any]:
    """Return the fields of extenders with the timeout in effect: kube-scheduler fills it in."""
    return [
        (
            each.url_prefix,
            (each.filter_verb, each.prioritize_verb, each.preempt_verb, each.bind_verb),
            (each.weight, each.node_cache_capable, each.ignorable, each.enable_https),
            each.tls_config or settings.ExtenderTls(),
            each.http_timeout_seconds,
            each.managed_resources,
        )
        for each in extenders
    ]


def _draw_tls(rng: random.Random, pem: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rng.random() < 0.2:
        found["insecure"] = rng.random() < 0.7
    if rng.random() < 0.5:
        found["caFile"] = pem[rng.choice(("ca", "ca", "cert", "gone", "text"))]
    if rng.random() < 0.3:
        found["certFile"] = pem[rng.choice(("cert", "cert", "gone"))]
        found["keyFile"] = pem["key"]
    if rng.random() < 0.2:
        found["serverName"] = "h"
    return found


def _draw_extender(rng: random.Random, pem: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "urlPrefix": rng.choice(("http://h", "https://h:1/s/", "http://[::1]"))
    }
    for name, chance in (("filter", 0.5), ("prioritize", 0.4), ("preempt", 0.3), ("bind", 0.2)):
        if rng.random() < chance:
            found[f"{name}Verb"] = name
    if rng.random() < 0.7:
        found["weight"] = rng.choice((0, 1, 5, -1, 2**63 - 1))
    for name in ("enableHTTPS", "nodeCacheCapable", "ignorable"):
        if rng.random() < 0.3:
            found[name] = rng.random() < 0.7
    if rng.random() < 0.3:
        found["httpTimeout"] = rng.choice(("0", "0s", "1m0.5s", "300ms", "soon", "5"))
    if rng.random() < 0.4:
        found["tlsConfig"] = _draw_tls(rng, pem)
    names = (
        "a.b/c",
        "a.b/d",
        "x.y/z",
        "a.b/e",
        "x/y",
        *("cpu", "requests.a/b", "k.kubernetes.io/a"),
    )
    weights = (*[6] * 5, *[1] * 3)
    for name in rng.choices(names, weights, k=rng.choice((0, 0, 1, 2))):
        resource: dict[str, Any] = {"name": name}
        if rng.random() < 0.5:
            resource["ignoredByScheduler"] = rng.random() < 0.8
        found.setdefault("managedResources", []).append(resource)
    return found


def _list_ignored(text: str) -> dict[str, list[str]]:
    """Return `ignoredResources` of NodeResourcesFit by profile, of a written configuration."""
    return {
        profile["schedulerName"]: each["args"].get("ignoredResources", [])
        for profile in yaml.safe_load(text)["profiles"]
        for each in profile["pluginConfig"]
        if each["name"] == "NodeResourcesFit"
    }


def test_both_accept_the_same_extenders_and_make_the_same_of_them(
    kube_scheduler: KubeScheduler, pem: dict[str, str]
) -> None:
    """All fields, the resources that each profile ignores, and what prevents a start."""
    rng = random.Random(25)
    accepted = 0
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["old.com/x"]}}
    profiles = [{"schedulerName": "a", "pluginConfig": [fit]}, {"schedulerName": "b"}]
    for number in range(_CASES):
        extenders = [_draw_extender(rng, pem) for _ in range(rng.choice((1, 1, 2, 3)))]
        given, written = kube_scheduler.read({"extenders": extenders, "profiles": profiles})
        ours = _read_ours(given)
        assert (ours is None) == (not written), (number, extenders)
        if ours is None:
            continue
        accepted += 1
        theirs = _read_ours(written)
        assert theirs is not None
        assert _make_comparable(ours) == _make_comparable(theirs)
        ignored = list(settings.list_ignored_resources(ours))
        assert _list_ignored(written) == {"a": ignored or ["old.com/x"], "b": ignored}
    assert _CASES * 0.2 < accepted < _CASES * 0.8


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"urlPrefix": ""}, id="no-url"),
        pytest.param({"urlPrefix": "ftp://h"}, id="scheme"),
        pytest.param({"urlPrefix": "http://h?x=1"}, id="query"),
        pytest.param({"urlPrefix": "http://h", "httpTimeout": "-5s"}, id="no-timeout"),
        pytest.param({"urlPrefix": "http://h", "httpTimeout": "5us"}, id="microseconds"),
        pytest.param({"urlPrefix": "http://h", "tlsConfig": {"certFile": "c"}}, id="no-key"),
        pytest.param({"urlPrefix": "http://h", "tlsConfig": {"keyFile": "c"}}, id="no-certificate"),
        pytest.param(
            {"urlPrefix": "http://h", "tlsConfig": {"certFile": "text", "keyFile": "text"}},
            id="bad-certificate",
        ),
    ],
)
def test_only_these_settings_are_refused_here_alone(
    kube_scheduler: KubeScheduler, pem: dict[str, str], fields: dict[str, Any]
) -> None:
    """docs/extenders.md says why: kube-scheduler starts, but calls fail or have no limit."""
    if "tlsConfig" in fields:
        files = {key: pem.get(name, name) for key, name in fields["tlsConfig"].items()}
        fields = {**fields, "tlsConfig": files}
    given, written = kube_scheduler.read({"extenders": [fields]})
    assert written
    assert _read_ours(given) is None
