"""Workloads: the YAML files of `benchmarks/workloads`, which describe nodes and pods.

A file has `zones` and lists of `nodes` and `pods`, and may have `initial` pods, which already run.
The entries of a list are kinds of nodes or pods, mixed evenly and in proportion to their `share`.
Zones and initial pods are assigned to nodes in turn, and the pods of an entry to its `apps` in
turn; the name of a pod's app replaces `$app`. The classes of this module document all fields.
"""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
import yaml

from benchmarks import options, workload_devices
from policysched import quantity
from tests.realcluster import manifests

FOLDER = pathlib.Path(__file__).resolve().parent / "workloads"
NAMESPACE = "benchmark"
"""The namespace of the measured pods."""
INITIAL_NAMESPACE = "benchmark-initial"
"""The namespace of the pods that already run."""

Object: TypeAlias = dict[str, Any]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=options.MOST)]
"""A number of objects, at least one."""
PodCount: TypeAlias = Annotated[int, msgspec.Meta(ge=2, le=options.MOST)]
"""A number of measured pods; a duration needs at least two bindings."""
_Names: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1)]


class FileError(Exception):
    """An input of a benchmark is missing or invalid; the text names it and the reason."""


class NodeKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that differ only in name, zone and dealt labels.

    Attributes:
        share: proportion of all nodes, relative to the shares of the other kinds.
        labels: labels besides zone and hostname.
        resources: capacity and allocatable, as quantities.
        taints: (key, value, effect).
    """

    share: Count
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}
    taints: list[tuple[str, str, str]] = []

    def __post_init__(self) -> None:
        """Reject invalid quantities."""
        _check_quantities(self.resources)


class PodKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pods that differ only in name and app.

    Attributes:
        name: prefix of their names.
        share: proportion of all pods, relative to the shares of the other kinds.
        apps: number of apps to which they belong.
        labels: values may be `$app`.
        requests: of the container, as quantities.
        spec: further fields of the spec; values may be `$app`.
        fits: whether any node can run them.
        devices: number of devices in a claim of each pod; 0 for no claim.
        claim: `named` for a claim that exists before its pod, `templated` for one that the resource
            claim controller makes from a template.
    """

    name: str
    share: Count = 1
    apps: Count = 1
    labels: dict[str, str] = {}
    requests: dict[str, str] = {}
    spec: Object = {}
    fits: bool = True
    devices: Annotated[int, msgspec.Meta(ge=0, le=workload_devices.MOST_CLAIMED)] = 0
    claim: Literal["named", "templated"] = "named"

    def __post_init__(self) -> None:
        """Reject invalid quantities."""
        _check_quantities(self.requests)


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Objects that are created, or created and deleted, while pods are scheduled.

    Attributes:
        interval_ms: time between two cycles; each creates every object once.
        mode: `recreate` deletes the objects of the cycle before, `create` does not.
        objects: with `apiVersion`, `kind` and `metadata.generateName`; Node, Pod or Service.
    """

    interval_ms: Count
    mode: Literal["create", "recreate"]
    objects: list[Object]


class Extender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An HTTP extender of the schedulers.

    Attributes:
        managed_resources: it is asked only about pods that request one of them; empty for all pods.
    """

    managed_resources: list[str] = []


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of cluster and a kind of backlog, for any size.

    Attributes:
        description: one line.
        pod_counts: number of measured pods, by the smallest number of nodes to which it applies.
        rough_pods_per_second: bindings of kube-scheduler at 5,000 nodes on two cores, only for
            estimates of the duration of a case.
        zones: zones of the nodes.
        dealt_labels: values of further labels, assigned to nodes in turn like zones; for a number
            N, the values are `KEY-0` to `KEY-(N-1)`.
        node_kinds: `nodes` in the file.
        pod_kinds: `pods` in the file; these pods are measured.
        initial: kinds of pods that already run.
        initial_per_node: number of these pods per node.
        churn: objects that are created meanwhile.
        devices: the devices of the nodes.
        extender: the schedulers ask it; None for no extender.
        name: name of the file.
    """

    description: str
    pod_counts: Annotated[dict[int, PodCount], msgspec.Meta(min_length=1)]
    rough_pods_per_second: Annotated[float, msgspec.Meta(gt=0)]
    zones: _Names
    node_kinds: Annotated[list[NodeKind], msgspec.Meta(min_length=1)] = msgspec.field(name="nodes")
    pod_kinds: Annotated[list[PodKind], msgspec.Meta(min_length=1)] = msgspec.field(name="pods")
    dealt_labels: dict[str, _Names | Count] = {}
    initial: list[PodKind] = []
    initial_per_node: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    churn: Churn | None = None
    devices: workload_devices.Devices | None = None
    extender: Extender | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Reject initial pods without a kind, and backlogs without a pod that fits."""
        if not any(kind.fits for kind in self.pod_kinds):
            raise ValueError("no kind of `pods` fits, so there is nothing to time")
        if self.initial_per_node and not self.initial:
            raise ValueError("`initial_per_node` needs `initial`, the kinds of these pods")

    @property
    def content_hash(self) -> str:
        """A hash of the created objects; other fields of the file do not count."""
        created = msgspec.structs.replace(
            self, name="", description="", rough_pods_per_second=1.0, pod_counts={}
        )
        return hashlib.sha256(msgspec.json.encode(created)).hexdigest()[:12]

    def pod_count(self, nodes: int) -> int:
        """Return the number of measured pods for a number of nodes."""
        smaller = [size for size in self.pod_counts if size <= nodes]
        return self.pod_counts[max(smaller, default=min(self.pod_counts))]

    def nodes(self, count: int) -> list[Object]:
        """Return `count` nodes."""
        kinds = _deal(self.node_kinds, count)
        return [self._make_node(number, kind) for number, kind in enumerate(kinds)]

    def pods(self, count: int, scheduler_name: str) -> list[Object]:
        """Return `count` pods for a scheduler."""
        return list(_make_pods(self.pod_kinds, count, scheduler_name))

    def claims(self, count: int) -> list[Object]:
        """Return the claims that `count` pods name."""
        return list(_make_claims(self.pod_kinds, count))

    def claim_templates(self) -> list[Object]:
        """Return the templates of claims that pods name, one for each kind of pods."""
        return [
            workload_devices.make_claim_template(kind.name, kind.devices)
            for kind in self.pod_kinds
            if kind.devices and kind.claim == "templated"
        ]

    def slices(self, nodes: int) -> list[Object]:
        """Return the ResourceSlices of a number of nodes."""
        if self.devices is None:
            return []
        return list(self.devices.slices(map(_format_node_name, range(nodes))))

    def fitting(self, count: int) -> int:
        """Return how many of `count` pods fit on a node."""
        return sum(kind.fits for kind in _deal(self.pod_kinds, count))

    def initial_pods(self, nodes: int, scheduler_name: str) -> list[Object]:
        """Return the pods that already run on a number of nodes, each bound to a node."""
        count = int(nodes * self.initial_per_node)
        pods = list(_make_pods(self.initial, count, scheduler_name))
        for number, pod in enumerate(pods):
            pod["spec"]["nodeName"] = _format_node_name(number % nodes)
        return pods

    def _make_node(self, number: int, kind: NodeKind) -> Object:
        dealt = {manifests.ZONE: self.zones} | self.dealt_labels
        labels = {key: _deal_value(key, values, number) for key, values in dealt.items()}
        return manifests.node(
            _format_node_name(number),
            labels=labels | kind.labels,
            resources=kind.resources,
            taints=kind.taints,
        )


