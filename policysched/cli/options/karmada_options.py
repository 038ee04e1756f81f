"""Options that change decisions and have the same names in karmada-scheduler."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cli.options import offline_options, run_flags
from policysched.cli.render import progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from policysched.inputs import karmada_file, object_lists
    from policysched.karmada.policies import cluster_policies
    from policysched.karmada.steps import algorithm as algorithms
    from policysched.profiles import cluster_policy_loading as texts


_DEFAULTS = {"plugins": "*", "feature_gates": "", "enable_empty_workload_propagation": False}


def add_karmada_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("options of karmada-scheduler")
    group.add_argument(
        "--plugins",
        metavar="NAMES",
        default=_DEFAULTS["plugins"],
        help="plugins, separated by commas: `*` for all, `-NAME` to disable one (default: *)",
    )
    group.add_argument(
        "--enable-empty-workload-propagation",
        default=_DEFAULTS["enable_empty_workload_propagation"],
        **run_flags.SWITCH,
        help="also list selected clusters that get no replicas",
    )
    group.add_argument(
        "--feature-gates",
        metavar="GATE=true,…",
        default=_DEFAULTS["feature_gates"],
        help="feature gates of Karmada, AllAlpha and AllBeta; only WorkloadAffinity, "
        "PriorityBasedScheduling, MultiplePodTemplatesScheduling and "
        "CustomizedClusterResourceModeling have an effect here",
    )


def refuse_karmada_options(args: argparse.Namespace) -> None:
    """Refuse these options of a command that decides about pods.

    Raises:
        UsageError: one of the options is given.
    """
    for name, default in _DEFAULTS.items():
        if getattr(args, name) != default:
            option = name.replace("_", "-")
            raise errors.UsageError(f"--{option} is for bindings, and the page shows pods")


def make_binding_algorithm(
    args: argparse.Namespace, policies: cluster_policies.ClusterPolicies | None = None
) -> algorithms.BindingAlgorithm:
    """Return the algorithm for the options and cluster policies.

    Raises:
        UsageError: an option is invalid.
        ConfigurationError: a plugin of another package cannot be used.
    """
    from policysched.karmada import gates  # noqa: PLC0415 - not needed for `--help`
    from policysched.karmada.plugins import registry  # noqa: PLC0415 - not needed for `--help`
    from policysched.karmada.steps import algorithm as algorithms  # noqa: PLC0415 - not needed for `--help`
    from policysched.karmada.steps import capacity, component_sets  # noqa: PLC0415 - not needed for `--help`

    on = gates.parse_karmada_feature_gates(args.feature_gates)
    plugins = registry.add_entry_point_plugins(
        registry.make_built_in_factories(with_workload_affinity=on.workload_affinity)
    )
    return algorithms.BindingAlgorithm(
        registry.create_selected_plugins(plugins, _split_plugins(args.plugins)),
        estimator=functools.partial(
            component_sets.count_available_sets
            if on.component_sets
            else capacity.count_available_replicas,
            with_models=on.resource_models,
        ),
        places_sets=on.component_sets,
        with_empty_clusters=args.enable_empty_workload_propagation,
        policies=policies,
    )


def find_plugin_name_warnings(args: argparse.Namespace) -> list[str]:
    """Return warnings about names in `--plugins` that have no effect, here and in Karmada.

    Raises:
        ConfigurationError: a plugin of another package has the name of a built-in plugin.
    """
    from policysched.karmada.plugins import registry  # noqa: PLC0415 - not needed for `--help`

    known = registry.add_entry_point_plugins(
        registry.make_built_in_factories(with_workload_affinity=True)
    )
    return [
        f"--plugins: there is no plugin `{word.lstrip('-')}`, so `{word}` changes nothing"
        for word in registry.find_unknown_plugins(known, _split_plugins(args.plugins))
    ]


def _split_plugins(plugins: str) -> list[str]:
    return [word.strip() for word in plugins.split(",")]


def load_cluster_policies(args: argparse.Namespace) -> texts.LoadedClusterPolicies:
    """Load the cluster policies that the options name, as of the time in `--now`.

    Raises:
        InputError: a policy or a metric value is invalid.
        UsageError: an option is invalid.
    """
    from policysched.profiles import cluster_policy_loading as texts  # noqa: PLC0415 - slow to import

    offline_options.refuse_empty_options(args, "metrics", "scheduler_name")
    if args.cluster == "-" and "-" in (args.policies or ()):
        raise errors.UsageError(
            "both the cluster and the policies are `-`; name a file for one of them"
        )
    if not args.policies:
        if args.params or args.metrics:
            raise errors.UsageError("params and metrics need policies; give --policies")
        return texts.LoadedClusterPolicies(None, (), ())
    loaded = texts.load_cluster_policies(
        texts.ClusterPolicyInputs(
            tuple(args.policies),
            args.now or clocks.SystemClock().now(),
            offline_options.parse_param_values(args.params or ()),
            args.metrics,
            args.scheduler_name,
        )
    )
    offline_options.print_finding_warnings(loaded.warnings)
    offline_options.print_unmeasured_metrics_note(loaded.unmeasured, "cluster")
    return loaded


def read_control_planes(
    inputs: object_lists.InputLists[karmada_file.KarmadaControlPlane],
    args: argparse.Namespace,
    loaded: texts.LoadedClusterPolicies,
) -> Iterator[karmada_file.KarmadaControlPlane]:
    """Yield each control plane; warn about unknown clusters in `--metrics`."""
    found = progress.iterate_with_progress(inputs.places, "reading the input", [args.cluster])
    return offline_options.iterate_warning_of_unknown_names(
        (plane for _, plane in found),
        lambda plane: [each.metadata.name for each in plane.clusters],
        loaded.metrics,
        "cluster",
        are_lines=inputs.is_lines,
    )
