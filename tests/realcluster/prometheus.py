"""A real Prometheus on a loopback port, with scraped series, prepared series, or both."""

from __future__ import annotations

import pathlib
import subprocess
from typing import TYPE_CHECKING, Any, Self

import orjson
import urllib3
import yaml
from prometheus_client import parser

from tests.realcluster import components, process

if TYPE_CHECKING:
    import types
    from collections.abc import Mapping, Sequence

START_LIMIT_SECONDS = 60.0
_TIMEOUT_SECONDS = 60.0
_NO_CONFIG: Mapping[str, object] = {}


class Prometheus:
    """One Prometheus with its files in one folder.

    Attributes:
        url: its address.
        process: it can be killed and started again on its data and port.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        *,
        config: Mapping[str, object] = _NO_CONFIG,
        openmetrics: str = "",
        flags: Sequence[str] = (),
    ) -> None:
        """Write its files.

        Args:
            folder: where its configuration, data and log go.
            config: what prometheus.yml holds: `global`, `scrape_configs` and so on.
            openmetrics: series with timestamps, as OpenMetrics text that ends with `# EOF`; they
                are in its database before it starts.
            flags: further flags.
        """
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
        data = folder / "data"
        if openmetrics:
            _create_blocks(folder / "series.txt", openmetrics, data)
        address = f"127.0.0.1:{process.free_port()}"
        self.url = f"http://{address}"
        self._pool = urllib3.PoolManager(timeout=_TIMEOUT_SECONDS, retries=False)
        command = [
            str(components.binary("prometheus")),
            f"--config.file={file}",
            f"--storage.tsdb.path={data}",
            "--storage.tsdb.retention.time=100y",  # prepared series may be of any age
            f"--web.listen-address={address}",
            *flags,
        ]
        self.process = process.ServerProcess(command, log=folder / "prometheus.log")

    def __enter__(self) -> Self:
        """Start, and stop again if that fails."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Kill it."""
        self.process.kill()

    def start(self) -> None:
        """Start it and return when it answers queries.

        Raises:
            process.ProcessError: it ended or was not ready in time.
        """
        try:
            self.process.start()
            self.process.wait_until(self._is_ready, time_limit_seconds=START_LIMIT_SECONDS)
        except BaseException:
            self.process.kill()
            raise

    def query(self, promql: str, *, time: float | None = None) -> list[dict[str, Any]]:
        """Return the result of an instant query, at `time` (seconds since the epoch) or now."""
        fields = {"query": promql} | ({} if time is None else {"time": str(time)})
        answer = self._pool.request("POST", f"{self.url}/api/v1/query", fields=fields)
        body = orjson.loads(answer.data)
        assert body["status"] == "success", body
        result: list[dict[str, Any]] = body["data"]["result"]
        return result

    def parse_problem(self, promql: str) -> str:
        """Return why Prometheus takes a text for no PromQL, or ""."""
        fields = {"query": promql}
        answer = self._pool.request("POST", f"{self.url}/api/v1/parse_query", fields=fields)
        return str(orjson.loads(answer.data).get("error", ""))

    def served_queries(self) -> float:
        """Return how many instant queries it has answered, by its own count."""
        answer = self._pool.request("GET", f"{self.url}/metrics")
        return sum(
            sample.value
            for family in parser.text_string_to_metric_families(answer.data.decode())
            for sample in family.samples
            if sample.name == "prometheus_http_requests_total"
            and sample.labels["handler"] == "/api/v1/query"
        )

    def _is_ready(self) -> bool:
        try:
            return self._pool.request("GET", f"{self.url}/-/ready").status == 200
        except urllib3.exceptions.HTTPError:
            return False


def _create_blocks(file: pathlib.Path, openmetrics: str, data: pathlib.Path) -> None:
    file.write_text(openmetrics, encoding="utf-8")
    promtool = str(components.binary("promtool"))
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(file), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise process.ProcessError(f"promtool refused the series: {done.stdout}{done.stderr}")
