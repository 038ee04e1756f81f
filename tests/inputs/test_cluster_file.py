from __future__ import annotations

import contextlib
import io
import json
import pathlib
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from policysched import errors, quantity
from policysched.cli import main
from policysched.inputs import cluster_file

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "prod", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "prod"},
    "spec": {"selector": {"app": "web"}},
}
KUBECTL = "(a cluster file is the output of `kubectl get nodes,pods -A -o json`)"


def _list(*items: dict[str, Any], kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "items": list(items)}


def _parse(value: object) -> cluster_file.ClusterObjects:
    return cluster_file.parse_cluster(json.dumps(value).encode(), "f.json")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(_list(NODE, POD, SERVICE)), id="json-line"),
        pytest.param(json.dumps(_list(NODE, POD, SERVICE), indent=4), id="kubectl-json"),
        pytest.param("\ufeff" + json.dumps(_list(NODE, POD, SERVICE)), id="byte-order-mark"),
        pytest.param(yaml.safe_dump(_list(NODE, POD, SERVICE)), id="kubectl-yaml"),
        pytest.param(yaml.safe_dump_all([NODE, POD, SERVICE]), id="yaml-documents"),
        pytest.param(yaml.safe_dump_all([_list(NODE), _list(POD), SERVICE]), id="yaml-mixed"),
    ],
)
def test_all_forms_of_a_cluster_file_mean_the_same(content: str) -> None:
    """JSON and YAML, a List, typed Lists and single documents give the same objects."""
    found = cluster_file.parse_cluster(content.encode(), "f")
    assert [n.name for n in found.nodes] == ["n1"]
    assert [p.key for p in found.pods] == ["prod/web"]
    assert found.pods[0].spec.containers[0].resources.requests == {"cpu": "500m"}
    assert [kind.value for kind, _ in found.owners] == [("v1", "Service")]


def test_a_single_object_is_a_cluster_file() -> None:
    """`kubectl get pod web -o json` prints the object alone."""
    assert [p.key for p in _parse(POD).pods] == ["prod/web"]


def test_items_of_a_typed_list_need_no_kind() -> None:
    """A PodList as the API server answers it leaves the kind of its items out."""
    bare = {key: value for key, value in POD.items() if key not in ("kind", "apiVersion")}
    assert [p.key for p in _parse(_list(bare, kind="PodList")).pods] == ["prod/web"]


def test_an_empty_list_is_an_empty_cluster() -> None:
    """kubectl prints an empty List where nothing was found."""
    assert _parse(_list()) == cluster_file.ClusterObjects()


