"""The parts of `make proof`: each is a command of the Makefile with its numbers."""

from __future__ import annotations

import dataclasses
from typing import Final


@dataclasses.dataclass(frozen=True)
class Part:
    """A part that runs alone, and in under two hours on two cores.

    Attributes:
        name: what `make proof PARTS=` and the table call it.
        goals: the arguments of make.
        purpose: what a pass says.
    """

    name: str
    goals: tuple[str, ...]
    purpose: str


PARTS: Final = (
    Part("tests", ("test",), "everything that `make test` runs"),
    Part("proof-tests", ("proof-tests",), "the long tests that `make test` leaves out"),
    Part("fresh", ("fresh", "SEEDS=20"), "tests that draw their cases, with 20 fresh seeds"),
    Part("conformance", ("conformance", "CASES=20000"), "decisions equal to kube-scheduler's"),
    Part(
        "sequences",
        ("conformance", "FAMILIES=sequences", "CASES=400"),
        "placements one after the other equal to kube-scheduler's",
    ),
    Part(
        "preemption",
        ("conformance", "FAMILIES=preemption", "CASES=4000"),
        "nominated nodes and victims equal to kube-scheduler's",
    ),
    Part("cel", ("cel", "PAIRS=100000"), "device selectors decide as kube-scheduler's"),
    Part("devices", ("devices", "CASES=20000"), "devices are allocated as by kube-scheduler"),
    Part("extenders", ("extenders", "CASES=4000"), "HTTP extenders act as with kube-scheduler"),
    Part("backlog", ("backlog", "PODS=3000"), "a backlog of 3,000 pods is bound on a real cluster"),
    Part(
        "kernels",
        ("kernels", "CASES=2000"),
        "kernels with checks of bounds, and interpreted ones, decide as compiled ones",
    ),
    Part(
        "kubernetes-e2e",
        ("kubernetes-e2e",),
        "Kubernetes' own e2e tests that pass with kube-scheduler pass",
    ),
    Part("fuzz", ("fuzz", "ROUNDS=5"), "property tests with fresh examples"),
    Part(
        "commands",
        ("fuzz-commands", "INPUTS=100000", "PROCESSES=1000"),
        "damaged input ends every command with one clear error",
    ),
    Part(
        "chaos",
        ("chaos", "ROUNDS=20", "EDITS=1000", "TROUBLES=16"),
        "no pod is lost or placed twice when things break",
    ),
    Part("soak", ("soak", "MINUTES=30"), "memory does not grow"),
)
