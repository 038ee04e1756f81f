"""The chapters of the demo, independent of how they are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from policysched.cli import program_name
from policysched.cli.demo import decision_facts, embedded_cluster
from policysched.cli.render import output
from policysched.cluster.objects import objects
from policysched.sim import demo_cluster, node_state

_PER_POD_SECONDS = 0.6
_PER_CHAPTER_SECONDS = 1.0
_PER_THOUGHT_SECONDS = 1.8


class DemoView(Protocol):
    """Shows the demo to viewers, on a screen or as text."""

    def show_chapter(self, number: int, title: str, text: str) -> None:
        """Begin a chapter."""

    def show_cluster(self, nodes: Sequence[node_state.NodeState], pending: Sequence[str]) -> None:
        """Show the nodes and the pending pods."""

    def show_decision(self, found: decision_facts.DecisionFacts) -> None:
        """Show the node of a pod and the reasons, or the reasons why no node is feasible."""

    def show_edit(self, file: str, diff: Sequence[str]) -> None:
        """Show an edit to a policy."""

    async def pause(self, seconds: float) -> None:
        """Pause so that viewers can read."""

    def show_end(self, lines: Sequence[str]) -> None:
        """Show the summary and suggest other commands."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of the demo: pods that arrive one by one, after an optional policy edit."""

    title: str
    text: str
    pods: tuple[objects.Pod, ...] = ()
    edit: embedded_cluster.PolicyLineEdit | None = None


PACK = embedded_cluster.PolicyLineEdit(
    "spread-vs-pack.policy",
    "score LeastAllocated(cpu: 1, memory: 1) weight 10 as room",
    "score MostAllocated(cpu: 1, memory: 1) weight 10 as room",
)
LIMIT = embedded_cluster.PolicyLineEdit(
    "load-aware.policy",
    "reject when cpu_busy > 90%",
    "reject when cpu_busy > 97%",
)

CHAPTERS = (
    Chapter(
        "The default profile",
        "kube-scheduler's plugins and weights: default.policy",
        (demo_cluster.make_cache_pod(1), demo_cluster.make_cache_pod(2)),
    ),
    Chapter(
        "A web tier",
        "spread over zones, replicas apart, near the cache: web-tier.policy",
        tuple(demo_cluster.make_web_pod(number) for number in range(1, 7)),
    ),
    Chapter(
        "A GPU pool",
        "filled node by node, closed to pods without a GPU: gpu-pool.policy",
        (
            demo_cluster.make_training_pod(1, 1),
            demo_cluster.make_training_pod(2, 2),
            demo_cluster.make_debug_pod(),
        ),
    ),
    Chapter(
        "A pod that fits nowhere",
        "each node has a reason; placed by measured load: load-aware.policy",
        (demo_cluster.make_report_pod(),),
    ),
    Chapter("An edit that helps it", "the limit for busy nodes is raised", edit=LIMIT),
    Chapter(
        "Spread ...",
        "batch jobs go to the emptiest node: spread-vs-pack.policy",
        (demo_cluster.make_job_pod(1), demo_cluster.make_job_pod(2)),
    ),
    Chapter(
        "... or pack",
        "one word is changed; the next job goes to the fullest node",
        (demo_cluster.make_job_pod(3), demo_cluster.make_job_pod(4)),
        edit=PACK,
    ),
)


async def play_demo_story(stage: embedded_cluster.DemoCluster, view: DemoView) -> None:
    """Play all chapters on a new cluster."""
    for number, chapter in enumerate(CHAPTERS, start=1):
        view.show_chapter(number, chapter.title, chapter.text)
        view.show_cluster(stage.list_nodes(), stage.list_pending_pods())
        await view.pause(_PER_CHAPTER_SECONDS)
        if chapter.edit is not None:
            diff, found = await stage.edit_policy(chapter.edit)
            view.show_edit(chapter.edit.file, diff)
            await view.pause(_PER_THOUGHT_SECONDS)
            await _show_decisions(stage, view, found)
        for pod in chapter.pods:
            await _show_decisions(stage, view, await stage.create_pod(pod))
    view.show_cluster(stage.list_nodes(), stage.list_pending_pods())
    view.show_end(_format_demo_summary(stage))


async def _show_decisions(
    stage: embedded_cluster.DemoCluster,
    view: DemoView,
    decided: Sequence[decision_facts.DecisionFacts],
) -> None:
    for found in decided:
        view.show_decision(found)
        view.show_cluster(stage.list_nodes(), stage.list_pending_pods())
        await view.pause(_PER_POD_SECONDS if found.node else 2 * _PER_THOUGHT_SECONDS)


def _format_demo_summary(stage: embedded_cluster.DemoCluster) -> list[str]:
    """Return the closing lines: the numbers of bound pods and failures, and commands to try."""
    reasons = [event.reason for event in stage.events]
    bound = output.format_count(reasons.count("Scheduled"), "pod")
    failed = output.format_count(reasons.count("FailedScheduling"), "failed attempt")
    program = program_name.get_invocation_command()
    return [
        f"{bound} bound, {failed}. The scheduler, queue, cache and policies are those",
        "of `policysched run`; only the API server was simulated. Try next:",
        "",
        "check the policies of this demo:",
        f"  {program} check policies",
        "explain the pods of your own cluster:",
        "  kubectl get nodes,pods -A -o json > cluster.json",
        f"  {program} explain --cluster cluster.json --all",
        "schedule its pods:",
        f"  {program} run --kubeconfig ~/.kube/config",
        "see each decision of this demo on a page in the browser:",
        f"  {program} ui --open",
    ]
