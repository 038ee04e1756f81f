"""What happens in the demo, chapter by chapter; how it looks is the view's business."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from policysched.cli.demo import embedded_cluster, facts
from policysched.cli.render import output
from policysched.cluster.objects import objects
from policysched.sim import node_state, showcase

_PER_POD_SECONDS = 0.6
_PER_CHAPTER_SECONDS = 1.0
_PER_THOUGHT_SECONDS = 1.8


class View(Protocol):
    """Who shows it."""

    def chapter(self, number: int, title: str, text: str) -> None:
        """Begin a chapter."""

    def cluster(self, nodes: Sequence[node_state.NodeState], pending: Sequence[str]) -> None:
        """Show the nodes, and the pods that wait."""

    def decided(self, found: facts.Decided) -> None:
        """Show where a pod went and why, or why it fits nowhere."""

    def edited(self, file: str, diff: Sequence[str]) -> None:
        """Show the edit of a policy."""

    async def pause(self, seconds: float) -> None:
        """Give people time to read."""

    def end(self, lines: Sequence[str]) -> None:
        """Say how it ended and what to try next."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chapter:
    """Pods that arrive one after the other, after an edit if there is one."""

    title: str
    text: str
    pods: tuple[objects.Pod, ...] = ()
    edit: embedded_cluster.Edit | None = None


PACK = embedded_cluster.Edit(
    "spread-vs-pack.policy",
    "score LeastAllocated(cpu: 1, memory: 1) weight 10 as room",
    "score MostAllocated(cpu: 1, memory: 1) weight 10 as room",
)
LIMIT = embedded_cluster.Edit(
    "load-aware.policy",
    "reject when cpu_busy > 90%",
    "reject when cpu_busy > 97%",
)

CHAPTERS = (
    Chapter(
        "The default profile",
        "kube-scheduler's plugins and weights: default.policy",
        (showcase.cache(1), showcase.cache(2)),
    ),
    Chapter(
        "A web tier",
        "even over zones, replicas apart, near the cache: web-tier.policy",
        tuple(showcase.web(number) for number in range(1, 7)),
    ),
    Chapter(
        "A GPU pool",
        "filled node by node, closed to pods without a GPU: gpu-pool.policy",
        (showcase.training(1, 1), showcase.training(2, 2), showcase.debug()),
    ),
    Chapter(
        "A pod that fits nowhere",
        "every node says why not; placed by measured load: load-aware.policy",
        (showcase.report(),),
    ),
    Chapter("An edit that helps it", "the limit for busy nodes is raised", edit=LIMIT),
    Chapter(
        "Spread ...",
        "batch jobs go to the emptiest node: spread-vs-pack.policy",
        (showcase.job(1), showcase.job(2)),
    ),
    Chapter(
        "... or pack",
        "one word is edited; the next job goes to the fullest node",
        (showcase.job(3), showcase.job(4)),
        edit=PACK,
    ),
)


async def play(stage: embedded_cluster.Stage, view: View) -> None:
    """Play all chapters on a fresh stage."""
    for number, chapter in enumerate(CHAPTERS, start=1):
        view.chapter(number, chapter.title, chapter.text)
        view.cluster(stage.nodes(), stage.pending())
        await view.pause(_PER_CHAPTER_SECONDS)
        if chapter.edit is not None:
            diff, found = await stage.edit(chapter.edit)
            view.edited(chapter.edit.file, diff)
            await view.pause(_PER_THOUGHT_SECONDS)
            await _show(stage, view, found)
        for pod in chapter.pods:
            await _show(stage, view, await stage.arrive(pod))
    view.cluster(stage.nodes(), stage.pending())
    view.end(_summary(stage))


async def _show(
    stage: embedded_cluster.Stage, view: View, decided: Sequence[facts.Decided]
) -> None:
    for found in decided:
        view.decided(found)
        view.cluster(stage.nodes(), stage.pending())
        await view.pause(_PER_POD_SECONDS if found.node else 2 * _PER_THOUGHT_SECONDS)


def _summary(stage: embedded_cluster.Stage) -> list[str]:
    reasons = [event.reason for event in stage.events]
    bound = output.count(reasons.count("Scheduled"), "pod")
    failed = output.count(reasons.count("FailedScheduling"), "failed attempt")
    return [
        f"{bound} bound, {failed}. Scheduler, queue, cache and policies are those",
        "of `policysched run`; only the API server was simulated. Try next:",
        "",
        "  policysched check policies                what you have just seen, checked",
        "  policysched explain --cluster FILE --all  the same answers for your own cluster, from",
        "                                            kubectl get nodes,pods -A -o json > FILE",
        "  policysched run --kubeconfig FILE         schedule it",
    ]