def test_other_kinds_are_skipped_and_counted() -> None:
    """Kinds that scheduling does not read are left out, by group too."""
    metrics = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "Node", "metadata": {"name": "n9"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    found = _parse(_list(NODE, metrics, config))
    assert [n.name for n in found.nodes] == ["n1"]
    assert found.skipped == {"ConfigMap": 1, "Node.metrics.k8s.io/v1beta1": 1}


def _storage(kind: str, **fields: Any) -> dict[str, Any]:
    api = "storage.k8s.io/v1" if kind not in ("PersistentVolume", "PersistentVolumeClaim") else "v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, **fields}


@pytest.mark.parametrize(
    "item, namespace",
    [
        pytest.param(_storage("PersistentVolume"), "", id="volume"),
        pytest.param(_storage("PersistentVolumeClaim"), "default", id="claim"),
        pytest.param(_storage("StorageClass", provisioner="p"), "", id="class"),
        pytest.param(_storage("CSINode", spec={"drivers": []}), "", id="csi-node"),
        pytest.param(_storage("CSIDriver", spec={}), "", id="driver"),
        pytest.param(_storage("CSIStorageCapacity", capacity="1Gi"), "default", id="capacity"),
        pytest.param(_storage("VolumeAttachment", spec={}), "", id="attachment"),
        pytest.param(
            _storage("PersistentVolume", metadata={"name": "x", "namespace": "prod"}),
            "",
            id="volume-in-a-namespace",
        ),
    ],
)
def test_storage_objects_are_read(item: dict[str, Any], namespace: str) -> None:
    """Everything that the volume plugins read is, in its namespace if its kind has any."""
    found = cluster_file.parse_cluster(yaml.safe_dump(_list(NODE, item)).encode(), "f.yaml")
    (stored,) = found.storage
    assert type(stored).__name__ == item["kind"]
    assert (stored.metadata.namespace, stored.metadata.name) == (namespace, "x")
    assert not found.skipped


def test_budgets_are_read_and_priority_classes_left_out() -> None:
    """Preemption goes by budgets; priorities have been written into pods by the API server."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": "50%"},
        "status": {"disruptionsAllowed": 1, "disruptedPods": {"web-1": "2026-01-05T12:00:00Z"}},
    }
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
    }
    found = _parse(_list(NODE, budget, priority))
    assert [(b.metadata.name, b.status.disruptions_allowed) for b in found.budgets] == [("web", 1)]
    assert found.skipped == {"PriorityClass.scheduling.k8s.io/v1": 1}


def test_null_means_absent() -> None:
    """Fields that are null are read as if they were not there, as the API server reads them."""
    pod = {**POD, "spec": {"containers": [{"ports": None}, None], "tolerations": None}}
    pod["metadata"] = {"name": "web", "labels": None, "creationTimestamp": None}
    found = _parse(pod)
    assert len(found.pods[0].spec.containers) == 1
    assert found.pods[0].metadata.labels == {}


def test_a_namespace_left_out_is_default() -> None:
    """A manifest without a namespace is in `default`, as kubectl would put it."""
    assert _parse({**POD, "metadata": {"name": "web"}}).pods[0].key == "default/web"


@pytest.mark.parametrize(
    "content, message",
    [
        pytest.param(b"", f"f: is empty {KUBECTL}", id="empty"),
        pytest.param(b"{", f"f:1:2: not JSON: unexpected end of data {KUBECTL}", id="half-json"),
        pytest.param(
            b'{"a"\n:}',
            f"f:2:2: not JSON: unexpected character, expected a JSON value {KUBECTL}",
            id="bad-json",
        ),
        pytest.param(
            b'{"kind": "List"}\n{"kind": "List"}',
            f"f:2:1: not JSON: unexpected content after document {KUBECTL}",
            id="json-lines-in-a-file",
        ),
        pytest.param(b"hello", f"f: is not a Kubernetes object {KUBECTL}", id="text"),
        pytest.param(b"a: [", "f:2:1: not YAML: did not find expected node content", id="bad-yaml"),
        pytest.param(b"a: 1", f"f: has no `kind` {KUBECTL}", id="no-kind"),
        pytest.param(b"\xff\xfe{\0}\0", f"f: is not UTF-8 text {KUBECTL}", id="utf-16"),
        pytest.param(b"[1]", f"f: is not a Kubernetes object {KUBECTL}", id="array"),
        pytest.param(
            b'{"kind": "Deployment"}',
            f"f: has no Node and no Pod, only Deployment {KUBECTL}",
            id="wrong-kind",
        ),
        pytest.param(
            b'{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1"}',
            "f: has no Node and no Pod, only Cluster.cluster.karmada.io/v1alpha1 (for Karmada "
            "bindings, run `policysched explain binding` or `policysched karmada simulate`)",
            id="karmada",
        ),
        pytest.param(
            b'{"kind": "List", "items": [3]}',
            "f: items[0]: is not a Kubernetes object",
            id="wrong-item",
        ),
        pytest.param(
            b'{"kind": "List", "items": [{"kind": "Pod", "metadata": {}}]}',
            "f: items[0]: a Pod without metadata.name",
            id="no-name",
        ),
        pytest.param(
            b"[" * 100_000, f"f:1:1026: not JSON: depth limit exceeded {KUBECTL}", id="deep"
        ),
    ],
)
def test_what_is_no_cluster_file_is_one_clear_error(content: bytes, message: str) -> None:
    """The error names the file, the place where there is one, and what was expected."""
    with pytest.raises(errors.InputError) as caught:
        cluster_file.parse_cluster(content, "f")
    assert str(caught.value) == message


def test_a_wrong_field_is_named_with_its_object_and_path() -> None:
    """A value of the wrong type is named by item, kind, name and path."""
    pod = {**POD, "spec": {"priority": "high"}}
    with pytest.raises(errors.InputError) as caught:
        _parse(_list(NODE, pod))
    assert str(caught.value) == (
        "f.json: items[1] (Pod prod/web): spec.priority: expected `int | null`, got `str`"
    )


_WORDS_OF_EFFECTS = "write `NoSchedule`, `PreferNoSchedule` or `NoExecute`"


def _container(**resources: Any) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


@pytest.mark.parametrize(
    "item, message",
    [
        pytest.param(
            {**NODE, "status": {"allocatable": {"cpu": "4", "memory": "-1Gi"}}},
            "(Node n1): status.allocatable.memory: `-1Gi` is negative (write 0 or more)",
            id="allocatable",
        ),
        pytest.param(
            {**NODE, "status": {"allocatable": {"cpu": "4 cores"}}},
            "(Node n1): status.allocatable.cpu: `4 cores` is not a quantity such as `500m`, "
            "`2` or `1Gi`",
            id="no-quantity",
        ),
        pytest.param(
            {**NODE, "status": {"capacity": {"cpu": -4}}},
            "(Node n1): status.capacity.cpu: `-4` is negative (write 0 or more)",
            id="capacity",
        ),
        pytest.param(
            {**NODE, "spec": {"taints": [{"key": "a", "effect": "Foo"}]}},
            "(Node n1): spec.taints[0].effect: `Foo` is not a known taint effect "
            f"({_WORDS_OF_EFFECTS})",
            id="taint",
        ),
        pytest.param(
            {**POD, "spec": {"tolerations": [{"operator": "Exists"}, {"operator": "Exist"}]}},
            "(Pod prod/web): spec.tolerations[1].operator: `Exist` is not a known operator of a "
            "toleration (did you mean `Exists`?)",
            id="toleration-operator",
        ),
        pytest.param(
            {**POD, "spec": {"tolerations": [{"operator": "Exists", "effect": "Foo"}]}},
            "(Pod prod/web): spec.tolerations[0].effect: `Foo` is not a known taint effect "
            f"({_WORDS_OF_EFFECTS})",
            id="toleration-effect",
        ),
        pytest.param(
            {**POD, "spec": {"containers": [_container(), _container(requests={"cpu": "-1m"})]}},
            "(Pod prod/web): spec.containers[1].resources.requests.cpu: `-1m` is negative "
            "(write 0 or more)",
            id="request",
        ),
        pytest.param(
            {**POD, "spec": {"initContainers": [_container(limits={"memory": "-1"})]}},
            "(Pod prod/web): spec.initContainers[0].resources.limits.memory: `-1` is negative "
            "(write 0 or more)",
            id="limit-of-an-init-container",
        ),
        pytest.param(
            {**POD, "spec": {"overhead": {"cpu": -0.5}}},
            "(Pod prod/web): spec.overhead.cpu: `-0.5` is negative (write 0 or more)",
            id="overhead",
        ),
        pytest.param(
            {**POD, "spec": {"resources": {"requests": {"cpu": "-2"}}}},
            "(Pod prod/web): spec.resources.requests.cpu: `-2` is negative (write 0 or more)",
            id="pod-level-request",
        ),
        pytest.param(
            {**POD, "spec": {"topologySpreadConstraints": [{"maxSkew": 0}]}},
            "(Pod prod/web): spec.topologySpreadConstraints[0].maxSkew: `0` is below 1 "
            "(write 1 or more)",
            id="skew",
        ),
        pytest.param(
            {**POD, "spec": {"topologySpreadConstraints": [{"whenUnsatisfiable": "Never"}]}},
            "(Pod prod/web): spec.topologySpreadConstraints[0].whenUnsatisfiable: `Never` is not "
            "a known action (write `DoNotSchedule` or `ScheduleAnyway`)",
            id="unsatisfiable",
        ),
        pytest.param(
            {**POD, "spec": {"topologySpreadConstraints": [{"nodeTaintsPolicy": "Honour"}]}},
            "(Pod prod/web): spec.topologySpreadConstraints[0].nodeTaintsPolicy: `Honour` is not "
            "a known policy (did you mean `Honor`?)",
            id="inclusion-policy",
        ),
    ],
)
def test_a_value_that_the_api_server_refuses_is_refused(item: dict[str, Any], message: str) -> None:
    """In JSON and in YAML: it would mean nothing to decisions."""
    listed = json.dumps(_list(item))
    for content in (listed, f"---\n{listed}"):
        with pytest.raises(errors.InputError) as caught:
            cluster_file.parse_cluster(content.encode(), "f.json")
        assert str(caught.value) == f"f.json: items[0] {message}"


def test_values_that_the_api_server_takes_are_read() -> None:
    """Zero with a sign, every operator, and what is left empty."""
    operators = ("", "Equal", "Exists", "Gt", "Lt")
    tolerations = [{"operator": operator, "effect": ""} for operator in operators]
    spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": None}
    spec = {"tolerations": tolerations, "topologySpreadConstraints": [spread]}
    found = _parse(_list({**POD, "spec": spec | {"overhead": {"cpu": "-0"}}}))
    assert len(found.pods[0].spec.tolerations) == len(operators)


def test_an_octal_number_of_yaml_is_read_as_kubectl_reads_it() -> None:
    """`cpu: 010` is 8 cores to kube-apiserver."""
    content = "kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 010, pods: '010'}}"
    (node,) = cluster_file.parse_cluster(content.encode(), "f.yaml").nodes
    assert node.status.allocatable == {"cpu": 8, "pods": "010"}


@pytest.mark.parametrize(
    "number, problem",
    [
        ("1e400", "number out of range (write a number of at most 64 bits)"),
        ("-1E999", "number out of range (write a number of at most 64 bits)"),
        ("9" * 5000, "integer value out of range (write a number of at most 64 bits)"),
        ("9" * 400, "expected `int` <= 2147483647"),
        ("-2147483649", "expected `int` >= -2147483648"),
    ],
)
def test_a_number_that_no_column_holds_is_one_clear_error(number: str, problem: str) -> None:
    """In JSON and in YAML, with the item, its name and its path."""
    pod = {**POD, "spec": {"priority": "@"}, "status": None}
    listed = json.dumps(_list(NODE, pod)).replace('"@"', number)
    for content in (listed, f"---\n{listed}"):
        with pytest.raises(errors.InputError) as caught:
            cluster_file.parse_cluster(content.encode(), "f.json")
        told = str(caught.value)
        assert told.startswith("f.json: items[1] (Pod prod/web): spec.priority: ")
        assert told.endswith((problem, "expected `int | null`, got `str`"))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"kind": "List", "items": [%s]}', id="json"),
        pytest.param("kind: List\nitems: [%s]", id="yaml"),
    ],
)
@pytest.mark.parametrize("amount", ["1" + "0" * 1100 + ".5e400", '"' + "9" * 1100 + '"', '"NaN"'])
def test_an_enormous_quantity_is_one_clear_error(
    content: str, amount: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever command reads the cluster file."""
    pod = {**POD, "spec": {"containers": [{"resources": {"requests": {"cpu": "@"}}}]}}
    file, policy = tmp_path / "c.json", tmp_path / "a.policy"
    policy.write_text("version 1\n", "utf-8")
    file.write_text(content % json.dumps(pod).replace('"@"', amount), "utf-8")
    for command in (["simulate"], ["explain", "--all"], ["lint", str(policy)]):
        assert main.main([*command, "--cluster", str(file)]) == 2
        told = capsys.readouterr().err
        assert told.count("policysched: ") == 1
        assert "Pod prod/web" in told


def test_quantities_beyond_64_bits_are_the_largest_of_them() -> None:
    """As in Kubernetes, which caps them: such a pod fits nowhere."""
    assert quantity.parse_whole_units("1e999") == 2**63 - 1
    assert quantity.parse_milli_units(10**30) == 2**63 - 1


def test_objects_nested_without_end_are_one_clear_error() -> None:
    """Also where scheduling does not read the field."""
    for depth in (200, 450, 900, 1_000, 100_000):
        pod = json.dumps(POD).removesuffix("}") + ', "x": ' + "[" * depth + "]" * depth + "}"
        null = pod.replace('"spec": {', '"spec": {"nodeName": null, "tolerations": [null],')
        for text in (pod, null):
            with contextlib.suppress(errors.InputError):
                cluster_file.parse_cluster(b'{"kind": "List", "items": [%b]}' % text.encode(), "f")


def test_a_missing_file_is_one_clear_error(tmp_path: pathlib.Path) -> None:
    """The operating system's reason is told, without a traceback."""
    path = str(tmp_path / "none.json")
    with pytest.raises(errors.InputError, match=r"none\.json: cannot be read: No such file"):
        cluster_file.read_cluster(path)


# --- standard input ------------------------------------------------------------------------------


def _stdin(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))


