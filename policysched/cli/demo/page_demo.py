"""The embedded cluster of the demo as a source of the page: a button lets the next pod arrive."""

from __future__ import annotations

import asyncio
import pathlib
import shutil
from collections.abc import Iterator, Mapping

from policysched import _resources
from policysched import clock as clocks
from policysched.cli.demo import embedded_cluster, story
from policysched.cluster.objects import objects
from policysched.inputs import policy_sources
from policysched.lang import source
from policysched.observability.live_page import decision_rows
from policysched.page import page_source, pod_answers, policy_files

_NEXT, _REST = "next", "rest"


class DemoSource:
    """Shows the embedded cluster; see `page_source.PageSource`.

    The first chapters of the demo have happened when the page opens, so that there is something to
    see. `next` lets the next thing happen: a pod arrives, or a policy is edited.
    """

    kind = "demo"
    has_cluster = True
    title = "the cluster of the demo"
    policy_files: policy_files.PolicyFiles | None = None

    def __init__(self, folder: pathlib.Path) -> None:
        """Copy the shipped policies into the empty `folder` and start the scheduler with them."""
        for file in _resources.find_resource_folder("policies").glob("*.policy"):
            shutil.copy(file, folder)
        self._folder = folder
        self._stage = embedded_cluster.DemoCluster(folder)
        self._things = _iterate_story()
        started_at = clocks.SystemClock().now().isoformat()
        self.decisions: decision_rows.DecisionRows | None = decision_rows.DecisionRows(
            self._stage.decision_log, started_at
        )
        self._generation = 0
        self._view: page_source.ClusterView
        self._next: objects.Pod | embedded_cluster.PolicyLineEdit | None = next(self._things)
        while not isinstance(self._next, embedded_cluster.PolicyLineEdit):
            self._let_next_happen()
        self._renew_view()

    @property
    def steps(self) -> Mapping[str, str]:
        """The next thing of the story, and all the rest of it; empty at its end."""
        if self._next is None:
            return {}
        return {_NEXT: _describe_step(self._next), _REST: "play the rest"}

    def get_view(self) -> page_source.ClusterView:
        """Return the cluster after the last step."""
        return self._view

    def take_step(self, name: str) -> None:
        """Let the next thing happen, or all that is left of the story."""
        if name not in self.steps:
            raise LookupError(name)
        self._let_next_happen()
        while name == _REST and self._next is not None:
            self._let_next_happen()
        self._renew_view()

    def _let_next_happen(self) -> None:
        thing = self._next
        if isinstance(thing, embedded_cluster.PolicyLineEdit):
            asyncio.run(self._stage.edit_policy(thing))
        elif thing is not None:
            asyncio.run(self._stage.create_pod(thing))
        else:
            return
        self._next = next(self._things, None)

    def _renew_view(self) -> None:
        self._generation += 1
        texts = policy_sources.read_policy_texts([str(self._folder)])
        found = self._stage.copy_objects()
        inputs = page_source.ClusterInputs(
            self.title, found, self._stage.now, {}, None, self._stage.select_samples
        )
        self._view = page_source.ClusterView(
            self._generation,
            pod_answers.PodAnswers(self._stage.make_decider(found)),
            inputs,
            [source.SourceText(each.key, each.text) for each in texts],
        )


def _iterate_story() -> Iterator[objects.Pod | embedded_cluster.PolicyLineEdit]:
    """Yield the pods and edits of the demo in order."""
    for chapter in story.CHAPTERS:
        if chapter.edit is not None:
            yield chapter.edit
        yield from chapter.pods


def _describe_step(thing: objects.Pod | embedded_cluster.PolicyLineEdit) -> str:
    if isinstance(thing, embedded_cluster.PolicyLineEdit):
        return f"edit {thing.file}: {thing.after}"
    return f"create pod {thing.key}"
