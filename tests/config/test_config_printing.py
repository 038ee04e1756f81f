"""The configuration in force, as a text."""

from __future__ import annotations

import pathlib

import pytest

from policysched import errors
from policysched.cli import main
from policysched.config import config, config_printing, config_reading
from policysched.promapi import settings

HEAD = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(config.Config(), id="defaults"),
        pytest.param(
            config.Config(
                params={"range": "10m", "factor": 2},
                profiles=(
                    config.ProfileConfig(
                        "a",
                        (
                            config.PluginConfig(
                                "NodeResourcesFit", 3, {"ignoredResources": ["a.b/c"]}
                            ),
                        ),
                    ),
                ),
                prometheus={"east": settings.PrometheusSource("http://h", bearer_token_file="/t")},
                policies=config.PoliciesConfig(config_map="ns/name"),
                features=config.FeatureGates(opportunistic_batching=False),
            ),
            id="several-fields",
        ),
    ],
)
def test_what_is_printed_says_the_same_when_it_is_read(given: config.Config) -> None:
    """It fits the schema, so that it can be kept and edited."""
    assert (
        config_reading.parse_config(config_printing.format_config_yaml(given), "printed.yaml")
        == given
    )


def test_secrets_are_not_printed(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither tokens and passwords nor values of headers and parameters; the file is still one."""
    file = tmp_path / "c.yaml"
    file.write_text(
        HEAD + "prometheus:\n"
        "  a: {url: 'http://a', bearerToken: hunter2}\n"
        "  b: {url: 'http://b', basicAuth: {username: me, password: hunter2}}\n"
        "  c: {url: 'http://c', headers: {X-Key: hunter2}, queryParams: {token: hunter2}}\n"
    )
    assert main.main(["run", "--print-config", "--config", str(file)]) == errors.EXIT_OK
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err
    servers = config_reading.parse_config(out, "printed.yaml").prometheus
    assert list(servers) == ["a", "b", "c"]
    assert servers["b"].basic_auth == settings.BasicAuth("me", config_printing.HIDDEN)
    assert servers["c"].headers == {"X-Key": config_printing.HIDDEN}


def test_flags_are_part_of_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """It is what `run` with the same options would go by."""
    argv = ["run", "--print-config", "--leader-elect", "--kube-api-qps", "5", "--log-level=debug"]
    argv += ["--feature-gates", "SchedulerQueueingHints=false,OpportunisticBatching=f"]
    argv += ["--prometheus", "east=http://h", "--params", "a=1", "--policy-configmap", "n/a"]
    assert main.main(argv) == errors.EXIT_OK
    found = config_reading.parse_config(capsys.readouterr().out, "printed.yaml")
    assert found.leader_election.leader_elect
    assert found.client_connection == config.ClientConnection(5.0)
    assert found.logging == config.LoggingConfig(level="debug")
    assert found.features == config.FeatureGates(
        scheduler_queueing_hints=False, opportunistic_batching=False
    )
    assert found.prometheus == {"east": settings.PrometheusSource("http://h")}
    assert (found.params, found.policies.config_map) == ({"a": "1"}, "n/a")
