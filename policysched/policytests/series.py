"""Evaluates `series` of a test file, in promtool's notation, with promtool.

    series:
      - {series: 'node_cpu_seconds_total{instance="n1",mode="idle"}', values: '0+1.5x40 _x3 stale'}

promtool contains the PromQL engine of Prometheus without a server. Each query is passed to promtool
in the form that `run` uses. It is passed as a test that must fail, because promtool prints the
actual result of a failed test.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence

import yaml

from policysched import errors
from policysched.cluster.objects import node_aliases, objects
from policysched.inputs import metrics_file
from policysched.lang.checked import checked
from policysched.policytests import suite as suites
from policysched.promapi import answers, series_node_join
from policysched.promql import freshness

_PROMTOOL = "promtool"
_LIMIT_SECONDS = 60
_NEVER = {"labels": '{policysched="never"}', "value": 0}
_RESULT = re.compile(r"^    expr: .*\n {8}exp: ?.*\n {8}got: ?(.*)$", re.MULTILINE)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SAMPLE = re.compile(rf'\{{((?:[^"}}]|{_QUOTED})*)\}} (\S+?)(?:, |$)')
_LABEL = re.compile(rf"({_QUOTED}|[^\s=,]+)=({_QUOTED})")
_COUNT = re.compile(r"(_|.+)x(\d+)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DEFAULT_INTERVAL = "1m"


@dataclasses.dataclass(frozen=True, slots=True)
class MetricQueryAnswers:
    """The answers to the queries of metrics.

    Attributes:
        at_seconds: the time of the evaluation, in seconds after the first value of the series.
        by_key: metric key -> the answer, and whether it contains the times of the samples.
    """

    at_seconds: float
    by_key: Mapping[str, tuple[answers.InstantVector, bool]]

    def get_samples(
        self,
        metrics: Collection[checked.CheckedMetric],
        nodes: Collection[objects.Node],
        now: datetime.datetime,
    ) -> metrics_file.Samples:
        """Return the samples of each node, timed as if the evaluation took place at `now`."""
        names = node_aliases.NodeAliasIndex()
        names.update_indexed_nodes(nodes)
        found: metrics_file.Samples = {}
        for metric in metrics:
            answer, is_timed = self.by_key[metric.key]
            joined = series_node_join.join_instant_vector(
                answer, metric, names, now.timestamp(), has_freshness=is_timed
            )
            found[metric.key] = joined.samples
        return found


class SeriesEvaluator:
    """Evaluates the series of one test file; identical sets of queries are evaluated once."""

    def __init__(self, suite: suites.PolicyTestSuite, prometheus_bin: str | None) -> None:
        """Find promtool, if the file has series.

        Raises:
            InputError: promtool is not found.
        """
        self._suite = suite
        self._known: dict[tuple[str, ...], MetricQueryAnswers] = {}
        self._series: list[Mapping[str, str]] = suite.get_file_field("series", [])
        self._tool = self._find_promtool(prometheus_bin) if self._series else ""

    def evaluate_metrics(self, metrics: Sequence[checked.CheckedMetric]) -> MetricQueryAnswers:
        """Return the answers to the queries of the metrics.

        Raises:
            SuiteError: promtool rejects the series.
        """
        asked = [
            freshness.add_freshness(each.promql, each.label, each.max_age_seconds)
            for each in metrics
        ]
        queries = tuple(each.promql for each in asked)
        if queries not in self._known:
            at_seconds = self._get_evaluation_seconds()
            told = self._query_promtool(queries, at_seconds) if queries else []
            vectors = [_parse_promtool_answer(each, at_seconds) for each in told]
            timed = zip(vectors, (each.has_freshness for each in asked), strict=True)
            keys = (each.key for each in metrics)
            self._known[queries] = MetricQueryAnswers(
                at_seconds, dict(zip(keys, timed, strict=True))
            )
        return self._known[queries]

    def _find_promtool(self, prometheus_bin: str | None) -> str:
        """Return the path of promtool, which is next to the given prometheus or in the PATH."""
        path = pathlib.Path(prometheus_bin or _PROMTOOL)
        if path.name == "prometheus":
            path = path.with_name(_PROMTOOL)
        elif path.is_dir():
            path /= _PROMTOOL
        found = shutil.which(path)
        if found is None:
            where = f"{self._suite.path}:{self._suite.find_line('series')}"
            problem = f"`series` need promtool, but `{path}` does not exist"
            advice = "install Prometheus, give its folder with --prometheus-bin, or write `metrics`"
            raise errors.InputError(where, problem, help=advice)
        return found

    def _get_evaluation_seconds(self) -> int:
        """Return the time of the last value, or the time in `seriesAt` if the file sets it."""
        written = self._suite.get_file_field("seriesAt")
        if written is not None:
            return parse_duration_seconds(written)
        lengths = [
            sum(map(_count_notation_values, each["values"].split())) for each in self._series
        ]
        interval = parse_duration_seconds(
            self._suite.get_file_field("seriesInterval", _DEFAULT_INTERVAL)
        )
        return max(max(lengths) - 1, 0) * interval

    def _query_promtool(self, queries: Sequence[str], at_seconds: int) -> list[str]:
        """Return the line of promtool's output with the actual result, for each query."""
        wanted = [
            {"expr": query, "eval_time": f"{at_seconds}s", "exp_samples": [_NEVER]}
            for query in queries
        ]
        test = {
            "interval": self._suite.get_file_field("seriesInterval", _DEFAULT_INTERVAL),
            "input_series": self._series,
            "promql_expr_test": wanted,
        }
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "series.yaml"
            file.write_text(yaml.safe_dump({"tests": [test]}), encoding="utf-8")
            said = self._run_promtool(["test", "rules", str(file)])
        found = _RESULT.findall(said)
        if len(found) != len(queries):
            told = " ".join(said.split("FAILED:")[-1].split()) or "nothing"
            problem = f"promtool refuses the series: {told}"
            raise suites.SuiteError(self._suite.path, [(self._suite.find_line("series"), problem)])
        return found

    def _run_promtool(self, arguments: list[str]) -> str:
        """Run promtool and return its output, from stdout and stderr."""
        try:
            done = subprocess.run(  # noqa: S603 - the path of promtool is given by the user
                [self._tool, *arguments],
                capture_output=True,
                text=True,
                timeout=_LIMIT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise errors.InputError(self._tool, f"cannot be run: {error}") from error
        return done.stdout + done.stderr


def parse_duration_seconds(duration: str) -> int:
    """Return a duration such as `40m` or `1h30m` in seconds; the schema ensures its syntax."""
    return sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)([smhd])", duration))


def _count_notation_values(word: str) -> int:
    """Return the number of values that a word of the notation describes: 41 for `0+1x40`."""
    repeated = _COUNT.fullmatch(word)
    if repeated is None:
        return 1
    return int(repeated[2]) + (repeated[1] != "_")


def _parse_promtool_answer(line: str, at_seconds: float) -> answers.InstantVector:
    """Return the instant vector of promtool's result: `{a="b"} 5E-01, …` or `nil`."""
    found = []
    for labels, value in _SAMPLE.findall(line):
        named = {_unquote(key): _unquote(text) for key, text in _LABEL.findall(labels)}
        found.append(
            answers.InstantVectorSample(named, answers.parse_sample_value(value), at_seconds)
        )
    measured = tuple(each for each in found if answers.is_freshness_series(each.labels))
    series = tuple(each for each in found if not answers.is_freshness_series(each.labels))
    return answers.InstantVector(series, measured, at_seconds)


def _unquote(text: str) -> str:
    return str(ast.literal_eval(text)) if text.startswith('"') else text
