"""Make profiles from policies, configuration and plugins."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched import errors, spelling
from policysched.cluster import elapsed_time, metric_needs, snapshot
from policysched.cluster.pods import shape_projection
from policysched.config import config
from policysched.extenders import settings as extender_settings
from policysched.framework import handles, preemptions, profile, runtime, shadow
from policysched.inputs import policy_sources
from policysched.plugins import registry
from policysched.profiles import plugin_sets, profile_choice

if TYPE_CHECKING:
    from policysched.compiler import compiler
    from policysched.compiler.metrics import readings
    from policysched.lang import source
    from policysched.lang.checked import checked
    from policysched.lang.checking import checker
    from policysched.lang.diagnostics import diagnostics

_log = logging.getLogger(__name__)


class PolicyError(errors.InputError):
    """Policy texts have errors; the exception text shows all of them, as `check` does."""

    def __init__(self, result: checker.CheckResult) -> None:
        from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - only faults need it

        self.result = result
        shown = [
            rendering.render_diagnostic(finding, result.texts) for finding in result.diagnostics
        ]
        summary = rendering.summarise_findings(result.diagnostics)
        super().__init__("policies", "\n\n".join([summary, *shown]))


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileSpec:
    """A profile before its plugins are created.

    Attributes:
        name: the schedulerName.
        number: index among the profiles of the policies; None if the policies do not declare it.
        layers: changes to its plugins, in the order in which they apply.
    """

    name: str
    number: int | None = None
    layers: tuple[plugin_sets.PluginLayer, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class PolicySet:
    """Profiles and policies, independent of any cluster.

    Attributes:
        program: the checked policies; None if there are none.
        specs: profiles in the order of the policy texts, then of the configuration.
        plugins: the registry that creates the plugins.
        warnings: rendered findings of the check that are not errors.
        findings: the same findings, unrendered.
        texts: the texts of the policies, with their positions in files.
    """

    program: checked.CheckedProgram | None
    specs: tuple[ProfileSpec, ...]
    plugins: registry.PluginRegistry
    warnings: tuple[str, ...] = ()
    findings: tuple[diagnostics.Diagnostic, ...] = ()
    texts: tuple[source.SourceText, ...] = ()

    @property
    def content_hash(self) -> str:
        """Hash of the policies and params; "" without policies."""
        return self.program.content_hash if self.program else ""

    @property
    def node_metrics(self) -> list[checked.CheckedMetric]:
        """Node metrics that policies declare or profiles read, one for each key."""
        return [metric for metric in self.all_metrics if metric.target == "node"]

    @property
    def all_metrics(self) -> list[checked.CheckedMetric]:
        """Node and cluster metrics that policies declare or profiles read, one for each key."""
        if self.program is None:
            return []
        found = {metric.key: metric for metric in self.program.metrics}
        for each in self.program.profiles:
            found |= {metric.key: metric for metric in (*each.metrics, *each.cluster_metrics)}
        return list(found.values())


def load_policy_set(
    paths: Sequence[str],
    params: Mapping[str, str],
    scheduler_name: str | None = None,
    configuration: config.Config | None = None,
    now: datetime.datetime | None = None,
    judge: Callable[[checker.CheckResult], checker.CheckResult] | None = None,
) -> PolicySet:
    """Return the profiles that policy files and a configuration describe.

    Args:
        paths: see `policy_sources.read_policy_texts`; without any, kube-scheduler's default
            profile.
        params: values of params, which override those of the configuration.
        scheduler_name: name of the profile if the texts do not declare one.
        configuration: additional profiles, and plugins of the profiles.
        now: time for warnings about expired rules; None for no warnings.
        judge: changes the result of the check; see `make_policy_set_from_texts`.

    Raises:
        PolicyError: a text has errors.
        InputError: a path cannot be read.
        ConfigurationError: params without policies, or an unknown `scheduler_name`.
    """
    configuration = configuration or config.Config()
    given = convert_params_to_text(configuration) | dict(params)
    if paths:
        sources = policy_sources.read_policy_texts(paths)
        return make_policy_set_from_texts(sources, given, scheduler_name, configuration, now, judge)
    if given:
        problem = f"the param `{next(iter(given))}` needs policies"
        raise errors.ConfigurationError("params", problem, help="give --policies")
    implied = []
    if scheduler_name or not configuration.profiles:
        name = scheduler_name or profile_choice.DEFAULT_SCHEDULER_NAME
        implied = [ProfileSpec(name)]
    specs = _apply_configuration(implied, configuration)
    return PolicySet(None, tuple(specs), registry.create_installed_registry())


def convert_params_to_text(configuration: config.Config) -> dict[str, str]:
    """Return the values of a configuration's params as text, which the checker expects."""
    return {name: str(value) for name, value in configuration.params.items()}


