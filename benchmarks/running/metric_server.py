"""A server that answers queries like Prometheus, with a random share for each instance."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import random
import time
from collections.abc import Iterator, Sequence
from multiprocessing import connection

from tests.promapi import fake_prometheus

STEP_SECONDS = 10.0
_NOW, _MEASURED = b"12345.678", b"12343.678"
"""Placeholders for the times of the answer and of its samples, in an answer made once."""


@contextlib.contextmanager
def serve_metrics(instances: Sequence[str], *, steps: int = 0) -> Iterator[str]:
    """Yield the URL of a server in a separate process.

    Args:
        instances: the values of the label `instance`.
        steps: number of steps in answers to range queries.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(list(instances), steps, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _serve(instances: Sequence[str], steps: int, pipe: connection.Connection) -> None:
    """Serve until the other end of the pipe sends anything or closes."""
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
        with contextlib.suppress(EOFError):
            pipe.recv()


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
