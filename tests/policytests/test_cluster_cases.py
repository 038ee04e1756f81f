"""Tests of cluster policies: what they expect, and what is not valid in them."""

from __future__ import annotations

import pathlib

import pytest

from policysched.policytests import running

_POLICY = """\
metric errors: ratio = `sum by (cluster) (x)` cluster cluster missing allow
clusterPolicy web {
  for resources in namespace (prod) where kind = Deployment
  clusterGroup near where region = eu
  clusterGroup far where region = us
  reject when errors > 50% as faulty
  score errors prefer low normalize linear(0%, 10%) missing score 0 as shares
  replicas Divided Weighted by score
}
clusterPolicy pinned { for resources where app = ledger replicas Divided Weighted (m1: 2, m2: 1) }
clusterPolicy kind { for resources tolerate a as open }
clusterPolicy office {
  for resources
  reject when cluster(tier = x) during "Mon-Fri 08:00-20:00"
}
clusterPolicy tiers {
  for resources
  score cluster(tier = x) weight 20 during "Mon-Fri 08:00-20:00" otherwise 3 as gold
}
"""
_SUITE = """\
policies: [web.policy]
clusters:
  m1: {region: eu, allocatable: {pods: 8}, labels: {tier: x}}
  m2: {from: m1, labels: {tier: z}}
  m3: {region: us, taints: [CASE_TAINT]}
metrics: {errors: {m1: 0%, m2: 5%}}
now: 2026-03-02T10:00:00+00:00
tests:
  - {name: it, CASE}
"""


def _run(tmp_path: pathlib.Path, case: str, suite: str = _SUITE) -> running.PolicyTestRun:
    (tmp_path / "web.policy").write_text(_POLICY)
    path = tmp_path / "web_test.yaml"
    path.write_text(suite.replace("CASE_TAINT", "a=b:NoSchedule").replace("CASE", case))
    return running.run_test_suites([str(path)])


@pytest.mark.parametrize(
    "case",
    [
        "clusterPolicy: web, replicas: 6, expect: {division: {m1: 4, m2: 2}, group: near}",
        "clusterPolicy: web, replicas: 6, metrics: outage, expect: {division: {m1: 3, m2: 3}}",
        "clusterPolicy: web, replicas: 9, expect: {division: {m1: 6, m2: 3, m3: 0}, error: ''}",
        (
            "clusterPolicy: web, replicas: 3, metrics: {errors: {m1: 60%}}, "
            "expect: {division: {m2: 3}}"
        ),
        (
            "clusterPolicy: web, replicas: 3, resource: {kind: Job, apiVersion: batch/v1}, "
            "expect: {division: {m1: 3, m2: 3}, group: ''}"
        ),
        (
            "clusterPolicy: web, replicas: 3, resource: {namespace: prod, clusters: {m2: 3}}, "
            "expect: {division: {m2: 3}}"
        ),
        (
            "clusterPolicy: web, replicas: 3, resource: {namespace: prod, "
            "placement: {clusterTolerations: [{key: a, operator: Exists}], "
            "clusterAffinity: {clusterNames: [m3]}}}, expect: {division: {m3: 3}}"
        ),
        (
            "clusterPolicy: web, replicas: 99, expect: {error: 'failed to assign replicas: failed "
            "to scale up: Clusters available replicas 16 are not enough to schedule.'}"
        ),
        "clusterPolicy: office, expect: {division: {m2: 1}}",
        (
            "clusterPolicy: web, replicas: 3, metrics: {errors: {m1: 60%, m2: 5%}}, "
            "expect: {rejected: {m1: faulty, m3: [near, TaintToleration]}, feasible: [m2], "
            "scores: {m2: 50}, rules: {shares: {m2: 49 ± 2}}}"
        ),
        (
            "clusterPolicy: web, metrics: {errors: {m1: 60%, m2: 60%}}, "
            "expect: {rejected: {m1: web/faulty, m2: any}, feasible: []}"
        ),
        "clusterPolicy: office, now: 2026-03-01T10:00:00+00:00, expect: {division: {m1: 1, m2: 1}}",
        "clusterPolicy: tiers, expect: {rules: {gold: {m1: 100, m2: 0}}, scores: {m1: 2000}}",
        (
            "clusterPolicy: tiers, now: 2026-03-01T10:00:00+00:00, "
            "expect: {rules: {gold.otherwise: {m1: 100}}, scores: {m1: 300}}"
        ),
    ],
)
def test_a_case_holds(tmp_path: pathlib.Path, case: str) -> None:
    """Division, group and error are what one policy makes of a resource."""
    done = _run(tmp_path, case)
    assert done.problems == {}
    assert [(r.status, r.problem, r.mismatches) for r in done.results] == [("pass", "", ())]


def test_clusters_follow_from_weights_where_none_are_declared(tmp_path: pathlib.Path) -> None:
    """A policy that names its clusters is tested by itself."""
    suite = "policies: [web.policy]\nnow: 2026-03-02T10:00:00+00:00\ntests:\n  - {name: it, CASE}\n"
    case = "clusterPolicy: pinned, replicas: 3, expect: {division: {m1: 2, m2: 1}}"
    assert [each.status for each in _run(tmp_path, case, suite).results] == ["pass"]


