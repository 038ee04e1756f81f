from __future__ import annotations

import asyncio
import logging
import os
import pathlib
from collections.abc import Mapping

import pytest

from policysched import errors
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.inputs import metrics_source
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker

POLICY = "version 1\nmetric cpu: ratio = `cpu` node instance refresh 15s maxAge 2m\n"
Seen = list[dict[str, dict[str, metric_table.Sample]]]


@pytest.fixture
def declared() -> tuple[checked.CheckedMetric, ...]:
    """One metric."""
    result = checker.check([source.SourceText("m.policy", POLICY)])
    assert result.program is not None
    return result.program.metrics


def _write(path: pathlib.Path, text: str, at_seconds: int) -> None:
    path.write_text(text)
    os.utime(path, (at_seconds, at_seconds))


def _collect(seen: Seen) -> metrics_source.Refresh:
    def refresh(samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        seen.append({metric: dict(nodes) for metric, nodes in samples.items()})

    return refresh


class _Nobody:
    """Nodes that a file does not ask for: it names them itself."""

    async def wait_synced(self) -> None:
        raise AssertionError

    def current(self) -> list[objects.Node]:
        raise AssertionError


def _no_older(_: object) -> None:
    """A file has no older samples to hand on."""
    raise AssertionError


def test_a_file_is_read_again_when_it_changes(
    tmp_path: pathlib.Path, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """Samples count as measured when the file was written; an unchanged file brings nothing."""
    path = tmp_path / "m.yaml"
    _write(path, "cpu: {n1: 10%}", 1000)
    found = metrics_source.MetricsFileSource(str(path), declared)
    seen: Seen = []

    async def poll_twice_then_change() -> None:
        await found.poll_file(_collect(seen))
        assert seen == []
        _write(path, "cpu: {n1: 20%}", 2000)
        await found.poll_file(_collect(seen))
        await found.poll_file(_collect(seen))

    asyncio.run(poll_twice_then_change())
    assert seen == [{"cpu": {"n1": metric_table.Sample(0.2, 2000.0)}}]


def test_a_file_that_cannot_be_used_leaves_the_samples_alone(
    tmp_path: pathlib.Path,
    declared: tuple[checked.CheckedMetric, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Half a file, or none, is logged; a good one after it is taken."""
    path = tmp_path / "m.yaml"
    _write(path, "cpu: {n1: 10%}", 1000)
    found = metrics_source.MetricsFileSource(str(path), declared)
    seen: Seen = []

    async def spoil_and_mend() -> None:
        _write(path, "cpu: {n1: ", 2000)
        await found.poll_file(_collect(seen))
        path.unlink()
        await found.poll_file(_collect(seen))
        assert seen == []
        _write(path, "cpu: {n1: 30%}", 3000)
        await found.poll_file(_collect(seen))

    with caplog.at_level(logging.WARNING):
        asyncio.run(spoil_and_mend())
    assert [sample["cpu"]["n1"].value for sample in seen] == [0.3]
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "keeping the previous metric values"
    ] * 2


def test_the_first_samples_are_there_from_the_start(
    tmp_path: pathlib.Path, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """`run` hands on what the file said when the scheduler was started."""
    path = tmp_path / "m.yaml"
    _write(path, "cpu: {n1: 10%}", 1000)
    pauses: list[float] = []

    async def stop(seconds: float) -> None:
        pauses.append(seconds)
        raise asyncio.CancelledError

    found = metrics_source.MetricsFileSource(str(path), declared, stop)
    seen: Seen = []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(found.run(_collect(seen), _Nobody(), _no_older))
    assert seen == [{"cpu": {"n1": metric_table.Sample(0.1, 1000.0)}}]
    assert pauses == [1.0]


def test_a_wrong_file_is_refused_at_the_start(
    tmp_path: pathlib.Path, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """A scheduler does not start on values that it cannot use."""
    with pytest.raises(errors.InputError, match="cannot be read"):
        metrics_source.MetricsFileSource(str(tmp_path / "none.yaml"), declared)
    path = tmp_path / "m.yaml"
    path.write_text("memory: {n1: 10%}")
    with pytest.raises(errors.InputError, match="no policy declares a metric `memory`"):
        metrics_source.MetricsFileSource(str(path), declared)


def test_a_metric_that_leaves_the_file_has_no_samples(tmp_path: pathlib.Path) -> None:
    """Its old values would go on deciding until they are stale."""
    text = POLICY + "metric io: ratio = `io` node instance refresh 15s maxAge 2m\n"
    result = checker.check([source.SourceText("m.policy", text)])
    assert result.program is not None
    path = tmp_path / "m.yaml"
    _write(path, "{cpu: {n1: 10%}, io: {n1: 10%}}", 1000)
    found = metrics_source.MetricsFileSource(str(path), result.program.metrics)
    seen: Seen = []
    _write(path, "cpu: {n1: 20%}", 2000)
    asyncio.run(found.poll_file(_collect(seen)))
    assert seen == [{"cpu": {"n1": metric_table.Sample(0.2, 2000.0)}, "io": {}}]


def test_other_metrics_are_read_from_the_same_file(tmp_path: pathlib.Path) -> None:
    """After a reload of the policies, though the file is as it was."""
    text = POLICY + "metric io: ratio = `io` node instance refresh 15s maxAge 2m\n"
    result = checker.check([source.SourceText("m.policy", text)])
    assert result.program is not None
    both = result.program.metrics
    path = tmp_path / "m.yaml"
    _write(path, "{cpu: {n1: 10%}, io: {n1: 20%}}", 1000)
    found = metrics_source.MetricsFileSource(str(path), both)
    found.set_metrics([metric for metric in both if metric.name == "io"], {})
    seen: Seen = []
    asyncio.run(found.poll_file(_collect(seen)))
    assert seen == []  # the file still names `cpu`, which nobody declares any more
    _write(path, "{io: {n1: 20%}}", 2000)
    asyncio.run(found.poll_file(_collect(seen)))
    assert seen == [{"io": {"n1": metric_table.Sample(0.2, 2000.0)}}]
    found.set_metrics([metric for metric in both if metric.name == "io"], {})
    asyncio.run(found.poll_file(_collect(seen)))
    assert len(seen) == 1, "the same metrics are in the same file"


def test_a_metric_that_was_written_before_it_is_declared_is_read(
    tmp_path: pathlib.Path, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """Whoever adds a metric may change the file first and the policies after it."""
    text = POLICY + "metric io: ratio = `io` node instance refresh 15s maxAge 2m\n"
    both = checker.check([source.SourceText("m.policy", text)]).program
    assert both is not None
    path = tmp_path / "m.yaml"
    _write(path, "cpu: {n1: 10%}", 1000)
    found = metrics_source.MetricsFileSource(str(path), declared)
    seen: Seen = []
    _write(path, "{cpu: {n1: 20%}, io: {n1: 30%}}", 2000)
    asyncio.run(found.poll_file(_collect(seen)))
    assert seen == []
    found.set_metrics(both.metrics, {})
    asyncio.run(found.poll_file(_collect(seen)))
    cpu, io = (metric_table.Sample(value, 2000.0) for value in (0.2, 0.3))
    assert seen == [{"cpu": {"n1": cpu}, "io": {"n1": io}}]


def test_other_metrics_are_waited_for(tmp_path: pathlib.Path) -> None:
    """After a reload pods wait until the file has been read for what the policies declare now."""
    other = checker.check([source.SourceText("m.policy", POLICY.replace("cpu", "io"))])
    first = checker.check([source.SourceText("m.policy", POLICY)])
    assert other.program is not None
    assert first.program is not None
    newly_declared = other.program.metrics
    path = tmp_path / "m.yaml"
    _write(path, "{cpu: {n1: 10%}}", 1000)
    found = metrics_source.MetricsFileSource(str(path), first.program.metrics)

    async def reload() -> None:
        found.set_metrics(newly_declared, {})
        waiting = asyncio.create_task(found.wait_until_metrics_asked())
        await asyncio.sleep(0)
        assert not waiting.done()
        _write(path, "{io: {n1: 20%}}", 2000)
        await found.poll_file(_collect([]))
        await waiting

    asyncio.run(reload())
