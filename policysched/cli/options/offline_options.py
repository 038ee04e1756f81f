"""Options that `explain` and `simulate` share: a cluster from a file, policies, metrics, a time."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import pathlib
import re
import sys
from typing import TYPE_CHECKING, TypeVar

from policysched import clock as clocks
from policysched import errors, spelling
from policysched.cli.options import cluster_options
from policysched.cli.render import output, progress

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from policysched.config import config
    from policysched.extenders import settings
    from policysched.inputs import metrics_file
    from policysched.offline import sessions

_ClusterT = TypeVar("_ClusterT")
_PARAMS = re.compile(r",(?=[A-Za-z_]\w*=)")
_MUCH_YAML_MEGABYTES = 20
_PROFILES = """\
The schedulerName of a pod selects its profile. If no profile has this name, the pod uses the only
profile, or the one called `policysched`. With several profiles of other names, the pod is left out,
as `run` would leave it to another scheduler. --scheduler-name N selects profile N for all pods.
Without policies, and for policies without a profile, there is one profile, called `policysched` or
N: kube-scheduler's default plugins and all policies.
"""


def add_offline_options(
    parser: argparse.ArgumentParser, *, is_again: bool = False, takes_several: bool = True
) -> None:
    """Add the options.

    Args:
        parser: the parser of a command or of one of its forms.
        is_again: whether this is a form of a command that already has the options.
        takes_several: as for `add_policy_options`.
    """
    parser.epilog = _PROFILES
    group = parser.add_argument_group("cluster")
    default = argparse.SUPPRESS if is_again else None
    cluster_options.add_cluster_options(
        group,
        "the output of `kubectl get nodes,pods -A -o json` (or yaml), optionally with "
        "namespaces, services and workloads; `-` reads it, or JSON lines with one List on each "
        "line, from stdin",
        default,
    )
    add_policy_options(group, default, takes_several=takes_several)
    group.add_argument(
        "--metrics",
        metavar="FILE",
        help="values of metrics, as YAML or JSON: `cpu_busy: {node-1: 91%%, node-2: _}`",
        default=default,
    )
    add_now_option(group, default)
    group.add_argument(
        "--scheduler-name", metavar="N", help="use this profile for all pods", default=default
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="configuration of `run`: its profiles, plugins, params and extenders count",
        default=default,
    )
    output.add_output_option(parser, is_again=is_again)


def add_policy_options(
    group: argparse._ActionsContainer,
    default: str | None = None,
    *,
    takes_several: bool = True,
) -> None:
    """Add the options that select the policies.

    Args:
        group: the parser, or a group of its options.
        default: the value of an option that is not given.
        takes_several: whether several paths may follow one `--policies`; not if an argument of the
            command may follow them, because argparse would take it as a path.
    """
    how = "several may follow; repeatable" if takes_several else "repeatable"
    group.add_argument(
        "--policies",
        metavar="PATH",
        help=f"a .policy file, a folder of such files, or a ConfigMap manifest ({how})",
        default=default,
        action="extend" if takes_several else "append",
        nargs="+" if takes_several else None,
    )
    group.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param of the policies (repeatable)",
        default=default,
    )


def add_now_option(group: argparse._ActionsContainer, default: str | None = None) -> None:
    """Add `--now`, which replaces the clock."""
    group.add_argument(
        "--now",
        metavar="TIME",
        type=parse_now,
        help="time for `during`, `expires` and ages, such as 2026-03-02T10:00:00+01:00; "
        "default: now",
        default=default,
    )


def read_offline_inputs(args: argparse.Namespace) -> sessions.OfflineInputs:
    """Return the inputs from the options.

    Raises:
        UsageError: an option is missing or invalid.
    """
    from policysched.offline import sessions  # noqa: PLC0415 - `--help` does not need NumPy

    cluster = cluster_options.choose_cluster_source(args)
    if cluster is None:
        raise errors.UsageError(
            "--cluster is missing: a file, or `-` for stdin; --live reads a running cluster"
        )
    refuse_empty_options(args, "metrics", "scheduler_name")
    if args.cluster == "-" and "-" in (args.policies or ()):
        raise errors.UsageError(
            "both the cluster and the policies are `-`; name a file for one of them"
        )
    if isinstance(cluster, str):
        _warn_about_large_yaml(cluster)
    return sessions.OfflineInputs(
        cluster=cluster,
        policies=tuple(args.policies or ()),
        params=parse_param_values(args.params or ()),
        metrics=args.metrics,
        now=args.now or clocks.SystemClock().now(),
        scheduler_name=args.scheduler_name,
    )


def read_configured_inputs(args: argparse.Namespace) -> sessions.OfflineInputs:
    """Return the inputs from the options, including the configuration of `--config`.

    Raises:
        UsageError: an option is missing or invalid.
        InputError: the configuration cannot be read or is invalid.
    """
    inputs = read_offline_inputs(args)
    refuse_empty_options(args, "config")
    if args.config is None:
        return inputs
    return dataclasses.replace(inputs, configuration=read_configuration(args.config))


def read_configuration(path: str) -> config.Config:
    """Return the configuration in a file.

    Raises:
        InputError: the file cannot be read or is invalid.
    """
    from policysched.config import config_reading  # noqa: PLC0415 - most runs have none

    return config_reading.read_effective_config(path, ())


def print_extenders_note(counts: Mapping[settings.ExtenderSettings, int]) -> None:
    """Print a note about HTTP extenders that `run` would ask about pods; no command asks them."""
    for extender, count in counts.items():
        output.print_note_to_stderr(
            f"`run` would ask the extender {extender.name} ({', '.join(extender.verbs)}) about "
            f"{output.format_count(count, 'pod')}; the decisions here are made without it"
        )


def refuse_empty_options(args: argparse.Namespace, *names: str) -> None:
    """Refuse empty option values, which unset variables in scripts cause.

    Raises:
        UsageError: one of the options is empty.
    """
    for name in names:
        if getattr(args, name) == "":
            raise errors.UsageError(f"--{name.replace('_', '-')} is empty")


def _warn_about_large_yaml(cluster: str) -> None:
    """Print a note if a YAML file is so large that JSON would be much faster."""
    path = pathlib.Path(cluster)
    if path.suffix in (".yaml", ".yml"):
        try:
            megabytes = path.stat().st_size / 1e6
        except OSError:
            return  # reading the file reports the error
        if megabytes > _MUCH_YAML_MEGABYTES:
            output.print_note_to_stderr(
                f"reading {megabytes:,.0f} MB of YAML; JSON (`kubectl -o json`) is much faster"
            )


def print_session_warnings(session: sessions.OfflineDeciderSource) -> None:
    """Print the findings about the policies, except errors."""
    print_finding_warnings(session.warnings)


def print_finding_warnings(warnings: Sequence[str]) -> None:
    """Print rendered warnings and other findings that are not errors."""
    for warning in warnings:
        output.write_findings(warning, sys.stderr)


def print_missing_samples_note(session: sessions.OfflineDeciderSource) -> None:
    """Print a note about metrics without any sample: rules that read them act as in an outage."""
    print_unmeasured_metrics_note(session.unmeasured)


def print_unmeasured_metrics_note(unmeasured: Sequence[str], what: str = "node") -> None:
    """Print a note with the names of metrics that have no sample."""
    if unmeasured:
        names = ", ".join(f"`{name}`" for name in unmeasured)
        output.print_note_to_stderr(
            f"no {what} has a sample of {names}: rules that read them act as in an outage; "
            f"--metrics FILE supplies values"
        )


def iterate_warning_of_unknown_names(
    clusters: Iterable[_ClusterT],
    names_of: Callable[[_ClusterT], Iterable[str]],
    metrics: metrics_file.MetricsFile | None,
    what: str = "node",
    *,
    are_lines: bool,
) -> Iterator[_ClusterT]:
    """Yield clusters; warn about names in a metrics file that no cluster has.

    For JSON lines, the warning is printed after the last cluster.
    """
    known: set[str] = set()
    for cluster in clusters:
        known.update(names_of(cluster))
        if not are_lines:
            warn_about_unknown_names(metrics, what, known)
        yield cluster
    if are_lines:
        warn_about_unknown_names(metrics, what, known)


def warn_about_unknown_names(
    metrics: metrics_file.MetricsFile | None, what: str, known: Collection[str]
) -> None:
    """Warn about nodes or clusters in a metrics file that do not exist; `what` names their kind."""
    named = frozenset() if metrics is None else metrics.named.get(what, frozenset())
    unknown = sorted(named - set(known))
    if metrics is not None and unknown:
        advice = spelling.suggest_names(unknown[0], known)
        first = f"`{unknown[0]}`" + (f" ({advice})" if advice else "")
        shown = output.join_names_briefly([first, *(f"`{name}`" for name in unknown[1:])])
        output.print_warning(f"{metrics.path} names unknown {what}s, which are ignored: {shown}")


def iterate_pod_deciders(
    session: sessions.OfflineDeciderSource,
    args: argparse.Namespace,
    rng: random.Random | None = None,
) -> Iterator[sessions.PodDecider]:
    """Yield the decider of each cluster; warn about unknown nodes in `--metrics`."""
    found = progress.iterate_with_progress(
        session.make_deciders(rng), "reading the cluster", [args.cluster]
    )
    return iterate_warning_of_unknown_names(
        found,
        lambda decider: decider.cluster.cache.nodes.names,
        session.metrics,
        are_lines=session.is_lines,
    )


def print_unserved_pods_note(decider: sessions.PodDecider) -> None:
    """Print a note about pods that no profile serves."""
    left_out = decider.choice.left_out
    if left_out:
        names = ", ".join(f"`{name}` ({count:,})" for name, count in sorted(left_out.items()))
        output.print_note_to_stderr(
            f"{output.format_count(left_out.total(), 'pod')} left out, no profile serves their "
            f"schedulerName: {names}; --scheduler-name selects one profile for all pods"
        )


def format_policies_in_force(
    files: Sequence[str], policies: Sequence[str], content_hash: str
) -> str:
    """Return a text that names the policies in force, their files and their hash."""
    if not files:
        return "decided without policies"
    named = output.join_names_briefly(policies) or "no policy in force"
    return f"decided by {named} of {', '.join(files)} (hash {content_hash})"


def parse_param_values(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Parse `name=value` texts; a text can contain several of them, separated by commas.

    Raises:
        UsageError: a text has no `=`, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in (part for joined in given for part in _PARAMS.split(joined)):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise errors.UsageError(f"`{text}` is not a param; write --params name=value")
        if name in found:
            raise errors.UsageError(f"the param `{name}` is given twice")
        found[name] = value
    return found


def parse_now(text: str) -> datetime.datetime:
    """Parse an ISO 8601 time; without an offset it is UTC."""
    time = clocks.parse_time(text)
    if time is None:
        problem = f"`{text}` is not a time such as 2026-03-02T10:00:00+01:00"
        raise argparse.ArgumentTypeError(problem)
    return time
