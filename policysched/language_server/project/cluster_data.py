"""Loads the data for proposals and counts: a cluster file, a live cluster, a Prometheus server."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib

from policysched import errors
from policysched.inputs import dump_file
from policysched.language_server.project import editor_settings
from policysched.language_server.words import vocabulary
from policysched.lint.facts import cluster_facts
from policysched.offline import lint_cluster

_KINDS = (
    *("nodes", "pods", "namespaces", "persistentvolumeclaims"),
    *("resourceslices", "deviceclasses"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedClusterData:
    """The data that could be loaded.

    Attributes:
        name: the path of the cluster file, or the address of the API server.
        objects: the objects of the cluster; None if no cluster is configured or it cannot be read.
        words: the vocabulary of the cluster and of Prometheus.
        problems: messages about the sources that could not be read.
    """

    name: str = ""
    objects: dump_file.ObjectDump | None = None
    words: vocabulary.CompletionVocabulary = dataclasses.field(
        default_factory=vocabulary.CompletionVocabulary
    )
    problems: tuple[str, ...] = ()


def load_cluster_data(
    wanted: editor_settings.EditorSettings, root: pathlib.Path
) -> LoadedClusterData:
    """Return the data to which the settings refer; relative paths are relative to `root`.

    The call blocks on file and network access.
    """
    problems: list[str] = []
    name, objects = "", None
    words = vocabulary.CompletionVocabulary()
    try:
        name, objects = _read_cluster(wanted, root)
        if objects is not None:
            words = vocabulary.collect_cluster_vocabulary(objects)
    except errors.PolicySchedError as error:
        problems.append(str(error))
    if wanted.prometheus:
        try:
            words = words.merge_vocabulary(_read_series_vocabulary(wanted.prometheus))
        except errors.PolicySchedError as error:
            problems.append(f"{wanted.prometheus}: {error}")
    return LoadedClusterData(name, objects, words, tuple(problems))


def get_cluster_file_stamp(
    wanted: editor_settings.EditorSettings, root: pathlib.Path
) -> tuple[int, int] | None:
    """Return a stamp that changes when the cluster file changes, or None without a file."""
    if not wanted.cluster:
        return None
    try:
        found = pathlib.Path(_resolve_path(wanted.cluster, root)).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _resolve_path(written: str, root: pathlib.Path) -> str:
    return str(root / pathlib.Path(written).expanduser())


def _read_cluster(
    wanted: editor_settings.EditorSettings, root: pathlib.Path
) -> tuple[str, dump_file.ObjectDump | None]:
    """Return the name and the objects of the configured cluster, from a file or live."""
    if wanted.cluster:
        return wanted.cluster, dump_file.read_dump(_resolve_path(wanted.cluster, root))
    if wanted.kubeconfig or wanted.context:
        from policysched.inputs import live_cluster  # noqa: PLC0415 - imports an HTTP client, which files do not need

        named = wanted.kubeconfig and _resolve_path(wanted.kubeconfig, root)
        chosen = live_cluster.LiveClusterReference(named, wanted.context)
        server, found = live_cluster.read_live_cluster(
            chosen, live_cluster.ListingOptions(kinds=_KINDS)
        )
        return server, dump_file.ObjectDump(found)
    return "", None


def _read_series_vocabulary(url: str) -> vocabulary.CompletionVocabulary:
    """Return the series names and help texts of a Prometheus server."""
    from policysched.promapi import (  # noqa: PLC0415 - imports an HTTP client, which most runs do not need
        series_names,
        settings,
    )

    source = settings.PrometheusSource(url)
    problem = settings.find_source_problem(source)
    if problem:
        raise errors.InputError("settings: prometheus", problem)
    found = series_names.read_series_names(source)
    meanings = {name: text for name, text in found.items() if text}
    return vocabulary.CompletionVocabulary(series=frozenset(found), meanings=meanings)


def make_cluster_facts(
    loaded: LoadedClusterData, annotations: frozenset[str], now: datetime.datetime
) -> cluster_facts.ClusterFacts | None:
    """Return the cluster as facts with which lint compares policies.

    Raises:
        InputError: an object occurs twice, or contains an invalid quantity.
    """
    if loaded.objects is None:
        return None
    return lint_cluster.make_cluster_facts(loaded.name, loaded.objects, annotations, now)
