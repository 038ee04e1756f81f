"""The embedded cluster of the demo: simulated API server, real scheduler, shipped policies."""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import pathlib
import random
from collections.abc import Iterable

from policysched import clock as clocks
from policysched import errors
from policysched.cli.demo import decision_facts
from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.framework import handles, runtime
from policysched.inputs import cluster_file
from policysched.lang.checked import checked
from policysched.offline import pod_report, sessions
from policysched.profiles import policies
from policysched.scheduler import decisions, ports
from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, demo_cluster, driver, node_load, node_state, virtual_time

_START = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.UTC)
_SEED = 7


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyLineEdit:
    """A change to one line in a shipped policy."""

    file: str
    before: str
    after: str


class DemoCluster:
    """A simulated cluster that collects the decisions of each step."""

    def __init__(self, folder: pathlib.Path) -> None:
        """Start the scheduler with the policies in `folder` on a cluster without pods.

        Raises:
            InputError: a policy cannot be read or is invalid.
        """
        self._folder = folder
        self._time = virtual_time.VirtualTime(clocks.ManualClock(_START))
        rng = random.Random(_SEED)
        self._server = api_server.SimulatedApiServer(self._time.clock, rng, self._time.sleep)
        self._load = node_load.SimulatedNodeLoad(self._time.clock, rng)
        self._frameworks: dict[str, runtime.Framework] = {}
        self._before_edit: dict[str, runtime.Framework] = {}
        outside = ports.SchedulerPorts(self._server, self._server, self._server, self._time.sleep)
        self._scheduler = schedulers.Scheduler({}, outside, self._time.clock)
        self._load_policies()
        self._scheduler.decisions.listeners.append(self._record_decision)
        self._decided: list[decision_facts.DecisionFacts] = []
        self._samples: node_load.Samples = {}
        for node in demo_cluster.make_nodes():
            self._server.nodes.create(node)
        demo_cluster.set_background_load(self._load)
        self._driver = driver.SimulationDriver(self._server, self._scheduler, self._time)
        self._refresh_metrics()

    @property
    def decision_log(self) -> decisions.DecisionLog:
        """The decisions so far."""
        return self._scheduler.decisions

    @property
    def events(self) -> list[api_server.RecordedEvent]:
        """All Kubernetes events so far."""
        return self._server.events

    def list_nodes(self) -> list[node_state.NodeState]:
        """Return the current state of the nodes."""
        busy = self._samples.get(node_load.CPU_BUSY, {})
        return node_state.compute_node_states(self._server.nodes, self._server.pods, busy)

    def list_pending_pods(self) -> list[str]:
        """Return the names of the pods without a node."""
        return [pod.metadata.name for pod in self._server.pods if not pod.spec.node_name]

    async def create_pod(self, pod: objects.Pod) -> list[decision_facts.DecisionFacts]:
        """Create a pod and return the decisions that follow."""
        self._server.pods.create(pod)
        return await self._advance_and_list_decisions()

    async def edit_policy(
        self, edit: PolicyLineEdit
    ) -> tuple[list[str], list[decision_facts.DecisionFacts]]:
        """Edit a policy file and load it; return the diff and the decisions that follow.

        Raises:
            InputError: the policy does not contain the text to change.
        """
        file = self._folder / edit.file
        old = file.read_text(encoding="utf-8")
        if edit.before not in old:
            raise errors.InputError(edit.file, f"does not contain `{edit.before}`")
        new = old.replace(edit.before, edit.after)
        file.write_text(new, encoding="utf-8")
        self._before_edit = self._frameworks
        self._load_policies()
        return _diff_lines(old, new), await self._advance_and_list_decisions()

    @property
    def now(self) -> datetime.datetime:
        """The virtual time."""
        return self._time.clock.now()

    def copy_objects(self) -> cluster_file.ClusterObjects:
        """Return the nodes and pods as they are now."""
        return cluster_file.ClusterObjects(
            nodes=list(self._server.nodes), pods=list(self._server.pods)
        )

    def select_samples(self, declared: Iterable[checked.CheckedMetric]) -> node_load.Samples:
        """Return the newest samples of metrics, keyed by metric; other metrics have no source."""
        return {
            metric.key: self._samples[metric.name]
            for metric in declared
            if metric.name in self._samples
        }

    def make_decider(self, found: cluster_file.ClusterObjects) -> sessions.PodDecider:
        """Return a decider about a copy of the cluster, with the policies in use."""
        samples = self.select_samples(self._policies.node_metrics)
        factory = sessions.DeciderFactory(self._policies, self.now, samples)
        return factory.make_decider(found, "the cluster of the demo")

    def _load_policies(self) -> None:
        """Load the policies in the folder into new profiles.

        The profiles have no random generator, so the first node name wins a tie.
        """
        self._policies = policies.load_policy_set([str(self._folder)], {})
        cache = self._scheduler.cache
        handle = handles.Handle(
            self._server,
            cache.owners,
            self._scheduler.preemptions,
            cache.storage,
            cache.budgets,
            cache.devices,
            clock=self._time.clock,
            waiting_pods=self._scheduler.waiting_pods,
        )
        profiles = policies.require_profiles(policies.make_profiles(self._policies, handle))
        self._frameworks = {
            name: runtime.Framework(profile, None) for name, profile in profiles.by_name.items()
        }
        self._scheduler.set_profiles(
            self._frameworks, profiles.annotation_keys, profiles.metric_needs
        )

    async def _advance_and_list_decisions(self) -> list[decision_facts.DecisionFacts]:
        """Advance the virtual time by two seconds and return the decisions since the last call."""
        await self._driver.advance_time(2.0)
        self._refresh_metrics()
        decided, self._decided = self._decided, []
        return decided

    def _refresh_metrics(self) -> None:
        self._samples = self._load.measure_samples(self._server.nodes, self._server.pods)
        self._scheduler.events.refresh_metrics(self.select_samples(self._policies.node_metrics))

    def _record_decision(
        self,
        decision: decisions.SchedulingDecision,
        _result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
    ) -> None:
        """Record the facts of a decision while its snapshot is still valid."""
        info = self._scheduler.events.pods.current(decision.uid)
        if info is None:
            return
        name = decision.scheduler_name
        report = pod_report.make_pod_report(self._frameworks[name], info, snap)
        found = decision_facts.extract_decision_facts(report, name, decision.node_name)
        if name in self._before_edit:
            best = self._before_edit[name].explain_pod(info, snap).best
            found = dataclasses.replace(found, before_edit=best[0] if best else "")
        self._decided.append(found)


def _diff_lines(old: str, new: str) -> list[str]:
    """Return the changed lines with one line of context, without the headers of the diff."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return [line for line in lines if line.strip() and not line.startswith(("---", "+++", "@@"))]
