"""A server that answers queries like Prometheus, with a random share for each instance."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Sequence
from multiprocessing import connection

from benchmarks.running import server_process
from tests.promapi import fake_prometheus

STEP_SECONDS = 10.0
_NOW, _MEASURED = b"12345.678", b"12343.678"
"""Placeholders for the times of the answer and of its samples, in an answer made once."""


def serve_metrics(
    instances: Sequence[str], *, steps: int = 0
) -> contextlib.AbstractContextManager[str]:
    """Return a context whose value is the URL of a server in a separate process.

    Args:
        instances: the values of the label `instance`.
        steps: number of steps in answers to range queries.
    """
    return server_process.run_server(_serve, list(instances), steps)


def _serve(pipe: connection.Connection, instances: Sequence[str], steps: int) -> None:
    rng = random.Random(1)
    labels = [
        {"instance": name, "job": "node-exporter", "namespace": "monitoring", "endpoint": "metrics"}
        for name in instances
    ]
    values = [f"{rng.random():.6f}" for _ in labels]

    def answer(request: fake_prometheus.Request) -> fake_prometheus.Answer:
        now = time.time()
        if request.path.endswith("query"):
            body = instant.replace(_NOW, b"%.3f" % now).replace(_MEASURED, b"%.3f" % (now - 2))
        else:
            end = float(request.form["end"])
            moments = [end - STEP_SECONDS * step for step in reversed(range(steps))]
            body = _make_matrix(labels, values, moments)
        return fake_prometheus.Answer(200, (body,))

    instant = _make_vector(labels, values)
    with fake_prometheus.FakePrometheus() as server:
        server.answer = answer
        pipe.send(server.url)
        server_process.wait_for_end(pipe)


def _make_vector(labels: Sequence[dict[str, str]], values: Sequence[str]) -> bytes:
    now, measured = float(_NOW), _MEASURED.decode()
    samples = [[now, value] for value in values] + [[now, measured] for _ in labels]
    series = zip(_add_time_labels(labels), samples, strict=True)
    return _make_body(
        "vector", [{"metric": series_labels, "value": sample} for series_labels, sample in series]
    )


def _make_matrix(
    labels: Sequence[dict[str, str]], values: Sequence[str], moments: list[float]
) -> bytes:
    measured = [[at, f"{at - 2:.3f}"] for at in moments]
    samples = [[[at, value] for at in moments] for value in values] + [measured for _ in labels]
    series = zip(_add_time_labels(labels), samples, strict=True)
    return _make_body(
        "matrix", [{"metric": series_labels, "values": sample} for series_labels, sample in series]
    )


def _add_time_labels(labels: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the labels of the values, then those of their measurement times."""
    return [*labels, *({**series_labels, "policysched": "measured_at"} for series_labels in labels)]


def _make_body(kind: str, series: object) -> bytes:
    body = {"status": "success", "data": {"resultType": kind, "result": series}}
    return json.dumps(body, separators=(",", ":")).encode()
