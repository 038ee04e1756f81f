"""Ports, certificates, logs and switches of kube-scheduler."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from policysched.config import config_reading
from policysched.importing import importer
from tests.importing import deciding

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n"


def _fields(imported: importer.ImportResult) -> dict[str, Any]:
    """Return the configuration without its head; it fits the schema."""
    if imported.config is None:
        return {}
    config_reading.parse_config(imported.config, "config.yaml")
    found: dict[str, Any] = yaml.safe_load(imported.config)
    return {key: value for key, value in found.items() if key not in ("apiVersion", "kind")}


@pytest.mark.parametrize(
    "flags, expected, told",
    [
        pytest.param(
            ["--bind-address=127.0.0.1"],
            {"serving": {"secureAddress": "127.0.0.1:10259"}},
            [],
            id="kubeadm",
        ),
        pytest.param(
            ["--secure-port=10260", "--bind-address=::"],
            {"serving": {"secureAddress": "[::]:10260"}},
            [],
            id="ipv6",
        ),
        pytest.param(
            ["--secure-port", "10260", "--port=0"],
            {"serving": {"secureAddress": "0.0.0.0:10260"}},
            [],
            id="no-plain-port",
        ),
        pytest.param(
            ["--secure-port=0", "--address=127.0.0.1"],
            {"serving": {"metricsAddress": "127.0.0.1:10251"}},
            [],
            id="plain-port-alone",
        ),
        pytest.param(
            ["--tls-cert-file=/c.pem", "--tls-private-key-file", "/k.pem"],
            {"serving": {"certFile": "/c.pem", "keyFile": "/k.pem"}},
            [],
            id="certificate",
        ),
        pytest.param(
            [
                "--authorization-always-allow-paths=/healthz,/metrics",
                "--authorization-webhook-cache-authorized-ttl=1m",
                "--authentication-token-webhook-cache-ttl=5s",
            ],
            {
                "serving": {
                    "authorization": {
                        "alwaysAllowPaths": ["/healthz", "/metrics"],
                        "cacheSeconds": 60.0,
                    },
                    "authentication": {"cacheSeconds": 5.0},
                }
            },
            [],
            id="access",
        ),
        pytest.param(
            ["--logging-format=json", "--v=4"],
            {"logging": {"format": "json"}},
            ["note 1: `--v` is left out"],
            id="logs",
        ),
        pytest.param(
            ["--feature-gates=SchedulerQueueingHints=false,SchedulerPopFromBackoffQ=true"],
            {"features": {"SchedulerQueueingHints": False}},
            [],
            id="switches",
        ),
    ],
)
def test_flags_become_fields(flags: list[str], expected: dict[str, Any], told: list[str]) -> None:
    """What policysched has too is set; port 0 means nowhere."""
    imported = deciding.convert_command("kube-scheduler", "--leader-elect=false", *flags)
    expected = expected | {"leaderElection": {"leaderElect": False}}
    assert (_fields(imported), deciding.told(imported)) == (expected, told)


@pytest.mark.parametrize(
    "lines, address, told",
    [
        pytest.param(
            ["metricsBindAddress: 0.0.0.0:10251", "healthzBindAddress: 0.0.0.0:10251"],
            "0.0.0.0:10251",
            [],
            id="one-for-both",
        ),
        pytest.param(
            ["metricsBindAddress: '[::1]:9000'", "healthzBindAddress: ':10251'"],
            "[::1]:9000",
            ["note 5: `healthzBindAddress: :10251` is left out"],
            id="two",
        ),
        pytest.param(["healthzBindAddress: ':10251'"], "0.0.0.0:10251", [], id="no-host"),
        pytest.param(["metricsBindAddress: 0.0.0.0:0", "healthzBindAddress: ''"], None, [], id="0"),
    ],
)
def test_addresses_of_a_configuration_are_those_without_tls(
    lines: list[str], address: str | None, told: list[str]
) -> None:
    """Health and metrics have one address."""
    text = HEAD + "leaderElection: {leaderElect: false}\n" + "\n".join(lines)
    imported = deciding.convert(text)
    fields = _fields(imported)
    assert fields.pop("leaderElection") == {"leaderElect": False}
    assert fields == ({"serving": {"metricsAddress": address}} if address else {})
    assert deciding.told(imported) == told
