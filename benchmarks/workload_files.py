"""Workloads: the YAML files of `benchmarks/workloads`, made into nodes and pods.

A file has `zones`, and lists of `nodes` and `pods`, and may have `initial` pods that run already.
Every entry of a list gets its `share`. The entries are dealt out in turn, so that the kinds are
mixed evenly; zones and initial pods are dealt to nodes in turn. The pods of an entry are dealt out
to `apps`; `$app` stands for the name of a pod's app. The classes of this module say the rest.
"""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
import yaml

from benchmarks import options
from policysched import quantity
from tests.realcluster import manifests

FOLDER = pathlib.Path(__file__).resolve().parent / "workloads"
NAMESPACE = "benchmark"
"""Of the pods whose placement is measured."""
INITIAL_NAMESPACE = "benchmark-initial"
"""Of the pods that run already."""

Object: TypeAlias = dict[str, Any]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=options.MOST)]
"""Of something that has to be there."""
PodCount: TypeAlias = Annotated[int, msgspec.Meta(ge=2, le=options.MOST)]
"""Of measured pods: there is no time between fewer."""
_Names: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1)]


class FileError(Exception):
    """A workload or a plan cannot be read; the text says which, where and why."""


class NodeKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that differ in zone and name alone.

    Attributes:
        share: of all nodes, against the shares of the other kinds.
        labels: beside zone and hostname.
        resources: capacity and allocatable, as quantities.
        taints: (key, value, effect).
    """

    share: Count
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}
    taints: list[tuple[str, str, str]] = []

    def __post_init__(self) -> None:
        """Refuse what is no quantity."""
        _check_quantities(self.resources)


class PodKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pods that differ in name and app alone.

    Attributes:
        name: how their names begin.
        share: of all pods, against the shares of the other kinds.
        apps: how many apps they belong to.
        labels: may have `$app` as a value.
        requests: of the container, as quantities.
        spec: further fields of the spec.
        fits: whether there is a node for them at all.
    """

    name: str
    share: Count = 1
    apps: Count = 1
    labels: dict[str, str] = {}
    requests: dict[str, str] = {}
    spec: Object = {}
    fits: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no quantity."""
        _check_quantities(self.requests)


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Objects that come, or come and go, while pods are scheduled.

    Attributes:
        interval_ms: between two turns; each creates every object once.
        mode: `recreate` deletes what the turn before has created, `create` does not.
        objects: with `apiVersion`, `kind` and `metadata.generateName`; Node, Pod or Service.
    """

    interval_ms: Count
    mode: Literal["create", "recreate"]
    objects: list[Object]


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of cluster and a kind of backlog, of any size.

    Attributes:
        description: one line.
        pod_counts: how many pods are measured, by the number of nodes from which on it counts.
        rough_pods_per_second: what kube-scheduler binds at 5,000 nodes on two cores; only for
            estimates of how long a case takes.
        zones: of the nodes.
        dealt_labels: values of further labels, dealt to nodes in turn like zones.
        node_kinds: in the file `nodes`.
        pod_kinds: in the file `pods`; these are measured.
        initial: the kinds of pods that run already.
        initial_per_node: how many of them there are.
        churn: what happens meanwhile.
        name: that of the file.
    """

    description: str
    pod_counts: Annotated[dict[int, PodCount], msgspec.Meta(min_length=1)]
    rough_pods_per_second: Annotated[float, msgspec.Meta(gt=0)]
    zones: _Names
    node_kinds: Annotated[list[NodeKind], msgspec.Meta(min_length=1)] = msgspec.field(name="nodes")
    pod_kinds: Annotated[list[PodKind], msgspec.Meta(min_length=1)] = msgspec.field(name="pods")
    dealt_labels: dict[str, _Names] = {}
    initial: list[PodKind] = []
    initial_per_node: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    churn: Churn | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse pods that run already and are of no kind, and backlogs of which nothing fits."""
        if not any(kind.fits for kind in self.pod_kinds):
            raise ValueError("no kind of `pods` fits, so there is nothing to time")
        if self.initial_per_node and not self.initial:
            raise ValueError("`initial_per_node` needs `initial`, the kinds of these pods")

    @property
    def content_hash(self) -> str:
        """Tell workloads apart by what is created, whatever their files say beside that."""
        created = msgspec.structs.replace(
            self, name="", description="", rough_pods_per_second=1.0, pod_counts={}
        )
        return hashlib.sha256(msgspec.json.encode(created)).hexdigest()[:12]

    def pod_count(self, nodes: int) -> int:
        """Return how many pods are measured at so many nodes."""
        smaller = [size for size in self.pod_counts if size <= nodes]
        return self.pod_counts[max(smaller, default=min(self.pod_counts))]

    def nodes(self, count: int) -> list[Object]:
        """Return `count` nodes."""
        kinds = _dealt(self.node_kinds, count)
        return [self._node(number, kind) for number, kind in enumerate(kinds)]

    def pods(self, count: int, scheduler_name: str) -> list[Object]:
        """Return `count` pods for a scheduler."""
        return list(_pods(self.pod_kinds, count, scheduler_name))

    def fitting(self, count: int) -> int:
        """Return for how many of `count` pods there is a node."""
        return sum(kind.fits for kind in _dealt(self.pod_kinds, count))

    def initial_pods(self, nodes: int, scheduler_name: str) -> list[Object]:
        """Return the pods that run already on so many nodes, each bound to a node."""
        count = int(nodes * self.initial_per_node)
        pods = list(_pods(self.initial, count, scheduler_name))
        for number, pod in enumerate(pods):
            pod["spec"]["nodeName"] = _node_name(number % nodes)
        return pods

    def _node(self, number: int, kind: NodeKind) -> Object:
        dealt = {manifests.ZONE: self.zones} | self.dealt_labels
        labels = {key: values[number % len(values)] for key, values in dealt.items()}
        return manifests.node(
            _node_name(number),
            labels=labels | kind.labels,
            resources=kind.resources,
            taints=kind.taints,
        )


