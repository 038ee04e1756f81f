from __future__ import annotations

import pathlib
import re

import pytest

from policysched import clock, errors
from policysched.cli import main
from policysched.config import config_printing, config_reading
from policysched.extenders import settings
from policysched.kube.auth import credentials
from policysched.observability import known_secrets, redaction
from tests.kube import fake_server

HEAD = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\nextenders:\n"


def _read(text: str) -> tuple[settings.ExtenderSettings, ...]:
    return config_reading.parse_config(HEAD + text, "c.yaml").extenders


def test_all_fields_have_the_names_of_kube_scheduler() -> None:
    """As in KubeSchedulerConfiguration, also the timeout, which is a duration."""
    found = _read(
        "- urlPrefix: https://extender.kube-system.svc:8443/scheduler/\n"
        "  filterVerb: filter\n"
        "  prioritizeVerb: prioritize\n"
        "  preemptVerb: preempt\n"
        "  bindVerb: bind\n"
        "  weight: 3\n"
        "  enableHTTPS: true\n"
        "  tlsConfig: {serverName: extender, certFile: c, keyFile: k, caFile: a}\n"
        "  httpTimeout: 1m500ms\n"
        "  nodeCacheCapable: true\n"
        "  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]\n"
        "  ignorable: true\n"
    )
    assert found == (
        settings.ExtenderSettings(
            url_prefix="https://extender.kube-system.svc:8443/scheduler/",
            filter_verb="filter",
            prioritize_verb="prioritize",
            preempt_verb="preempt",
            bind_verb="bind",
            weight=3,
            enable_https=True,
            tls_config=settings.ExtenderTls(
                server_name="extender", cert_file="c", key_file="k", ca_file="a"
            ),
            http_timeout="1m500ms",
            node_cache_capable=True,
            managed_resources=(settings.ManagedResource("example.com/gpu", True),),
            ignorable=True,
        ),
    )
    assert found[0].http_timeout_seconds == 60.5
    assert found[0].verbs == ("filter", "prioritize", "preempt", "bind")


@pytest.mark.parametrize("timeout", ["0s", "5s"])
def test_no_timeout_means_five_seconds(timeout: str) -> None:
    """As in kube-scheduler, where 0 is the default."""
    (found,) = _read(f"- {{urlPrefix: 'http://h', httpTimeout: {timeout}}}\n")
    assert found.http_timeout_seconds == settings.DEFAULT_TIMEOUT_SECONDS


_REPEATED = (
    "- {urlPrefix: 'http://a', bindVerb: b, managedResources: [{name: a.b/c}]}\n"
    "- {urlPrefix: 'http://b', bindVerb: b, managedResources: [{name: a.b/c}]}\n"
)


@pytest.mark.parametrize(
    "text, told",
    [
        pytest.param(
            "- {filterVerb: f}\n", ["4: `extenders[0]` lacks `urlPrefix`"], id="no-address"
        ),
        pytest.param(
            "- {urlPrefix: 'http://h', filterverb: f}\n",
            ["4: `extenders[0]` has no field `filterverb` (did you mean `filterVerb`?)"],
            id="unknown-field",
        ),
        *(
            pytest.param(
                f"- urlPrefix: '{url}'\n",
                [
                    (
                        "4: `extenders[0]`: `urlPrefix` is not the URL of a server; write "
                        "http://HOST:PORT or https://HOST, without `?` and `#`"
                    )
                ],
                id=f"url-{url[:6]}",
            )
            for url in ("", "h:80", "ftp://h", "http://", "http://h?token=secret", "https://h#f")
        ),
        pytest.param(
            "- urlPrefix: http://h\n  prioritizeVerb: p\n",
            ["4: `extenders[0]`: `prioritizeVerb` needs a `weight` of at least 1"],
            id="no-weight",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  filterVerb: 'f HTTP/1.1'\n",
            [
                (
                    "5: `extenders[0]`: `filterVerb` must be a part of a URL, such as `filter` or "
                    "`v1/filter`"
                )
            ],
            id="verb-with-spaces",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  prioritizeVerb: p\n  weight: -1\n",
            ["6: `extenders[0]`: `prioritizeVerb` needs a `weight` of at least 1"],
            id="negative-weight",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  httpTimeout: -5s\n",
            ["5: `extenders[0]`: `httpTimeout` must be a duration such as `5s` or `500ms`"],
            id="timeout",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  tlsConfig: {insecure: true, caFile: ca}\n",
            [
                (
                    "5: `extenders[0]`: `tlsConfig.insecure` trusts every server; remove it or "
                    "`tlsConfig.caFile`"
                )
            ],
            id="authorities-of-anybody",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  tlsConfig: {certFile: c}\n",
            ["5: `extenders[0]`: `tlsConfig.certFile` needs the key; add `keyFile` or `keyData`"],
            id="no-key",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  tlsConfig: {keyData: YQ==}\n",
            [
                (
                    "5: `extenders[0]`: `tlsConfig.keyData` needs the certificate; "
                    "add `certFile` or `certData`"
                )
            ],
            id="no-certificate",
        ),
        pytest.param(
            "- urlPrefix: http://h\n  tlsConfig: {keyData: hunter-2, certFile: c}\n",
            ["5: `extenders[0].tlsConfig.keyData` must be base64, without other characters"],
            id="not-base64",
        ),
        pytest.param(
            _REPEATED,
            [
                (
                    "5: `extenders[1]`: only one extender can have `bindVerb`; "
                    "remove it here or from `extenders[0]`"
                ),
                (
                    "5: `extenders[1]`: the managed resource `a.b/c` is already a managed resource "
                    "of `extenders[0]`"
                ),
            ],
            id="repeated",
        ),
    ],
)
def test_faults_are_told_all_at_once_without_secrets(text: str, told: list[str]) -> None:
    """With their lines, and what to do."""
    with pytest.raises(errors.ConfigurationError) as caught:
        _read(text)
    assert str(caught.value).split("\n") == [f"c.yaml:{each}" for each in told]


