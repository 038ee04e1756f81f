"""The chart makes the objects that kustomize makes of the same files."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.deploy import kubectl
from tests.deploy.chart import helm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e  # kubectl and Helm render the manifests

Object = dict[str, Any]
_EXAMPLE = kubectl.DEPLOY / "example"
_EXAMPLE_POLICY = _EXAMPLE / "policies" / "pack.policy"
_EXAMPLE_FLAGS = (
    f"--values={_EXAMPLE / 'values.yaml'}",
    f"--set-file=policies.pack\\.policy={_EXAMPLE_POLICY}",
)
_EVERYTHING = {
    "monitoring": {"enabled": True},
    "webhook": {"enabled": True},
    "auditEvict": {"enabled": True},
}
_HASH = "checksum/config"


def _find_config_name(objects: Iterable[Object]) -> str:
    """Return the name of the configuration's ConfigMap, which ends in a hash in kustomize."""
    (name,) = (
        one["metadata"]["name"]
        for one in objects
        if one["metadata"]["name"].startswith("policysched-config")
    )
    return str(name)


def _index_kustomized(folder: pathlib.Path) -> dict[tuple[str, str], Object]:
    """Return the objects of a kustomization by kind and name, without the hash of the name."""
    objects = kubectl.rendered(folder)
    text = json.dumps(objects).replace(_find_config_name(objects), "policysched-config")
    return _index(json.loads(text))


def _index_chart(objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    """Return the objects of the chart by kind and name, without the hash in annotations."""
    index = _index(objects)
    for (kind, _), one in index.items():
        if kind == "Deployment":
            metadata = one["spec"]["template"]["metadata"]
            assert len(metadata["annotations"].pop(_HASH)) == 64
            if not metadata["annotations"]:
                del metadata["annotations"]
    return index


def _index(objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    index = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(index) > 10
    return index


@pytest.mark.parametrize(
    "folder, values, flags",
    [
        pytest.param(kubectl.DEPLOY / "overlays" / "second-scheduler", {}, (), id="second"),
        pytest.param(
            kubectl.DEPLOY / "overlays" / "replace-default",
            {"overlay": "replace-default"},
            (),
            id="replace",
        ),
        pytest.param(_EXAMPLE, {}, _EXAMPLE_FLAGS, id="example"),
        pytest.param(kubectl.EVERYTHING, _EVERYTHING, (), id="everything"),
    ],
)
def test_helm_and_kustomize_make_the_same_objects(
    folder: pathlib.Path, values: Mapping[str, Any], flags: tuple[str, ...]
) -> None:
    """All fields are equal, except for the place of the configuration's hash."""
    assert _index_chart(helm.render(values, *flags)) == _index_kustomized(folder)


@pytest.mark.parametrize("component", ["audit-evict", "monitoring", "network-policy", "webhook"])
def test_a_value_adds_or_removes_one_component(component: str, tmp_path: pathlib.Path) -> None:
    """The difference is the objects of the component's kustomization."""
    folder = tmp_path / "deploy"
    shutil.copytree(kubectl.DEPLOY, folder)
    (folder / "kustomization.yaml").write_text(f"components: [components/{component}]\n")
    objects = kubectl.rendered(folder)
    value = {"network-policy": "networkPolicy", "audit-evict": "auditEvict"}.get(
        component, component
    )
    off, on = (
        {json.dumps(one, sort_keys=True) for one in helm.render({value: {"enabled": enabled}})}
        for enabled in (False, True)
    )
    assert off < on
    names = {(one["kind"], one["metadata"]["name"]) for one in map(json.loads, on - off)}
    assert names == {(one["kind"], one["metadata"]["name"]) for one in objects}


def test_policies_are_the_texts_of_the_files(tmp_path: pathlib.Path) -> None:
    """Kustomize and Helm put the same text into the ConfigMap, whatever its white space."""
    texts = {
        "a.policy": "version 1\n\n# {{ no template }} \u00e9 \U0001f680\t\n\n\nprofile a { }",
        "b-2.policy": "  profile b { }\n\n\n",
        "empty.policy": "\n",
    }
    files = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        files.append(f"--set-file=policies.{name.replace('.', chr(92) + '.')}={tmp_path / name}")
    (tmp_path / "kustomization.yaml").write_text(
        f"configMapGenerator: [{{name: policysched-policies, files: {json.dumps(list(texts))}}}]\n"
    )
    (kustomized,) = kubectl.rendered(tmp_path)
    assert kustomized["data"] == texts
    for objects in (helm.render({}, *files), helm.render({"policies": texts})):
        assert kubectl.find(objects, "ConfigMap", "policysched-policies")["data"] == texts


def test_the_package_has_all_files_that_it_reads(tmp_path: pathlib.Path) -> None:
    """`helm package` leaves out only files without effect."""
    helm.run("package", str(helm.CHART), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("*.tgz")
    for overlay in kubectl.OVERLAYS:
        chosen = _EVERYTHING | {"overlay": overlay}
        assert helm.render(chosen, chart=package) == helm.render(chosen)


def test_the_api_server_accepts_all_objects(
    kubeconfig: pathlib.Path, fresh_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """They pass strict validation and admission, with values that kustomize does not have."""
    own = {"labels": {"team": "t"}, "annotations": {"a": "b"}, "networkPolicy": {"from": []}}
    pod = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    config = {"config": {"logging": {"format": "text"}}}
    objects = helm.render(_EVERYTHING | own | pod | config)
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    flags = ("--dry-run=server", "--validate=strict")
    output = kubectl.run("apply", "--filename", str(file), *flags, kubeconfig=kubeconfig)
    assert len(output.splitlines()) == len(objects)
