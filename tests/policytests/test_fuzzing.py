from __future__ import annotations

import dataclasses
import datetime
import itertools
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from policysched import _resources
from policysched.cli import main
from policysched.lang import source
from policysched.lang.formatting import formatter
from policysched.lang.parsing import parser
from policysched.offline import preemption_report
from policysched.policytests import evaluation, fuzz_clusters, fuzzing, running
from tests import builders
from tests.policytests import files

TESTS = "- {name: it, pod: web, expect: {}}\n"
PODS = "nodes: {n1: {}}\npods: {web: {labels: {app: web}}}\n"
SCORING = """\
metric busy: ratio = `busy` node instance refresh 15s maxAge 2m

policy web {
  for pods
  score busy prefer low normalize linear(0%, 100%) missing score 0 weight 10 as quiet
}
"""
SHIPPED = sorted((_resources.find_resource_folder("policies") / "tests").glob("*_test.yaml"))
Change = Callable[[evaluation.CaseOutcome], evaluation.CaseOutcome]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_policies_have_no_counterexample(path: pathlib.Path) -> None:
    """On a few generated clusters each; `make` of a release may try more."""
    assert fuzzing.fuzz_policies(str(path), 6, 11) is None


def test_a_seed_makes_the_same_clusters() -> None:
    """And they hold what the policies speak of."""
    text = source.SourceText("web.policy", files.POLICY)
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    assert words.labels == {"app": {"web"}, "disk": {"ssd"}}
    assert words.taints == {"dedicated=web:NoSchedule"}
    made = [
        fuzz_clusters.generate_test_suite(words, random.Random(seed), builders.EPOCH)
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]


def test_clusters_have_the_facts_of_nodes_that_policies_read() -> None:
    """Annotations, conditions, and versions around each bound."""
    text = source.SourceText(
        "web.policy",
        "policy p { for pods nodeAffinity required condition(Ready) = True and "
        "annotation(rack) = a and nodeInfo(kubeletVersion) > 1.30 }",
    )
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    suites = [
        fuzz_clusters.generate_test_suite(words, random.Random(seed), builders.EPOCH)
        for seed in range(20)
    ]
    nodes = [node for suite in suites for node in suite["nodes"].values()]
    assert {node["kubeletVersion"] for node in nodes} == {"", "v1.30.0", "v1.31.0-alpha"}
    assert {node["conditions"].get("Ready") for node in nodes} == {None, "True", "False", "Unknown"}
    assert {"a", None} <= {node["annotations"].get("rack") for node in nodes}


def test_clusters_have_texts_that_match_patterns() -> None:
    """Names of nodes and namespaces, and values of labels."""
    text = source.SourceText(
        "web.policy",
        'policy p { for pods in namespace ("team-*") where app = "web*" '
        'nodeAffinity required nodeName = "*-gpu" }',
    )
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    assert words.labels["app"] == {"web", "web1", "weba"}
    assert words.namespaces == {"team-1", "team-a"}
    assert words.node_names == {"1-gpu", "a-gpu"}
    suite = fuzz_clusters.generate_test_suite(words, random.Random(1), builders.EPOCH)
    assert {"1-gpu", "a-gpu"} <= suite["nodes"].keys()


def test_pods_have_the_owners_that_policies_name() -> None:
    """And others."""
    text = source.SourceText("web.policy", "policy p { for pods where owner(name) In (a, b) }")
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    suites = [
        fuzz_clusters.generate_test_suite(words, random.Random(seed), builders.EPOCH)
        for seed in range(20)
    ]
    pods = [pod for suite in suites for pod in suite["pods"].values()]
    assert {pod["owner"] for pod in pods} == {"Job/a", "Job/b", "Job/other"}


def test_pods_have_the_claims_that_policies_name() -> None:
    """And others; sizes are around those with which policies compare."""
    rules = 'for pods where storageClass = "fast-*" reject when requests(storage) > 2Gi'
    text = source.SourceText("web.policy", f"policy p {{ {rules} }}")
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    suites = [
        fuzz_clusters.generate_test_suite(words, random.Random(seed), builders.EPOCH)
        for seed in range(40)
    ]
    claims = [
        claim
        for suite in suites
        for pod in suite["pods"].values()
        for claim in pod["claims"].values()
    ]
    assert {claim["class"] for claim in claims} == {"", "other", "fast-1", "fast-a"}
    sizes = {claim["storage"] for claim in claims}
    assert sizes == {"1", "2147483647", "2147483648", "2147483649"}


def test_rules_about_preemption_meet_pods_of_several_priorities(tmp_path: pathlib.Path) -> None:
    """Clusters for other rules have no priorities; these have, and no kept pod is evicted."""
    rules = "preempt pods where tier = batch reject when count(self namespaces all) >= 1"
    policy = f"policy web {{\n  for pods where app = web\n  {rules}\n}}\n"
    words = fuzz_clusters.build_policy_vocabulary([source.SourceText("p", policy)], ())
    made = fuzz_clusters.generate_test_suite(words, random.Random(1), builders.EPOCH)
    assert {each["priority"] for each in made["pods"].values()} == {0, 100}
    path = files.write(tmp_path, TESTS, policy=policy, head="policies: [web.policy]\n" + PODS)
    assert fuzzing.fuzz_policies(path, 100, 5) is None


