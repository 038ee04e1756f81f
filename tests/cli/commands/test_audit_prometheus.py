"""Ages of violations from the samples of a real Prometheus."""

from __future__ import annotations

import json
import pathlib

import pytest

from policysched import clock as clocks
from policysched.cli import main
from tests.cli import clusters
from tests.realcluster import prometheus

pytestmark = pytest.mark.e2e

_POLICY = """version 1
metric busy: ratio = `max by (instance) (busy)` node instance refresh 15s maxAge 2m
policy web {
  for pods
  reject when busy > 80% until busy < 50% missing reject as too-hot
  reject when busy > 80% over 10m min missing allow as long-hot
}
"""
_STEP_SECONDS = 15


def test_ages_are_those_of_the_series(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest violation is a quarter of an hour old, another is older than the samples."""
    now = round(clocks.SystemClock().now().timestamp()) // 60 * 60 - 600
    hot_since = {"fresh": now - 900, "always": now - 20_000, "never": now + 1, "gone": now - 900}
    lines = ["# TYPE busy gauge"]
    for node, since in hot_since.items():
        end = now - 300 if node == "gone" else now
        lines += [
            f'busy{{instance="{node}"}} {0.9 if at >= since else 0.2} {at}'
            for at in range(now - 6000, end + 1, _STEP_SECONDS)
        ]
    text = "\n".join([*lines, "# EOF", ""])
    (tmp_path / "web.policy").write_text(_POLICY, encoding="utf-8")
    pods = [clusters.pod(f"on-{node}", on=node, schedulerName="policysched") for node in hot_since]
    cluster = clusters.write(tmp_path, *map(clusters.node, hot_since), *pods)
    with prometheus.Prometheus(tmp_path / "prometheus", openmetrics=text) as server:
        at = clocks.find_utc_time(now)
        assert at is not None
        command = ["audit", "--cluster", cluster, str(tmp_path / "web.policy"), "-o", "json"]
        command += ["--prometheus", server.url, "--at", at.isoformat()]
        assert main.main(command) == 1
    report = json.loads(capsys.readouterr().out)
    ages = {
        rule["rule"]: {
            pod["name"]: (pod["ageSeconds"], pod["isAgeMinimum"])
            for node in rule["nodes"]
            for pod in node["pods"]
        }
        for rule in report["rules"]
    }
    (fresh, is_minimum), always = ages["too-hot"]["on-fresh"], ages["too-hot"]["on-always"]
    assert 840 <= fresh <= 900
    assert not is_minimum
    assert always == (3600, True)
    assert 240 <= ages["long-hot"]["on-fresh"][0] <= 345
    assert ages["too-hot"].keys() == ages["long-hot"].keys() == {"on-fresh", "on-always"}
    assert {each["rule"]: each["pods"] for each in report["unknown"]} == {
        "web/long-hot": 1,
        "web/too-hot": 1,
    }
