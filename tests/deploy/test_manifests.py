"""What the manifests of deploy/ promise beside what the API server checks."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import pytest
import yaml

import policysched
from policysched.cli.commands import webhook
from policysched.config import config_reading
from policysched.profiles import policies
from tests.deploy import kubectl, rights

pytestmark = pytest.mark.e2e  # kubectl renders the manifests


@pytest.fixture(params=kubectl.OVERLAYS)
def objects(request: pytest.FixtureRequest) -> tuple[dict[str, Any], ...]:
    """The objects of an overlay."""
    return kubectl.overlay(request.param)


@pytest.fixture
def everything() -> tuple[dict[str, Any], ...]:
    """The objects of the overlay with all components."""
    return kubectl.rendered(kubectl.EVERYTHING)


@pytest.fixture
def webhook_pods(everything: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """The template of the webhook's pods."""
    spec = kubectl.find(everything, "Deployment", "policysched-webhook")["spec"]
    template: dict[str, Any] = spec["template"]
    return template


@pytest.fixture
def deployment(objects: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Its Deployment's spec."""
    spec: dict[str, Any] = kubectl.find(objects, "Deployment", "policysched")["spec"]
    return spec


@pytest.fixture
def config_text(objects: tuple[dict[str, Any], ...]) -> str:
    """The configuration that the Deployment mounts."""
    found = kubectl.find(objects, "ConfigMap", "policysched-config")["data"]
    (text,) = found.values()
    return str(text)


def test_the_container_can_do_little(deployment: dict[str, Any]) -> None:
    """Not root, no capabilities, no new privileges, no writable root, the runtime's seccomp."""
    check_that_pods_can_do_little(deployment["template"]["spec"])


def test_the_container_of_the_webhook_can_do_little(webhook_pods: dict[str, Any]) -> None:
    """As little as the scheduler's."""
    check_that_pods_can_do_little(webhook_pods["spec"])


def check_that_pods_can_do_little(pod: dict[str, Any]) -> None:
    """Check the security contexts and volumes of a pod."""
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert all(
            mount["mountPath"] == "/tmp" or mount.get("readOnly")  # noqa: S108 - of the container
            for mount in container["volumeMounts"]
        )
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert all({"configMap", "emptyDir", "secret"} & set(volume) for volume in pod["volumes"])


def test_nothing_is_served_in_the_clear(config_text: str, deployment: dict[str, Any]) -> None:
    """The one port is the secure one, and who asks is authenticated and authorised."""
    serving = config_reading.parse_config(config_text, "config.yaml").serving
    assert serving.metrics_address == ""
    assert serving.authentication.enabled
    assert serving.authorization.enabled
    assert set(serving.authorization.always_allow_paths) == {"/livez", "/readyz", "/healthz"}
    (container,) = deployment["template"]["spec"]["containers"]
    assert len(container["ports"]) == 1


def test_replicas_stay_apart_and_are_not_drained_together(
    objects: tuple[dict[str, Any], ...], deployment: dict[str, Any]
) -> None:
    """Two of them on two nodes, one of which may be disrupted; all selectors find these pods."""
    assert deployment["replicas"] == 2
    pod = deployment["template"]
    (term,) = pod["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    labels = pod["metadata"]["labels"]
    budget = kubectl.find(objects, "PodDisruptionBudget", "policysched")["spec"]
    assert budget["maxUnavailable"] == 1
    for selector in (
        term["labelSelector"]["matchLabels"],
        budget["selector"]["matchLabels"],
        deployment["selector"]["matchLabels"],
        kubectl.find(objects, "Service", "policysched")["spec"]["selector"],
        kubectl.find(objects, "NetworkPolicy", "policysched")["spec"]["podSelector"]["matchLabels"],
    ):
        assert selector
        assert selector.items() <= labels.items()
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"


def test_two_nodes_are_enough_for_a_new_version(deployment: dict[str, Any]) -> None:
    """Replicas must be on different nodes, so a rollout may not ask for one more than there are."""
    update = deployment["strategy"]["rollingUpdate"]
    assert update["maxSurge"] == 0
    assert 0 < update["maxUnavailable"] < deployment["replicas"]


def test_the_configuration_is_one_that_the_rest_fits(
    config_text: str, deployment: dict[str, Any], objects: tuple[dict[str, Any], ...]
) -> None:
    """A leader is elected; ports, ConfigMaps and the path of the file are those around it."""
    found = config_reading.parse_config(config_text, "config.yaml")
    assert found.leader_election.leader_elect
    assert found.leader_election.resource_namespace == rights.NAMESPACE
    (container,) = deployment["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert found.serving.secure_address == f"0.0.0.0:{port['containerPort']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert (asked["port"], asked["scheme"]) == (port["name"], "HTTPS")
        assert asked["path"] in found.serving.authorization.always_allow_paths
    for name in (found.policies.config_map, found.policies.history_config_map):
        namespace, _, plain = name.partition("/")
        assert kubectl.find(objects, "ConfigMap", plain)["metadata"]["namespace"] == namespace
    assert container["args"] == ["run", "--config=/etc/policysched/config.yaml"]


@pytest.mark.parametrize(
    "overlay, served",
    [("second-scheduler", "policysched"), ("replace-default", "default-scheduler")],
)
def test_the_policies_serve_whom_the_overlay_is_for(
    overlay: str, served: str, tmp_path: pathlib.Path
) -> None:
    """They have no errors or warnings, and their one profile is what those pods name."""
    texts = kubectl.find(kubectl.overlay(overlay), "ConfigMap", "policysched-policies")["data"]
    for name, text in texts.items():
        assert name.endswith(".policy")
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = policies.load_policy_set([str(tmp_path)], {})
    assert [spec.name for spec in found.specs] == [served]
    assert found.warnings == ()


def test_the_image_is_of_this_version(deployment: dict[str, Any]) -> None:
    """Whoever builds the checkout and applies deploy/ runs what they built."""
    (container,) = deployment["template"]["spec"]["containers"]
    assert container["image"] == f"policysched:{policysched.__version__}"


def test_the_webhook_is_started_with_options_that_it_has(webhook_pods: dict[str, Any]) -> None:
    """Certificate, key and configuration are where the volumes are mounted."""
    (container,) = webhook_pods["spec"]["containers"]
    command, *flags = container["args"]
    assert command == "webhook"
    parser = argparse.ArgumentParser()
    webhook.configure(parser)
    options = parser.parse_args(flags)
    mounts = tuple(mount["mountPath"] + "/" for mount in container["volumeMounts"])
    for path in (options.cert_file, options.key_file, options.config):
        assert path.startswith(mounts)
    (port,) = container["ports"]
    assert options.secure_address.endswith(f":{port['containerPort']}")
    assert options.policy_configmap == [f"{rights.NAMESPACE}/policysched-policies"]


def test_the_api_server_finds_the_webhook(
    everything: tuple[dict[str, Any], ...], webhook_pods: dict[str, Any]
) -> None:
    """Its configuration names the Service, whose selector finds the pods; they have no rights."""
    made = kubectl.find(everything, "ValidatingWebhookConfiguration", "policies.policysched.io")
    (hook,) = made["webhooks"]
    named = hook["clientConfig"]["service"]
    service = kubectl.find(everything, "Service", named["name"])
    assert service["metadata"]["namespace"] == named["namespace"]
    assert service["spec"]["ports"][0]["port"] == named["port"]
    labels = webhook_pods["metadata"]["labels"]
    budget = kubectl.find(everything, "PodDisruptionBudget", "policysched-webhook")["spec"]
    for selector in (service["spec"]["selector"], budget["selector"]["matchLabels"]):
        assert selector.items() <= labels.items()
    subjects = [
        subject["name"]
        for one in everything
        if one["kind"].endswith("RoleBinding")
        for subject in one["subjects"]
    ]
    assert webhook_pods["spec"]["serviceAccountName"] not in subjects


def test_no_right_is_given_twice(objects: tuple[dict[str, Any], ...]) -> None:
    """No rule repeats another, none has wildcards, none is about secrets or roles."""
    granted = rights.granted(objects)
    assert {right: count for right, count in granted.items() if count > 1} == {}
    for right in granted:
        assert "*" not in (right.verb, right.group, right.resource)
        assert right.resource not in (
            "secrets",
            "roles",
            "clusterroles",
            "pods/exec",
            "nodes/proxy",
        )


def test_all_files_are_read_by_somebody() -> None:
    """No manifest lies in deploy/ that no kustomization names; Helm reads values.yaml."""
    for kustomization in kubectl.DEPLOY.rglob("kustomization.yaml"):
        folder = kustomization.parent
        content = yaml.safe_load(kustomization.read_bytes())
        named = {
            *content.get("resources", []),
            *(patch["path"] for patch in content.get("patches", []) if "path" in patch),
            *(
                file
                for generator in content.get("configMapGenerator", [])
                for file in generator["files"]
            ),
        }
        there = {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file()
            and path != kustomization
            and path.name not in ("README.md", "values.yaml")
        }
        assert there == {name for name in named if not name.startswith("..")}, folder
