from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from policysched import errors
from policysched.cli import main
from policysched.config import config_reading
from policysched.extenders import settings
from policysched.importing import importer
from tests.importing import deciding

_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_POLICY = {"apiVersion": "v1", "kind": "Policy"}
_WHOLE = {
    "urlPrefix": "https://h:8443/s/",
    "filterVerb": "f",
    "prioritizeVerb": "p",
    "preemptVerb": "e",
    "bindVerb": "b",
    "weight": 2,
    "enableHTTPS": True,
    "tlsConfig": {
        "insecure": False,
        "serverName": "x",
        "certFile": "c",
        "keyFile": "k",
        "caFile": "a",
        "certData": "Yw==",
        "keyData": "aw==",
        "caData": "YQ==",
    },
    "httpTimeout": "10s",
    "nodeCacheCapable": True,
    "managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}, {"name": "a.b/d"}],
    "ignorable": True,
}


def _convert(*extenders: Any, **fields: Any) -> importer.ImportResult:
    given = {**_CONFIGURATION, "extenders": list(extenders), **fields}
    return deciding.convert(deciding.as_yaml(given))


def _read(imported: importer.ImportResult) -> tuple[settings.ExtenderSettings, ...]:
    assert imported.config is not None
    return config_reading.parse_config(imported.config, "config.yaml").extenders


def test_every_field_is_kept() -> None:
    """The extender is that of the configuration with the same fields; nothing is warned about."""
    imported = _convert(_WHOLE, {"urlPrefix": "http://other", "httpTimeout": "0"})
    head = yaml.safe_dump(config_reading.HEAD | {"extenders": [_WHOLE]})
    (whole,) = config_reading.parse_config(head, "expected.yaml").extenders
    other = settings.ExtenderSettings("http://other", http_timeout="0s")
    assert _read(imported) == (whole, other)
    assert deciding.warnings(imported) == []


@pytest.mark.parametrize("name", ["enableHttps", "enableHTTPS"])
def test_a_legacy_policy_has_other_names_and_types(name: str) -> None:
    """`enableHttps`, and a timeout in nanoseconds (`pkg/scheduler/apis/config` until 1.22)."""
    fields = {key: value for key, value in _WHOLE.items() if key != "enableHTTPS"}
    legacy = {**fields, name: True, "httpTimeout": 1_500_000_000}
    imported = deciding.convert(yaml.safe_dump({**_POLICY, "extenders": [legacy]}))
    (found,) = _read(imported)
    assert (found.enable_https, found.http_timeout_seconds) == (True, 1.5)
    assert found.managed_resources[0] == settings.ManagedResource(
        "a.b/c", ignored_by_scheduler=True
    )
    assert deciding.warnings(imported) == []
    assert 'plugin NodeResourcesFit args { ignoredResources: ["a.b/c"] }' in deciding.body(imported)


def test_ignored_resources_replace_those_of_each_profile() -> None:
    """For commands that read only policies; `run` replaces them by the configuration, too."""
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["old.com/x"]}}
    profiles = [{"schedulerName": "a", "pluginConfig": [fit]}, {"schedulerName": "b"}]
    body = deciding.body(_convert(_WHOLE, profiles=profiles))
    line = 'plugin NodeResourcesFit args { ignoredResources: ["a.b/c"] }'
    assert body == ["profile a {", line, "}", "profile b {", line, "}"]


def test_an_unknown_field_is_a_warning() -> None:
    """As elsewhere in the file."""
    imported = _convert({"urlPrefix": "http://h", "verb": "f", "tlsConfig": {"ca": "x"}})
    assert deciding.warnings(imported) == [
        "5: `extenders[0].verb` is not known",
        "7: `extenders[0].tlsConfig.ca` is not known",
    ]


@pytest.mark.parametrize(
    "extenders, problem",
    [
        pytest.param([{}], "4: `extenders[0]`: `urlPrefix` is not the URL of a server", id="url"),
        *(
            pytest.param(
                [{"urlPrefix": url}],
                "4: `extenders[0]`: `urlPrefix` is not the URL of a server; write",
                id=f"url-{url[:8]}",
            )
            for url in (
                "ftp://me:secret@h",
                "h:8888",
                "http://",
                "http://a b/",
                "http://x\x1b[31m/",
            )
        ),
        pytest.param(
            [{"urlPrefix": "http://a"}, {"urlPrefix": "http://b", "prioritizeVerb": "p"}],
            "5: `extenders[1]`: `prioritizeVerb` needs a `weight` of at least 1",
            id="weight",
        ),
        pytest.param(
            [{"urlPrefix": "http://a", "bindVerb": "b"}] * 2,
            "7: `extenders[1]`: only one extender can have `bindVerb`; remove it here or from "
            "`extenders[0]`",
            id="two-that-bind",
        ),
        pytest.param(
            [{"urlPrefix": "http://a", "managedResources": [{"name": "cpu"}]}],
            "6: `extenders[0]`: the managed resource `cpu` is not an extended resource",
            id="resource",
        ),
        pytest.param(
            [{"urlPrefix": "http://a", "httpTimeout": 5}],
            "5: `extenders[0].httpTimeout` must be text",
            id="timeout",
        ),
        pytest.param(
            [{"urlPrefix": "http://a", "tlsConfig": {"keyData": "se-cret", "certFile": "c"}}],
            "6: `extenders[0].tlsConfig.keyData` must be base64, without other characters",
            id="key",
        ),
    ],
)
def test_an_extender_that_cannot_work_is_an_error(extenders: list[Any], problem: str) -> None:
    """With its line, and without the password."""
    with pytest.raises(errors.InputError) as caught:
        _convert(*extenders)
    assert str(caught.value).startswith(f"input.yaml:{problem}")
    assert not any(secret in str(caught.value) for secret in ("secret", "se-cret"))


