"""Devices of nodes and pods in policy tests."""

from __future__ import annotations

import pathlib
import random

import pytest

from policysched.lang import source
from policysched.policytests import fuzz_clusters, fuzz_devices, fuzzing, running
from tests import builders
from tests.policytests import files

POLICY = """
policy training {
  for pods where app = training
  reject when freeDevices(gpu) < 2 as reserve
  score takenDevices(gpu) prefer low normalize linear(0, 4) as few
  score deviceCapacity(memory) prefer low normalize linear(0Gi, 80Gi) missing score 50 as smallest
  score deviceAttribute("gpu.example.com/numa") prefer high normalize linear(0, 4) missing score 0
}
"""
HEAD = """
policies: [web.policy]
nodes:
  n1: {devices: {gpu: {count: 4, capacity: {memory: 40Gi}, attributes: {gpu.example.com/numa: 1}}}}
  n2: {devices: {gpu: {count: 3, capacity: {memory: 80Gi}, attributes: {model: a100}}, nic: 2}}
  n3: {from: n2, devices: {gpu: 1}}
  n4: {}
pods:
  small: {labels: {app: training}, devices: {gpu: 1}}
  large: {from: small, devices: {gpu: 2}}
  plain: {labels: {app: training}}
  networked: {labels: {app: other}, devices: {nic: 2}}
  old: {from: large, node: n1}
"""
TESTS = """
- name: devices of running pods are not free
  pod: small
  expect:
    rejected: {n3: reserve, n4: reserve}
    feasible: [n1, n2]
    rules: {few: {n1: {points: 75, raw: 1}, n2: 75}, smallest: {n1: {raw: 40Gi}, n2: {raw: 80Gi}}}
- {name: two, pod: large, expect: {rules: {few: {n1: {raw: 2}}}, node: n1}}
- {name: none, pod: plain, expect: {rules: {few: {n1: 100}, smallest: {n1: {points: 50, raw: _}}}}}
- {name: another class, pod: networked, expect: {feasible: [n2, n3], policies: []}}
- {name: copies, pod: small, replicas: 5, expect: {placed: {n1: 1, n2: 2}, pending: 2}}
- {name: a running pod has no devices, pod: old, expect: {node: n1, rules: {few: {n1: 50}}}}
- {name: in the test, pod: {from: small, devices: {nic: 1}}, expect: {node: n2}}
- {name: too many, pod: {devices: {gpu: 9}}, expect: {rejected: {n1: DynamicResources}}}
"""


def test_nodes_have_devices_and_pods_need_them(tmp_path: pathlib.Path) -> None:
    """Rules read them; copies of a pod get devices of their own."""
    path = files.write(tmp_path, TESTS, head=HEAD, policy=POLICY)
    done = running.run_test_suites([path])
    assert done.problems == {}
    assert [(each.case.name, each.mismatches) for each in done.results if each.mismatches] == []
    assert len(done.results) == 8


CLUSTER = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: m1}, status: {allocatable: {cpu: 8, pods: 110}}}
- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: m1}
  spec:
    driver: gpu.example.com
    nodeName: m1
    pool: {name: m1, generation: 1, resourceSliceCount: 1}
    devices: [{name: a}, {name: b}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: c, namespace: prod, uid: uid-c}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
  status:
    reservedFor: [{resource: pods, name: run, uid: uid-run}]
    allocation:
      devices: {results: [{request: r, driver: gpu.example.com, pool: m1, device: a}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: run, namespace: prod, uid: uid-run, labels: {app: training}}
  spec:
    nodeName: m1
    containers: [{name: c, image: x}]
    resourceClaims: [{name: u, resourceClaimName: c}]
"""


def test_a_running_pod_of_a_cluster_file_has_no_devices(tmp_path: pathlib.Path) -> None:
    """They are in use for all other pods; the classes of the file can be named."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    tests = """
- {name: running, pod: prod/run, expect: {node: m1, rules: {few: {m1: {raw: 1}}}}}
- name: another
  pod: {labels: {app: training}, devices: {gpu: 1}}
  expect: {rejected: {m1: reserve}}
"""
    head = "policies: [web.policy]\ncluster: cluster.yaml\n"
    path = files.write(tmp_path, tests, head=head, policy=POLICY)
    done = running.run_test_suites([path])
    assert done.problems == {}
    assert [(each.case.name, each.mismatches) for each in done.results if each.mismatches] == []


def test_generated_clusters_have_the_devices_that_policies_read(tmp_path: pathlib.Path) -> None:
    """Some of them in use, and all properties hold."""
    words = fuzz_clusters.build_policy_vocabulary([source.SourceText("web.policy", POLICY)], ())
    assert words.devices == fuzz_devices.DeviceNames({"gpu"}, {"gpu.example.com/numa"}, {"memory"})
    rng = random.Random(3)
    suites = [fuzz_clusters.generate_test_suite(words, rng, builders.EPOCH) for _ in range(20)]
    used = [
        fields["devices"].get("gpu", 0)
        for suite in suites
        for fields in suite["pods"].values()
        if "node" in fields
    ]
    assert {0, 1, 2} <= set(used)
    path = files.write(tmp_path, TESTS, head=HEAD, policy=POLICY)
    assert fuzzing.fuzz_policies(path, 15, 5) is None


@pytest.mark.parametrize(
    "old, new, line, problem",
    [
        (
            "{gpu: 2}}",
            "{gpuu: 2}}",
            10,
            "no node has devices of the class `gpuu` (did you mean `gpu`?)",
        ),
        ("{gpu: 2}}", "{gpu: 5}}", 13, "the node `n1` has 4 free devices of the class `gpu`"),
        ("memory: 40Gi", "memory: 40Gb", 4, "40Gb"),
        ("{gpu: 1}}\\n  n4", "{gpu: -1}}\\n  n4", 6, "`nodes.n3.devices.gpu` must be at least 0"),
        (
            "{gpu: 1}}\\n  n4",
            "{gpu: {count: -2}}}\\n  n4",
            6,
            "`nodes.n3.devices.gpu.count` must be at least 0",
        ),
        (
            "{gpu: 1}}\\n  n4",
            "{gpu: {size: 1}}}\\n  n4",
            6,
            "`nodes.n3.devices.gpu` has no field `size` (there are `count`",
        ),
        (
            "{gpu: 1}}\\n  n4",
            "{gpu: {attributes: {cc: 9.0}}}}\\n  n4",
            6,
            "`cc` is 9.0; write a whole number, a text or a boolean",
        ),
        (
            "{gpu: 1}}\\n  n4",
            "{Gpu_x: 1}}\\n  n4",
            6,
            "`Gpu_x` is not a name; use lowercase letters, digits, `-` and `.`",
        ),
    ],
)
def test_mistakes_have_a_line(
    old: str, new: str, line: int, problem: str, tmp_path: pathlib.Path
) -> None:
    """They are told before any test runs."""
    head = HEAD.replace(old.replace("\\n", "\n"), new.replace("\\n", "\n"))
    assert head != HEAD
    path = files.write(tmp_path, TESTS, head=head, policy=POLICY)
    done = running.run_test_suites([path])
    assert done.results == []
    assert f":{line}: " in done.problems[path]
    assert problem in done.problems[path]