def test_clusters_have_times_around_the_bounds_of_policies() -> None:
    """Pods that have waited for ten minutes, and for a second less."""
    text = source.SourceText("w.policy", "policy p { for pods reject when waiting < 10m }\n")
    words = fuzz_clusters.build_policy_vocabulary([text], ())
    assert words.times_seconds == {0.0, 600.0}
    made = [
        fuzz_clusters.generate_test_suite(words, random.Random(seed), builders.EPOCH)
        for seed in range(30)
    ]
    tried = {pod.get("firstTried") for suite in made for pod in suite["pods"].values()}
    waited = {
        (builders.EPOCH - datetime.datetime.fromisoformat(time)).total_seconds()
        for time in tried - {None}
    }
    assert None in tried
    assert waited == {-1, 0, 1, 599, 600, 601}


def _too_many_points(outcome: evaluation.CaseOutcome) -> evaluation.CaseOutcome:
    points = {name: dict.fromkeys(nodes, 101.0) for name, nodes in outcome.decision.points.items()}
    return dataclasses.replace(
        outcome, decision=dataclasses.replace(outcome.decision, points=points)
    )


def _no_number(outcome: evaluation.CaseOutcome) -> evaluation.CaseOutcome:
    points = {"x": {"n0": float("nan")}}
    return dataclasses.replace(
        outcome, decision=dataclasses.replace(outcome.decision, points=points)
    )


_CALLS = itertools.count()


def _now_and_then(outcome: evaluation.CaseOutcome) -> evaluation.CaseOutcome:
    report = {**outcome.decision.report, "message": f"told {next(_CALLS)} times"}
    return dataclasses.replace(
        outcome, decision=dataclasses.replace(outcome.decision, report=report)
    )


def _wrong_victim(outcome: evaluation.CaseOutcome) -> evaluation.CaseOutcome:
    facts = preemption_report.PreemptionFacts()
    decision = dataclasses.replace(outcome.decision, preemption=facts, victims=["default/n9"])
    return dataclasses.replace(outcome, decision=decision)


def _other_best(outcome: evaluation.CaseOutcome) -> evaluation.CaseOutcome:
    (placed,) = outcome.placements
    return dataclasses.replace(outcome, placements=[dataclasses.replace(placed, best=["n9"])])


@pytest.mark.parametrize(
    "change, problem",
    [
        pytest.param(_too_many_points, "finite: ", id="finite"),
        pytest.param(_no_number, "finite: x gives n0 nan points", id="nan"),
        pytest.param(_now_and_then, "order: ", id="order"),
        pytest.param(_other_best, "two ways: best ['n9']", id="two-ways"),
        pytest.param(_wrong_victim, "preemption: evicts default/n9, which has no", id="victim"),
    ],
)
def test_a_defect_is_found_and_becomes_a_test(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Change,
    problem: str,
) -> None:
    """The counterexample is small, told with the seed, and a file of tests as it stands."""
    path = files.write(tmp_path, TESTS, policy=SCORING)
    evaluate = evaluation.evaluate_case

    def broken(*given: Any, **named: Any) -> evaluation.CaseOutcome:
        return change(evaluate(*given, **named))

    monkeypatch.setattr(evaluation, "evaluate_case", broken)
    assert main.main(["test", path, "--fuzz", "20", "--seed", "3"]) == 1
    out = capsys.readouterr().out
    head, _, rest = out.partition("\n")
    assert head.startswith(f"FAIL {path}: pod p")
    assert problem in head
    test, _, summary = rest.rpartition("\n1 file, ")
    assert test.startswith("# seed 3: ")
    assert summary == "20 clusters each, seed 3: 1 counterexample\n"
    monkeypatch.undo()
    pasted = tmp_path / "pasted_test.yaml"
    pasted.write_text(test + "\n", encoding="utf-8")
    done = running.run_test_suites([str(pasted)], is_update=True)
    assert done.problems == {}
    assert len(done.results) == 1


def test_a_text_that_fmt_spoils_is_a_counterexample(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formatting must end, and keep the meaning."""
    path = files.write(tmp_path, TESTS)

    def spoil(text: source.SourceText) -> formatter.FormatResult:
        return formatter.FormatResult(text.text + "# more\n")

    monkeypatch.setattr(formatter, "format_text", spoil)
    found = fuzzing.fuzz_policies(path, 1, 1)
    assert found is not None
    assert found.problem.endswith("web.policy: fmt changes its own output")
    assert parser.parse_policy_text(source.SourceText("x", files.POLICY)).diagnostics == ()


_OF_TESTS = (
    ["--update"],
    ["--watch"],
    ["--coverage"],
    ["--threshold", "0"],
    ["--lcov", "x"],
    ["--cobertura", "x"],
    ["--run", "x"],
    ["--format", "json"],
)


@pytest.mark.parametrize(
    "options",
    [
        ["--seed", "1"],
        ["--fuzz", "0"],
        ["--fuzz", "x"],
        *(["--fuzz", "1", *each] for each in _OF_TESTS),
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """Usage errors exit 3."""
    assert main.main(["test", files.write(tmp_path, TESTS), *options]) == 3
    assert capsys.readouterr().out == ""


def test_broken_policies_are_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to try then."""
    path = files.write(tmp_path, TESTS, policy="policy web { what }\n")
    assert main.main(["test", path, "--fuzz", "3"]) == 2
    assert "PS001" in capsys.readouterr().err
