"""Follow changes to the policies in `run`."""

from __future__ import annotations

import dataclasses
import datetime
import random
from collections.abc import Callable, Coroutine
from typing import Any

from policysched.app import context, writers
from policysched.config import config
from policysched.framework import handles
from policysched.kube import config_maps
from policysched.kube.http import client
from policysched.leadership import runner
from policysched.observability import event_recorders
from policysched.profiles import policies
from policysched.reload import (
    history_keeper,
    initial_version,
    reloader,
    reporting,
    state,
    status_annotations,
    versions,
)
from policysched.scheduler import scheduler as schedulers


def make_initial_policy_state(
    start: initial_version.InitialVersion,
    source: initial_version.PolicySource | None,
    checker: versions.VersionChecker,
    now: datetime.datetime,
) -> state.PolicyState:
    """Return the state of the policies at the start of a process."""
    origin = source.origin if source else "none"
    version = state.make_version_in_use(start.checked, now)
    return state.PolicyState(
        origin,
        version,
        is_frozen=start.offer.is_frozen,
        declares_stages=checker.declares_stages(start.offer),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyFollowingDependencies:
    """The components of the process that `follow_policies` uses.

    Attributes:
        settings: the configured source of the policies, and the storage of versions.
        state: the version in use.
        api: the client of the API server that stores the ConfigMaps.
        elector: reports whether this process leads; only the leader writes.
        recorder: records events about the ConfigMap.
        rng: randomises the delays of retries.
        background: coroutines that run until the process ends; extended by this module.
    """

    settings: config.PoliciesConfig
    state: state.PolicyState
    api: client.ApiClient
    elector: runner.LeaderElector
    recorder: event_recorders.ObjectEventRecorder
    rng: random.Random
    background: list[Coroutine[None, None, None]]


def add_policy_reloads(
    components: context.ProcessComponents,
    start: initial_version.InitialVersion,
    source: initial_version.PolicySource | None,
    checker: versions.VersionChecker,
) -> None:
    """Add reloads of the policies from `source` to the process; publish and store versions."""
    in_use = components.policies
    components.metrics_exporter.add_collector(lambda: reporting.collect_reload_metrics(in_use))
    components.pages[reporting.PATH] = lambda _query: reporting.make_policies_page(in_use)
    if source is None:
        return
    watched = source.watched
    if watched is not None:
        components.config_map = lambda: watched.last
    make = make_writing_profiles_factory(
        components.writers, components.scheduler, components.rng, in_use
    )
    reloads = reloader.Reloader(
        checker, in_use, components.profiles, make, components.clock, known=_get_known_offer(start)
    )
    dependencies = PolicyFollowingDependencies(
        components.config.policies,
        in_use,
        components.api,
        components.elector,
        components.writers.recorder,
        components.rng,
        components.background,
    )
    if watched is None or components.options.dry_run:
        follow_policies(dependencies, start, source, reloads)
        return
    from policysched.app import rollouts  # noqa: PLC0415 - only policies of a ConfigMap have them

    rollout_source = rollouts.make_rollout_source(watched, reloads, checker, start)
    added = rollouts.add_rollouts(components, reloads, rollout_source)

    def take(offer: versions.OfferedVersion) -> None:
        added.notice_offer(offer)
        reloads.submit_offer(offer)

    keeper = follow_policies(dependencies, start, source, reloads, take)
    if keeper is not None:
        added.store.on_missing = lambda: keeper.add_version(in_use.current, in_use.origin)


def make_writing_profiles_factory(
    written: writers.ApiWriters,
    scheduler: schedulers.Scheduler,
    rng: random.Random,
    in_use: state.PolicyState,
) -> Callable[[versions.CheckedVersion], policies.Profiles]:
    """Return a function that makes the profiles of a version, whose plugins write to the API.

    Each pod gets an annotation with the version that bound it while `in_use` says so.
    """

    def make_handle(checked: versions.CheckedVersion) -> handles.Handle:
        annotations = {versions.VERSION_ANNOTATION: checked.hash}
        return written.make_plugin_handle(
            scheduler, rng, lambda: annotations if in_use.annotates_pods else {}
        )

    return reloader.make_profiles_factory(make_handle)


def _get_known_offer(start: initial_version.InitialVersion) -> versions.OfferedVersion:
    """Return the offer that needs no more action.

    A version that has to pass stages needs some, so the version in force takes its place.
    """
    if start.staged_hash:
        return versions.OfferedVersion(start.checked.texts)
    return start.offer


def follow_policies(
    dependencies: PolicyFollowingDependencies,
    start: initial_version.InitialVersion,
    source: initial_version.PolicySource,
    reloads: reloader.Reloader[Any],
    take: Callable[[versions.OfferedVersion], None] | None = None,
) -> history_keeper.HistoryKeeper | None:
    """Feed versions of `source` to `reloads`; store them and publish them on their ConfigMap.

    `take` receives the versions; None for `reloads` alone. Return the keeper of the history, or
    None without a history.
    """
    keeper = _store_policy_versions(dependencies)
    if source.watched is not None:
        _publish_policy_status(dependencies, source.watched)
    if start.refusal is not None:
        dependencies.state.record_refusal(start.refusal, dependencies.state.current.loaded_at)
    dependencies.background.append(reloads.run())
    dependencies.background.append(source.run(take or reloads.submit_offer, start.offer))
    return keeper


def _store_policy_versions(
    dependencies: PolicyFollowingDependencies,
) -> history_keeper.HistoryKeeper | None:
    """Store every version that takes effect, including the first."""
    settings, in_use = dependencies.settings, dependencies.state
    if not settings.history_config_map:
        return None
    keeper = history_keeper.HistoryKeeper(
        config_maps.ConfigMapClient(dependencies.api),
        settings.history_config_map,
        settings.keep,
        lambda: dependencies.elector.is_leading,
        dependencies.rng,
    )

    def keep(event: state.ReloadEvent) -> None:
        if event.outcome is state.OfferOutcome.LOADED:
            keeper.add_version(in_use.current, in_use.origin)

    keeper.add_version(in_use.current, in_use.origin)
    in_use.listeners.append(keep)
    dependencies.background.append(keeper.run())
    return keeper


def _publish_policy_status(
    dependencies: PolicyFollowingDependencies, watched: status_annotations.WatchedConfigMap
) -> None:
    """Report versions in events and annotations of the ConfigMap that contains them."""
    in_use = dependencies.state
    events = reporting.PolicyEventRecorder(dependencies.recorder, lambda: watched.last, in_use)
    status = status_annotations.StatusAnnotationWriter(
        in_use,
        watched,
        config_maps.ConfigMapClient(dependencies.api),
        lambda: dependencies.elector.is_leading,
        dependencies.rng,
    )
    in_use.listeners += [events.record_reload_event, lambda _event: status.request_write()]
    watched.on_bare = status.request_write
    dependencies.background.append(status.run())
