"""What `kube` offers fits what `scheduler` asks for; the two never import each other."""

from __future__ import annotations

import inspect

import pytest

from policysched import clock as clocks
from policysched.framework import handles
from policysched.kube.events import event_recorder
from policysched.kube.http import client
from policysched.kube.writing import binding, eviction, pod_status, volume_writing
from policysched.scheduler import ports


def adapters(
    api: client.ApiClient, clock: clocks.Clock
) -> tuple[
    ports.Binder,
    ports.PodStatusWriter,
    ports.EventRecorder,
    ports.Evictor,
    handles.VolumeWriter,
]:
    """Return one of each; that this has the right types is checked by mypy."""
    return (
        binding.ApiBinder(api),
        pod_status.ApiPodStatusWriter(api, clock),
        event_recorder.ApiEventRecorder(api, clock, instance="test"),
        eviction.ApiPodEvictor(api, clock),
        volume_writing.ApiVolumeWriter(api),
    )


@pytest.mark.parametrize(
    "port, adapter, method",
    [
        pytest.param(handles.Binder, binding.ApiBinder, "bind", id="binder"),
        pytest.param(
            ports.PodStatusWriter,
            pod_status.ApiPodStatusWriter,
            "set_condition",
            id="status writer",
        ),
        pytest.param(
            ports.PodStatusWriter, pod_status.ApiPodStatusWriter, "nominate", id="nominations"
        ),
        pytest.param(
            handles.VolumeWriter, volume_writing.ApiVolumeWriter, "write_volume", id="volumes"
        ),
        pytest.param(
            handles.VolumeWriter, volume_writing.ApiVolumeWriter, "write_claim", id="claims"
        ),
        pytest.param(ports.Evictor, eviction.ApiPodEvictor, "evict", id="evictor"),
        pytest.param(
            ports.EventRecorder, event_recorder.ApiEventRecorder, "record", id="event recorder"
        ),
    ],
)
def test_methods_have_the_parameters_of_their_ports(
    port: type[object], adapter: type[object], method: str
) -> None:
    """Parameters have the same names, order and defaults, and coroutines stay coroutines."""
    asked, offered = getattr(port, method), getattr(adapter, method)
    assert inspect.iscoroutinefunction(asked) == inspect.iscoroutinefunction(offered)

    def shape(function: object) -> list[tuple[str, object]]:
        assert callable(function)
        return [(one.name, one.default) for one in inspect.signature(function).parameters.values()]

    assert shape(asked) == shape(offered)
