"""The values of the chart: each has an effect, and a wrong one is one clear error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import policysched
from policysched.config import config_reading
from tests.deploy import kubectl
from tests.deploy.chart import helm, values_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERYTHING: dict[str, Any] = {"monitoring": {"enabled": True}, "webhook": {"enabled": True}}
_DIGEST = "sha256:" + "0" * 64
_AFFINITY: dict[str, Any] = {"nodeAffinity": {}}
_PEERS: list[Any] = [{"namespaceSelector": {}}]
_POD = "spec.template.spec"
_CONTAINER = f"{_POD}.containers.0"


def _read_yaml(name: str) -> Any:
    return yaml.safe_load((helm.CHART / name).read_text(encoding="utf-8"))


def _read(document: Any, path: str) -> Any:
    """Return the field of a document at a path such as `spec.containers.0.image`."""
    for step in path.split("."):
        document = document[int(step) if step.isdigit() else step]
    return document


def test_the_version_is_that_of_policysched() -> None:
    """The chart installs the image of its own version."""
    chart = _read_yaml("Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (policysched.__version__,) * 2


def test_the_schema_of_the_configuration_is_a_current_copy() -> None:
    """Run `python -m tests.deploy.chart.values_schema` if it is not."""
    schema = json.loads(values_schema.PATH.read_text(encoding="utf-8"))
    assert schema == values_schema.make_schema()
    assert schema["properties"]["overlay"]["enum"] == list(reversed(kubectl.OVERLAYS))


def test_the_schema_and_the_defaults_have_the_same_fields() -> None:
    """A value without a default or without a type is an error of the chart."""
    schema, values = values_schema.make_schema(), _read_yaml("values.yaml")
    fields, hook = schema["properties"], schema["properties"]["webhook"]["properties"]
    assert list(values) == list(fields)
    for name in ("image", "networkPolicy", "monitoring", "webhook"):
        assert list(values[name]) == list(fields[name]["properties"])
        assert fields[name]["additionalProperties"] is False
    assert {name: fields[name] for name in hook if name in fields and name != "annotations"} == {
        name: hook[name] for name in hook if name in fields and name != "annotations"
    }


@pytest.mark.e2e
@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_lint_finds_nothing(values: Mapping[str, Any]) -> None:
    """Helm has no error and no warning, and one remark: the chart has no icon."""
    output = helm.run("lint", str(helm.CHART), "--strict", "--namespace=kube-system", values=values)
    remarks = [line for line in output.splitlines() if line.startswith("[")]
    assert remarks == ["[INFO] Chart.yaml: icon is recommended"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "values, path, expected",
    [
        pytest.param({"replicas": 3}, "spec.replicas", 3, id="replicas"),
        pytest.param(
            {"image": {"repository": "r.example.com/p", "tag": "1.0"}},
            f"{_CONTAINER}.image",
            "r.example.com/p:1.0",
            id="tag",
        ),
        pytest.param(
            {"image": {"digest": _DIGEST}},
            f"{_CONTAINER}.image",
            f"policysched@{_DIGEST}",
            id="digest",
        ),
        pytest.param(
            {"image": {"pullPolicy": "Always"}},
            f"{_CONTAINER}.imagePullPolicy",
            "Always",
            id="pull",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "s"}]},
            f"{_POD}.imagePullSecrets",
            [{"name": "s"}],
            id="pull-secrets",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": 2}}},
            f"{_CONTAINER}.resources",
            {"requests": {"cpu": 2, "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            id="resources",
        ),
        pytest.param({"affinity": _AFFINITY}, f"{_POD}.affinity", _AFFINITY, id="affinity"),
        pytest.param(
            {"nodeSelector": {"a": "b"}}, f"{_POD}.nodeSelector", {"a": "b"}, id="node-selector"
        ),
        pytest.param(
            {"priorityClassName": "high"}, f"{_POD}.priorityClassName", "high", id="priority"
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]},
            f"{_POD}.tolerations",
            [{"operator": "Exists"}],
            id="tolerations",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 2}]},
            f"{_POD}.topologySpreadConstraints",
            [{"maxSkew": 2}],
            id="spread",
        ),
        pytest.param(
            {"podLabels": {"team": "t", "app.kubernetes.io/name": "other"}},
            "spec.template.metadata.labels",
            {
                "app.kubernetes.io/name": "policysched",
                "app.kubernetes.io/component": "scheduler",
                "team": "t",
            },
            id="pod-labels-without-those-of-selectors",
        ),
        pytest.param(
            {"podAnnotations": {"a": "b"}}, "spec.template.metadata.annotations.a", "b", id="pods"
        ),
    ],
)
def test_a_value_changes_one_field_of_the_deployment(
    values: Mapping[str, Any], path: str, expected: Any
) -> None:
    """All other fields, and all other objects, stay as they are."""
    before, after = helm.render(), helm.render(values)
    deployment = kubectl.find(after, "Deployment", "policysched")
    assert _read(deployment, path) == expected
    parent, _, field = path.rpartition(".")
    original = _read(kubectl.find(before, "Deployment", "policysched"), parent)
    _read(deployment, parent).pop(field)
    _read(kubectl.find(before, "Deployment", "policysched"), parent).pop(field, None)
    assert _read(deployment, parent) == original
    assert after == before


@pytest.mark.e2e
def test_the_webhook_has_values_of_its_own() -> None:
    """The Deployment of the scheduler keeps its fields."""
    own = {"replicas": 3, "tolerations": [{"key": "t"}], "resources": {"limits": {"cpu": "1"}}}
    objects = helm.render({"webhook": {"enabled": True, **own}})
    deployment = kubectl.find(objects, "Deployment", "policysched-webhook")
    assert _read(deployment, "spec.replicas") == 3
    assert _read(deployment, f"{_POD}.tolerations") == [{"key": "t"}]
    limits = _read(deployment, f"{_CONTAINER}.resources.limits")
    assert limits == {"cpu": "1", "memory": "512Mi"}
    scheduler = kubectl.find(helm.render(), "Deployment", "policysched")
    assert kubectl.find(objects, "Deployment", "policysched") == scheduler


@pytest.mark.e2e
def test_the_api_server_gets_the_authority_of_the_webhook() -> None:
    """Either from a value, or from cert-manager, which an annotation asks."""
    own = {"caBundle": "YQ==", "annotations": {"cert-manager.io/inject-ca-from": "ns/name"}}
    objects = helm.render({"webhook": {"enabled": True, **own}})
    hooks = kubectl.find(objects, "ValidatingWebhookConfiguration", "policies.policysched.io")
    assert _read(hooks, "webhooks.0.clientConfig.caBundle") == own["caBundle"]
    assert _read(hooks, "metadata.annotations") == own["annotations"]


@pytest.mark.e2e
def test_labels_and_annotations_are_on_all_objects() -> None:
    """They never replace a label of the manifests."""
    own = {"team": "t", "app.kubernetes.io/name": "other"}
    values = EVERYTHING | {"labels": own, "annotations": {"a": "b"}}
    for one in helm.render(values):
        assert one["metadata"]["labels"]["team"] == "t"
        assert one["metadata"]["annotations"]["a"] == "b"
    plain = kubectl.find(helm.render(values), "Service", "policysched")
    assert plain["metadata"]["labels"]["app.kubernetes.io/name"] == "policysched"


@pytest.mark.e2e
def test_peers_replace_the_namespace_of_prometheus() -> None:
    """The port stays the same."""
    policy = kubectl.find(
        helm.render({"networkPolicy": {"from": _PEERS}}), "NetworkPolicy", "policysched"
    )
    (rule,) = policy["spec"]["ingress"]
    assert rule == {"from": _PEERS, "ports": [{"port": "https", "protocol": "TCP"}]}


@pytest.mark.e2e
def test_fields_of_the_configuration_are_merged() -> None:
    """Every other field has the value of base/config.yaml, and policysched reads the result."""
    own = {"leaderElection": {"leaderElect": False}, "clientConnection": {"qps": 1_000_000}}
    objects = helm.render({"config": own})
    text = kubectl.find(objects, "ConfigMap", "policysched-config")["data"]["config.yaml"]
    expected = _read_yaml("base/config.yaml")
    expected["leaderElection"]["leaderElect"] = False
    expected["clientConnection"] = own["clientConnection"]
    assert yaml.safe_load(text) == expected
    config = config_reading.parse_config(text, "config.yaml")
    assert config.client_connection.qps == 1_000_000


@pytest.mark.e2e
def test_pods_restart_for_the_configuration_and_not_for_policies() -> None:
    """Policies are watched; the configuration is read at the start, by both Deployments."""

    def read_pods(values: Mapping[str, Any]) -> list[dict[str, Any]]:
        objects = helm.render({**EVERYTHING, **values})
        return [one["spec"]["template"] for one in objects if one["kind"] == "Deployment"]

    before = read_pods({})
    assert len(before) == 2
    assert read_pods({"policies": {"a.policy": "profile a { }\n"}}) == before
    changed = read_pods({"config": {"logging": {"format": "text"}}})
    assert all(one != other for one, other in zip(before, changed, strict=True))


@pytest.mark.e2e
@pytest.mark.parametrize(
    "values, error",
    [
        pytest.param({"replicas": "two"}, "at '/replicas': got string, want integer", id="type"),
        pytest.param(
            {"image": {"name": "p"}}, "at '/image': additional properties 'name'", id="name"
        ),
        pytest.param({"overlay": "x"}, "at '/overlay': value must be one of", id="overlay"),
        pytest.param({"image": {"tag": 1.5}}, "at '/image/tag': got number", id="tag-number"),
        pytest.param(
            {"config": {"leaderElection": {"leaderElct": True}}},
            "at '/config/leaderElection': additional properties 'leaderElct' not allowed",
            id="config",
        ),
        pytest.param({"webhook": None}, "at '': missing property 'webhook'", id="null"),
        pytest.param(
            {"policies": {"pack": {"policy": "profile a { }"}}},
            r"policies: `pack` is no policy file: .* needs a backslash before the dot",
            id="dot",
        ),
        pytest.param(
            {"policies": {"a.txt": "profile a { }"}}, "its name must end in .policy", id="suffix"
        ),
    ],
)
def test_a_wrong_value_is_one_error(values: Mapping[str, Any], error: str) -> None:
    """It names the value and the problem."""
    with pytest.raises(helm.HelmError, match=error) as raised:
        helm.render(values)
    assert str(raised.value).count("- at '") <= 1


@pytest.mark.e2e
def test_another_namespace_is_refused() -> None:
    """Rights, alerts and the configuration name kube-system."""
    with pytest.raises(helm.HelmError, match="add `--namespace kube-system`"):
        helm.run("template", "policysched", str(helm.CHART), "--namespace=default")