def load(name: str) -> Workload:
    """Return the workload in `workloads/<name>.yaml`.

    Raises:
        FileError: the file does not exist, or is not a workload.
    """
    if name not in names():
        raise FileError(f"unknown workload `{name}`; known workloads are {', '.join(names())}")
    return msgspec.structs.replace(read(FOLDER / f"{name}.yaml", Workload), name=name)


def names() -> list[str]:
    """Return the names of all workloads."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


_Read = TypeVar("_Read")


class _Loader(yaml.SafeLoader):
    """A loader that rejects duplicate keys; PyYAML's own uses the last value."""

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 - the signature of PyYAML
    ) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"duplicate key `{key.value}`"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read(file: pathlib.Path, kind: type[_Read]) -> _Read:
    """Read a YAML file and convert it to `kind`.

    Raises:
        FileError: the file cannot be read, is not YAML, or has a missing, duplicate or unknown
            field.
    """
    try:
        content = _Loader(file.read_text(encoding="utf-8")).get_single_data()
        return msgspec.convert(content, kind)
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError also for invalid dates
        raise FileError(f"{file}: {error}") from error
    except RecursionError as error:
        raise FileError(f"{file}: nested too deeply") from error


def _check_quantities(amounts: dict[str, str]) -> None:
    for resource, amount in amounts.items():
        try:
            is_amount = quantity.parse_quantity(amount) >= 0
        except ValueError:
            is_amount = False
        if not is_amount:
            raise ValueError(f"`{amount}` is not a quantity of {resource}, such as 500m or 1Gi")


