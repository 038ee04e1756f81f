"""Imported policies, decided by policysched on clusters in files."""

from __future__ import annotations

import pathlib
from typing import Any

import orjson
import yaml

from policysched.importing import importer, source_detection
from policysched.importing.result import findings
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.offline import sessions
from tests import builders

Manifest = dict[str, Any]
NOW = builders.EPOCH.replace(month=6)


def convert(text: str, kind: str | None = None, name: str = "input.yaml") -> importer.ImportResult:
    """Return what comes of a text."""
    report = findings.FindingCollector()
    return importer.convert_sources(
        source_detection.detect_sources(text, name, report, kind), report, name
    )


def convert_command(*words: str) -> importer.ImportResult:
    """Return what comes of a command line."""
    return importer.convert_sources(
        [source_detection.make_command_source(list(words), "command")],
        findings.FindingCollector(),
        "command",
    )


def as_yaml(value: Manifest) -> str:
    """Return a manifest as YAML, without aliases for what occurs twice."""
    return yaml.safe_dump(orjson.loads(orjson.dumps(value)), sort_keys=False)


def told(imported: importer.ImportResult) -> list[str]:
    """Return the findings as `warning 3: what`."""
    return [f"{each.severity} {each.line}: {each.problem}" for each in imported.findings]


def warnings(imported: importer.ImportResult) -> list[str]:
    """Return the warnings as `3: what`."""
    return [text.removeprefix("warning ") for text in told(imported) if text.startswith("warning")]


def body(imported: importer.ImportResult) -> list[str]:
    """Return the lines of the policy, without comments, `version` and blanks at both ends."""
    lines = [line.strip() for line in imported.policy.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "version"))]


def require_accepted(imported: importer.ImportResult) -> None:
    """Fail unless `policysched check` takes the policy."""
    for text in (imported.policy, imported.text):
        result = checker.check([source.SourceText("imported.policy", text)])
        assert not result.diagnostics, result.diagnostics


def verdicts(
    folder: pathlib.Path,
    cluster: Manifest,
    policy: str | None = None,
    metrics: Manifest | None = None,
    scheduler_name: str | None = None,
) -> list[Manifest]:
    """Return what `explain --all -o json` says of a cluster (a v1 List)."""
    (folder / "cluster.json").write_bytes(orjson.dumps(cluster))
    texts: tuple[str, ...] = ()
    if policy is not None:
        (folder / "imported.policy").write_text(policy, encoding="utf-8")
        texts = (str(folder / "imported.policy"),)
    samples = None
    if metrics is not None:
        (folder / "metrics.json").write_bytes(orjson.dumps(metrics))
        samples = str(folder / "metrics.json")
    given = sessions.OfflineInputs(
        str(folder / "cluster.json"),
        NOW,
        texts,
        metrics=samples,
        scheduler_name=scheduler_name,
    )
    return list(next(sessions.OfflineDeciderSource(given).make_deciders()).explain_pending_pods())


def node(name: str, labels: dict[str, str] | None = None, **allocatable: str) -> Manifest:
    """Return a node; 8 cores and 16 GiB unless said otherwise."""
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"} | allocatable
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"allocatable": room, "capacity": room},
    }


def pod(name: str, labels: dict[str, str] | None = None, **more: Any) -> Manifest:
    """Return a pod of the namespace `default` that requests half a core."""
    container = {"name": "c", "resources": {"requests": more.pop("requests", {"cpu": "500m"})}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}, "uid": name},
        "spec": {"containers": [container]} | more,
    }


def listed(*items: Manifest) -> Manifest:
    """Return a v1 List."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}
