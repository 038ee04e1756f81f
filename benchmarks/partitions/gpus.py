"""A cluster of GPUs that can be partitioned like NVIDIA's H100 with MIG, and pods that claim them.

A GPU has 8 slices of memory and 7 of compute. A partition occupies fixed slices of memory, so two
partitions can be in use at once only if they are at different placements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from policysched.cluster.objects import device_objects, objects

DRIVER: Final = "gpu.example.com"
WHOLE: Final = "whole-gpu"
MEMORY_SLICES: Final = 8
_COMPUTE_SLICES: Final = 7
_CPU_OF_GPU: Final = 16
_MEMORY_OF_GPU_GI: Final = 128

Json: TypeAlias = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of devices.

    Attributes:
        name: name of its DeviceClass.
        memory_slices, compute_slices: what each device of the kind occupies.
        placements: the first slices of memory that it can occupy.
    """

    name: str
    memory_slices: int
    compute_slices: int
    placements: tuple[int, ...]


KINDS: Final = (
    Kind(WHOLE, MEMORY_SLICES, _COMPUTE_SLICES, (0,)),
    Kind("mig-1g", 1, 1, (0, 1, 2, 3, 4, 5, 6)),
    Kind("mig-2g", 2, 2, (0, 2, 4)),
    Kind("mig-3g", 4, 3, (0, 4)),
)
"""The kinds in the order in which the driver publishes them."""
MEMORY_SLICES_OF: Final = {each.name: each.memory_slices for each in KINDS}


def make_classes() -> list[device_objects.DeviceClass]:
    """Return the DeviceClasses, one for each kind."""
    return [
        msgspec.convert(
            {
                "metadata": {"name": kind.name},
                "spec": {"selectors": [{"cel": {"expression": _select(kind)}}]},
            },
            device_objects.DeviceClass,
        )
        for kind in KINDS
    ]


def _select(kind: Kind) -> str:
    return f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].profile == "{kind.name}"'


def make_node(name: str, gpus: int) -> objects.Node:
    """Return a node with enough of everything else for its GPUs."""
    amounts = {
        "cpu": str(_CPU_OF_GPU * gpus),
        "memory": f"{_MEMORY_OF_GPU_GI * gpus}Gi",
        "pods": "110",
    }
    source = {"metadata": {"name": name}, "status": {"allocatable": amounts}}
    return msgspec.convert(source, objects.Node)


def make_slices(node: str, gpus: int) -> Iterator[device_objects.ResourceSlice]:
    """Yield the slices of a node: the counters of all GPUs, and the devices of each GPU."""
    counters = [
        {"name": f"gpu-{gpu}", "counters": _make_counters(range(MEMORY_SLICES), _COMPUTE_SLICES)}
        for gpu in range(gpus)
    ]
    yield _make_slice(node, "counters", gpus, {"sharedCounters": counters})
    for gpu in range(gpus):
        devices = [
            _make_device(gpu, kind, placement) for kind in KINDS for placement in kind.placements
        ]
        yield _make_slice(node, f"gpu-{gpu}", gpus, {"devices": devices})


def _make_slice(node: str, name: str, gpus: int, fields: Json) -> device_objects.ResourceSlice:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": gpus + 1},
        **fields,
    }
    source = {"metadata": {"name": f"{node}-{name}"}, "spec": spec}
    return msgspec.convert(source, device_objects.ResourceSlice)


def _make_device(gpu: int, kind: Kind, placement: int) -> Json:
    name = f"gpu-{gpu}" if kind.name == WHOLE else f"gpu-{gpu}-{kind.name}-{placement}"
    occupied = range(placement, placement + kind.memory_slices)
    consumed = {
        "counterSet": f"gpu-{gpu}",
        "counters": _make_counters(occupied, kind.compute_slices),
    }
    return {
        "name": name,
        "attributes": {"profile": {"string": kind.name}},
        "consumesCounters": [consumed],
    }


def find_gpu(device: str) -> str:
    """Return the name of the GPU to which a device belongs."""
    return device.partition("-mig")[0]


def _make_counters(memory_slices: range, compute_slices: int) -> Json:
    memory = {f"memory-slice-{number}": {"value": "1"} for number in memory_slices}
    return {**memory, "compute-slices": {"value": str(compute_slices)}}


@dataclasses.dataclass(frozen=True)
class GpuRequest:
    """The devices that a pod requests: a number of one kind."""

    kind: str
    count: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether the devices are whole GPUs."""
        return self.kind == WHOLE

    @property
    def memory_slices(self) -> int:
        """Number of slices of memory of these devices."""
        return self.count * MEMORY_SLICES_OF[self.kind]

    def make_claim(self, pod: str) -> device_objects.ResourceClaim:
        """Return the ResourceClaim of a pod, which has its name."""
        exactly = {"deviceClassName": self.kind, "count": self.count}
        source = {
            "metadata": {"name": pod, "namespace": "default", "uid": f"claim-{pod}"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        }
        return msgspec.convert(source, device_objects.ResourceClaim)

    def make_pod(self, name: str) -> objects.Pod:
        """Return a pod, whose other requests are in proportion."""
        requests = {
            "cpu": f"{1500 * self.memory_slices}m",
            "memory": f"{12 * self.memory_slices}Gi",
        }
        source = {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": requests}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            },
        }
        return msgspec.convert(source, objects.Pod)