def test_all_problems_are_told_at_once() -> None:
    """In the order of their lines."""
    with pytest.raises(errors.InputError) as caught:
        _convert({"urlPrefix": "h"}, {"urlPrefix": "http://h", "httpTimeout": "soon"})
    lines = str(caught.value).split("\n")
    assert [line.partition(" ")[0] for line in lines] == ["input.yaml:4:", "input.yaml:6:"]
    assert "`urlPrefix`" in lines[0]
    assert "`httpTimeout`" in lines[1]


def test_secrets_are_only_in_the_configuration_file(tmp_path: pathlib.Path) -> None:
    """Comments and findings hide them and say where they are."""
    tls = {"certData": "YQ==", "keyData": "aHVudGVyMg=="}
    given = {"urlPrefix": "https://me:hunter2@h", "tlsConfig": tls}
    imported = _convert(given)
    for secret in ("hunter2", "aHVudGVyMg=="):
        assert secret not in imported.text
        assert secret not in imported.policy
        assert not any(secret in each for each in deciding.told(imported))
    assert deciding.told(imported) == [
        "note 4: the comments hide the user in the URL of the extender `https://(hidden)@h`",
        "note 6: the comments hide `keyData` of the extender `https://(hidden)@h`",
    ]
    source = tmp_path / "scheduler.yaml"
    source.write_text(yaml.safe_dump({**_CONFIGURATION, "extenders": [given]}))
    folder = tmp_path / "out"
    assert main.main(["import", str(source), "--out", str(folder)]) == errors.EXIT_OK
    (found,) = config_reading.read_config(str(folder / "config.yaml")).extenders
    assert found.url_prefix == "https://me:hunter2@h"
    assert found.tls_config == settings.ExtenderTls(cert_data="YQ==", key_data="aHVudGVyMg==")


@pytest.mark.parametrize("url", ["https://tas-service.default.svc:9001", "http://h/telemetry"])
def test_telemetry_aware_scheduling_has_another_way(url: str) -> None:
    """Its policies can be imported; the extender is kept."""
    imported = _convert({"urlPrefix": url, "filterVerb": "scheduler/filter"})
    (note,) = imported.findings
    assert note.problem == f"the extender `{url}` seems to be Telemetry Aware Scheduling"
    assert note.help == "import its TASPolicy objects instead, or keep the extender"
    assert [each.url_prefix for each in _read(imported)] == [url]


@pytest.mark.parametrize("percentage", [0, 30, 100])
def test_the_number_of_nodes_in_a_request_is_the_default(percentage: int) -> None:
    """Every percentage is noted, also 100, with which kube-scheduler sends all nodes."""
    extender = {"urlPrefix": "http://h", "prioritizeVerb": "p", "weight": 1}
    imported = _convert(extender, percentageOfNodesToScore=percentage)
    (note,) = imported.findings
    assert note.problem == f"`percentageOfNodesToScore: {percentage}` has no counterpart"
    assert note.help.endswith("extenders the number of nodes that kube-scheduler sends by default")


def test_extenders_of_two_files_must_go_together() -> None:
    """A file and a Policy can both have some, but only one extender can bind."""
    objects = [
        {**_CONFIGURATION, "extenders": [{"urlPrefix": "http://a", "bindVerb": "b"}]},
        {**_POLICY, "extenders": [{"urlPrefix": f"http://{name}"} for name in "bc"]},
        {**_POLICY, "extenders": [{"urlPrefix": "http://d", "bindVerb": "b"}]},
    ]
    imported = deciding.convert(yaml.safe_dump_all(objects))
    assert [each.url_prefix for each in _read(imported)] == ["http://a", "http://b", "http://c"]
    (told,) = [each for each in deciding.warnings(imported) if "extenders" in each]
    assert "these extenders are left out, because others exist already" in told
