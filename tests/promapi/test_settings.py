from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

from policysched import errors
from policysched.config import config_reading
from policysched.promapi import failures, settings

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
BASIC = settings.BasicAuth("u", password="p")


@pytest.mark.parametrize(
    "options, problem",
    [
        pytest.param({}, "", id="fine"),
        pytest.param({"bearer_token": "a", "bearer_token_file": "b"}, "give one of", id="tokens"),
        pytest.param({"bearer_token": "a", "basic_auth": BASIC}, "give one of", id="two-kinds"),
        pytest.param(
            {"basic_auth": settings.BasicAuth("u")}, "give one of `password`", id="no-password"
        ),
        pytest.param(
            {"basic_auth": settings.BasicAuth("u", "p", "f")},
            "give one of `password`",
            id="two-passwords",
        ),
        pytest.param(
            {"tls": settings.PrometheusTls(key_file="k")}, "`tls.certFile`, which is", id="key"
        ),
        pytest.param(
            {"tls": settings.PrometheusTls(ca_file="c", insecure_skip_verify=True)},
            "no effect",
            id="skip",
        ),
        pytest.param(
            {"headers": {"authorization": "x"}, "bearer_token": "y"}, "set twice", id="twice"
        ),
        pytest.param({"headers": {"a b": "x"}}, "the header `a b` has", id="header-name"),
        pytest.param({"headers": {"a": "x\r\nb: c"}}, "the header `a` has", id="header-value"),
        pytest.param({"bearer_token": "x\ny"}, "`bearerToken` has characters", id="token"),
        *(
            pytest.param({"query_params": {name: "1"}}, f"`queryParams` sets `{name}`", id=name)
            for name in ("query", "time", "timeout", "start", "end", "step")
        ),
        pytest.param({"url": "h:9090"}, "is not the URL of a server", id="no-scheme"),
        pytest.param({"url": "http://"}, "is not the URL of a server", id="no-host"),
        pytest.param({"url": "http://h:x"}, "is not the URL of a server", id="port"),
        pytest.param({"url": "http://[::1"}, "is not the URL of a server", id="bracket"),
        pytest.param({"url": "http://h/?token=a"}, "put parameters into", id="parameters"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    """One sentence says what is wrong, without secrets."""
    found = settings.find_source_problem(
        settings.PrometheusSource(**{"url": "http://h", **options})
    )
    assert bool(found) == bool(problem)
    assert problem in found


@pytest.mark.parametrize(
    "url",
    [
        "admin:hunter2@prom:9090",
        "https:admin:hunter2@prom",
        "https:/admin:hunter2@prom",
        "//admin:hunter2@prom",
        "http://admin:hunter2@prom",
        "http://admin:hunter2@",
        "http://admin:hunter2@prom:x",
        "http://admin:hunter2@[::1",
        "ftp://admin:hunter2@prom",
        "admin:hunter2%40prom",
        "?token=hunter2",
        "prom:9090?token=hunter2",
        "prom/?hunter2",
        "prom#hunter2",
        "http://prom?token=hunter2",
        "http://prom/#hunter2",
        "http://?token=hunter2",
    ],
)
@pytest.mark.parametrize("name", ["", "east="])
def test_a_password_in_a_url_is_not_shown(url: str, name: str) -> None:
    """Whatever is wrong with the URL besides."""
    found = settings.find_source_problem(settings.PrometheusSource(url))
    assert found
    assert "hunter2" not in found
    with pytest.raises(errors.UsageError) as caught:
        settings.parse_prometheus_option(name + url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text, name, address",
    [
        ("http://h:9090", "default", "http://h:9090"),
        ("east=https://h/base/", "east", "https://h/base"),
        ("a-b=http://h", "a-b", "http://h"),
    ],
)
def test_an_option_names_a_server(text: str, name: str, address: str) -> None:
    """With the name that metrics give it, or as the one of metrics that give none."""
    found, source = settings.parse_prometheus_option(text)
    assert (found, source.address) == (name, address)


def test_an_option_that_is_no_url_is_refused() -> None:
    """As every option that makes no sense."""
    with pytest.raises(errors.UsageError, match="--prometheus: `east` is not the URL"):
        settings.parse_prometheus_option("east")


@pytest.mark.parametrize(
    "names, expected",
    [([], None), (["a"], "a"), (["a", "b"], None), (["a", "default"], "default")],
)
def test_the_source_of_metrics_that_name_none(names: list[str], expected: str | None) -> None:
    """The only one, or the one called so."""
    assert settings.get_default_source_name(names) == expected


def test_the_configuration_of_the_docs_is_one() -> None:
    """docs/metrics.md shows settings that are taken."""
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
    found = re.search(
        r"```yaml config\.yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    assert list(config_reading.parse_config(found[1], "c.yaml").prometheus) == [
        "default",
        "mimir",
        "thanos",
    ]


def test_every_cause_has_its_row_in_the_docs() -> None:
    """What is counted is explained."""
    section = PAGE.read_text("utf-8").split("## Rules for answers")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {cause.value for cause in failures.QueryIssue}