def load(name: str) -> Workload:
    """Return the workload in `workloads/<name>.yaml`.

    Raises:
        FileError: there is no such file, or it is no workload.
    """
    if name not in names():
        raise FileError(f"there is no workload `{name}`; there are {', '.join(names())}")
    return msgspec.structs.replace(read(FOLDER / f"{name}.yaml", Workload), name=name)


def names() -> list[str]:
    """Return the names of all workloads."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


_Read = TypeVar("_Read")


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, where PyYAML's own would take the last one."""

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 - the signature of PyYAML
    ) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key `{key.value}` is there twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read(file: pathlib.Path, kind: type[_Read]) -> _Read:
    """Return what a YAML file holds.

    Raises:
        FileError: it cannot be read, is no YAML, lacks a field, has one twice or one that is not
            known.
    """
    try:
        content = _Loader(file.read_text(encoding="utf-8")).get_single_data()
        return msgspec.convert(content, kind)
    except (OSError, ValueError, yaml.YAMLError) as error:  # also dates that there are not
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
            raise ValueError(f"`{amount}` is no quantity of {resource}, such as 500m or 1Gi")


_Kind = TypeVar("_Kind", NodeKind, PodKind)


def _dealt(kinds: Sequence[_Kind], count: int) -> Iterator[_Kind]:
    """Give `count` entries so that each kind has its share at every moment, as near as can be."""
    total = sum(kind.share for kind in kinds)
    given = [0] * len(kinds)
    for number in range(1, count + 1):
        lacking = [kind.share * number / total - given[i] for i, kind in enumerate(kinds)]
        turn = lacking.index(max(lacking))
        given[turn] += 1
        yield kinds[turn]


def _pods(kinds: Sequence[PodKind], count: int, scheduler_name: str) -> Iterator[Object]:
    numbers = dict.fromkeys((kind.name for kind in kinds), 0)
    for kind in _dealt(kinds, count):
        yield _pod(kind, numbers[kind.name], scheduler_name)
        numbers[kind.name] += 1


def _pod(kind: PodKind, number: int, scheduler_name: str) -> Object:
    app = f"{kind.name}-{number % kind.apps}"
    return manifests.pod(
        f"{kind.name}-{number}",
        scheduler_name=scheduler_name,
        requests=kind.requests,
        labels=_filled_in(kind.labels, app),
        spec=_filled_in(kind.spec, app),
    )


def _node_name(number: int) -> str:
    return f"node-{number:05}"


def _filled_in(value: Any, app: str) -> Any:  # noqa: ANN401 - any part of a YAML document
    match value:
        case dict():
            return {key: _filled_in(one, app) for key, one in value.items()}
        case list():
            return [_filled_in(one, app) for one in value]
        case "$app":
            return app
        case _:
            return value
