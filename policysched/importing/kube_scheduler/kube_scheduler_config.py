"""Imports KubeSchedulerConfiguration, v1beta1 to v1 (`kubescheduler.config.k8s.io`)."""

from __future__ import annotations

from typing import Any

from policysched import errors
from policysched.importing.facts import plugin_facts
from policysched.importing.kube_scheduler import extenders, plugin_arguments, plugin_points, serving
from policysched.importing.reading import fields
from policysched.importing.result import findings, import_draft, profile_plan
from policysched.plugins import registry

KIND = "KubeSchedulerConfiguration"
GROUP = "kubescheduler.config.k8s.io/"
DEFAULT_NAME = "default-scheduler"
_ALL_NODES = 100
_SCORES_ALL = "policysched always filters and scores every node, so it may choose a better node"
_SENDS_DEFAULT = (
    f"{_SCORES_ALL}; it sends extenders the number of nodes that kube-scheduler sends by default"
)
_AT_ONCE = "policysched computes all nodes at once"


def import_kube_scheduler_config(
    given: fields.StrictFields, made: import_draft.ImportDraft
) -> None:
    """Convert the profiles and the other fields of a configuration file, and add them to the draft.

    Raises:
        InputError: the version is not in `plugin_facts.VERSIONS`, or a field has the wrong type.
    """
    version = _parse_config_version(given)
    ignored = extenders.import_extenders(given, made)
    _note_percentage_of_nodes(given, made)
    profiles = given.read_objects("profiles")
    for profile in profiles:
        _import_profile(profile, version, ignored, made)
    if not profiles:
        plan = profile_plan.ProfileDraft(DEFAULT_NAME, version, given.place)
        _import_plugins(plan, None, ignored, made)
        made.add_plan(plan)
    _import_fields_outside_profiles(given, made)
    given.report_unread_fields()


def _parse_config_version(given: fields.StrictFields) -> str:
    """Return the API version of the configuration, such as `v1beta3`; refuse unknown versions."""
    api_version = given.read_text("apiVersion")
    given.skip_fields("kind")
    version = api_version.removeprefix(GROUP)
    if version not in plugin_facts.VERSIONS:
        where = f"{given.place.where}:{given.locate_field('apiVersion').line}"
        known = ", ".join(plugin_facts.VERSIONS)
        problem = f"`{api_version}` is not a supported version"
        advice = f"the supported versions of {GROUP[:-1]} are {known}"
        raise errors.InputError(where, problem, help=advice)
    return version


# ---------------------------------------------------------------------------- profiles


def _import_profile(
    profile: fields.StrictFields,
    version: str,
    ignored: tuple[str, ...],
    made: import_draft.ImportDraft,
) -> None:
    name = profile.read_text("schedulerName", DEFAULT_NAME)
    _note_percentage_of_nodes(profile, made)
    plan = profile_plan.ProfileDraft(name, version, profile.place)
    _import_plugins(plan, profile, ignored, made)
    made.add_plan(plan)


def _import_plugins(
    plan: profile_plan.ProfileDraft,
    profile: fields.StrictFields | None,
    ignored: tuple[str, ...],
    made: import_draft.ImportDraft,
) -> None:
    """Apply `plugins` and `pluginConfig` of a profile to the plan."""
    args = (
        plugin_arguments.read_plugin_arguments(profile, plan.version) if profile is not None else {}
    )
    given = profile.read_object("plugins") if profile is not None else None
    points = plugin_points.resolve_enabled_plugins(given, plan.version)
    for name in plugin_facts.DECIDES:
        _set_plugin_settings(plan, name, points, made)
    for name, settings in args.items():
        if name in plan.choices:
            plan.choices[name].args = dict(settings.value)
            plan.choices[name].comment = plan.choices[name].comment or settings.place.origin_comment
            plan.choices[name].args_at = settings.place
    _import_resource_scores(plan, points, args)
    _add_out_of_tree_plugins(plan, points, args, made)
    _report_removed_plugins(points, made)
    if ignored:
        plan.replace_ignored_resources(ignored, "resources of extenders")


