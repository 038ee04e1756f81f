"""docs/operations.md says what is so."""

from __future__ import annotations

import argparse
import pathlib
import re

import pytest

from policysched import clock as clocks
from policysched.app import scheduler_process
from policysched.cli.commands import run
from policysched.config import config, config_reading, election_config
from policysched.leadership import election, runner
from tests import builders
from tests.app import operations_page


@pytest.mark.parametrize(
    "name", [n for n, text in operations_page.BLOCKS.items() if "PolicySched" in text]
)
def test_its_configurations_are_some(name: str) -> None:
    """Each fits the schema."""
    config_reading.parse_config(operations_page.BLOCKS[name], name)


def test_the_defaults_of_leader_election_are_those_of_the_page() -> None:
    """The example has all fields at their defaults, but for the switch and the namespace."""
    found = config_reading.parse_config(
        operations_page.BLOCKS["config.yaml"], "config.yaml"
    ).leader_election
    assert found == election_config.LeaderElectionConfig(
        leader_elect=True, resource_namespace=election.DEFAULT_NAMESPACE
    )


def test_the_options_of_the_page_are_those_of_the_command() -> None:
    """No option of leader election is left out, and none is made up."""
    parser = argparse.ArgumentParser()
    run.configure(parser)
    known = {one for one in parser._option_string_actions if one.startswith("--leader-elect")}
    told = re.findall(r"^\| `(--leader-elect[a-z-]*)", operations_page.TEXT, re.MULTILINE)
    assert sorted(told) == sorted(known)


def test_who_leads_is_told_where_one_is_elected() -> None:
    """The metric of the page is there with leader election, and not without."""
    elected = election_config.LeaderElectionConfig(leader_elect=True)
    (family,) = election.collect_leadership_metrics(elected, runner.AlwaysLeader())
    (sample,) = family.samples
    assert (sample.name, sample.labels, sample.value) == (
        "leader_election_master_status",
        {"name": "policysched"},
        1.0,
    )
    assert f"`{sample.name}{{" in operations_page.TEXT
    assert (
        list(
            election.collect_leadership_metrics(
                election_config.LeaderElectionConfig(), runner.AlwaysLeader()
            )
        )
        == []
    )


def test_limits_on_requests_are_those_of_the_configuration(tmp_path: pathlib.Path) -> None:
    """Those of the page let 100 requests pass and then 50 a second; by default there are none."""
    clock = clocks.ManualClock(builders.EPOCH)
    file = tmp_path / "limits.yaml"
    file.write_text(operations_page.BLOCKS["limits.yaml"], encoding="utf-8")
    options, configuration = scheduler_process.RunOptions(), config_reading.read_config(str(file))
    limit = scheduler_process.SchedulerProcess(options, configuration, clock)._make_request_limit()
    assert limit is not None
    waits = [limit.reserve_token() for _ in range(102)]
    assert waits[:100] == [0.0] * 100
    assert waits[100:] == pytest.approx([1 / 50, 2 / 50])
    assert (
        scheduler_process.SchedulerProcess(options, config.Config(), clock)._make_request_limit()
        is None
    )
