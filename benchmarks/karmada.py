"""Bindings a second of `karmada run` and of the real karmada-scheduler, on one API server.

python -m benchmarks karmada [--clusters 100] [--bindings 10000] [--repeat 1]

Both find the same backlog when they start, one after the other, without client limits. Time counts
from the first binding that gets clusters to the last one whose status confirms them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import pathlib
import random
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import orjson

from tests.karmada import twins
from tests.realcluster import api_client, control_plane, karmada

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT_SECONDS = 3600.0
_BINDINGS = f"{karmada.WORK}/namespaces/default/resourcebindings"


@dataclasses.dataclass
class Progress:
    """What a watch has seen of the bindings.

    Attributes:
        first_seconds: when the first one had clusters.
        last_seconds: when the last one so far was confirmed.
        confirmed: names of those whose status is that of their newest generation.
        generations: by name; the first is what was created, each further one a write of clusters.
    """

    first_seconds: float = 0.0
    last_seconds: float = 0.0
    confirmed: set[str] = dataclasses.field(default_factory=set)
    generations: dict[str, int] = dataclasses.field(default_factory=dict)

    def take(self, item: dict[str, Any], now_seconds: float) -> None:
        """Take a state of a binding."""
        meta, status = item["metadata"], item.get("status", {})
        self.generations[meta["name"]] = meta["generation"]
        if not item["spec"].get("clusters"):
            return
        self.first_seconds = self.first_seconds or now_seconds
        is_confirmed = status.get("schedulerObservedGeneration") == meta["generation"]
        if is_confirmed and meta["name"] not in self.confirmed:
            self.confirmed.add(meta["name"])
            self.last_seconds = now_seconds


def _follow(client: api_client.ApiClient, progress: Progress) -> None:
    """Feed the progress from lists and watches, which a loaded API server cuts, until it ends."""
    with contextlib.suppress(api_client.TransportError, api_client.ApiError):
        while True:
            page = client.get(karmada.BINDINGS)
            for item in page["items"]:
                progress.take(item, time.monotonic())
            version = page["metadata"]["resourceVersion"]
            with contextlib.suppress(api_client.TransportError):
                _watch(client, progress, version)


def _watch(client: api_client.ApiClient, progress: Progress, version: str) -> None:
    stream = client.open(karmada.BINDINGS, watch="1", resourceVersion=version)
    rest = b""
    for chunk in stream.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            event = orjson.loads(line)
            if event["type"] == "MODIFIED":
                progress.take(event["object"], time.monotonic())


def _bindings(count: int) -> Iterator[dict[str, Any]]:
    """Yield bindings of five strategies, in equal parts, on clusters chosen by label."""
    rng = random.Random(1)
    placements = (
        twins.dynamic(),
        twins.divided("Aggregated"),
        {"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}},
        twins.divided("Weighted"),
        twins.dynamic()
        | {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 5}]},
    )
    for number in range(count):
        yield twins.binding(f"app{number}", placements[number % 5], replicas=rng.randint(1, 20))


def _run(name: str, folder: pathlib.Path, clusters: int, count: int) -> tuple[float, int]:
    """Return bindings a second, and how many had their clusters written more than once."""
    flags = control_plane.THROUGHPUT_FLAGS
    with control_plane.ControlPlane(folder / "plane", flags=flags) as plane:
        karmada.install(plane)
        client = plane.client
        for number in range(clusters):
            labels = {"tier": "gold" if number % 4 == 0 else "silver"}
            karmada.create(client, twins.cluster(f"m{number:03}", cpu="4000", labels=labels))
        made = list(_bindings(count))
        for one in made:
            one["spec"]["schedulerName"] = name
        client.create_many(_BINDINGS, made)
        progress = Progress()
        threading.Thread(target=_follow, args=(client, progress), daemon=True).start()
        scheduler: Any = (
            twins.ours(plane, folder)
            if name == twins.OURS
            else karmada.KarmadaScheduler(plane, folder)
        )
        with scheduler:
            scheduler.process.wait_until(
                lambda: len(progress.confirmed) >= count, time_limit_seconds=_LIMIT_SECONDS
            )
        seconds = progress.last_seconds - progress.first_seconds
        twice = sum(generation > 2 for generation in progress.generations.values())
        return count / seconds, twice


def main(argv: list[str]) -> int:
    """Compare both and print a line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks karmada")
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--bindings", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args(argv)
    for _ in range(args.repeat):
        rates = {}
        for name in (twins.THEIRS, twins.OURS):
            with tempfile.TemporaryDirectory(prefix="policysched-bench-") as folder:
                rate, twice = _run(name, pathlib.Path(folder), args.clusters, args.bindings)
            rates[name] = rate
            sys.stdout.write(
                f"{name}: {rate:.0f} bindings/s, {twice} of {args.bindings} written twice\n"
            )
            sys.stdout.flush()
        sys.stdout.write(f"{rates[twins.OURS] / rates[twins.THEIRS]:.1f} times\n")
    return 0