def _set_plugin_settings(
    plan: profile_plan.ProfileDraft,
    name: str,
    points: plugin_points.PluginPoints,
    made: import_draft.ImportDraft,
) -> None:
    """Set whether a built-in plugin is on and whether it scores; report other combinations."""
    wanted = plugin_facts.DECIDES[name]
    if name == "NodeResourcesFit" and plan.version == "v1beta1":
        wanted = frozenset({"filter"})
    enabled = points.find_extension_points(name)
    deciding = enabled & wanted
    choice = plan.choices[name]
    if name in points.places or deciding != wanted:
        choice.comment, choice.at = (
            points.get_origin_comment(name),
            points.get_location(name, plan.at),
        )
    choice.weight = points.weights["score"].get(name, choice.weight)
    choice.is_on = bool(deciding)
    choice.scores = "score" in deciding or "score" not in wanted
    if name in ("PrioritySort", "DefaultBinder") and not choice.is_on:
        _reenable_mandatory_plugin(plan, name, points, made)
    elif deciding and wanted - deciding - {"score"}:
        _report_partial_plugin(plan, name, points, made)
    prepares = "preFilter" in plugin_facts.POINTS[name] and name in _NEED_PRE_FILTER
    if prepares and "filter" in enabled and "preFilter" not in enabled:
        problem = f"`{name}` filters without its preFilter; kube-scheduler then fails pods"
        made.report.warn(
            points.get_location(name, plan.at),
            problem,
            "here the whole plugin is enabled; disable it if it is unwanted",
        )


_NEED_PRE_FILTER = frozenset({"NodePorts", "NodeResourcesFit", "PodTopologySpread"}) | {
    *("InterPodAffinity", "VolumeBinding")
}


def _reenable_mandatory_plugin(
    plan: profile_plan.ProfileDraft,
    name: str,
    points: plugin_points.PluginPoints,
    made: import_draft.ImportDraft,
) -> None:
    """Keep a plugin that every profile needs enabled, and warn that the source disables it."""
    plan.choices[name].is_on = True
    problem = f"`{name}` is disabled, but every profile needs it; it stays enabled"
    made.report.warn(
        points.get_location(name, plan.at), problem, "install a plugin that replaces it"
    )


def _report_partial_plugin(
    plan: profile_plan.ProfileDraft,
    name: str,
    points: plugin_points.PluginPoints,
    made: import_draft.ImportDraft,
) -> None:
    """Warn that the source enables a plugin at only some of its deciding extension points."""
    missing = sorted(plugin_facts.DECIDES[name] - points.find_extension_points(name) - {"score"})
    problem = f"`{name}` is enabled without {' and '.join(missing)}; here it is enabled as a whole"
    advice = f"write `disable {name}` if its filter is not wanted either"
    made.report.warn(points.get_location(name, plan.at), problem, advice)


def _import_resource_scores(
    plan: profile_plan.ProfileDraft,
    points: plugin_points.PluginPoints,
    args: dict[str, plugin_arguments.PluginArguments],
) -> None:
    """Add the former resource score plugins as strategies of NodeResourcesFit."""
    scores = [
        profile_plan.ResourceStrategyScore(
            plugin_facts.RESOURCE_STRATEGIES[name],
            weight,
            points.get_origin_comment(name),
            plugin_arguments.convert_to_scoring_strategy(args.get(name)),
            points.get_location(name, plan.at),
        )
        for name, weight in points.weights["score"].items()
        if name in plugin_facts.RESOURCE_STRATEGIES
    ]
    has_own = plan.version != "v1beta1" and "NodeResourcesFit" in points.weights["score"]
    if not has_own or scores:
        profile_plan.add_resource_scores(plan, scores, replaces_fit=not has_own)


def _add_out_of_tree_plugins(
    plan: profile_plan.ProfileDraft,
    points: plugin_points.PluginPoints,
    args: dict[str, plugin_arguments.PluginArguments],
    made: import_draft.ImportDraft,
) -> None:
    """Add out-of-tree plugins that are installed here, and report the others."""
    installed = registry.create_installed_registry().list_plugin_names()
    for name, place in points.out_of_tree.items():
        if name in installed:
            weight = points.weights["score"].get(name, 1)
            settings = args.get(name)
            own = dict(settings.value) if settings else None
            plan.others[name] = profile_plan.DraftPluginSettings(
                weight, args=own, comment=place.origin_comment, at=place
            )
            continue
        problem = f"the plugin `{name}` is not installed here"
        advice = "write it as a policy, or install a policysched plugin of this name"
        made.report.warn(place, problem, advice)
    for name, settings in args.items():
        known = name in plan.choices or name in plan.others or settings.is_strategy
        if not known:
            problem = f"the arguments of `{name}` are left out with the plugin"
            advice = plugin_facts.GONE.get(name, "express them as a policy")
            made.report.warn(settings.place, problem, advice)


