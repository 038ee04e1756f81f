"""Pods with volumes: VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw, storage

_DISKS = ("disk-1", "disk-2")
_PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeZone")
"""They and VolumeBinding say things that another one says first while all are on."""
_TEMPLATE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def shape(found: cluster.Cluster) -> None:
    """Add storage, and give pods volumes of all kinds."""
    source = found.draw
    if source.chance(0.15):
        found.disabled += ["VolumeBinding", *source.some(_PLUGINS, 0, 2)]
    elif source.chance(0.1):
        found.disabled.append("VolumeZone")  # it says of missing volumes what others would say
    storage.add_drivers(found)
    volumes = storage.add_volumes(found, source.number(0, 10))
    claims: dict[tuple[str, str], cluster.Manifest] = {}
    for pod in found.pods:
        if source.chance(0.8):
            pod["spec"]["volumes"] = [
                _volume(found, pod, f"v{number}", volumes, claims)
                for number in range(source.weighted({1: 5, 2: 3, 3: 1}))
            ]
    found.others += claims.values()


def _volume(
    found: cluster.Cluster,
    pod: cluster.Manifest,
    name: str,
    volumes: list[cluster.Manifest],
    claims: dict[tuple[str, str], cluster.Manifest],
) -> cluster.Manifest:
    source = found.draw
    kind = source.weighted({"claim": 12, "ephemeral": 2, "disk": 4, "other": 1})
    if kind == "disk":
        return {"name": name, **_disk(source)}
    if kind == "other":
        return {"name": name, **_other(source)}
    namespace = pod["metadata"]["namespace"]
    if kind == "claim":
        claim_name = f"claim-{source.number(0, 5)}"
        made: cluster.Manifest = {"persistentVolumeClaim": {"claimName": claim_name}}
        is_there = not source.chance(0.06)
    else:
        claim_name = f"{pod['metadata']['name']}-{name}"
        made = {"ephemeral": {"volumeClaimTemplate": {"spec": dict(_TEMPLATE)}}}
        is_there = not source.chance(0.12)
    key = (namespace, claim_name)
    if is_there and key not in claims:
        claims[key] = storage.claim(found, claim_name, namespace, volumes)
        if kind == "ephemeral":
            _own(source, claims[key], pod)
    return {"name": name, **made}


def _own(source: draw.Draw, claim: cluster.Manifest, pod: cluster.Manifest) -> None:
    """Let the claim belong to the pod, as that of an ephemeral volume must."""
    if source.chance(0.06):
        return
    claim["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
            "controller": True,
        }
    ]


def _disk(source: draw.Draw) -> cluster.Manifest:
    """Return a volume of a kind that two pods must not write to at once."""
    name, is_read_only = source.pick(_DISKS), source.chance(0.4)
    kind = source.pick(("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"))
    if kind == "gcePersistentDisk":
        return {kind: {"pdName": name, "readOnly": is_read_only}}
    if kind == "awsElasticBlockStore":
        address = source.weighted(
            {name: 6, f"aws://us-east1-a/vol-{name}": 1, f"aws://{name}": 0.2}
        )
        return {kind: {"volumeID": address, "readOnly": is_read_only}}
    if kind == "iscsi":
        portal = {"targetPortal": "10.0.0.1:3260", "lun": source.number(0, 1)}
        return {
            kind: {**portal, "iqn": f"iqn.2026-01.com.example:{name}", "readOnly": is_read_only}
        }
    monitors = source.some(("m1", "m2", "m3"), 1, 2)
    pool = source.pick(("rbd", "other"))
    return {kind: {"monitors": monitors, "pool": pool, "image": name, "readOnly": is_read_only}}


def _other(source: draw.Draw) -> cluster.Manifest:
    """Return a volume that no plugin looks at, or only as the driver that it was migrated to."""
    return source.pick(
        (
            {"emptyDir": {}},
            {"configMap": {"name": "settings"}},
            {"csi": {"driver": storage.CSI}},
            {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/d"}},
            {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/d", "kind": "Managed"}},
            {"azureFile": {"secretName": "s", "shareName": "f"}},
            {"cinder": {"volumeID": "c-1"}},
            {"portworxVolume": {"volumeID": "p-1"}},
            {"vsphereVolume": {"volumePath": "[store] disk.vmdk"}},
        )
    )
