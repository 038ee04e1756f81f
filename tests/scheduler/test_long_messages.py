"""What becomes of messages that are longer than an event may be."""

from __future__ import annotations

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, status
from policysched.framework.answers import rejections
from policysched.scheduler import decisions, event_notes, failure
from tests import builders
from tests.scheduler import fakes

NODES = 80


class Picky:
    """Rejects most nodes for reasons of their own, and the others for a common one."""

    name = "Picky"
    reads = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject every node."""
        own = [
            status.unschedulable(self.name, f"zone ж{row} est plein — {row}")
            for row in range(NODES)
        ]
        common = status.unschedulable(self.name, "zz: common")
        answers = status.NodeStatuses.passing(len(nodes))
        answers.statuses += [common, *own]
        for index, row in enumerate(nodes.row_numbers.tolist()):
            answers.ids[index] = 1 if row % 2 else row + 2
        return answers


def test_the_event_is_cut_and_the_condition_is_whole() -> None:
    """The event keeps the reason of the most nodes, and both its ends; policies stay named."""

    async def scenario() -> None:
        world = fakes.World(Picky(), policies=("web-tier",))
        for row in range(NODES):
            world.add_node(f"n{row}")
        world.add_pod(builders.make_pod("a"))
        await world.settle()
        ((_, condition, _),) = world.recorder.conditions
        (note,) = world.recorder.notes
        assert len(condition.message.encode()) > event_notes.NOTE_LIMIT_BYTES
        assert condition.message.count("est plein") == NODES // 2
        assert len(note.encode()) <= event_notes.NOTE_LIMIT_BYTES
        assert note.startswith("0/80 nodes are available: 40 zz: common, 1 zone ж0 ")
        assert note.endswith(" more reasons. (default-scheduler: web-tier; 3f2a91c0)")
        (found,) = world.scheduler.decisions
        assert found.message == condition.message
        assert found.rejections[0].node_count == NODES // 2
        assert len(found.rejections) == NODES // 2 + 1

    fakes.play(scenario())


class Verbose:
    """Rejects every node for more reasons than anybody reads."""

    name = "Verbose"
    reads = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject with what a pod may ask for: thousands of resources with long names."""
        reasons = (f"Insufficient example.com/{n}-{'r' * 300}" for n in range(2_000))
        answers = status.NodeStatuses.passing(len(nodes))
        answers.statuses.append(status.unschedulable(self.name, *reasons))
        answers.ids[:] = 1
        return answers


def test_what_is_kept_and_written_of_endless_reasons_is_bounded() -> None:
    """Neither records nor conditions grow with what a pod asks for: etcd would take no such pod."""

    async def scenario() -> None:
        world = fakes.World(Verbose())
        world.add_node("n1")
        world.add_pod(builders.make_pod("a"))
        await world.settle()
        ((_, condition, _),) = world.recorder.conditions
        assert condition.message.startswith("0/1 nodes are available: 1 Insufficient example.com/")
        assert len(condition.message) <= failure.MAX_CONDITION_CHARACTERS + 4
        (found,) = world.scheduler.decisions
        assert len(found.message) <= decisions.MAX_MESSAGE_CHARACTERS + 4
        reasons = found.rejections[0].answer.reasons
        assert len("".join(reasons)) <= rejections.MAX_REASON_CHARACTERS + 40
        assert reasons[0].startswith("Insufficient example.com/0-")
        assert reasons[-1] == "1996 more reasons"

    fakes.play(scenario())