def _report_removed_plugins(
    points: plugin_points.PluginPoints, made: import_draft.ImportDraft
) -> None:
    """Report plugins that the source names but Kubernetes has removed."""
    for name, advice in plugin_facts.GONE.items():
        place = points.places.get(name)
        if place is None:
            continue
        if points.find_extension_points(name):
            problem = f"Kubernetes has removed the plugin `{name}`"
        elif name in plugin_facts.IN_TREE_LIMITS and points.find_extension_points(
            "NodeVolumeLimits"
        ):
            problem = f"`{name}` cannot be off by itself"
        else:
            continue
        made.report.warn(place, problem, advice)


# ---------------------------------------------------------------------------- other fields


def _note_percentage_of_nodes(given: fields.StrictFields, made: import_draft.ImportDraft) -> None:
    """Note a percentage that policysched does not use; extenders must be imported before."""
    percentage = given.read_integer("percentageOfNodesToScore")
    has_extenders = "extenders" in made.config
    if percentage is None or (percentage == _ALL_NODES and not has_extenders):
        return
    problem = f"`percentageOfNodesToScore: {percentage}` has no counterpart"
    advice = _SENDS_DEFAULT if has_extenders else _SCORES_ALL
    given.report.note(given.locate_field("percentageOfNodesToScore"), problem, advice)


def _import_fields_outside_profiles(
    given: fields.StrictFields, made: import_draft.ImportDraft
) -> None:
    """Add the fields outside profiles; report those without a counterpart."""
    backoffs = {
        name: (given.locate_field(name), given.read_integer(name))
        for name in ("podInitialBackoffSeconds", "podMaxBackoffSeconds")
    }
    made.set_config_fields({name: said for name, said in backoffs.items() if said[1] is not None})
    if "parallelism" in given:
        problem = f"`parallelism: {given.read_integer('parallelism')}` has no counterpart"
        given.report.note(given.locate_field("parallelism"), problem, _AT_ONCE)
    for name in ("leaderElection", "clientConnection"):
        inner = given.read_object(name)
        if inner is not None:
            _set_group_fields(name, inner, made)
    serving.add_serving_fields(given, made)
    if "delayCacheUntilActive" in given and given.read_boolean(
        "delayCacheUntilActive", default=False
    ):
        problem = "`delayCacheUntilActive: true` has no counterpart"
        given.report.warn(
            given.locate_field("delayCacheUntilActive"),
            problem,
            "a standby of policysched keeps its cache",
        )


def _set_group_fields(
    name: str, inner: fields.StrictFields, made: import_draft.ImportDraft
) -> None:
    """Add the fields of a group that the configuration of policysched also has."""
    group: dict[str, tuple[findings.ValueLocation, Any]] = {}
    for key in inner.list_keys():
        value: Any = (
            inner.read_boolean(key, default=False) if key in _BOOLEANS else inner.read_value(key)
        )
        at = inner.locate_field(key)
        if (name, key) == ("clientConnection", "kubeconfig"):
            if value:
                made.run_options["--kubeconfig"] = str(value)
        elif (name, key) in _OWN_LEASE:
            report_lease_not_taken_over(f"{name}.{key}: {value}", at, made.report)
        elif value != "":
            group[key] = (at, value)
    made.set_config_group(name, group)


def report_lease_not_taken_over(
    what: str, at: findings.ValueLocation, report: findings.FindingCollector
) -> None:
    """Report that the lease of kube-scheduler is not used."""
    problem = f"`{what}` is left out: policysched uses its own lease"
    report.note(at, problem, "schedulers that share a lease take turns, and pods stay Pending")


_BOOLEANS = frozenset({"leaderElect"})
_OWN_LEASE = {("leaderElection", "resourceName"), ("leaderElection", "resourceLock")}