def make_policy_set_from_texts(
    sources: Sequence[source.SourceText],
    params: Mapping[str, str],
    scheduler_name: str | None = None,
    configuration: config.Config | None = None,
    now: datetime.datetime | None = None,
    judge: Callable[[checker.CheckResult], checker.CheckResult] | None = None,
) -> PolicySet:
    """Return the profiles that policy texts describe; see `load_policy_set`.

    `judge` can change the result of the check; `lint_gate` has such functions.

    Raises:
        PolicyError: a text has errors.
        ConfigurationError: the texts and the configuration have no profile called `scheduler_name`.
    """
    # A process without policies starts faster without the language.
    from policysched.lang.checking import checker  # noqa: PLC0415 - see above
    from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - see above

    plugins = registry.create_installed_registry()
    seconds = now.timestamp() if now else None
    result = checker.check(sources, given=params, plugins=plugins.list_plugin_names(), now=seconds)
    result = judge(result) if judge else result
    if result.program is None:
        raise PolicyError(result)
    implied_name = scheduler_name or profile_choice.DEFAULT_SCHEDULER_NAME
    own = make_profile_specs(result.program, implied_name)
    specs = _apply_configuration(own, configuration or config.Config())
    if scheduler_name is not None and all(spec.name != scheduler_name for spec in specs):
        declared = spelling.join_alternatives(f"`{spec.name}`" for spec in specs)
        problem = f"there is no profile `{scheduler_name}`"
        raise errors.ConfigurationError(
            "--scheduler-name", problem, help=f"the policies declare {declared}"
        )
    rendered = tuple(rendering.render_diagnostic(each, result.texts) for each in result.diagnostics)
    findings = tuple(result.diagnostics)
    return PolicySet(result.program, tuple(specs), plugins, rendered, findings, tuple(sources))


def make_profile_specs(program: checked.CheckedProgram, implied_name: str) -> list[ProfileSpec]:
    """Return the profiles of a program; a profile without a name is called `implied_name`."""
    return [_make_profile_spec(n, each, implied_name) for n, each in enumerate(program.profiles)]


def _make_profile_spec(number: int, each: checked.CheckedProfile, implied_name: str) -> ProfileSpec:
    """Return the spec of one profile of the policies, with its plugin changes as one layer."""
    settings = tuple(
        plugin_sets.PluginEntry(plugin.name, str(plugin.span), plugin.weight, plugin.args)
        for plugin in each.plugins
    )
    layer = plugin_sets.PluginLayer(
        where=str(each.span) if each.span else "policies",
        settings=settings,
        disabled=each.disabled,
        disabled_scores=each.disabled_scores,
        disable_all_scores=each.disable_all_scores,
        builtin_weight=each.builtin_weight,
    )
    return ProfileSpec(each.name or implied_name, number, (layer,))


def _apply_configuration(
    specs: Iterable[ProfileSpec], configuration: config.Config
) -> list[ProfileSpec]:
    """Return the profiles of policies and of the configuration, with all its changes."""
    configured = _add_configured_plugins(specs, configuration)
    ignored = extender_settings.list_ignored_resources(configuration.extenders)
    if not ignored:
        return configured
    return [_ignore_resources(spec, ignored) for spec in configured]


