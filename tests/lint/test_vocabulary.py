from __future__ import annotations

import datetime
import pathlib
import random

from policysched.app import lint_cluster
from policysched.cluster import objects
from policysched.lang import checker, source
from policysched.lint import cluster_facts, linter, settings

CLUSTER = pathlib.Path(__file__).parent / "cluster.yaml"
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
COUNT = 1_000


def met(rng: random.Random, key: str, value: str, others: list[str]) -> str:
    """Return a requirement on a label that a node with this value meets, and some node does not."""
    numeric = (
        [f"{key} Gt {int(value) - 1}", f"{key} Lt {int(value) + 1}"] if value.isdigit() else []
    )
    chosen = [f'{key} In ("{value}")', f"{key} Exists", *numeric]
    if others:
        chosen.append(f'{key} NotIn ("{rng.choice(others)}")')
    return rng.choice(chosen)


def policy(rng: random.Random, number: int, cluster: cluster_facts.ClusterFacts) -> str:
    """Return a policy whose requirements one of the nodes meets."""
    node: objects.Node = rng.choice(cluster.nodes)
    labels = node.metadata.labels
    keys = rng.sample(sorted(labels), rng.randint(1, len(labels)))
    required = [
        met(rng, key, labels[key], sorted(cluster.node_labels[key] - {labels[key]})) for key in keys
    ]
    spread = rng.choice(["DoNotSchedule", "ScheduleAnyway weight 5"])
    return f"""policy p{number} {{
  description "generated"
  owner "nobody"
  for pods in namespace (n{number}) where app = web
  nodeAffinity required {" and ".join(required)}
  nodeAffinity preferred {required[0]} weight {rng.randint(1, 20)}
  topologySpread self topologyKey zone maxSkew {rng.randint(1, 3)} whenUnsatisfiable {spread}
  score {rng.choice(["LeastAllocated", "MostAllocated"])}(cpu: 1, memory: 1) weight 10
}}
"""


def test_generated_policies_have_no_warning() -> None:
    """What is right for a cluster is not reported: 1,000 policies of a cluster's own labels."""
    rng = random.Random(1)
    empty = checker.check([]).program
    assert empty is not None
    cluster = lint_cluster.read(str(CLUSTER), empty, NOW)
    chosen = settings.Settings(ignore=("PS802",))  # generated texts need not be pretty
    for number in range(COUNT):
        text = policy(rng, number, cluster)
        result = checker.check([source.SourceText("x.policy", text)])
        assert result.program is not None, result.diagnostics
        findings = linter.lint(result, chosen, cluster).findings
        assert [each for each in findings if each.severity != "info"] == [], text
