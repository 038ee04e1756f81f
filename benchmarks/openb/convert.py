"""Converts the openb trace (two CSV files) to a cluster file for `policysched simulate`.

    python -m benchmarks.openb.convert FOLDER > cluster.json

FOLDER contains openb_node_list_all_node.csv and openb_pod_list_default.csv of the public trace
cluster-trace-gpu-v2023 (alibaba/clusterdata). As Kubernetes objects:

- a node has its GPU model as a label, and its devices as one extended resource in thousandths;
- a pod requests num_gpu × gpu_milli of it, and its gpu_spec is required node affinity (In);
- pods are in the order of creation, without priority, and none is deleted.

Fragmentation within the devices of a node is not modelled: two devices take 460 + 460 + 1000.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import pathlib
import random
import sys
from collections.abc import Mapping
from typing import Any

import orjson

NODES_FILE = "openb_node_list_all_node.csv"
PODS_FILE = "openb_pod_list_default.csv"
GPU_MILLI = "alibabacloud.com/gpu-milli"
MODEL_LABEL = "alibabacloud.com/gpu-card-model"
PODS_PER_NODE = "110"
EPOCH = datetime.datetime(2023, 1, 1, tzinfo=datetime.UTC)

Row = Mapping[str, str]


def folder(path: str) -> pathlib.Path:
    """Check that a folder has the two CSV files; an argparse type."""
    for name in (NODES_FILE, PODS_FILE):
        if not pathlib.Path(path, name).is_file():
            msg = f"`{path}` has no {name}"
            raise argparse.ArgumentTypeError(msg)
    return pathlib.Path(path)


def rows(path: pathlib.Path) -> list[Row]:
    """Return the rows of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def node(row: Row) -> dict[str, Any]:
    """Return a v1 Node."""
    resources = {
        "cpu": f"{row['cpu_milli']}m",
        "memory": f"{row['memory_mib']}Mi",
        "pods": PODS_PER_NODE,
    }
    labels = {"kubernetes.io/hostname": row["sn"]}
    if int(row["gpu"]):
        resources[GPU_MILLI] = str(1000 * int(row["gpu"]))
        labels[MODEL_LABEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {"capacity": resources, "allocatable": resources},
    }


def gpu_milli(row: Row) -> int:
    """Return the thousandths of devices that a pod requests."""
    return int(row["num_gpu"]) * int(row["gpu_milli"])


def pod(row: Row) -> dict[str, Any]:
    """Return a pending v1 Pod."""
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    if gpu_milli(row):
        requests[GPU_MILLI] = str(gpu_milli(row))
    created_at = EPOCH + datetime.timedelta(seconds=int(row["creation_time"]))
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}]
    }
    if row["gpu_spec"]:
        spec["affinity"] = _require_models(row["gpu_spec"].split("|"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": row["name"],
            "namespace": "default",
            "uid": row["name"],
            "creationTimestamp": created_at.isoformat().replace("+00:00", "Z"),
        },
        "spec": spec,
    }


def _require_models(models: list[str]) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": MODEL_LABEL, "operator": "In", "values": models}]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }


def cluster(trace: pathlib.Path, shuffle_seed: int | None = None) -> dict[str, Any]:
    """Return the v1 List of all nodes and pods.

    Pods are in the order of creation, and of the file if they were created at once; with a seed
    they are in a random order.
    """
    pods = sorted(rows(trace / PODS_FILE), key=lambda row: int(row["creation_time"]))
    if shuffle_seed is not None:
        random.Random(shuffle_seed).shuffle(pods)
    items = [*map(node, rows(trace / NODES_FILE)), *map(pod, pods)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def main() -> None:
    """Write the cluster file to standard output."""
    parser = argparse.ArgumentParser(description="Convert the openb trace to a cluster file.")
    parser.add_argument("folder", type=folder, help="folder of the two CSV files")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="shuffle the order of the pods")
    args = parser.parse_args()
    sys.stdout.buffer.write(orjson.dumps(cluster(args.folder, args.shuffle)))


if __name__ == "__main__":
    main()
