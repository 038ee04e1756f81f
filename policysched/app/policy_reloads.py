"""The part of `run` that follows policies while they change."""

from __future__ import annotations

import dataclasses
import datetime
import random
from collections.abc import Coroutine
from typing import Any

from policysched.app import context
from policysched.config import config
from policysched.kube import config_maps
from policysched.kube.http import client
from policysched.leadership import terms
from policysched.observability import recorders
from policysched.reload import (
    config_map_source,
    history_keeper,
    reloader,
    reporting,
    starting,
    state,
    status_annotations,
    versions,
)


def first_state(
    start: starting.Start, source: starting.Source | None, now: datetime.datetime
) -> state.PolicyState:
    """Return what is known about the policies of a process that starts now."""
    origin = source.origin if source else "none"
    version = state.in_use(start.checked, now)
    return state.PolicyState(origin, version, is_frozen=start.offer.is_frozen)


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """What following policies needs of the process around it.

    Attributes:
        settings: where they come from, and what is kept of them.
        state: which version is in use.
        api: the API server with the ConfigMaps.
        elector: only the leader writes.
        recorder: of events about the ConfigMap.
        rng: chance.
        background: runs until the process ends; what follows is added.
    """

    settings: config.PoliciesConfig
    state: state.PolicyState
    api: client.ApiClient
    elector: terms.Elector
    recorder: recorders.Recorder
    rng: random.Random
    background: list[Coroutine[None, None, None]]


def add_to(
    joined: context.Wired,
    start: starting.Start,
    source: starting.Source | None,
    recipe: versions.Recipe,
) -> None:
    """Follow `source`, tell people of it, and keep versions."""
    policies = joined.policies
    joined.own_metrics.add(lambda: reporting.of_policies(policies))
    joined.pages[reporting.PATH] = lambda _query: reporting.page(policies)
    if source is None:
        return
    if isinstance(source, config_map_source.ConfigMapSource):
        joined.config_map = lambda: source.last
    make = reloader.profiles_by(joined.writers.handle(joined.scheduler, joined.rng))
    reloads = reloader.Reloader(
        recipe, policies, joined.profiles, make, joined.clock, known=start.offer
    )
    around = Surroundings(
        joined.config.policies,
        policies,
        joined.api,
        joined.elector,
        joined.writers.recorder,
        joined.rng,
        joined.background,
    )
    follow(around, start, source, reloads)


def follow(
    around: Surroundings,
    start: starting.Start,
    source: starting.Source,
    reloads: reloader.Reloader[Any],
) -> None:
    """Let `reloads` take what `source` has; keep versions, and tell of them where they are."""
    _keep_versions(around)
    if isinstance(source, config_map_source.ConfigMapSource):
        _tell_on(around, source)
    if start.refusal is not None:
        around.state.refuse(start.refusal, around.state.current.loaded_at)
    around.background.append(reloads.run())
    around.background.append(source.run(reloads.take, start.offer))


def _keep_versions(around: Surroundings) -> None:
    """Keep every version that is put to use, from the first one on."""
    settings, policies = around.settings, around.state
    if not settings.history_config_map:
        return
    keeper = history_keeper.HistoryKeeper(
        config_maps.ConfigMaps(around.api),
        settings.history_config_map,
        settings.keep,
        lambda: around.elector.is_leading,
        around.rng,
    )

    def keep(told: state.Told) -> None:
        if told.outcome is state.Outcome.LOADED:
            keeper.add(policies.current, policies.origin)

    keeper.add(policies.current, policies.origin)
    policies.listeners.append(keep)
    around.background.append(keeper.run())


def _tell_on(around: Surroundings, source: config_map_source.ConfigMapSource) -> None:
    """Tell of versions by events and annotations of the ConfigMap that they come from."""
    policies = around.state
    told = reporting.ConfigMapEvents(around.recorder, lambda: source.last, policies)
    status = status_annotations.StatusAnnotations(
        policies,
        source,
        config_maps.ConfigMaps(around.api),
        lambda: around.elector.is_leading,
        around.rng,
    )
    policies.listeners += [told.tell, status.tell]
    source.on_bare = status.tell_again
    around.background.append(status.run())