_Kind = TypeVar("_Kind", NodeKind, PodKind)


def _deal(kinds: Sequence[_Kind], count: int) -> Iterator[_Kind]:
    """Yield `count` entries; each prefix has the kinds in proportion to their shares."""
    total = sum(kind.share for kind in kinds)
    given = [0] * len(kinds)
    for number in range(1, count + 1):
        lacking = [kind.share * number / total - given[i] for i, kind in enumerate(kinds)]
        turn = lacking.index(max(lacking))
        given[turn] += 1
        yield kinds[turn]


def _make_pods(kinds: Sequence[PodKind], count: int, scheduler_name: str) -> Iterator[Object]:
    for kind, number in _number(kinds, count):
        yield _make_pod(kind, number, scheduler_name)


def _make_claims(kinds: Sequence[PodKind], count: int) -> Iterator[Object]:
    for kind, number in _number(kinds, count):
        if kind.devices and kind.claim == "named":
            yield workload_devices.make_claim(f"{kind.name}-{number}", kind.devices)


def _number(kinds: Sequence[PodKind], count: int) -> Iterator[tuple[PodKind, int]]:
    """Yield the kind of each of `count` pods, and its number among those of its kind."""
    numbers = dict.fromkeys((kind.name for kind in kinds), 0)
    for kind in _deal(kinds, count):
        yield kind, numbers[kind.name]
        numbers[kind.name] += 1


def _make_pod(kind: PodKind, number: int, scheduler_name: str) -> Object:
    app, name = f"{kind.name}-{number % kind.apps}", f"{kind.name}-{number}"
    return manifests.pod(
        name,
        scheduler_name=scheduler_name,
        requests=kind.requests,
        labels=_fill_in(kind.labels, app),
        spec=_fill_in(kind.spec, app) | _name_claim(kind, name),
    )


def _name_claim(kind: PodKind, pod_name: str) -> Object:
    if not kind.devices:
        return {}
    if kind.claim == "templated":
        return workload_devices.name_claim_template(kind.name)
    return workload_devices.name_claim(pod_name)


def _deal_value(key: str, values: Sequence[str] | int, number: int) -> str:
    if isinstance(values, int):
        return f"{key}-{number % values}"
    return values[number % len(values)]


def _format_node_name(number: int) -> str:
    return f"node-{number:05}"


def _fill_in(value: Any, app: str) -> Any:  # noqa: ANN401 - any part of a YAML document
    match value:
        case dict():
            return {key: _fill_in(each, app) for key, each in value.items()}
        case list():
            return [_fill_in(each, app) for each in value]
        case "$app":
            return app
        case _:
            return value