def test_each_line_of_stdin_is_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON lines are read one at a time; empty lines do not count."""
    lines = [json.dumps(_list(NODE)), "", json.dumps(_list(NODE, POD)), json.dumps(_list())]
    _stdin(monkeypatch, "\n".join(lines))
    clusters = cluster_file.read_clusters("-")
    assert clusters.is_lines
    found = [(where, len(c.nodes), len(c.pods)) for where, c in clusters.places]
    assert found == [("<stdin>:1", 1, 0), ("<stdin>:3", 1, 1), ("<stdin>:4", 0, 0)]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(_list(NODE, POD), indent=4), id="kubectl-json"),
        pytest.param(yaml.safe_dump(_list(NODE, POD)), id="kubectl-yaml"),
        pytest.param("# two\n" + yaml.safe_dump_all([NODE, POD]), id="manifests"),
    ],
)
def test_what_kubectl_pipes_is_one_cluster(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text over many lines is not mistaken for JSON lines."""
    _stdin(monkeypatch, content)
    clusters = cluster_file.read_clusters("-")
    assert not clusters.is_lines
    assert [(w, len(c.nodes), len(c.pods)) for w, c in clusters.places] == [("<stdin>", 1, 1)]


def test_empty_stdin_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that brought nothing is not mistaken for an empty cluster."""
    _stdin(monkeypatch, "\n\n")
    with pytest.raises(errors.InputError, match="<stdin>: is empty"):
        cluster_file.read_clusters("-")


@pytest.mark.parametrize(
    "bad, message",
    [
        pytest.param("not json", "<stdin>:3: not JSON: invalid", id="text"),
        pytest.param('{"kind": "List"', "<stdin>:3: not JSON: unexpected end", id="cut-off"),
        pytest.param("[]", "<stdin>:3: is not a Kubernetes object", id="array"),
    ],
)
def test_a_bad_line_is_named_after_those_before_it(
    bad: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines before a bad one are answered; the error names the number of the line."""
    _stdin(monkeypatch, "\n".join([json.dumps(_list(NODE)), json.dumps(_list(NODE)), bad]))
    lines = cluster_file.read_clusters("-").places
    assert [next(lines)[0], next(lines)[0]] == ["<stdin>:1", "<stdin>:2"]
    with pytest.raises(errors.InputError) as caught:
        next(lines)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("content", [b"null\n", b"# nothing yet\n", b"---\n...\n"])