@pytest.mark.parametrize(
    "name, is_valid",
    [
        ("example.com/gpu", True),
        ("a/b", True),
        ("gpu", False),
        ("cpu", False),
        ("kubernetes.io/gpu", False),
        ("x.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("Example.com/gpu", False),
        ("example.com/", False),
        ("example.com/a b", False),
        (f"example.com/{'x' * 64}", False),
        (f"{'x.' * 126}x/gpu", False),
    ],
)
def test_managed_resources_are_extended_resources(name: str, is_valid: bool) -> None:
    """As validateExtendedResourceName has it; the last name is too long for a quota."""
    text = f"- {{urlPrefix: 'http://h', managedResources: [{{name: '{name}'}}]}}\n"
    if is_valid:
        assert _read(text)[0].managed_resources == (settings.ManagedResource(name),)
        return
    with pytest.raises(errors.ConfigurationError, match="the managed resource") as caught:
        _read(text)
    assert f"`{name}`" in str(caught.value)


@pytest.mark.parametrize(
    "fields, told",
    [
        ("urlPrefix: 'https://h', filterVerb: f", []),
        ("urlPrefix: 'https://h', filterVerb: f, enableHTTPS: true, tlsConfig: {caFile: a}", []),
        ("urlPrefix: 'http://me:hunter2@h'", ["has no verb, so it is never called"]),
        (
            "urlPrefix: 'https://h', filterVerb: f, enableHTTPS: true",
            ["is not verified, because `enableHTTPS` is set without `tlsConfig.caFile`"],
        ),
        (
            "urlPrefix: 'https://h', filterVerb: f, tlsConfig: {insecure: true}",
            ["is not verified, because `tlsConfig.insecure` is set"],
        ),
        (
            "urlPrefix: 'http://h', filterVerb: f, enableHTTPS: true",
            ["is called without TLS despite `enableHTTPS`"],
        ),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(
    fields: str, told: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check --config` shows it, and succeeds."""
    file = tmp_path / "c.yaml"
    file.write_text(f"{HEAD}- {{{fields}}}\n")
    assert main.main(["check", "--config", str(file)]) == errors.EXIT_OK
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(told)
    for line, text in zip(lines, told, strict=True):
        shown = re.escape(f"{file}: warning: `extenders[0]` (")
        assert re.match(rf"{shown}https?://(\(hidden\)@)?h\) {re.escape(text)}", line)


SECRET = (
    "- {urlPrefix: 'https://me:hunter2@h', tlsConfig: {certData: YQ==, keyData: aHVudGVyMg==}}\n"
)


def test_keys_and_passwords_are_not_printed() -> None:
    """Neither in the configuration, which can still be read, nor in messages and logs."""
    found = config_reading.parse_config(HEAD + SECRET, "c.yaml")
    shown = config_printing.format_config_yaml(found)
    assert not any(secret in text for secret in _SECRETS for text in (shown, repr(found)))
    (printed,) = config_reading.parse_config(shown, "printed.yaml").extenders
    assert printed.url_prefix == "https://(hidden)@h"
    assert printed.tls_config == settings.ExtenderTls(
        cert_data="YQ==", key_data=config_printing.HIDDEN
    )
    redactor = redaction.Redactor()
    known = credentials.Credentials(
        fake_server.StaticSource("ours"), credentials.Credential(), clock.SystemClock()
    )
    redactor.add_secret_source(known_secrets.make_process_secret_source(known, {}, found.extenders))
    assert redactor.remove_secrets("x".join(_SECRETS)) == "(hidden)x(hidden)"


_SECRETS = ("hunter2", "aHVudGVyMg==")
