"""What becomes of messages that are longer than an event may be."""

from __future__ import annotations

from policysched.cluster import pod_shape, snapshot
from policysched.framework import cycle_state, interface, status
from policysched.scheduler import event_notes
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