def test_a_file_that_says_nothing_is_empty(content: bytes) -> None:
    """Comments and `null` are no cluster without nodes."""
    with pytest.raises(errors.InputError, match="is empty"):
        cluster_file.parse_cluster(content, "c.yaml")


_REQUEST = {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
_DEVICE = {"attributes": {"index": {"int": 1}}, "capacity": {"memory": {"value": "1Gi"}}}
_ANY = {"firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
_POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}


def _make_claim(version: str, *requests: object) -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "uid": "u"},
        "spec": {"devices": {"requests": list(requests)}},
    }


def _make_slice(version: str, *devices: object) -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "nodeName": "n1", "pool": _POOL, "devices": list(devices)},
    }


def _make_class(version: str) -> dict[str, Any]:
    made = {"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceClass"}
    return {**made, "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "d/gpu"}}


@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump])
@pytest.mark.parametrize(
    "older",
    [
        pytest.param(
            [
                _make_claim("v1beta1", {"name": "r", **_REQUEST}, {"name": "f", **_ANY}),
                _make_slice("v1beta1", {"name": "a", "basic": _DEVICE}, {"name": "b"}),
                _make_class("v1beta1"),
            ],
            id="v1beta1",
        ),
        pytest.param(
            [
                _make_claim("v1beta2", {"name": "r", "exactly": _REQUEST}, {"name": "f", **_ANY}),
                _make_slice("v1beta2", {"name": "a", **_DEVICE}, {"name": "b"}),
                _make_class("v1beta2"),
            ],
            id="v1beta2",
        ),
    ],
)
def test_beta_versions_of_device_objects(
    older: list[dict[str, Any]], dump: Callable[[object], str]
) -> None:
    """They are read like the same objects of v1; Kubernetes 1.32 and 1.33 serve no others."""
    current = [
        _make_claim("v1", {"name": "r", "exactly": _REQUEST}, {"name": "f", **_ANY}),
        _make_slice("v1", {"name": "a", **_DEVICE}, {"name": "b"}),
        _make_class("v1"),
    ]
    found = cluster_file.parse_cluster(dump(_list(NODE, *older)).encode(), "f")
    assert found.devices == _parse(_list(NODE, *current)).devices
    assert len(found.devices) == 3


@pytest.mark.parametrize(
    "item, message",
    [
        (
            _make_claim("v1beta1", "r"),
            "(ResourceClaim c): spec.devices.requests[0]: expected `object`, got `str`",
        ),
        (
            {**_make_slice("v1beta1"), "spec": "none"},
            "(ResourceSlice s): spec: expected `object`, got `str`",
        ),
        (
            {**_make_claim("v1beta1"), "spec": {"devices": 1}},
            "(ResourceClaim c): spec.devices: expected `object`, got `int`",
        ),
    ],
)
def test_wrong_types_in_beta_versions(item: dict[str, Any], message: str) -> None:
    """They are reported as in v1."""
    with pytest.raises(errors.InputError) as caught:
        _parse(_list(item))
    assert str(caught.value) == f"f.json: items[0] {message}"
