from __future__ import annotations

import pathlib
import re

import pytest

from policysched.cli import main
from policysched.policytests import expectations, running
from tests.policytests import files

REPLICAS = "pod: web, replicas: 3"
PREEMPTING = """\
policy web {
  for pods where app = web
  preempt pods where tier = batch as only-batch
}
policy notebooks {
  for pods where app = notebook
  protect from preemption as keep
}
"""
ROOM = """\
policies: [web.policy]
nodes: {n1: {cpu: 2}, n2: {cpu: 2}, n3: {cpu: 2}}
pods:
  notebook: {labels: {app: notebook, tier: batch}, requests: {cpu: 2}, node: n1}
  api: {labels: {app: api}, requests: {cpu: 2}, node: n2}
  job: {labels: {tier: batch}, requests: {cpu: 2}, node: n3, priority: 20}
  web: {labels: {app: web}, requests: {cpu: 1}, priority: 100}
  small: {labels: {app: web}, priority: 100}
"""
MET = [
    ("node: n2", "pod: web"),
    ("node: [n2, n4]", "pod: web"),
    ("node: null", "pod: {from: web, requests: {cpu: 9}}"),
    ("feasible: [n4, n2]", "pod: web"),
    ("rejected: {n1: too-hot}", "pod: web"),
    ("rejected: {n1: web/too-hot, n3: any}, exact: true", "pod: web"),
    ("rejected: {n2: [NodeResourcesFit]}", "pod: {from: web, requests: {cpu: 9}}"),
    ("scores: {n2: 600}", "pod: web"),
    ("scores: {n2: 580 ± 20, n4: 510 +- 10}", "pod: web"),
    ("rules: {quiet: {n2: 60}}", "pod: web"),
    ("rules: {web/quiet: {n2: {points: 59 ± 1, raw: 40%}}}", "pod: web"),
    ("message: ''", "pod: web"),
    ("policies: [web]", "pod: web"),
    ("policies: []", "pod: {labels: {app: cron}}"),
    ("skipped: []", "pod: web"),
    ("skipped: [too-hot, quiet]", "pod: web, metrics: outage"),
    ("skipped: [by-day]", "pod: web, now: '2026-03-01T10:00:00+01:00'"),
    ("feasible: [n1, n2, n4]", "pod: web, metrics: {busy: {n1: _}}"),
    ("feasible: [n1, n2, n4]", "pod: web, metrics: {busy: {n1: stale}}"),
    ("feasible: [n1, n2, n4]", "pod: web, metrics: {busy: outage}"),
    ("pending: false", "pod: web"),
    ("pending: true", "pod: {from: web, requests: {cpu: 9}}"),
    ("pending: 1", "pod: {from: web, requests: {cpu: 4}}, replicas: 3"),
    ("placed: {n2: 3, n4: 0}", REPLICAS),
    ("maxSkew: {zone: 3}", REPLICAS),
]
NOT_MET = [
    ("node: n4", "pod: web", "node", "n4", "n2"),
    ("node: null", "pod: web", "node", "null", "n2"),
    ("node: n2", "pod: web, metrics: outage", "node", "n2", "[n1, n2, n4] (equal points)"),
    ("feasible: [n2]", "pod: web", "feasible", "[n2]", "[n2, n4]"),
    ("rejected: {n1: fast-disk}", "pod: web", "rejected.n1", "fast-disk", "[too-hot]"),
    ("rejected: {n2: any}", "pod: web", "rejected.n2", "any", "accepts the pod"),
    (
        "rejected: {n1: too-hot}, exact: true",
        "pod: web",
        "rejected",
        "{n1: too-hot}",
        "{n1: too-hot, n3: fast-disk}",
    ),
    ("scores: {n2: 540 ± 50}", "pod: web", "scores.n2", "540 ± 50", "600"),
    ("scores: {n1: 100}", "pod: web", "scores.n1", "100", "is rejected"),
    ("rules: {quiet: {n2: 59}}", "pod: web", "rules.quiet.n2", "59", "60"),
    ("rules: {quiet: {n2: {raw: 0.41}}}", "pod: web", "rules.quiet.n2.raw", "0.41", "0.4"),
    ("rules: {quiet: {n2: {raw: _}}}", "pod: web", "rules.quiet.n2.raw", "_", "0.4"),
    (
        "rules: {quiet: {n4: {raw: _}}}",
        "pod: {labels: {app: cron}}",
        "rules.quiet.n4.raw",
        "_",
        "has no points",
    ),
    (
        "rules: {quiet: {n2: 0}}",
        "pod: {labels: {app: cron}}",
        "rules.quiet.n2",
        "0",
        "has no effect",
    ),
    (
        "message: no room",
        "pod: {from: web, requests: {cpu: 9}}",
        "message",
        "no room",
        "'0/4 nodes are available: 4 Insufficient cpu.'",
    ),
    ("policies: []", "pod: web", "policies", "[]", "[web]"),
    ("skipped: [quiet]", "pod: web", "skipped", "[quiet]", "[]"),
    ("pending: true", "pod: web", "pending", "true", "false"),
    ("pending: 1", REPLICAS, "pending", "1", "0"),
    ("placed: {n4: 1}", REPLICAS, "placed.n4", "1", "0"),
    ("maxSkew: {zone: 2}", REPLICAS, "maxSkew.zone", "2", "3 (a: 0, b: 3)"),
]