def _ignore_resources(spec: ProfileSpec, ignored: tuple[str, ...]) -> ProfileSpec:
    """Return a profile whose last layer makes NodeResourcesFit ignore only these resources.

    Like kube-scheduler, replace the argument of the profile.
    """
    last = spec.layers[-1] if spec.layers else plugin_sets.PluginLayer("default")
    layer = dataclasses.replace(last, ignored_resources=ignored)
    return dataclasses.replace(spec, layers=(*spec.layers[:-1], layer))


def _add_configured_plugins(
    specs: Iterable[ProfileSpec], configuration: config.Config
) -> list[ProfileSpec]:
    """Return the profiles with layers from the configuration, and the profiles that it adds."""
    by_name = {spec.name: spec for spec in specs}
    for each in configuration.profiles:
        where = f"profile `{each.scheduler_name}` of the configuration"
        layer = plugin_sets.PluginLayer(
            where=where,
            settings=tuple(
                plugin_sets.PluginEntry(plugin.name, where, plugin.weight, plugin.args)
                for plugin in each.plugins
            ),
            disabled=each.disabled,
            disabled_scores=each.disabled_scores,
        )
        base = by_name.get(each.scheduler_name) or ProfileSpec(each.scheduler_name)
        by_name[base.name] = dataclasses.replace(base, layers=(*base.layers, layer))
    return list(by_name.values())


# --- plugins -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles with their plugins.

    Attributes:
        by_name: schedulerName → profile.
        annotation_keys: pod annotations that policies read.
        next_change: returns the next time at which a rule takes or loses effect; None for never.
        next_metric_change: returns the next time at which verdicts can change because samples
            become stale or recent placements expire; None for never.
        metric_needs: metric samples that the cache must keep.
        metric_readers: readers of the metrics that rules use, for the exporter.
        shadows: schedulerName → shadow candidates of the profile.
    """

    by_name: Mapping[str, profile.Profile]
    annotation_keys: frozenset[str]
    next_change: Callable[[datetime.datetime], datetime.datetime | None]
    next_metric_change: Callable[[snapshot.Snapshot], datetime.datetime | None]
    metric_needs: metric_needs.MetricNeeds
    metric_readers: tuple[readings.MetricReader, ...] = ()
    shadows: Mapping[str, tuple[shadow.Candidate, ...]] = dataclasses.field(default_factory=dict)

    @property
    def time_bounds(self) -> elapsed_time.TimeBounds:
        """The times of pods and nodes at which answers of any profile change."""
        return elapsed_time.join_bounds(each.time_bounds for each in self.by_name.values())


def compile_policy_set(policy_set: PolicySet) -> compiler.CompiledProgram | None:
    """Return the compiled rules of all profiles, or None without policies; thread-safe."""
    if policy_set.program is None:
        return None
    from policysched.compiler import compiler  # noqa: PLC0415 - only policies need it

    return compiler.compile_program(policy_set.program)


def make_profiles(
    policy_set: PolicySet,
    handle: handles.Handle,
    compiled: compiler.CompiledProgram | None = None,
) -> Profiles | list[plugin_sets.PluginSetFault]:
    """Return the profiles with new plugins, or a list of all faults.

    `compiled` is the result of `compile_policy_set` for this policy set, if available.
    """
    compiled = compiled or compile_policy_set(policy_set)
    faults: list[plugin_sets.PluginSetFault] = []
    made: dict[str, profile.Profile] = {}
    shadows: dict[str, tuple[shadow.Candidate, ...]] = {}
    for spec in policy_set.specs:
        found = plugin_sets.assemble_plugin_set(spec.layers, policy_set.plugins, handle)
        if isinstance(found, list):
            faults += found
            continue
        of_text = _find_compiled_policies(spec, compiled)
        made[spec.name] = _make_profile(spec, found, of_text)
        if of_text is not None and of_text.shadows:
            shadows[spec.name] = _make_shadow_candidates(spec, of_text, policy_set.plugins, handle)
    faults = faults or _find_queue_order_conflicts(made)
    if faults:
        return faults
    keys = compiled.annotation_keys if compiled else frozenset()
    return Profiles(
        made,
        keys,
        functools.partial(_find_next_rule_change, compiled),
        compiled.next_metric_change if compiled else lambda _snap: None,
        compiled.metric_needs if compiled else metric_needs.MetricNeeds(),
        _list_metric_readers(compiled) if compiled else (),
        shadows,
    )


def _list_metric_readers(compiled: compiler.CompiledProgram) -> tuple[readings.MetricReader, ...]:
    return (*compiled.metric_parts.readers(), *compiled.shadow_metric_parts.readers())


def _find_compiled_policies(
    spec: ProfileSpec, compiled: compiler.CompiledProgram | None
) -> compiler.CompiledPolicies | None:
    if compiled is None:
        return None
    return compiled.others if spec.number is None else compiled.profiles[spec.number]


def _make_profile(
    spec: ProfileSpec, found: plugin_sets.PluginSet, of_text: compiler.CompiledPolicies | None
) -> profile.Profile:
    """Return a profile with its plugins and, if the policies have any, its compiled rules."""
    if of_text is None:
        return profile.Profile(
            spec.name,
            tuple(found.plugins),
            found.weights,
            projection=shape_projection.PodFieldsRead(),
        )
    return profile.Profile(
        spec.name,
        plugins=(*found.plugins, *of_text.plugins),
        weights={**found.weights, **of_text.weights},
        tolerations=of_text.tolerations,
        policy_hash=of_text.policy_hash,
        policies=of_text.policies,
        preemption_limits=of_text.preemption_limits,
        projection=of_text.projection,
        time_bounds=of_text.time_bounds,
    )


def _make_shadow_candidates(
    spec: ProfileSpec,
    of_text: compiler.CompiledPolicies,
    plugins: registry.PluginRegistry,
    handle: handles.Handle,
) -> tuple[shadow.Candidate, ...]:
    """Return a profile's shadow candidates, whose plugins share no state with the real plugins."""
    apart = dataclasses.replace(
        handle,
        preemptions=preemptions.PreemptionsInProgress(),
        volume_writer=handles.NoVolumeWriter(),
        rng=None,
    )
    found = plugin_sets.assemble_plugin_set(spec.layers, plugins, apart)
    if isinstance(found, list):
        # A plugin that allows only one instance is already in use by the real decisions.
        _log.warning("shadow policies of profile %s are not evaluated: %s", spec.name, found[0])
        return ()
    return tuple(
        shadow.Candidate(
            each.policy,
            runtime.Framework(_make_profile(spec, found, each.compiled), None),
            each.concerns,
        )
        for each in of_text.shadows
    )


