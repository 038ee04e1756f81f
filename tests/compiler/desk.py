"""Policy text on one side, a small cluster on the other: what rules say about pods and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.metrics import metric_table
from policysched.cluster.pods import pod_shape
from policysched.compiler import compiler
from policysched.framework import explanation, profile, runtime
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.lang.diagnostics import rendering
from tests import builders

METRICS = """
metric load: ratio = `load` node instance refresh 15s maxAge 2m
metric heat: ratio = `heat` node instance refresh 15s maxAge 2m
"""


def check(text: str) -> checked.CheckedProgram:
    """Return what a text means; it must be free of errors."""
    result = checker.check([source.SourceText("test.policy", text)])
    found = "\n".join(
        rendering.render_diagnostic(each, result.texts) for each in result.diagnostics
    )
    assert result.program is not None, found
    return result.program


class Desk:
    """A cluster and compiled policies, of which one profile decides."""

    def __init__(
        self,
        text: str,
        nodes: Iterable[builders.NodeBuilder] = (),
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.program = compiler.compile_program(check(text))
        self.cache = caches.Cache(self.clock)
        self.cache.retain_needed_metric_data(self.program.metric_needs)
        self.shapes = pod_shape.PodShapeCache(self.program.annotation_keys)
        for name, labels in (namespaces or {}).items():
            self.cache.set_namespace(name, labels)
        for node in nodes:
            self.cache.set_node(node.build())
        compiled = {each.name: each for each in self.program.profiles}
        self.frameworks = {name: framework(each) for name, each in compiled.items()}
        self.others = framework(self.program.others)

    def place(self, *pods: builders.PodBuilder) -> None:
        """Take in pods that have a node."""
        for pod in pods:
            self.cache.add_pod(self.shapes.make_pod_info(pod.build()))

    def remove(self, pod: builders.PodBuilder) -> None:
        """Take a placed pod away."""
        self.cache.remove_pod(self.shapes.make_pod_info(pod.build()))

    def sample(
        self, metric: str, ages: Mapping[str, float] | None = None, /, **values: float
    ) -> None:
        """Refresh a metric; samples are taken now, or so many seconds ago."""
        now = self.clock.now().timestamp()
        samples = {
            name: metric_table.Sample(value, now - (ages or {}).get(name, 0.0))
            for name, value in values.items()
        }
        self.cache.metrics.refresh(metric, samples)

    def explain(
        self, pod: builders.PodBuilder, profile_name: str | None = None
    ) -> explanation.Explanation:
        """Return everything that a profile says about a pending pod."""
        info = self.shapes.make_pod_info(pod.build())
        return self.frameworks[profile_name].explain_pod(info, self.cache.snapshot())

    def feasible(self, pod: builders.PodBuilder, profile_name: str | None = None) -> list[str]:
        """Return the nodes on which a pod fits."""
        verdicts = self.explain(pod, profile_name).verdicts
        return [verdict.name for verdict in verdicts if verdict.first.is_success]

    def points(
        self, pod: builders.PodBuilder, rule: str, profile_name: str | None = None
    ) -> dict[str, float]:
        """Return what a rule gives the feasible nodes, unweighted."""
        said = self.explain(pod, profile_name)
        assert said.scores is not None
        weight = self.frameworks[profile_name].profile.weights[rule]
        names = [self.cache.nodes.names[row] for row in said.scores.rows.tolist()]
        hundredths = said.scores.by_plugin[rule].tolist()
        return {n: h / weight / 100 for n, h in zip(names, hundredths, strict=True)}


def framework(compiled: compiler.CompiledPolicies) -> runtime.Framework:
    """Return a framework that runs policies and no other plugin."""
    made = profile.Profile(
        compiled.name or "",
        compiled.plugins,
        compiled.weights,
        tolerations=compiled.tolerations,
        time_bounds=compiled.time_bounds,
    )
    return runtime.Framework(made, None)


def pod(name: str = "p", **labels: str) -> builders.PodBuilder:
    """Begin a pod with labels."""
    return builders.make_pod(name).labels(labels)


def node(name: str, **labels: str) -> builders.NodeBuilder:
    """Begin a node with labels."""
    return builders.make_node(name).labels(labels)


def reasons(said: explanation.Explanation) -> dict[str, tuple[str, str]]:
    """Return code and reason of the first failure on each rejected node."""
    return {
        verdict.name: (verdict.first.code.value, verdict.first.reasons[0])
        for verdict in said.verdicts
        if not verdict.first.is_success
    }
