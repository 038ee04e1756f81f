"""Add rollouts of new versions of the policies to `run`."""

from __future__ import annotations

from policysched.app import context
from policysched.kube import config_maps
from policysched.profiles import policies
from policysched.reload import initial_version, reloader, status_annotations, versions
from policysched.reload.rollouts import (
    controller,
    guard_evaluation,
    measuring,
    parts,
    query_values,
    rollout_metrics,
    rollout_store,
)
from policysched.scheduler import scheduler as schedulers


def add_rollouts(
    components: context.ProcessComponents,
    reloads: reloader.Reloader[policies.Profiles],
    source: parts.RolloutSource,
) -> controller.RolloutController:
    """Let new versions that `reloads` loads pass the declared stages; each term continues them.

    `source` offers the versions.
    """
    store = rollout_store.RolloutStore(
        config_maps.ConfigMapClient(components.api), components.config.policies.history_config_map
    )
    rollout_parts = parts.RolloutParts(
        components.profiles,
        components.policies,
        source,
        store,
        guard_evaluation.GuardEvaluator(
            measuring.StageMeasurements(components.scheduler, components.clock),
            query_values.GuardQueryClient(components.config.prometheus),
            components.clock,
        ),
        lambda: components.elector.is_leading,
    )
    rollouts = controller.RolloutController(rollout_parts, components.clock, components.rng)
    reloads.stages = rollouts
    components.term = TermWithRollouts(rollouts, components.scheduler)
    components.background.append(rollouts.run())
    components.metrics_exporter.add_collector(
        lambda: rollout_metrics.collect_rollout_metrics(components.policies, rollouts)
    )
    return rollouts


def make_rollout_source(
    watched: status_annotations.WatchedConfigMap,
    reloads: reloader.Reloader[policies.Profiles],
    checker: versions.VersionChecker,
    start: initial_version.InitialVersion,
) -> parts.RolloutSource:
    """Return the source of versions that a controller sees."""
    return parts.RolloutSource(
        watched.catch_up,
        lambda: reloads.is_busy,
        lambda: reloads.is_hindered,
        lambda offer: checker.compute_hash(offer.texts),
        start.staged_hash if start.offer.is_frozen else "",
    )


class TermWithRollouts:
    """A term of a leader: continue the running rollout, then schedule (`runner.LeaderTask`)."""

    def __init__(
        self, rollouts: controller.RolloutController, scheduler: schedulers.Scheduler
    ) -> None:
        """Let `rollouts` lead during each term of `scheduler`."""
        self._rollouts = rollouts
        self._scheduler = scheduler
        self._is_stopping = False

    async def run(self) -> None:
        """Schedule until `stop` is called; can be called again after that."""
        self._is_stopping = False
        async with self._rollouts.lead():
            if not self._is_stopping:
                await self._scheduler.run()

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; return whether all work in progress has ended."""
        self._is_stopping = True
        return await self._scheduler.stop(grace_seconds)
