"""The part of `run` that follows policies while they change."""

from __future__ import annotations

import datetime

from policysched.app import wired
from policysched.app.reload import (
    config_map_source,
    history_keeper,
    reloader,
    starting,
    state,
    status_annotations,
    telling,
    versions,
)
from policysched.kube import config_maps


def first_state(
    start: starting.Start, source: starting.Source | None, now: datetime.datetime
) -> state.PolicyState:
    """Return what is known about the policies of a process that starts now."""
    origin = source.origin if source else "none"
    version = state.in_use(start.checked, now)
    return state.PolicyState(origin, version, is_frozen=start.offer.is_frozen)


def add_to(
    joined: wired.Wired,
    start: starting.Start,
    source: starting.Source | None,
    recipe: versions.Recipe,
) -> None:
    """Follow `source`, tell people of it, and keep versions."""
    policies = joined.policies
    joined.own_metrics.add(lambda: telling.of_policies(policies))
    joined.pages[telling.PATH] = lambda _query: telling.page(policies)
    if source is None:
        return
    _keep_versions(joined)
    if isinstance(source, config_map_source.ConfigMapSource):
        _tell_on(joined, source)
    if start.refusal is not None:
        policies.refuse(start.refusal, joined.clock.now())
    handle = joined.writers.handle(joined.scheduler, joined.rng)
    reloads = reloader.Reloader(
        recipe, policies, joined.profiles, handle, joined.clock, known=start.offer
    )
    joined.background.append(reloads.run())
    joined.background.append(source.run(reloads.take, start.offer))


def _keep_versions(joined: wired.Wired) -> None:
    """Keep every version that is put to use, from the first one on."""
    settings, policies = joined.config.policies, joined.policies
    if not settings.history_config_map:
        return
    keeper = history_keeper.HistoryKeeper(
        config_maps.ConfigMaps(joined.api),
        settings.history_config_map,
        settings.keep,
        lambda: joined.elector.is_leading,
        joined.rng,
    )

    def keep(told: state.Told) -> None:
        if told.outcome is state.Outcome.LOADED:
            keeper.add(policies.current, policies.origin)

    keeper.add(policies.current, policies.origin)
    policies.listeners.append(keep)
    joined.background.append(keeper.run())


def _tell_on(joined: wired.Wired, source: config_map_source.ConfigMapSource) -> None:
    """Tell of versions by events and annotations of the ConfigMap that they come from."""
    policies = joined.policies
    joined.config_map = lambda: source.last
    told = telling.ConfigMapEvents(joined.writers.recorder, lambda: source.last, policies)
    status = status_annotations.StatusAnnotations(
        policies,
        source,
        config_maps.ConfigMaps(joined.api),
        lambda: joined.elector.is_leading,
        joined.rng,
    )
    policies.listeners += [told.tell, status.tell]
    source.on_bare = status.tell_again
    joined.background.append(status.run())