def test_a_mismatch_says_what_happens(tmp_path: pathlib.Path) -> None:
    """Each expectation that is not met, with what `--update` would write."""
    case = "clusterPolicy: web, replicas: 6, expect: {division: {m1: 6}, group: far}"
    (result,) = _run(tmp_path, case).results
    assert result.status == "fail"
    assert [(m.path, m.expected, m.actual, m.replacement) for m in result.mismatches] == [
        (("division",), "{m1: 6}", "{m1: 4, m2: 2}", {"m1": 4, "m2": 2}),
        (("group",), "far", "near", "near"),
    ]


@pytest.mark.parametrize(
    "case, problem",
    [
        ("clusterPolicy: wob, expect: {error: ''}", "no clusterPolicy `wob` (did you mean `web`?"),
        ("clusterPolicy: web, expect: {division: {m4: 1}}", "there is no cluster `m4`"),
        ("clusterPolicy: web, expect: {group: here}", "there is no clusterGroup `here`"),
        (
            "clusterPolicy: web, expect: {rejected: {m1: faulti}}",
            "no rule, clusterGroup or plugin `faulti` (did you mean `faulty`?",
        ),
        ("clusterPolicy: web, expect: {rejected: {m9: any}}", "there is no cluster `m9`"),
        ("clusterPolicy: web, expect: {feasible: [m9]}", "there is no cluster `m9`"),
        ("clusterPolicy: web, expect: {rules: {shares: {m9: 1}}}", "there is no cluster `m9`"),
        ("clusterPolicy: web, expect: {message: x}", "`message` is not allowed in a test of a"),
        (
            "clusterPolicy: web, metrics: {errs: {m1: 1}}, expect: {error: ''}",
            "there is no metric `errs`",
        ),
        (
            "clusterPolicy: web, metrics: {errors: {n1: 1}}, expect: {error: ''}",
            "there is no cluster `n1`",
        ),
        ("clusterPolicy: web", "the test `it` expects nothing"),
    ],
)
def test_names_of_nothing_are_errors(tmp_path: pathlib.Path, case: str, problem: str) -> None:
    """A test never passes because it speaks of something else."""
    done = _run(tmp_path, case)
    assert done.results == []
    assert problem in next(iter(done.problems.values()))


@pytest.mark.parametrize(
    "case, problem",
    [
        ("resource: {requests: {cpu: many}}", "many"),
        ("resource: {placement: {clusterAffinity: 5}}", "is not valid"),
        ("metrics: {errors: {m1: 5Gi}}", "`5Gi` is not a value of `errors`"),
    ],
)
def test_what_cannot_be_decided_is_an_error(
    tmp_path: pathlib.Path, case: str, problem: str
) -> None:
    """The test says what is not valid; others run."""
    done = _run(tmp_path, f"clusterPolicy: web, {case}, expect: {{error: ''}}")
    (result,) = done.results
    assert result.status == "error"
    assert problem in result.problem


def test_rejections_and_points_are_compared(tmp_path: pathlib.Path) -> None:
    """What refuses a cluster, who passes, and points, with what `--update` would write."""
    case = (
        "clusterPolicy: web, replicas: 6, metrics: {errors: {m1: 60%, m2: 5%}}, expect: {"
        "rejected: {m1: near, m2: any}, feasible: [m1], scores: {m2: 60, m1: 1}, "
        "rules: {shares: {m2: 40}}}"
    )
    (result,) = _run(tmp_path, case).results
    assert [(m.path, m.expected, m.actual) for m in result.mismatches] == [
        (("rejected", "m1"), "near", "[faulty]"),
        (("rejected", "m2"), "any", "accepts the resource"),
        (("feasible",), "[m1]", "[m2]"),
        (("scores", "m2"), "60", "50"),
        (("scores", "m1"), "1", "is refused"),
        (("rules", "shares", "m2"), "40", "50"),
    ]


@pytest.mark.parametrize(
    "case, taken",
    [
        (
            "clusterPolicy: web, replicas: 3, metrics: {errors: {m1: 60%, m2: 5%}}",
            ["faulty rejected", "faulty passed", "shares scored"],
        ),
        ("clusterPolicy: web, replicas: 3", ["faulty passed", "shares scored", "shares differed"]),
        ("clusterPolicy: web, replicas: 3, metrics: outage", []),
        ("clusterPolicy: web, replicas: 3, resource: {namespace: dev}", []),
        ("clusterPolicy: kind", ["open granted"]),
    ],
)
def test_coverage_counts_rules_of_cluster_policies(
    tmp_path: pathlib.Path, case: str, taken: list[str]
) -> None:
    """As those of policies: both ways of each, and nothing in an outage or out of scope."""
    done = _run(tmp_path, f"{case}, expect: {{error: x}}")
    found = [
        f"{rule.name.partition('/')[2]} {branch}"
        for rule in done.coverage.rules
        for branch, count in rule.branches.items()
        if count
    ]
    assert found == taken
    assert done.coverage.branch_counts == (len(taken), 9)
