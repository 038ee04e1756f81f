"""Everything about volumes but the pods: classes, volumes, claims, drivers, attachments.

No two volumes of a cluster have the same capacity: kube-scheduler takes the smallest that suffices,
and of equal ones any.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.generate import cluster, conditions, draw

CSI = "csi.example.com"
OTHER_CSI = "other.example.com"
EBS, EBS_CSI = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"
GCE, GCE_CSI = "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"
_OTHER_PLUGINS = (
    "kubernetes.io/azure-disk",
    "kubernetes.io/azure-file",
    "kubernetes.io/cinder",
    "kubernetes.io/vsphere-volume",
    "kubernetes.io/portworx-volume",
)
_OTHER_CSI_NAMES = (
    "disk.csi.azure.com",
    "file.csi.azure.com",
    "cinder.csi.openstack.org",
    "csi.vsphere.vmware.com",
    "pxd.portworx.com",
)
CLASSES: Mapping[str, tuple[str, str]] = {
    "wait": (CSI, "WaitForFirstConsumer"),
    "local": ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    "now": (CSI, "Immediate"),
    "ebs": (EBS, "WaitForFirstConsumer"),
    "gce": (GCE, "Immediate"),
    "other": (OTHER_CSI, "WaitForFirstConsumer"),
    "azure": ("kubernetes.io/azure-disk", "WaitForFirstConsumer"),
    "cinder": ("kubernetes.io/cinder", "WaitForFirstConsumer"),
}
"""Name → (provisioner, volumeBindingMode)."""
MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
_A, _B, _C = cluster.ZONES
_ZONE_LABELS = (_A, _A, _B, _B, f"{_A}__{_B}", _C, f"{_A}__nowhere", f"{_B}__", "", "nowhere")
"""Of volumes: several zones in one, and some that are none."""
_GIB = 1024
"""In MiB."""


def add_drivers(found: cluster.Cluster) -> None:
    """Add classes, drivers, free capacity, and what is installed on each node."""
    source = found.draw
    for node in found.nodes:
        labels = node["metadata"]["labels"]
        if source.chance(0.15) and cluster.ZONE in labels:
            labels[_BETA_ZONE] = labels.pop(cluster.ZONE)
    found.others += [_class(source, name) for name in CLASSES if not source.chance(0.1)]
    for driver in (CSI, OTHER_CSI, EBS_CSI, GCE_CSI):
        if source.chance(0.7):
            spec = {"storageCapacity": source.chance(0.5)}
            found.others.append(_object("storage.k8s.io/v1", "CSIDriver", driver, spec=spec))
    for number in range(source.number(0, 5)):
        found.others.append(_capacity(source, f"capacity-{number}"))
    found.others += [_csi_node(source, node) for node in found.nodes if not source.chance(0.15)]


def add_volumes(found: cluster.Cluster, count: int) -> list[cluster.Manifest]:
    """Add volumes and attachments of some; return the volumes."""
    source = found.draw
    volumes = [_volume(found, f"pv-{number}", number) for number in range(count)]
    for number in range(source.number(0, 6)):
        if volumes:
            found.others.append(_attachment(found, f"attached-{number}", volumes))
    found.others += volumes
    return volumes


def claim(
    found: cluster.Cluster, name: str, namespace: str, volumes: list[cluster.Manifest]
) -> cluster.Manifest:
    """Return a claim in one of the states that claims are in, broken ones among them."""
    source = found.draw
    made = _object("v1", "PersistentVolumeClaim", name)
    made["metadata"] |= {"namespace": namespace, "uid": f"claim-{namespace}-{name}"}
    size = source.pick((1, 2, 5, 10)) * _GIB
    made["spec"] = {
        "accessModes": _modes(source, source.pick((1, 1, 1, 2))),
        "resources": {"requests": {"storage": f"{size}Mi"}},
        "volumeMode": source.weighted({"Filesystem": 9, "Block": 1}),
    }
    made["status"] = {"phase": "Pending"}
    _name_class(source, made)
    free = [v for v in volumes if "claimRef" not in v["spec"]]
    if source.chance(0.45) and free:
        _bind(source, made, source.pick(free))
    elif source.chance(0.06):
        _lose(source, made)
    elif source.chance(0.15):
        names = [node["metadata"]["name"] for node in found.nodes]
        made["metadata"]["annotations"] = {SELECTED_NODE: source.pick([*names, "gone"])}
    if source.chance(0.15):
        made["spec"]["selector"] = conditions.label_selector(source, absent=0) or {}
    if source.chance(0.05):
        made["spec"]["volumeAttributesClassName"] = source.pick(("gold", "silver"))
    if source.chance(0.04):
        made["metadata"]["deletionTimestamp"] = "2026-01-10T00:00:00Z"
    return made


def _modes(source: draw.Draw, count: int) -> list[str]:
    """Return up to `count` access modes; the one for single pods goes with no other."""
    made = sorted({source.pick(MODES) for _ in range(count)})
    if MODES[-1] in made and not source.invalid(0.5):
        return [MODES[-1]]
    return made


def _object(version: str, kind: str, name: str, **parts: object) -> cluster.Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **parts}


def _class(source: draw.Draw, name: str) -> cluster.Manifest:
    provisioner, mode = CLASSES[name]
    made = _object("storage.k8s.io/v1", "StorageClass", name)
    made |= {"provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": "Delete"}
    if source.chance(0.3):
        made["allowedTopologies"] = _allowed_topologies(source)
    return made


def _allowed_topologies(source: draw.Draw) -> list[cluster.Manifest]:
    """Return one term or two about one or two labels each; no label is in both."""
    keys = source.some((cluster.ZONE, cluster.REGION, "disk", "rack"), 3, 3)
    terms = source.pick((keys[:1], keys[:1], keys[:2])), source.pick(((), (), keys[2:]))
    return [
        {"matchLabelExpressions": [{"key": k, "values": _label_values(source, k)} for k in term]}
        for term in terms
        if term
    ]


def _label_values(source: draw.Draw, key: str) -> list[str]:
    return source.some([value for value in cluster.NODE_LABELS[key] if value], 1, 2)


def _capacity(source: draw.Draw, name: str) -> cluster.Manifest:
    made = _object("storage.k8s.io/v1", "CSIStorageCapacity", name)
    made["metadata"]["namespace"] = "default"
    made["storageClassName"] = source.pick(tuple(CLASSES))
    if source.chance(0.9):
        made["nodeTopology"] = _node_topology(source)
    if source.chance(0.85):
        made["capacity"] = source.pick(("0", "1Gi", "4Gi", "100Gi"))
    if source.chance(0.3):
        made["maximumVolumeSize"] = source.pick(("1Gi", "5Gi", "50Gi"))
    return made


def _node_topology(source: draw.Draw) -> cluster.Manifest:
    """Return a selector of nodes: by a zone, by expressions, or all."""
    how = source.weighted({"zone": 6, "expressions": 3, "all": 2})
    if how == "zone":
        return {"matchLabels": {cluster.ZONE: source.pick(cluster.ZONES)}}
    if how == "all":
        return {}
    key = source.pick((cluster.ZONE, "rack", "disk"))
    made: cluster.Manifest = {"key": key, "operator": source.pick(("In", "NotIn", "Exists"))}
    if made["operator"] != "Exists":
        made["values"] = _label_values(source, key)
    return {"matchExpressions": [made]}


def _csi_node(source: draw.Draw, node: cluster.Manifest) -> cluster.Manifest:
    name = node["metadata"]["name"]
    made = _object("storage.k8s.io/v1", "CSINode", name)
    if source.chance(0.7):
        plugins = source.some((EBS, GCE, *_OTHER_PLUGINS), 0, 7)
        made["metadata"]["annotations"] = {_MIGRATED: ",".join(plugins)}
    drivers = []
    for driver in source.some((CSI, OTHER_CSI, EBS_CSI, GCE_CSI, *_OTHER_CSI_NAMES), 0, 6):
        entry: cluster.Manifest = {"name": driver, "nodeID": name}
        if source.chance(0.85):
            entry["allocatable"] = {"count": source.pick((0, 1, 2, 3, 30))}
            if source.chance(0.1):
                entry["allocatable"] = {}
        drivers.append(entry)
    made["spec"] = {"drivers": drivers}
    return made


# --- volumes -------------------------------------------------------------------------------------


def _volume(found: cluster.Cluster, name: str, number: int) -> cluster.Manifest:
    source = found.draw
    made = _object("v1", "PersistentVolume", name)
    size = source.pick((1, 2, 5, 10, 20)) * _GIB + number
    made["spec"] = {
        "capacity": {"storage": f"{size}Mi"},
        "accessModes": _modes(source, source.pick((1, 2, 3))),
        "volumeMode": source.weighted({"Filesystem": 9, "Block": 1}),
        "persistentVolumeReclaimPolicy": "Retain",
        **_source(source, number),
    }
    made["status"] = {"phase": source.weighted({"Available": 8, "Released": 1, "Failed": 1})}
    if source.chance(0.9):
        made["spec"]["storageClassName"] = source.pick(tuple(CLASSES))
    _locate(found, made)
    if source.chance(0.3):
        key = source.pick(tuple(cluster.POD_LABELS))
        made["metadata"].setdefault("labels", {})[key] = source.pick(cluster.POD_LABELS[key])
    if source.chance(0.06):
        made["spec"]["volumeAttributesClassName"] = source.pick(("gold", "silver"))
    if source.chance(0.03):
        made["metadata"]["deletionTimestamp"] = "2026-01-10T00:00:00Z"
    return made


def _source(source: draw.Draw, number: int) -> cluster.Manifest:
    """Return what the volume is; handles coincide now and then."""
    handle = f"vol-{source.number(0, number + 3)}"
    kind = source.weighted({"csi": 6, "ebs": 2, "gce": 2, "migrated": 2, "local": 1, "nfs": 1})
    if kind == "csi":
        driver = source.pick((CSI, CSI, OTHER_CSI, EBS_CSI))
        return {"csi": {"driver": driver, "volumeHandle": handle}}
    if kind == "ebs":
        prefix = source.pick(("", "aws://us-east1-a/"))
        return {"awsElasticBlockStore": {"volumeID": f"{prefix}{handle}"}}
    if kind == "gce":
        return {"gcePersistentDisk": {"pdName": handle}}
    if kind == "migrated":
        return _in_tree(source, handle)
    if kind == "local":
        return {"local": {"path": "/mnt/disk"}}
    return {"nfs": {"server": "nfs.example.com", "path": "/"}}


def _in_tree(source: draw.Draw, handle: str) -> cluster.Manifest:
    """Return a volume of one of the other kinds that became CSI drivers."""
    secret = {"secretName": "s", "secretNamespace": "default", "shareName": handle}
    disk = {"diskName": handle, "diskURI": f"/subscriptions/{handle}", "kind": "Managed"}
    return source.pick(
        (
            {"azureDisk": disk},
            {"azureFile": secret},
            {"cinder": {"volumeID": handle}},
            {"vsphereVolume": {"volumePath": f"[ds] {handle}.vmdk"}},
            {"portworxVolume": {"volumeID": handle}},
        )
    )


def _locate(found: cluster.Cluster, volume: cluster.Manifest) -> None:
    """Bind a volume to places: by labels, by node affinity, or not at all."""
    source = found.draw
    labels: cluster.Manifest = {}
    if source.chance(0.4):
        key = source.pick((cluster.ZONE, _BETA_ZONE))
        labels[key] = source.pick(_ZONE_LABELS)
    if source.chance(0.15):
        labels[source.pick((cluster.REGION, _BETA_REGION))] = source.pick(cluster.REGIONS)
    if labels:
        volume["metadata"]["labels"] = labels
    if source.chance(0.5):
        names = [node["metadata"]["name"] for node in found.nodes]
        terms = source.many(1, 2, lambda: _place_term(source, names))
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}


def _place_term(source: draw.Draw, names: list[str]) -> cluster.Manifest:
    if source.chance(0.3):
        return {"matchExpressions": [conditions.node_expression(source)]}
    values = source.some(cluster.ZONES, 1, 2)
    place = {"key": cluster.ZONE, "operator": "In", "values": values}
    if source.chance(0.5):
        place = {"key": cluster.HOSTNAME, "operator": "In", "values": source.some(names, 1, 2)}
    return {"matchExpressions": [place]}


def _attachment(
    found: cluster.Cluster, name: str, volumes: list[cluster.Manifest]
) -> cluster.Manifest:
    source = found.draw
    made = _object("storage.k8s.io/v1", "VolumeAttachment", name)
    volume = source.pick(volumes)["metadata"]["name"] if source.chance(0.9) else "gone"
    what: cluster.Manifest = {"persistentVolumeName": volume}
    if source.chance(0.05):
        csi = {"driver": CSI, "volumeHandle": "inline"}
        what = {"inlineVolumeSpec": {"accessModes": [MODES[0]], "csi": csi}}
    made["spec"] = {
        "attacher": source.pick((CSI, OTHER_CSI, EBS_CSI, GCE_CSI)),
        "nodeName": source.pick(found.nodes)["metadata"]["name"],
        "source": what,
    }
    made["status"] = {"attached": source.chance(0.7)}
    return made


# --- claims --------------------------------------------------------------------------------------


def _name_class(source: draw.Draw, made: cluster.Manifest) -> None:
    """Name the class of a claim: mostly one that waits, sometimes none or an unknown one."""
    name = source.weighted(
        {
            "wait": 6,
            "local": 4,
            "ebs": 2,
            "other": 2,
            "now": 1,
            "gce": 1,
            "azure": 0.5,
            "cinder": 0.5,
            "gone": 0.3,
            "": 0.5,
        }
    )
    if name == "" and source.chance(0.5):
        return
    if source.chance(0.07):
        made["metadata"]["annotations"] = {_BETA_CLASS: name}
    else:
        made["spec"]["storageClassName"] = name


def _bind(source: draw.Draw, made: cluster.Manifest, volume: cluster.Manifest) -> None:
    """Bind a claim to a volume, wholly or from one side only."""
    reference = {key: made["metadata"][key] for key in ("namespace", "name", "uid")}
    reference |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
    how = source.weighted({"both": 8, "volume only": 2, "reserved": 2, "claim only": 1})
    if how == "reserved":
        reference.pop("uid")
    if how == "volume only" and source.chance(0.2):
        reference["uid"] = "claim-of-before"
    if how != "claim only":
        volume["spec"]["claimRef"] = reference
    if how in ("both", "claim only"):
        made["spec"]["volumeName"] = volume["metadata"]["name"]
        made["spec"]["storageClassName"] = volume["spec"].get("storageClassName", "")
    if how == "both":
        made["metadata"].setdefault("annotations", {})[_BIND_COMPLETED] = "yes"
        made["status"]["phase"] = volume["status"]["phase"] = "Bound"


def _lose(source: draw.Draw, made: cluster.Manifest) -> None:
    """Bind a claim to a volume that is not there any more."""
    made["spec"]["volumeName"] = "gone"
    made["metadata"].setdefault("annotations", {})[_BIND_COMPLETED] = "yes"
    made["status"]["phase"] = source.pick(("Bound", "Lost"))