@pytest.mark.parametrize("expect, more", MET, ids=lambda text: text)
def test_an_expectation_that_is_met_passes(tmp_path: pathlib.Path, expect: str, more: str) -> None:
    """Each kind of expectation, as things are."""
    done = running.run_test_suites([files.expecting(tmp_path, expect, more)])
    assert done.problems == {}
    (result,) = done.results
    assert (result.status, result.mismatches, done.get_exit_code()) == ("pass", (), 0)


@pytest.mark.parametrize("expect, more, path, expected, actual", NOT_MET)
def test_an_expectation_that_is_not_met_fails(
    tmp_path: pathlib.Path, expect: str, more: str, path: str, expected: str, actual: str
) -> None:
    """Each kind of expectation, as things are not: expected and actual are told."""
    done = running.run_test_suites([files.expecting(tmp_path, expect, more)])
    assert done.problems == {}
    (result,) = done.results
    (found,) = result.mismatches
    assert (".".join(found.path), found.expected) == (path, expected)
    assert found.actual.removeprefix("[").startswith(actual.removeprefix("[").removesuffix("]"))
    assert (result.status, done.get_exit_code()) == ("fail", 1)
    assert result.report is not None


@pytest.mark.parametrize(
    "expect, more",
    [
        ("evicts: [job]", "pod: web"),
        ("evicts: [default/job]", "pod: web, replicas: 3"),
        ("evicts: []", "pod: small"),
        ("kept: {notebook: keep, api: only-batch}", "pod: web"),
        ("kept: {notebook: [notebooks/keep], api: any}", "pod: web"),
    ],
)
def test_expectations_about_preemption_that_are_met(
    tmp_path: pathlib.Path, expect: str, more: str
) -> None:
    """Victims and kept pods, in clusters where one pod can only be evicted."""
    test = f"- {{name: it, {more}, expect: {{{expect}}}}}\n"
    done = running.run_test_suites([files.write(tmp_path, test, ROOM, PREEMPTING)])
    assert done.problems == {}
    assert [each.mismatches for each in done.results] == [()]


_PREEMPTION_NOT_MET = [
    ("evicts: [api]", "pod: web", "evicts", "[api]", "[default/job]"),
    ("evicts: [job]", "pod: small", "evicts", "[job]", "[]"),
    ("kept: {job: any}", "pod: web", "kept.job", "any", "none"),
    ("kept: {api: keep}", "pod: web", "kept.api", "keep", "[only-batch]"),
    ("kept: {api: any}", "pod: small", "kept.api", "any", "the pod needs no preemption"),
]


@pytest.mark.parametrize("expect, more, path, expected, actual", _PREEMPTION_NOT_MET)
def test_expectations_about_preemption_that_are_not_met(
    tmp_path: pathlib.Path, expect: str, more: str, path: str, expected: str, actual: str
) -> None:
    """Expected and actual are told, and `--update` writes what is true."""
    test = f"- {{name: it, {more}, expect: {{{expect}}}}}\n"
    file = files.write(tmp_path, test, ROOM, PREEMPTING)
    (result,) = running.run_test_suites([file]).results
    (found,) = result.mismatches
    assert (".".join(found.path), found.expected, found.actual) == (path, expected, actual)
    assert main.main(["test", file, "--update"]) == 0
    (again,) = running.run_test_suites([file]).results
    assert again.status == "pass"


@pytest.mark.parametrize("expect", ["evicts: [jab]", "kept: {jab: any}", "kept: {job: kept}"])
def test_unknown_names_of_expectations_about_preemption(
    tmp_path: pathlib.Path, expect: str
) -> None:
    """A pod or rule that does not exist is a problem of the file, with its line."""
    test = f"- {{name: it, pod: web, expect: {{{expect}}}}}\n"
    done = running.run_test_suites([files.write(tmp_path, test, ROOM, PREEMPTING)])
    (problems,) = done.problems.values()
    assert "unknown" in str(problems) or "no " in str(problems)


