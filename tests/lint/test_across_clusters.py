"""Rules of lint that hold for cluster policies as for policies, in the words of clusters."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lint import clusters_as_nodes, linter, rule_input, settings
from policysched.lint.facts import prometheus_facts
from policysched.offline import lint_cluster
from tests.lint import cases

PLANE = pathlib.Path(__file__).parent / "plane.yaml"

_METRIC = """\
metric errors: ratio = `sum by (cluster) (rate(errors_total[5m]))`
  cluster cluster missing allow missing score 50
"""
_SCORED = "replicas Divided Weighted by score"


def _found(code: str, text: str) -> list[tuple[int, str]]:
    """Return line and message of what a rule finds in a text, beside the control plane."""
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None, result.diagnostics
    known = lint_cluster.read_cluster_facts(str(PLANE), result.program, cases.NOW)
    members = known.members and dataclasses.replace(known.members, name=PLANE.name)
    known = dataclasses.replace(known, members=members)
    report = linter.lint_program(result, settings.LintSettings(select=(code,)), known)
    return [(each.span.line, each.message) for each in report.findings]


def _policy(*statements: str, head: str = "", scope: str = "for resources where app = web") -> str:
    lines = "\n  ".join((scope, *statements))
    return f"{head}clusterPolicy web {{\n  {lines}\n}}\n"


def _busy(query: str) -> str:
    return f"metric busy: ratio = `{query}` cluster cluster missing allow missing score 0\n"


_CASES = [
    (
        "PS204",
        _policy(
            "reject when errors > 5% as hot", "reject when errors > 9% as hotter", head=_METRIC
        ),
        [(6, "this rule rejects only clusters that `web/hot` also rejects")],
        _policy(
            "reject when errors > 5% as hot", "reject when free(cpu) < 1 as full", head=_METRIC
        ),
    ),
    (
        "PS205",
        _policy(
            _SCORED, "score free(cpu) prefer high as most", "score free(cpu) prefer low as least"
        ),
        [(5, "this score cancels out `web/most`")],
        _policy(_SCORED, "score free(cpu) prefer high", "score free(memory) prefer low"),
    ),
    (
        "PS213",
        _policy(
            "clusterAffinity required region = eu as eu",
            "clusterAffinity required region = us as us",
        ),
        [(4, "no cluster can pass both `web/us` and `web/eu`")],
        _policy("clusterAffinity required region = eu", "clusterAffinity required tier = gold"),
    ),
    (
        "PS214",
        _policy("tolerate dedicated", "clusterAffinity required not tainted(dedicated) as plain"),
        [(3, "`dedicated` is tolerated, but `web/plain` rejects clusters with this taint")],
        _policy("tolerate dedicated", "clusterAffinity required not tainted(maintenance)"),
    ),
    (
        "PS215",
        _policy("tolerate dedicated", "tolerate dedicated=web:NoSchedule"),
        [(4, "`dedicated=web:NoSchedule` is already tolerated by `dedicated`")],
        _policy("tolerate dedicated", "tolerate maintenance"),
    ),
    (
        "PS216",
        _policy("reject when free(cpu) < 1 as full")
        + "clusterPolicy db { for resources where app = db disable web.full }\n",
        [(5, "this `disable` has no effect: no resource matches both `db` and `web`")],
        _policy("reject when free(cpu) < 1 as full")
        + "clusterPolicy db { for resources where tier = gold disable web.full }\n",
    ),
    (
        "PS302",
        _policy("reject when errors > 150%", head=_METRIC),
        [(5, "this comparison of `errors` is false for every possible value")],
        _policy("reject when errors > 15%", head=_METRIC),
    ),
    (
        "PS306",
        _policy(_SCORED, "score errors prefer low normalize minmax", head=_METRIC),
        [(6, "`minmax` turns even the smallest difference between clusters into 100 points")],
        _policy(_SCORED, "score errors prefer low normalize minmax(5%)", head=_METRIC),
    ),
    (
        "PS307",
        _policy(
            _SCORED,
            "score errors prefer low weight 99 as a",
            "score free(cpu) prefer high as b",
            head=_METRIC,
        ),
        [(6, "this score has 99% of the total weight: other scores hardly count")],
        _policy(
            _SCORED, "score errors prefer low weight 3", "score free(cpu) prefer high", head=_METRIC
        ),
    ),
    (
        "PS308",
        _policy(_SCORED, "score errors normalize shape(0%: 0, 5%: 100, 9%: 0)", head=_METRIC),
        [(6, "the points of this shape rise and fall")],
        _policy(_SCORED, "score errors normalize shape(0%: 100, 5%: 50, 9%: 0)", head=_METRIC),
    ),
    (
        "PS310",
        _policy("reject when free(cpu) > 4 and free(cpu) < 2"),
        [
            (
                3,
                (
                    "this condition is always false: "
                    "`free(cpu) > 4` and `free(cpu) < 2` exclude each other"
                ),
            )
        ],
        _policy("reject when free(cpu) > 4 or free(cpu) < 2"),
    ),
    (
        "PS311",
        _policy("reject when free(cpu) < 4 and free(cpu) < 2"),
        [(3, "`free(cpu) < 4` has no effect: the other conditions imply it")],
        _policy("reject when free(cpu) < 4 and free(memory) < 2Gi"),
    ),
    (
        "PS312",
        _policy(_SCORED, "score requests(cpu) prefer high"),
        [
            (
                4,
                (
                    "every cluster gets the same points from this score: "
                    "it does not depend on the cluster"
                ),
            )
        ],
        _policy(_SCORED, "score free(cpu) prefer high"),
    ),
    (
        "PS313",
        _policy(
            "clusterAffinity required region = eu as eu",
            "clusterAffinity preferred region In (eu, us) weight 5",
        ),
        [(4, "every cluster that the required rules permit matches `region In (eu, us)`")],
        _policy(
            "clusterAffinity required region In (eu, us)",
            "clusterAffinity preferred region = eu weight 5",
        ),
    ),
    (
        "PS315",
        _policy(_SCORED, "score free(cpu) prefer high as a", "score free(cpu) prefer high as b"),
        [(5, "`web/a` is the same score for the same resources: the total weight is 2")],
        _policy(_SCORED, "score free(cpu) prefer high", "score free(memory) prefer high"),
    ),
    (
        "PS402",
        _policy("reject when busy > 5%", head=_busy("max by (cluster, pod) (busy)")),
        [(1, "`busy` has a sample for each value of `pod`, not one for each cluster")],
        _policy("reject when busy > 5%", head=_busy("max by (cluster) (busy)")),
    ),
    (
        "PS408",
        _policy(_SCORED, "score busy prefer low", head=_busy("topk(3, worst)")),
        [(1, "the `topk` in `busy` omits clusters, so the score reads missing values")],
        _policy(_SCORED, "score busy prefer low", head=_busy("worst")),
    ),
    (
        "PS410",
        _policy("reject when busy > 5%", head=_busy("busy")),
        [(4, "a single sample of `busy` decides whether a cluster is rejected")],
        _policy("reject when busy > 5%", head=_busy("rate(busy[5m])")),
    ),
    (
        "PS501",
        _policy("clusterAffinity required region = eu and tier = bronze"),
        [(3, "the policy `web` leaves 0 of 3 clusters (plane.yaml, 1 resource in scope)")],
        _policy("clusterAffinity required region = eu and tier = gold"),
    ),
    (
        "PS502",
        _policy("clusterAffinity required teir = gold"),
        [(3, "no cluster of plane.yaml has the label `teir`")],
        _policy("clusterAffinity required tier = gold"),
    ),
    (
        "PS503",
        _policy(
            "clusterAffinity required region In (eu, uss) and zone = eu-c and clusterName != m1 "
            "and tier In (gold, bronce)"
        ),
        [
            (3, "no cluster of plane.yaml has `uss` as its `region`"),
            (3, "no cluster of plane.yaml has `eu-c` as its `zone`"),
            (3, "no cluster of plane.yaml has `bronce` as its `tier`"),
        ],
        _policy(
            "clusterAffinity required region In (eu, us) and zone = eu-a and clusterName = m1",
            "clusterGroup one where tier = gold",
        ),
    ),
    (
        "PS504",
        _policy(scope="for resources where app = wep"),
        [(1, "the policy `web` matches none of the 2 resources of plane.yaml")],
        _policy(),
    ),
    (
        "PS508",
        _policy("tolerate dedicatd"),
        [(3, "no cluster of plane.yaml has a taint that `dedicatd` tolerates")],
        _policy("tolerate dedicated"),
    ),
    (
        "PS512",
        _policy(_SCORED, "clusterAffinity preferred region In (eu, us) weight 5"),
        [(4, "all of the 3 clusters of plane.yaml for these resources match `region In (eu, us)`")],
        _policy(_SCORED, "clusterAffinity preferred region = eu weight 5"),
    ),
    (
        "PS514",
        _policy("clusterAffinity required region = us as small"),
        [(3, "`default/web` is too large for all 1 clusters that the rules permit")],
        _policy("clusterAffinity required region = eu"),
    ),
    (
        "PS703",
        _policy("clusterAffinity required region = eu", "spreadConstraint by cluster minGroups 3"),
        [(4, "`minGroups 3` cannot be met: plane.yaml has 2 clusters for these resources")],
        _policy("clusterAffinity required region = eu", "spreadConstraint by cluster minGroups 2"),
    ),
    (
        "PS703",
        _policy("clusterGroup us where region = us", "spreadConstraint by zone minGroups 2"),
        [
            (
                4,
                (
                    "`minGroups 2` cannot be met: plane.yaml has 1 zone for these resources "
                    "in clusterGroup `us`"
                ),
            )
        ],
        _policy("clusterGroup eu where region = eu", "spreadConstraint by zone minGroups 2"),
    ),
    (
        "PS805",
        _policy('reject when free(cpu) < 1 during "00:00-24:00"'),
        [(3, "`during` covers the whole week")],
        _policy('reject when free(cpu) < 1 during "08:00-18:00"'),
    ),
]


@pytest.mark.parametrize(
    "code, failing, expected, passing",
    _CASES,
    ids=[f"{n} {case[0]}" for n, case in enumerate(_CASES)],
)
def test_a_rule_is_about_cluster_policies_too(
    code: str, failing: str, expected: list[tuple[int, str]], passing: str
) -> None:
    """What it finds, in the words of clusters; and a text close to it in which it finds nothing."""
    assert _found(code, failing) == expected
    assert _found(code, passing) == []


def test_every_rule_that_is_run_twice_is_tried() -> None:
    """No rule is said to hold for clusters without an example."""
    tried = {case[0] for case in _CASES}
    assert tried >= clusters_as_nodes.CODES


def test_what_a_user_wrote_is_kept() -> None:
    """Names between backticks and those of files stay, whatever words they are."""
    text = _policy("clusterAffinity required nodes = pod", scope="for resources where node = pods")
    found = _found("PS502", text)
    assert found == [(3, "no cluster of plane.yaml has the label `nodes`")]


def test_policies_about_nodes_are_not_compared_with_members() -> None:
    """Nor cluster policies with nodes: a dump of a control plane has none."""
    text = "policy web { for pods where app = web nodeAffinity required disk = ssd }\n"
    assert _found("PS502", text) == []
    result = checker.check(
        [source.SourceText("x.policy", _policy("clusterAffinity required a = b"))]
    )
    assert result.program is not None
    known = lint_cluster.read_cluster_facts(str(cases.CLUSTER), result.program, cases.NOW)
    assert linter.lint_program(result, settings.LintSettings(select=("PS5",)), known).findings == ()


def test_answers_are_compared_with_member_clusters() -> None:
    """PS602 names the clusters that have no series, and labels that name none."""
    text = _policy("reject when errors > 5%", head=_METRIC)
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None
    query = rule_input.LintInput(result.program, result.parsed, result.texts).metric_queries[0]
    series = tuple(
        prometheus_facts.QueryResultSeries({"cluster": name}, 0.0) for name in ("m1", "m3")
    )
    facts = prometheus_facts.QueryFacts(series=series)
    said = prometheus_facts.PrometheusFacts("p", queries={query.query.text: facts})
    known = lint_cluster.read_cluster_facts(str(PLANE), result.program, cases.NOW)
    (found,) = linter.lint_program(
        result, settings.LintSettings(select=("PS602",)), known, said
    ).findings
    assert found.message == "`errors` has no series for 1 of 3 clusters: `m2`"
