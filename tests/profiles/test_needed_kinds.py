"""Each plugin reads what the table says, and nothing else."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

from policysched.compiler import compiler
from policysched.framework import profile
from policysched.plugins import defaults, names
from policysched.profiles import needed_kinds
from tests.app import operations_page
from tests.compiler import desk
from tests.conformance.generate import families
from tests.importing import deciding

KINDS = {
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "storageclasses": "StorageClass",
    "csinodes": "CSINode",
    "resourceclaims": "ResourceClaim",
    "resourceslices": "ResourceSlice",
    "deviceclasses": "DeviceClass",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "volumeattachments": "VolumeAttachment",
    "poddisruptionbudgets": "PodDisruptionBudget",
}
ALWAYS_ON = {names.PRIORITY_SORT, names.DEFAULT_BINDER}
PLUGINS = [plugin.name for plugin in defaults.DEFAULT_PLUGINS if plugin.name not in ALWAYS_ON]
CASES = [(family, number) for family in ("volumes", "spread", "mixed") for number in range(5)]


def _without(cluster: dict[str, Any], resources: set[str]) -> dict[str, Any]:
    kinds = {KINDS[resource] for resource in resources}
    return cluster | {"items": [item for item in cluster["items"] if item["kind"] not in kinds]}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_what_a_plugin_does_not_read_changes_nothing(plugin: str, tmp_path: pathlib.Path) -> None:
    """Alone in a profile, it decides generated clusters alike without all other kinds."""
    others = ", ".join(name for name in PLUGINS if name != plugin)
    policy = f"version 1\nprofile default-scheduler {{ disable {others} }}"
    unread = KINDS.keys() - needed_kinds.BY_PLUGIN.get(plugin, frozenset())
    for family, number in CASES:
        cluster = families.case(family, 11, number)["cluster"]
        less = _without(cluster, unread)
        whole = deciding.verdicts(tmp_path, cluster, policy, None, "default-scheduler")
        assert deciding.verdicts(tmp_path, less, policy, None, "default-scheduler") == whole


@pytest.mark.parametrize(
    "condition, kinds",
    [
        ("pod(storageClass = fast)", {"persistentvolumeclaims"}),
        ("pod(requests(storage) > 1Gi)", {"persistentvolumeclaims"}),
        ("freeDevices(gpu) < 2", {"resourceclaims", "resourceslices", "deviceclasses"}),
        ("pod(app = web)", set()),
    ],
)
def test_policies_read_claims_and_devices_only_if_they_name_them(
    condition: str, kinds: set[str]
) -> None:
    """Then these have to be listed, even if no plugin reads them."""
    program = desk.check(f"policy p {{ for pods reject when {condition} }}")
    (compiled,) = compiler.compile_program(program).profiles
    made = profile.Profile("", compiled.plugins, {}, projection=compiled.projection)
    readers = needed_kinds.find_plugins_by_resource([made])
    assert {kind for kind, names_ in readers.items() if names_ == [names.POLICY]} == kinds


def test_the_page_has_the_same_table() -> None:
    """docs/rights.md lists the plugins that read each kind."""
    section = operations_page.TEXT.split("## Kinds of objects")[1].split("\n## ")[0]
    told: dict[str, set[str]] = {}
    for kinds, plugins in re.findall(r"^\| ([a-z, ]+) \| ([A-Z].*) \|$", section, re.MULTILINE):
        for kind in kinds.split(", "):
            told[kind] = set(re.findall(r"[A-Z]\w+", plugins))
    read = {
        kind: {name for name, kinds in needed_kinds.BY_PLUGIN.items() if kind in kinds}
        for kind in KINDS
    }
    assert told == read
