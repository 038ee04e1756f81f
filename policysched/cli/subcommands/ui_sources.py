"""What `ui` shows of a file or a listing: pods on nodes, or bindings on member clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cli import fast_exit
from policysched.cli.options import karmada_options, offline_options
from policysched.cli.render import output, progress

if TYPE_CHECKING:
    import argparse
    import datetime
    from collections.abc import Iterable

    from policysched.inputs import cluster_file, dump_file, live_cluster, metrics_file
    from policysched.lang.checked import checked
    from policysched.offline import sessions
    from policysched.page import page_source


def make_cluster_source(args: argparse.Namespace) -> page_source.PageSource:
    """Return the source for the cluster or the control plane that the options name.

    Raises:
        UsageError: an option is invalid, or stdin has several clusters.
        InputError: an input cannot be read or is invalid.
    """
    from policysched.page import (  # noqa: PLC0415 - not needed for `--help`
        offline_source,
        policy_files,
    )

    started_at = clocks.SystemClock().now()
    args.now = args.now or started_at  # one time for all decisions
    options = offline_options.read_offline_inputs(args)
    where, dump = _read_dump(options.cluster)
    is_plane = bool(dump.plane.clusters or dump.plane.bindings)
    has_pods = bool(dump.cluster.nodes or dump.cluster.pods)
    if is_plane and not has_pods:
        answers, inputs = _make_binding_answers(args, where, dump)
    else:
        karmada_options.refuse_karmada_options(args)
        answers, inputs = _make_pod_answers(options, where, dump.cluster)
        if is_plane:
            _print_hidden_plane_note(dump)
    is_live = args.cluster is None
    return offline_source.OfflineSource(
        "live" if is_live else "file",
        "the running cluster, as it was at the start" if is_live else args.cluster,
        answers,
        inputs,
        policy_files.PolicyFiles(args.policies or (), started_at),
    )


def _read_dump(named: str | live_cluster.LiveClusterReference) -> tuple[str, dump_file.ObjectDump]:
    """Return the name and the objects of the only cluster.

    Raises:
        UsageError: stdin has JSON lines, which may be of several clusters.
        InputError: the file cannot be read or is invalid.
        KubeError: the running cluster cannot be read.
    """
    from policysched import process  # noqa: PLC0415 - not needed for `--help`
    from policysched.inputs import dump_file  # noqa: PLC0415 - as above

    paths = [named] if isinstance(named, str) else []
    with (
        progress.show_reading_progress("reading the input", paths),
        process.pause_garbage_collection(),
    ):
        if not isinstance(named, str):
            from policysched.inputs import live_dump  # noqa: PLC0415 - imports an HTTP client

            return live_dump.read_live_dump(named)
        dumps = dump_file.read_dumps(named)
        if dumps.is_lines:
            raise errors.UsageError(
                "the page shows one cluster, and stdin has JSON lines of several"
            )
        (only,) = dumps.places
        return only


# --- pods on nodes -------------------------------------------------------------------------------


def _make_pod_answers(
    options: sessions.OfflineInputs, where: str, found: cluster_file.ClusterObjects
) -> tuple[page_source.ViewAnswers, page_source.ClusterInputs]:
    from policysched import process  # noqa: PLC0415 - not needed for `--help`
    from policysched.inputs import object_lists  # noqa: PLC0415 - as above
    from policysched.offline import sessions  # noqa: PLC0415 - as above
    from policysched.page import page_source, pod_answers  # noqa: PLC0415 - as above

    session = sessions.OfflineDeciderSource(
        options, object_lists.InputLists(iter([(where, found)]))
    )
    with process.pause_garbage_collection():
        decider = session.factory.make_decider(found, where)
    offline_options.print_session_warnings(session)
    offline_options.print_missing_samples_note(session)
    fast_exit.keep_until_exit(decider)
    inputs = page_source.ClusterInputs(
        where,
        found,
        options.now,
        options.params,
        options.scheduler_name,
        _SampleReader(session.metrics, options.now),
    )
    return pod_answers.PodAnswers(decider), inputs


def _print_hidden_plane_note(dump: dump_file.ObjectDump) -> None:
    bindings = output.format_count(len(dump.plane.bindings), "binding")
    output.print_note_to_stderr(
        f"the page shows nodes and pods, not the {bindings} of a Karmada control plane in the same "
        "input; give the page a file without nodes and pods, or use `policysched explain binding`"
    )


# --- bindings on member clusters -----------------------------------------------------------------


def _make_binding_answers(
    args: argparse.Namespace, where: str, dump: dump_file.ObjectDump
) -> tuple[page_source.ViewAnswers, page_source.ClusterInputs]:
    from policysched.offline import binding_sessions  # noqa: PLC0415 - not needed for `--help`
    from policysched.page import binding_answers, page_source  # noqa: PLC0415 - as above

    loaded = karmada_options.load_cluster_policies(args)
    algorithm = karmada_options.make_binding_algorithm(args, loaded.policies)
    for warning in karmada_options.find_plugin_name_warnings(args):
        output.print_note_to_stderr(warning)
    clusters = [each.metadata.name for each in dump.plane.clusters]
    offline_options.warn_about_unknown_names(loaded.metrics, "cluster", clusters)
    decider = binding_sessions.BindingDecider(dump.plane, algorithm, loaded, args.now)
    fast_exit.keep_until_exit(decider)
    inputs = page_source.ClusterInputs(
        where,
        dump.cluster,
        args.now,
        offline_options.parse_param_values(args.params or ()),
        args.scheduler_name,
        _SampleReader(loaded.metrics, args.now),
        dump.plane,
    )
    return binding_answers.BindingAnswers(decider), inputs


class _SampleReader:
    """Reads the metrics file again for the metrics of edited policies."""

    def __init__(self, file: metrics_file.MetricsFile | None, now: datetime.datetime) -> None:
        self._file = file
        self._now = now

    def __call__(self, declared: Iterable[checked.CheckedMetric]) -> metrics_file.Samples:
        from policysched.inputs import metrics_file  # noqa: PLC0415 - not needed for `--help`

        if self._file is None:
            return {}
        return metrics_file.parse_metrics_text(
            self._file.text, self._file.path, tuple(declared), self._now
        ).samples
