"""A cluster to which anything may happen, and what two frameworks say of a pod in it.

Each event draws what it needs from a generator of its own, so that events can be left out of a
sequence that fails without the others becoming different ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np

from policysched import clock as clocks
from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.framework import cycle_state, handles, interface, profile, runtime, status
from policysched.framework.scoring import standings
from policysched.lang import source
from policysched.profiles import policies
from tests import builders, storage_builders
from tests.framework import busy_objects, busy_policies
from tests.plugins.volumes import volume_worlds

_NAME = "policysched"
_WORKLOADS = 5
_Said: TypeAlias = dict[str, Any]


class Selective:
    """A plugin of others that rejects some nodes, and raises when it is told to."""

    name = "Selective"
    reads: ClassVar = interface.Reads.NODE

    def __init__(self) -> None:
        self.fails = False

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject nodes of one rack."""
        if self.fails:
            self.fails = False
            raise TimeoutError
        racks = [node.metadata.labels["rack"] if node else "" for node in nodes.objects()]
        answer = status.unschedulable(self.name, "node(s) were selected")
        return status.NodeStatuses.where(np.array(racks, object) == "r7", answer)


class BusyCluster:
    """Nodes, pods, volumes, metrics and policies, all of which change.

    Attributes:
        events: what can happen, by name; each is handed a generator.
    """

    def __init__(self, node_count: int, sizes: busy_objects.Sizes, rng: random.Random) -> None:
        self._clock = clocks.ManualClock(builders.EPOCH)
        self._cache = builders.make_cache(clock=self._clock).cache
        self._sizes = sizes
        self._node_numbers: set[int] = set()
        self._placed: dict[str, pod_shape.PodInfo] = {}
        self._pod_count = self._version_count = 0
        self._selective = Selective() if rng.randrange(2) else None
        self._shapes: pod_shape.PodShapeCache
        self._kept: runtime.Framework
        self._policy = rng.choice(busy_policies.TEXTS)
        self._use_policies()
        self._cache.set_namespace("default", {"team": "a"})
        self._cache.set_namespace("prod", {"team": "b"})
        for number in range(node_count):
            self._set_node(number, rng)
        for claim in busy_objects.CLAIMS:
            self._set_claim(claim, rng)
        for number in range(4):
            self._set_volume(number, rng)
        self._set_class(rng)
        self._templates = [self._template(rng) for _ in range(_WORKLOADS)]
        self.events: Mapping[str, Callable[[random.Random], None]] = {
            "nothing": lambda _: None,
            "node changes": self._change_node,
            "node goes": self._remove_node,
            "node comes": self._add_node,
            "many nodes come": self._add_many_nodes,
            "pod goes": self._remove_pod,
            "many pods go": self._remove_many_pods,
            "pod changes": self._change_pod,
            "pod is nominated": self._nominate,
            "other workload": self._change_template,
            "namespace changes": self._change_namespace,
            "service changes": self._change_service,
            "metric": self._refresh,
            "time": lambda rng: self._clock.advance(rng.choice((1, 20, 70, 130, 200, 3600))),
            "clock is set": lambda rng: self._clock.jump_wall_clock(
                rng.choice((-7200, -90, -1, 60, 7200))
            ),
            "look at metrics": lambda _: self._cache.expire_samples(),
            "storage": self._change_storage,
            "budget": self._set_budget,
            "policies": self._reload,
            "plugin fails": self._fail,
        }

    # --- frameworks -------------------------------------------------------------------------------

    def fresh(self) -> runtime.Framework:
        """Return a framework that keeps nothing, with plugins and policies made anew."""
        made = self._make_profiles().by_name[_NAME]
        other = self._selective and Selective()
        return runtime.Framework(_with(other, made), None, shapes_kept=0)

    def decide(self, fresh: runtime.Framework, rng: random.Random) -> tuple[_Said, _Said]:
        """Return what a framework that keeps answers and `fresh` say of a pod; place it often."""
        self._pod_count += 1
        uid = f"p{self._pod_count}"
        pod = builders.PodBuilder(_renamed(rng.choice(self._templates), uid))
        info = self._shapes.make_pod_info(pod.labels(revision=rng.choice("123")).build())
        found, result = self._said(self._kept, info)
        wanted, _ = self._said(fresh, info)
        if result.node_name is not None and rng.random() < 0.8:
            self._place(info, result, rng)
        return found, wanted

    def _said(
        self, framework: runtime.Framework, info: pod_shape.PodInfo
    ) -> tuple[_Said, runtime.ScheduleResult]:
        snap = self._cache.snapshot()
        result = framework.schedule_pod(info, snap)
        said: _Said = {
            "node": result.node_name,
            "status": result.status,
            "feasible": result.feasible_count,
            "message": result.message,
        }
        failures = result.failures
        if failures is not None:
            numbers = failures.ids.tolist()
            said["verdicts"] = [failures.statuses[n] if n >= 0 else None for n in numbers]
            rejected_count = result.node_count - result.feasible_count
            told = failures.list_rejections(snap.nodes.names, rejected_count)
            said["rejections"] = sorted(told, key=repr)  # the fresh one numbers others first
        if result.scores is not None and result.node_name is not None:
            said["rows"] = result.scores.rows.tolist()
            said["totals"] = result.scores.totals.tolist()
            best = standings.find_standing(result.scores, snap.nodes.names, 10)
            points = dict(zip(best.score_names, best.weighted.tolist(), strict=True))
            said["best"] = (best.nodes, points)
        if result.diagnosis is not None:
            room = framework.run_post_filter(result.state, info, snap, result.diagnosis)
            said["room"] = room and (room.status, room.nominated_node_name, room.victims)
        return said, result

    def _place(
        self, info: pod_shape.PodInfo, result: runtime.ScheduleResult, rng: random.Random
    ) -> None:
        """Go on as the scheduler does, up to a binding that may fail."""
        node_name = result.node_name
        assert node_name is not None
        self._cache.assume_pod(info, node_name)
        reserved = self._kept.binding.reserve(result.state, info, node_name).is_success
        fate = rng.random()
        if not reserved or fate < 0.1:
            self._kept.binding.unreserve(result.state, info, node_name)
            self._cache.forget_pod(info)
            return
        self._placed[info.uid] = info
        if fate > 0.5:
            self._confirm(info.pod, node_name)

    def _confirm(self, pod: objects.Pod, node_name: str) -> None:
        bound = self._shapes.make_pod_info(builders.PodBuilder(pod).node(node_name).build())
        self._cache.add_pod(bound)
        self._placed[bound.uid] = bound

    def _make_profiles(self) -> policies.Profiles:
        cache = self._cache
        handle = handles.Handle(
            volume_worlds.NoBinder(), cache.owners, storage=cache.storage, budgets=cache.budgets
        )
        return policies.require_profiles(policies.make_profiles(_checked(self._policy), handle))

    def _use_policies(self) -> None:
        made = self._make_profiles()
        self._cache.retain_needed_metric_data(made.metric_needs)
        self._shapes = pod_shape.PodShapeCache(made.annotation_keys)
        self._kept = runtime.Framework(_with(self._selective, made.by_name[_NAME]), None)

    def _reload(self, rng: random.Random) -> None:
        self._policy = rng.choice(busy_policies.TEXTS)
        self._use_policies()

    def _fail(self, rng: random.Random) -> None:
        """Lose an attempt, if it comes to Filter and finds that something has changed."""
        if self._selective is None:
            return
        info = self._shapes.make_pod_info(_renamed(rng.choice(self._templates), "failing"))
        self._selective.fails = True
        with contextlib.suppress(errors.PluginFailure):
            self._kept.schedule_pod(info, self._cache.snapshot())
        self._selective.fails = False

    # --- nodes ------------------------------------------------------------------------------------

    def _set_node(self, number: int, rng: random.Random) -> None:
        self._node_numbers.add(number)
        self._cache.set_node(busy_objects.node(number, self._sizes, rng).build())
        if rng.random() < 0.5:
            limits = {"example.com/disks": rng.choice((None, 0, 1, 3))}
            csi = storage_builders.make_csi_node(f"n{number}", limits)
            storage_builders.store(self._cache.storage, csi)

    def _change_node(self, rng: random.Random) -> None:
        if self._node_numbers:
            self._set_node(_one(self._node_numbers, rng), rng)

    def _remove_node(self, rng: random.Random) -> None:
        if len(self._node_numbers) > 3:
            number = _one(self._node_numbers, rng)
            self._node_numbers.remove(number)
            self._cache.remove_node(f"n{number}")

    def _add_node(self, rng: random.Random) -> None:
        self._set_node(rng.randrange(150), rng)

    def _add_many_nodes(self, rng: random.Random) -> None:
        for number in range(150, 150 + rng.randrange(50)):
            self._set_node(number, rng)

    # --- pods -------------------------------------------------------------------------------------

    def _template(self, rng: random.Random) -> objects.Pod:
        return busy_objects.template(self._sizes, rng).build()

    def _change_template(self, rng: random.Random) -> None:
        self._templates[rng.randrange(len(self._templates))] = self._template(rng)

    def _remove_pod(self, rng: random.Random) -> None:
        if self._placed:
            self._cache.remove_pod(self._placed.pop(_one(self._placed, rng)))

    def _remove_many_pods(self, rng: random.Random) -> None:
        for _ in range(rng.randrange(40)):
            self._remove_pod(rng)

    def _change_pod(self, rng: random.Random) -> None:
        if not self._placed:
            return
        info = self._placed[_one(self._placed, rng)]
        node_name = self._cache.get_node_of_pod(info.uid)
        assert node_name is not None
        changed = builders.PodBuilder(info.pod).node(node_name)
        match rng.randrange(3):
            case 0:
                changed = changed.labels(role=rng.choice(("noisy", "other")))
            case 1:
                changed = changed.terminating()
            case _:
                changed = changed.labels(app=rng.choice(("web", "db")))
        bound = self._shapes.make_pod_info(changed.build())
        self._cache.update_pod(bound)
        self._placed[bound.uid] = bound

    def _nominate(self, rng: random.Random) -> None:
        if self._node_numbers:
            self._pod_count += 1
            pod = _renamed(rng.choice(self._templates), f"nominated-{self._pod_count}")
            node_name = f"n{_one(self._node_numbers, rng)}"
            self._cache.nominated.nominate(self._shapes.make_pod_info(pod), node_name)

    # --- what pods and policies look up -----------------------------------------------------------

    def _change_namespace(self, rng: random.Random) -> None:
        self._cache.set_namespace("prod", rng.choice(({"team": "b"}, {"team": "a"}, None)))

    def _change_service(self, rng: random.Random) -> None:
        selected = selectors.from_match_labels({"app": rng.choice(("web", "db"))})
        self._cache.owners.set_selector(
            owner_selectors.OwnerKind.SERVICE, "default", "all", selected
        )

    def _set_budget(self, rng: random.Random) -> None:
        selected = objects.LabelSelector(match_labels={"app": rng.choice(("web", "db"))})
        budget = storage_builders.make_budget(
            "budget", selector=selected, allowed=rng.choice((0, 1))
        )
        self._cache.budgets.set(budget)

    def _refresh(self, rng: random.Random) -> None:
        now = self._clock.now().timestamp()
        share = rng.choice((1.0, 1.0, 0.7, 0.0))
        values = (rng.uniform(0, 1.1), math.nan, 0.3, 0.97)
        samples = {
            f"n{number}": metric_table.Sample(rng.choice(values), now - rng.uniform(0, 50))
            for number in sorted(self._node_numbers)
            if rng.random() < share
        }
        self._cache.metrics.refresh(rng.choice(("load", "io")), samples)

    # --- volumes ----------------------------------------------------------------------------------

    def _change_storage(self, rng: random.Random) -> None:
        match rng.randrange(4):
            case 0:
                self._set_claim(rng.choice(busy_objects.CLAIMS), rng)
            case 1:
                self._set_volume(rng.randrange(6), rng)
            case 2:
                self._set_class(rng)
            case _:
                self._cache.storage.volumes.remove("", f"v{rng.randrange(6)}")

    def _set_claim(self, name: str, rng: random.Random) -> None:
        volume = rng.choice(("", "", "", f"v{rng.randrange(6)}"))
        claim = storage_builders.make_claim(
            name,
            class_name=rng.choice(("local", "network")),
            volume=volume,
            is_bound=volume != "",
            meta=self._version(),
        )
        storage_builders.store(self._cache.storage, claim)

    def _set_volume(self, number: int, rng: random.Random) -> None:
        zones = rng.sample(("z0", "z1", "z2"), rng.choice((1, 2)))
        term = builders.node_term(builders.expression(busy_objects.ZONE, "In", *zones))
        volume = storage_builders.make_volume(
            f"v{number}",
            class_name=rng.choice(("local", "network")),
            terms=rng.choice(((), (term,))),
            csi=("example.com/disks", f"h{number}"),
            meta=self._version(),
        )
        storage_builders.store(self._cache.storage, volume)

    def _version(self) -> dict[str, str]:
        """Return metadata by which the API server tells versions of an object apart."""
        self._version_count += 1
        return {"resource_version": str(self._version_count)}

    def _set_class(self, rng: random.Random) -> None:
        allowed = rng.choice(((), ({busy_objects.ZONE: ("z0", "z1")},)))
        network = storage_builders.make_class("network", topologies=allowed)
        local = storage_builders.make_class("local", provisioner="kubernetes.io/no-provisioner")
        storage_builders.store(self._cache.storage, network, local)


def _with(plugin: Selective | None, made: profile.Profile) -> profile.Profile:
    """Return a profile with a plugin in between; answers for shapes alike are shared without."""
    if plugin is None:
        return made
    first, *others = made.plugins
    return dataclasses.replace(made, plugins=(first, plugin, *others))


@functools.cache
def _checked(text: str) -> policies.PolicySet:
    texts = [source.SourceText("busy.policy", text)] if text else []
    return policies.make_policy_set_from_texts(texts, {}, _NAME)


def _one(of: Any, rng: random.Random) -> Any:
    """Return one of some things that have an order."""
    return rng.choice(sorted(of))


def _renamed(pod: objects.Pod, uid: str) -> objects.Pod:
    return builders.PodBuilder(pod).meta(name=uid, uid=uid).build()
