from __future__ import annotations

import datetime
import pathlib
import random

from policysched.cluster.objects import objects
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lint import linter, settings
from policysched.lint.facts import cluster_facts
from policysched.offline import lint_cluster
from tests import seeds

CLUSTER = pathlib.Path(__file__).parent / "vocabulary.yaml"
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
COUNT = 300
POLICIES_IN_A_TEXT = 4
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

METRICS = """metric cpu_busy: ratio =
  `1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))`
  node instance missing allow missing score 0
  placed adds 0.8 * requests(cpu) / allocatable(cpu) for 8m
metric mem_free: bytes =
  `max by (instance) (avg_over_time(node_memory_MemAvailable_bytes[5m]))`
  node instance missing allow missing score 50
metric net_in: bytesPerSecond =
  `sum by (instance) (rate(node_network_receive_bytes_total{device!~"lo|veth.*"}[2m]))`
  node instance missing allow missing score 0
"""


def met(rng: random.Random, key: str, value: str, others: list[str]) -> str:
    """Return a requirement on a label that a node with this value meets, and some node does not."""
    numeric = (
        [f"{key} Gt {int(value) - 1}", f"{key} Lt {int(value) + 1}"] if value.isdigit() else []
    )
    chosen = [f'{key} In ("{value}")', *numeric]
    if others:
        other = rng.choice(others)
        chosen += [f'{key} NotIn ("{other}")', f'({key} = "{value}" or {key} = "{other}")']
    return rng.choice(chosen)


def requirements(
    rng: random.Random, cluster: cluster_facts.ClusterFacts, node: objects.Node
) -> list[str]:
    """Return requirements on different labels that a node meets."""
    labels = {
        key: value for key, value in node.metadata.labels.items() if key != HOST and value != "true"
    }
    keys = rng.sample(sorted(labels), rng.randint(2, len(labels)))
    return [
        met(rng, key, labels[key], sorted(cluster.node_labels[key] - {labels[key]})) for key in keys
    ]


def metric_rules(rng: random.Random) -> list[str]:
    """Return rules over metrics and resources whose thresholds divide nodes."""
    busy, low = rng.randint(60, 95), rng.randint(20, 55)
    return [
        f"reject when cpu_busy > {busy}% as hot",
        f"reject when cpu_busy > {busy}% until cpu_busy < {low}% as steady",
        f"reject when cpu_busy > {busy}% or mem_free < {rng.randint(1, 8)}Gi as tight",
        f"reject when mem_free < {rng.randint(1, 4)}Gi and free(cpu) < {rng.randint(1, 4)} as full",
        f"reject when free(memory) - requests(memory) < {rng.randint(1, 9)}Gi as room",
        f"score cpu_busy prefer low normalize linear(0%, {busy}%) weight {rng.randint(3, 20)}",
        f"score mem_free prefer high normalize rank weight {rng.randint(3, 20)}",
        f"score net_in prefer low normalize linear(0, {busy}M) weight {rng.randint(3, 20)}",
    ]


def policy(
    rng: random.Random, number: int, cluster: cluster_facts.ClusterFacts, node: objects.Node
) -> str:
    """Return a policy whose requirements one of the nodes meets."""
    required, *preferred = requirements(rng, cluster, node)
    taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in node.spec.taints]
    spread = rng.choice(["DoNotSchedule", "ScheduleAnyway weight 5"])
    skew = rng.randint(1, 3)
    rules = [
        f"nodeAffinity required {required}",
        *(f"nodeAffinity preferred {each} weight {rng.randint(3, 20)}" for each in preferred),
        f"topologySpread self topologyKey {ZONE} maxSkew {skew} whenUnsatisfiable {spread}",
        f"podAntiAffinity preferred self topologyKey {HOST} weight 5",
        *([f"tolerate {', '.join(taints)}"] if taints else []),
        f"score {rng.choice(['LeastAllocated', 'MostAllocated'])}(cpu: 1, memory: 1) weight 10",
        *rng.sample(metric_rules(rng), rng.randint(0, 4)),
    ]
    rng.shuffle(rules)
    body = "\n".join(f"  {each}" for each in rules)
    return f"""policy p{number} {{
  description "generated"
  owner "nobody"
  for pods in namespace (prod) where app = app-{number}
{body}
}}
"""


@seeds.drawn
def test_generated_policies_have_no_warning(seed: int) -> None:
    """What is right for a cluster is not reported: 500 policies of a cluster's own labels."""
    rng = random.Random(seed)
    empty = checker.check([]).program
    assert empty is not None
    cluster = lint_cluster.read_cluster_facts(str(CLUSTER), empty, NOW)
    chosen = settings.LintSettings(ignore=("PS802",))  # generated texts need not be pretty
    for first in range(0, COUNT, POLICIES_IN_A_TEXT):
        numbers = range(first, first + POLICIES_IN_A_TEXT)
        drawn = [policy(rng, number, cluster, rng.choice(cluster.nodes)) for number in numbers]
        text = METRICS + "".join(drawn)
        result = checker.check([source.SourceText("x.policy", text)])
        assert result.program is not None, result.diagnostics
        findings = linter.lint_program(result, chosen, cluster).findings
        assert [each for each in findings if each.severity != "info"] == [], text
