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
    joined: context.ProcessComponents,
    reloads: reloader.Reloader[policies.Profiles],
    source: parts.RolloutSource,
) -> controller.RolloutController:
    """Let new versions that `reloads` loads pass the declared stages; each term continues them.

    `source` offers the versions.
    """
    store = rollout_store.RolloutStore(
        config_maps.ConfigMapClient(joined.api), joined.config.policies.history_config_map
    )
    components = parts.RolloutParts(
        joined.profiles,
        joined.policies,
        source,
        store,
        guard_evaluation.GuardEvaluator(
            measuring.StageMeasurements(joined.scheduler, joined.clock),
            query_values.GuardQueryClient(joined.config.prometheus),
            joined.clock,
        ),
        lambda: joined.elector.is_leading,
    )
    rollouts = controller.RolloutController(components, joined.clock, joined.rng)
    reloads.stages = rollouts
    joined.term = TermWithRollouts(rollouts, joined.scheduler)
    joined.background.append(rollouts.run())
    joined.metrics_exporter.add_collector(
        lambda: rollout_metrics.collect_rollout_metrics(joined.policies, rollouts)
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
