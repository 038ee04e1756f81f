from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.realcluster import process, prometheus

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

_TIME_LIMIT_SECONDS = 120.0
_SERIES = """\
# TYPE node_load gauge
node_load{node="node-0"} 3.5 1700000000
node_load{node="node-1"} 0.5 1700000000
# EOF
"""


def test_prepared_series_are_there_at_once(tmp_path: pathlib.Path) -> None:
    """A query at the time of prepared samples gives their values, without waiting for a scrape."""
    with prometheus.Prometheus(tmp_path, openmetrics=_SERIES) as server:
        result = server.query("sort_desc(node_load)", time=1700000060)
    assert [(one["metric"]["node"], one["value"][1]) for one in result] == [
        ("node-0", "3.5"),
        ("node-1", "0.5"),
    ]


def test_configured_targets_are_scraped(tmp_path: pathlib.Path) -> None:
    """Prometheus with a scrape configuration that names a dead target says that it is down."""
    target = f"127.0.0.1:{process.free_port()}"
    job = {"job_name": "dead", "static_configs": [{"targets": [target]}]}
    config = {"global": {"scrape_interval": "100ms"}, "scrape_configs": [job]}
    with prometheus.Prometheus(tmp_path, config=config) as server:
        server.process.wait_until(
            lambda: bool(server.query("up")), time_limit_seconds=_TIME_LIMIT_SECONDS
        )
        [up] = server.query("up")
    assert (up["metric"]["instance"], up["value"][1]) == (target, "0")


def test_a_wrong_configuration_is_one_error_with_the_log(tmp_path: pathlib.Path) -> None:
    """A server that ends while starting raises an error that holds what it wrote."""
    server = prometheus.Prometheus(tmp_path, config={"no_such_section": 1})
    with pytest.raises(process.ProcessError, match=r"(?s)prometheus ended.*no_such_section"):
        server.start()


def test_wrong_series_are_refused(tmp_path: pathlib.Path) -> None:
    """Text that is not OpenMetrics is refused before the server starts."""
    with pytest.raises(process.ProcessError, match="promtool refused"):
        prometheus.Prometheus(tmp_path, openmetrics="not openmetrics")