def _find_next_rule_change(
    compiled: compiler.CompiledProgram | None, now: datetime.datetime
) -> datetime.datetime | None:
    changes = [each.next_change(now) for each in compiled.profiles] if compiled else []
    return min((change for change in changes if change is not None), default=None)


def _find_queue_order_conflicts(
    made: Mapping[str, profile.Profile],
) -> list[plugin_sets.PluginSetFault]:
    """Return a fault if profiles order their shared queue with different plugins."""
    sorting = {name: _get_queue_sort_name(each) for name, each in made.items()}
    if len(set(sorting.values())) == 1:
        return []
    said = ", ".join(f"`{name}` by {plugin}" for name, plugin in sorting.items())
    problem = f"all profiles share one queue, so they must order it in the same way: {said}"
    return [plugin_sets.PluginSetFault("profiles", problem)]


def _get_queue_sort_name(each: profile.Profile) -> str:
    return next(plugin.name for plugin in each.plugins if hasattr(plugin, "sort_key"))


def require_profiles(made: Profiles | list[plugin_sets.PluginSetFault]) -> Profiles:
    """Return the profiles, or raise if there are faults.

    Raises:
        ConfigurationError: there are faults; the text lists all of them.
    """
    if isinstance(made, Profiles):
        return made
    first, *rest = made
    further = "".join(f"\n{fault}" for fault in rest)
    problem = first.problem + (f" ({first.help})" if first.help else "")
    raise errors.ConfigurationError(first.where, problem + further)


def verify_profile_creation(policy_set: PolicySet) -> None:
    """Verify that the profiles can be created, by creating them once.

    Raises:
        ConfigurationError: a profile cannot be created.
    """
    require_profiles(make_profiles(policy_set, handles.Handle()))