def test_every_kind_of_expectation_has_one_that_fails() -> None:
    """No kind is there that could not fail; `lint` has a file of its own."""
    failing = (*NOT_MET, *_PREEMPTION_NOT_MET)
    assert {path.partition(".")[0] for _, _, path, _, _ in failing} == set(
        expectations._COMPARISONS
    )


@pytest.mark.parametrize("case", NOT_MET, ids=lambda case: case[0])
def test_the_report_says_what_differs(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], case: tuple[str, ...]
) -> None:
    """Exit code 1, the line of the test, both sides, and the evaluation of the pod."""
    expect, more, path, expected, actual = case
    file = files.expecting(tmp_path, expect, more)
    assert main.main(["test", file]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"FAIL {file}:")
    assert f"  - {path}: {expected}\n  + {path}: " in said
    assert actual.strip("[]") in said
    assert re.search("fits on|does not fit", said)
    assert said.endswith("0 passed, 1 failed\n")


def test_params_of_a_test_stand_over_those_of_the_file(tmp_path: pathlib.Path) -> None:
    """The same pod under two limits."""
    policy = files.POLICY.replace("80%", "limit").replace(
        "metric", "param limit: ratio = 80%\nmetric", 1
    )
    head = f"params: {{limit: 95%}}\n{files.HEAD}"
    tests = """\
    - {name: of the file, pod: web, expect: {feasible: [n1, n2, n4]}}
    - {name: of the test, pod: web, params: {limit: 45%}, expect: {feasible: [n2]}}
    """
    done = running.run_test_suites([files.write(tmp_path, tests, head, policy)])
    assert [result.status for result in done.results] == ["pass", "pass"]


def test_a_pod_of_a_cluster_file_leaves_its_node(tmp_path: pathlib.Path) -> None:
    """A running pod is decided as if it were pending; what it requests there is free."""
    (tmp_path / "cluster.yaml").write_text(
        """\
apiVersion: v1
kind: List
items:
- {kind: Node, apiVersion: v1, metadata: {name: c1, labels: {disk: ssd}},
   status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}
- {kind: Pod, apiVersion: v1, metadata: {name: old, namespace: prod, labels: {app: web}},
   spec: {nodeName: c1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
""",
        "utf-8",
    )
    head = "policies: [web.policy]\nnow: 2026-03-02\ncluster: cluster.yaml\n"
    tests = """\
    - {name: off its node, pod: prod/old, expect: {node: c1}}
    - {name: by its name alone, pod: old, expect: {node: c1}}
    - {name: beside it, pod: {labels: {app: web}, requests: {cpu: 1}}, expect: {node: null}}
    """
    done = running.run_test_suites([files.write(tmp_path, tests, head)])
    assert done.problems == {}
    assert [result.mismatches for result in done.results] == [(), (), ()]


def test_an_inline_pod_may_be_from_one_that_is_called_pod(tmp_path: pathlib.Path) -> None:
    """The name of an inline pod is one that no other has."""
    head = files.HEAD + "  pod: {labels: {app: web}, node: n2, requests: {cpu: 4}}\n"
    tests = "- {name: it, pod: {from: pod}, expect: {node: n4, rejected: {n2: NodeResourcesFit}}}\n"
    done = running.run_test_suites([files.write(tmp_path, tests, head)])
    assert done.problems == {}
    assert done.results[0].mismatches == ()


def test_a_profile_that_does_not_exist(tmp_path: pathlib.Path) -> None:
    """The field of the test file is named, with its line."""
    path = files.write(
        tmp_path, "- {name: it, schedulerName: other, pod: web, expect: {node: n2}}\n"
    )
    (result,) = running.run_test_suites([path]).results
    line = result.case.find_line("schedulerName")
    problem = "`schedulerName`: there is no profile `other` (there is `only-web`)"
    assert result.problem == f"{path}:{line}: {problem}"


def test_without_policies_any_profile_is_the_default_one(tmp_path: pathlib.Path) -> None:
    """As with `--scheduler-name` in `explain` and `simulate`."""
    head = "schedulerName: default-scheduler\nnodes: {n1: {}}\n"
    path = files.write(tmp_path, "- {name: it, pod: {}, expect: {node: n1}}\n", head=head)
    (result,) = running.run_test_suites([path]).results
    assert (result.status, result.problem) == ("pass", "")
