"""Claims of pods in policy tests."""

from __future__ import annotations

import pathlib

from policysched.policytests import running
from tests.policytests import files

POLICY = """
policy databases {
  for pods where storageClass = "local-*"
  nodeAffinity required disk = ssd as on-disks
}
policy sizes {
  for pods where app = web
  reject when requests(storage) > 100Gi and not node(disk = ssd) as too-large
}
"""
HEAD = """
policies: [web.policy]
nodes:
  n1: {labels: {disk: ssd}}
  n2: {}
pods:
  db: {claims: {data: {class: local-ssd, storage: 1Gi}}}
  old: {from: db, node: n2}
"""
TESTS = """
- {name: a class, pod: db, expect: {policies: [databases], rejected: {n2: on-disks}}}
- name: another class of the same claim
  pod: {from: db, claims: {data: {class: network}}}
  expect: {policies: [], feasible: [n1, n2]}
- name: two claims together
  pod: {labels: {app: web}, claims: {a: {storage: 60Gi}, b: {storage: 60Gi}}}
  expect: {rejected: {n2: too-large}, exact: true}
- {name: a small claim, pod: {labels: {app: web}, claims: {a: {}}}, expect: {feasible: [n1, n2]}}
- {name: copies, pod: db, replicas: 3, expect: {placed: {n1: 3}}}
- {name: a running pod, pod: old, expect: {node: n1}}
- name: a claim that does not exist
  pod: {spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]}}
  expect: {policies: [], rejected: {n1: any, n2: any}}
"""


def test_pods_have_claims(tmp_path: pathlib.Path) -> None:
    """Policies read them; their volumes can be used on every node."""
    path = files.write(tmp_path, TESTS, head=HEAD, policy=POLICY)
    done = running.run_test_suites([path])
    assert done.problems == {}
    assert [(each.case.name, each.mismatches) for each in done.results if each.mismatches] == []
    assert len(done.results) == 7
