"""What the watch says, and what becomes of it in cache and queue."""

from __future__ import annotations

import numpy as np
import pytest

from policysched.cluster import metric_needs
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects
from policysched.cluster.pods import owner_objects, owner_selectors, pod_shape
from policysched.framework import events
from tests import builders
from tests.scheduler import fakes

POD = builders.make_pod("a")
FOREIGN = builders.make_pod("a").scheduler_name("other")


class Heard:
    """Writes down the events that the queue is told."""

    def __init__(self, world: fakes.World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listen to the queue of `world`."""
        self.labels: list[str] = []
        original = world.queue.move_all_to_active_or_backoff

        def move(event: events.ClusterEvent, *args: object, **kwargs: object) -> None:
            self.labels.append(event.label)
            original(event, *args, **kwargs)  # type: ignore[arg-type]  # handed on as they came

        monkeypatch.setattr(world.queue, "move_all_to_active_or_backoff", move)


@pytest.fixture
def world() -> fakes.World:
    """Return a scheduler without nodes and pods."""
    return fakes.World()


@pytest.fixture
def heard(world: fakes.World, monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Return what the queue of `world` hears."""
    return Heard(world, monkeypatch)


class TestPods:
    """Pods."""

    @pytest.mark.parametrize(
        "history, place, labels",
        [
            pytest.param([POD], "active", [], id="new"),
            pytest.param([FOREIGN], "gone", [], id="another scheduler's"),
            pytest.param([POD.gates("g")], "unschedulable", [], id="gated"),
            pytest.param([POD.node("n1")], "placed", ["AssignedPodAdd"], id="placed"),
            pytest.param(
                [FOREIGN.node("n1")], "placed", ["AssignedPodAdd"], id="placed by another"
            ),
            pytest.param([POD, POD.node("n1")], "placed", ["AssignedPodAdd"], id="bound"),
            pytest.param(
                [FOREIGN, FOREIGN.node("n1")], "placed", ["AssignedPodAdd"], id="bound, foreign"
            ),
            pytest.param(
                [POD.node("n1"), POD.node("n1").status(phase="Succeeded")],
                "gone",
                ["AssignedPodAdd", "AssignedPodDelete"],
                id="ended",
            ),
            pytest.param([POD.node("n1").status(phase="Failed")], "gone", [], id="ended long ago"),
            pytest.param([POD, POD.status(phase="Failed")], "gone", [], id="failed unplaced"),
            pytest.param(
                [POD.node("n1"), POD.node("n1").labels(x="y")],
                "placed",
                ["AssignedPodAdd", "AssignedPodUpdatePodLabel"],
                id="relabelled",
            ),
            pytest.param(
                [POD.nominated("n1"), POD.nominated("n2")],
                "active",
                ["AssignedPodDelete"],
                id="nominated elsewhere",
            ),
        ],
    )
    def test_history(
        self,
        world: fakes.World,
        heard: Heard,
        history: list[builders.PodBuilder],
        place: str,
        labels: list[str],
    ) -> None:
        """A pod is where its last version belongs, and the queue heard what others care about."""
        for pod in history:
            world.add_pod(pod)
        assert world.where("a") == place
        assert heard.labels == labels

    @pytest.mark.parametrize(
        "pod, labels",
        [
            pytest.param(POD, [], id="waiting"),
            pytest.param(POD.nominated("n1"), ["AssignedPodDelete"], id="nominated"),
            pytest.param(POD.node("n1"), ["AssignedPodAdd", "AssignedPodDelete"], id="placed"),
            pytest.param(FOREIGN, [], id="foreign"),
        ],
    )
    def test_delete(
        self, world: fakes.World, heard: Heard, pod: builders.PodBuilder, labels: list[str]
    ) -> None:
        """A deleted pod is nowhere; a place or a nomination that it leaves is told."""
        world.pods.delete(world.add_pod(pod))
        assert world.where("a") == "gone"
        assert world.pods.current("uid-default-a") is None
        assert heard.labels == labels

    def test_the_same_version_again_is_nothing_new(self, world: fakes.World, heard: Heard) -> None:
        """A relist repeats most pods in the version that is known."""
        pod = POD.node("n1").meta(resource_version="7")
        world.add_pod(pod)
        world.add_pod(pod)
        assert heard.labels == ["AssignedPodAdd"]

    def test_a_list_replaces_everything(self, world: fakes.World, heard: Heard) -> None:
        """Pods that are missing in a list were deleted while nobody watched."""
        for name in ("waits", "placed", "stays"):
            world.add_pod(builders.make_pod(name).node("" if name == "waits" else "n1"))
        heard.labels.clear()
        new = builders.make_pod("new").build()
        world.pods.replace([builders.make_pod("stays").node("n1").build(), new])
        places = [world.where(name) for name in ("waits", "placed", "stays", "new")]
        assert places == ["gone", "gone", "placed", "active"]
        assert heard.labels == ["AssignedPodDelete", "AssignedPodUpdate"]

    def test_a_list_deletes_assumed_pods(self) -> None:
        """A pod that vanished while it was being bound gives its place back."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "assumed"
            world.pods.replace([])
            assert world.cache.pod_count == 0

        fakes.play(scenario())

    def test_a_pod_created_anew_is_another_pod(self, world: fakes.World) -> None:
        """Pods are told apart by uid; the name alone says nothing."""
        world.add_pod(POD.uid("1").node("n1"))
        world.pods.replace([POD.uid("2").build()])
        assert world.cache.pod_count == 0
        assert world.queue.get("2") is not None

    def test_nominations_wake_no_higher_priority(self) -> None:
        """Only pods that had to leave room for a nominated pod are tried again without it."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            for name, priority in (("low", 1), ("high", 9)):
                world.add_pod(builders.make_pod(name).priority(priority))
            await world.settle()
            nominated = world.add_pod(builders.make_pod("n").priority(5).nominated("n1"))
            world.pods.delete(nominated)
            assert (world.where("low"), world.where("high")) == ("backoff", "unschedulable")

        fakes.play(scenario())


class TestNodes:
    """Nodes."""

    def test_changes_are_told_one_by_one(self, world: fakes.World, heard: Heard) -> None:
        """A node comes, beats, changes and goes."""
        node = builders.make_node("n1").condition("Ready", "True")
        beat = objects.Condition(type="Ready", status="True", last_transition_time="later")
        world.nodes.upsert(node.build())
        world.nodes.upsert(builders.make_node("n1")._status(conditions=(beat,)).build())
        world.nodes.upsert(node.labels(zone="a").taint("t").build())
        world.nodes.delete(node.build())
        world.nodes.delete(node.build())
        assert heard.labels == [
            "NodeAdd",
            "NodeUpdateNodeLabel",
            "NodeUpdateNodeTaint",
            "NodeDelete",
        ]
        assert world.cache.get_node("n1") is None

    def test_a_list_replaces_everything(self, world: fakes.World, heard: Heard) -> None:
        """Nodes that are missing in a list are gone, their pods stay counted."""
        world.nodes.replace([builders.make_node("n1").build(), builders.make_node("n2").build()])
        world.add_pod(POD.node("n1"))
        world.nodes.replace([builders.make_node("n2").build()])
        assert world.cache.nodes.alive_count == 1
        assert world.cache.pod_count == 1
        assert heard.labels == ["NodeAdd", "NodeAdd", "AssignedPodAdd", "NodeDelete"]


class TestNamespaces:
    """Namespaces."""

    def test_only_labels_matter(self, world: fakes.World, heard: Heard) -> None:
        """A namespace comes, changes in something else, is labelled and goes."""
        sink = world.scheduler.events.namespaces
        plain = objects.Namespace(objects.ObjectMeta(name="ns"))
        labelled = objects.Namespace(objects.ObjectMeta(name="ns", labels={"team": "x"}))
        sink.upsert(plain)
        sink.upsert(objects.Namespace(objects.ObjectMeta(name="ns", annotations={"a": "b"})))
        sink.upsert(labelled)
        assert world.cache.counts.namespaces == {"ns": {"team": "x"}}
        sink.replace([])
        assert world.cache.counts.namespaces == {}
        assert heard.labels == ["NamespaceAdd", "NamespaceUpdate", "NamespaceDelete"]


def test_metrics_are_one_event_a_refresh(world: fakes.World, heard: Heard) -> None:
    """All samples of all metrics are taken in at once, then the queue is told."""
    sample = metric_table.Sample(0.5, 1.0)
    world.scheduler.events.refresh_metrics({"cpu": {"n1": sample}, "disk": {}})
    assert world.cache.metrics.get_newest_sample("cpu", "n1") == sample
    assert heard.labels == ["MetricUpdate"]


def test_older_samples_fill_a_window(world: fakes.World, heard: Heard) -> None:
    """What a range query gives counts like samples that came in time."""
    need = metric_windows.HistoryNeed(600.0, 120.0, 15.0)
    world.cache.retain_needed_metric_data(metric_needs.MetricNeeds({"cpu": need}))
    handlers = world.scheduler.events
    handlers.refresh_metrics({"cpu": {"n1": metric_table.Sample(0.5, 60.0)}})
    times, values = np.array([[30.0], [45.0]]), np.array([[1.0], [0.75]])
    older = metric_windows.OlderSamples(("n1",), times, values)
    handlers.backfill_metrics({"cpu": older, "disk": older})
    window = metric_windows.WindowAggregate(600.0, "avg")
    assert world.cache.metrics.get_metric_column("cpu", ["n1"], 0, window).values.tolist() == [0.75]
    assert heard.labels == ["MetricUpdate", "MetricUpdate"]


def test_a_look_at_the_time_lets_pods_cease_to_count(world: fakes.World, heard: Heard) -> None:
    """The queue is told, as after a refresh, and hints see the time."""
    world.cache.retain_needed_metric_data(
        metric_needs.MetricNeeds(placed_seconds=frozenset({60.0}))
    )
    info = pod_shape.PodShapeCache().make_pod_info(POD.build())
    world.cache.assume_pod(info, "n1")
    recent = world.cache.snapshot().placed.recent
    row = world.cache.nodes.row_of["n1"]
    assert list(recent.get_pods(60.0, row)) == [info.uid]
    world.clock.advance(60)
    world.scheduler.events.expire_samples()
    assert list(recent.get_pods(60.0, row)) == []
    assert world.cache.metrics.moment == world.clock.now()
    assert heard.labels == ["MetricUpdate"]


class TestOwners:
    """Services and controllers."""

    def test_selectors_come_and_go(self, world: fakes.World, heard: Heard) -> None:
        """What a service selects is known while it is there; the queue is not bothered."""
        sink = world.scheduler.events.owners[owner_selectors.OwnerKind.SERVICE]
        shape = pod_shape.PodShapeCache().intern_shape(POD.labels(app="web", tier="x").build())

        def service(name: str, **selector: str) -> owner_objects.Service:
            meta = objects.ObjectMeta(name=name, namespace="default")
            return owner_objects.Service(meta, owner_objects.ServiceSpec(selector))

        def selected() -> dict[str, frozenset[str]]:
            found = world.cache.owners.get_owner_selector(shape)
            return {r.key: r.values for r in found.requirements}

        sink.replace([service("a", app="web"), service("b", tier="x"), service("c", app="db")])
        assert selected() == {"app": frozenset(["web"]), "tier": frozenset(["x"])}
        sink.replace([service("b", tier="x")])
        sink.upsert(service("b", tier="y"))
        assert selected() == {}
        sink.upsert(service("b", tier="x"))
        sink.delete(service("b"))
        sink.delete(service("b"))
        assert selected() == {}
        assert heard.labels == []
