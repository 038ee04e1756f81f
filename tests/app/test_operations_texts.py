"""The outputs, policies and queries of docs/operations.md and its reference pages are real."""

from __future__ import annotations

import asyncio
import collections
import logging
import pathlib
import re
import types
from typing import cast

import promql_parser
import pytest

from policysched.cli import main
from policysched.kube import errors
from policysched.kube.reading import watch_sync
from policysched.observability import dry_run_report, unserved_pod_reporter
from policysched.scheduler import dry_run
from tests import builders, page_examples
from tests.app import operations_page
from tests.app import test_cluster_sync as sync_scenes
from tests.scheduler import fakes

_BLOCKS = page_examples.parse_blocks(operations_page.TEXT)
_METRICS = (operations_page.PAGES[0].parent / "metrics.md").read_text(encoding="utf-8")


def _read_output(beginning: str) -> str:
    """Return the output that begins so, on one line."""
    texts = [" ".join(block.body.split()) for block in _BLOCKS if block.kind == "text"]
    (text,) = (one for one in texts if one.startswith(beginning))
    return text


def test_pods_that_no_scheduler_serves_are_logged_so(caplog: pytest.LogCaptureFixture) -> None:
    """Three pods with a misspelt name give the line of the page."""
    world = fakes.World()
    for number in range(3):
        pod = builders.make_pod(f"web-{number}", "prod").scheduler_name("polcysched")
        meta = {"creation_timestamp": "2026-01-01T00:00:00Z", "resource_version": str(number + 1)}
        world.pods.upsert(pod.meta(**meta).build())
    reporter = unserved_pod_reporter.UnservedPodReporter(
        world.pods.unserved, world.clock, lambda: ["policysched"], speaks=lambda: True
    )
    reporter.warn_of_unserved_pods()
    (record,) = caplog.records
    assert record.getMessage() == _read_output("no scheduler has reacted to pods")


def test_a_missing_right_is_logged_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of the page is that of a 403 for a kind that only VolumeBinding reads."""
    monkeypatch.setattr(watch_sync, "FIRST_SECONDS", 0.001)
    shown = _read_output("no pod is scheduled before")
    (answer,) = re.findall(r"403 Forbidden: (.*); grant", shown)
    scene = sync_scenes.Scene()
    scene.succeed("csistoragecapacities")
    refusal = errors.ForbiddenError(403, "Forbidden", answer)
    scene.watches["csistoragecapacities"].last_error = refusal

    async def scenario() -> None:
        waiting = scene.sync.wait_until_profiles_synced(lambda: [sync_scenes.DEFAULT])
        task = asyncio.create_task(waiting)
        while not caplog.records:  # noqa: ASYNC110 - the log of another task has no event
            await asyncio.sleep(0.001)
        scene.succeed()
        await task

    asyncio.run(scenario())
    assert caplog.records[0].getMessage() == shown


def test_a_dry_run_logs_such_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A difference and the summary are those of the page."""
    outcome = dry_run.ComparisonOutcome
    counts = {"SAME_NODE": 180, "EQUAL_NODE": 111, "NEAR_NODE": 8, "OTHER_NODE": 1}
    why = "n2 has 1350 points, n1 455 (web/near +900, NodeResourcesFit -5)"
    pod = ("prod/web-7", "uid", "web", builders.EPOCH)

    compared = types.SimpleNamespace(
        placed=collections.Counter({("web", outcome[name]): n for name, n in counts.items()}),
        waiting={"uid": dry_run.SchedulerComparison(*pod, outcome.BOTH_PENDING, None, None)},
        differences=(dry_run.SchedulerComparison(*pod, outcome.OTHER_NODE, "n1", "n2", why),),
    )
    caplog.set_level(logging.INFO, "policysched")
    report = dry_run_report.DryRunReporter(cast("dry_run.DryRunComparer", compared))
    report.log_new_differences()
    lines = " ".join(record.getMessage() for record in caplog.records)
    assert lines == _read_output("dry run: pod=prod/web-7")


def test_the_table_has_all_outcomes_of_a_dry_run() -> None:
    """Those of placed pods and those of pending pods."""
    section = operations_page.TEXT.split("| outcome | meaning |")[1].split("\n\n")[0]
    outcomes = {outcome.value for outcome in dry_run.ComparisonOutcome}
    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == outcomes


def test_the_error_of_the_webhook_is_one(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check` reports it at the same place of such a policy."""
    (shown,) = (one.body for one in _BLOCKS if one.body.startswith("Error from server"))
    monkeypatch.chdir(tmp_path)
    text = "version 1\npolicy web {\n  for pods\n  nodeAffinity required disk Inn (ssd)\n}\n"
    pathlib.Path("web.policy").write_text(text, encoding="utf-8")
    assert main.main(["check", "web.policy"]) == 2
    assert shown.partition("\n\n")[2] in capsys.readouterr().err


def test_the_shadow_policy_is_one(tmp_path: pathlib.Path) -> None:
    """It compiles beside another policy of the same pods."""
    (shadow,) = (one.body for one in _BLOCKS if one.info == "policy")
    file = tmp_path / "web.policy"
    file.write_text(f"version 1\nprofile web {{ policies web-next }}\n{shadow}", encoding="utf-8")
    assert main.main(["check", str(file)]) == 0


@pytest.mark.parametrize(
    "query",
    [
        query
        for block in _BLOCKS
        if block.kind == "promql"
        for query in block.body.strip().split("\n\n")
    ],
)
def test_queries_read_metrics_that_exist(query: str) -> None:
    """Prometheus' grammar accepts them, and docs/metrics.md lists their metrics."""
    promql_parser.parse(query)
    names = re.findall(r"policysched_\w+", query)
    assert names
    assert [name for name in names if f"| `{name}` |" not in _METRICS] == []
