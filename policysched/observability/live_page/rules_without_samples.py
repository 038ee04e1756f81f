"""Find the rules that drop out, or hold pods, because no node has a valid sample of a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, profile, runtime
from policysched.observability.live_page import debug_forms
from policysched.scheduler import decisions, ports

if TYPE_CHECKING:
    from policysched.compiler.rules import outage_hold


class MetricRules:
    """The rules of one profile that read metrics.

    Attributes:
        holds_pods: whether pods wait for them (`onOutage hold`), instead of going without.
    """

    def __init__(self, prof: profile.Profile) -> None:
        """Select the rules of `prof`."""
        self.holds_pods = False
        self._name = prof.scheduler_name
        self._rules: list[outage_hold.MetricRule] = []
        if not prof.policies:
            return
        from policysched.compiler.rules import outage_hold, reject, score  # noqa: PLC0415 - only policies need it

        kinds = reject.Reject | score.ConditionScore | score.NumberScore
        self._rules = [
            each for each in prof.plugins if isinstance(each, kinds) and each.told is not None
        ]
        self.holds_pods = any(isinstance(each, outage_hold.OutageHold) for each in prof.plugins)

    def list_lost(
        self, snap: snapshot.Snapshot, find_shape: Callable[[], pod_shape.PodShape | None]
    ) -> list[debug_forms.RuleWithoutSamples]:
        """Return the rules without a valid sample of a metric on any node.

        Args:
            snap: the nodes and the time; a cluster without nodes has lost nothing.
            find_shape: called if a rule is lost; with a shape, only rules that act on such pods
                count.
        """
        lost = [(rule, rule.outage(snap)) for rule in self._rules] if snap.node_count else []
        found = [(rule, samples.metric.name) for rule, samples in lost if samples is not None]
        shape = find_shape() if found else None
        state = cycle_state.CycleState()
        return [
            debug_forms.RuleWithoutSamples(rule.head.name, self._name, metric, self.holds_pods)
            for rule, metric in found
            if shape is None or rule.applies_to(state, shape, snap)
        ]


class RulesWithoutSamples:
    """Finds the rules without samples of all profiles, and records them with each decision."""

    def __init__(
        self, get_profiles: Callable[[], Mapping[str, profile.Profile]], pods: ports.PodLookup
    ) -> None:
        """Read the profiles in use; `pods` looks up the pods of decisions."""
        self._get_profiles = get_profiles
        self._pods = pods
        self._known: dict[str, tuple[profile.Profile, MetricRules]] = {}

    def list_rules_without_samples(
        self, snap: snapshot.Snapshot
    ) -> list[debug_forms.RuleWithoutSamples]:
        """Return the rules of all profiles that have lost a metric at the time of `snap`."""
        return [
            each
            for prof in self._get_profiles().values()
            for each in self._find_metric_rules(prof).list_lost(snap, lambda: None)
        ]

    def record_skipped_rules(
        self,
        decision: decisions.SchedulingDecision,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
    ) -> None:
        """Note which rules a decision had to do without; see `decisions.Listener`."""
        del result
        prof = self._get_profiles().get(decision.scheduler_name)
        rules = None if prof is None else self._find_metric_rules(prof)
        if rules is None or rules.holds_pods:  # a pod that is held has this as its reason
            return

        def find_shape() -> pod_shape.PodShape | None:
            pod = self._pods.current(decision.uid)
            return None if pod is None else pod.shape

        lost = rules.list_lost(snap, find_shape)
        decision.skipped_rules = tuple(each.rule for each in lost)

    def _find_metric_rules(self, prof: profile.Profile) -> MetricRules:
        known = self._known.get(prof.scheduler_name)
        if known is None or known[0] is not prof:
            known = prof, MetricRules(prof)
            self._known[prof.scheduler_name] = known
        return known[1]
