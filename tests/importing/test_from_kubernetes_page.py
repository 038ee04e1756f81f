"""docs/from-kubernetes.md beyond its pairs: tables, differences, profiles, commands."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import shlex
from typing import Any

import pytest
import yaml

from policysched.cli import main
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.plugins import defaults
from tests import page_examples
from tests.importing import deciding, decisions, kubernetes_page, page_clusters
from tests.importing import test_from_kubernetes as pairs

HOST = "kubernetes.io/hostname"
_BLOCKS = page_examples.read_blocks(kubernetes_page.PAGE)


def _rows(section: str) -> list[pytest.ParameterSet]:
    table = kubernetes_page.read_table(section)
    return [
        pytest.param(kubernetes_page.read_codes(stated)[0], code, id=code)
        for stated, *ruled in table
        for cell in ruled
        for code in kubernetes_page.read_codes(cell)
    ]


def _assert_alike(spec: dict[str, Any], policy: str) -> None:
    """Compare nodes and points on all clusters; the pair matters for some."""
    changed = 0
    for cluster, plain in zip(decisions.CLUSTERS, decisions.explain_plain(), strict=True):
        stated = decisions.explain(page_clusters.with_spec(cluster, spec))[decisions.OWN]
        ruled = decisions.explain(cluster, policy)[decisions.OWN]
        assert decisions.feasible(stated) == decisions.feasible(ruled)
        assert decisions.totals(stated) == decisions.totals(ruled)
        changed += decisions.totals(stated) != decisions.totals(plain[decisions.OWN])
    assert changed


@pytest.mark.parametrize("stated, ruled", _rows("operators"))
def test_operators(stated: str, ruled: str) -> None:
    """Each spelling of the table selects the nodes that the expression selects."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [yaml.safe_load(stated)]}]}
    spec = {"affinity": {"nodeAffinity": {decisions.REQUIRED: terms}}}
    _assert_alike(spec, f"{decisions.HEAD} nodeAffinity required {ruled} }}")


@pytest.mark.parametrize("stated, ruled", _rows("tolerations"))
def test_tolerations(stated: str, ruled: str) -> None:
    """Each toleration of the table has the effect of the statement beside it."""
    _assert_alike({"tolerations": [yaml.safe_load(stated)]}, f"{decisions.HEAD} {ruled} }}")


def test_a_pattern_without_an_effect() -> None:
    """It covers two effects."""
    both = [
        {"key": "maintenance", "operator": "Exists", "effect": effect}
        for effect in ("NoSchedule", "PreferNoSchedule")
    ]
    _assert_alike({"tolerations": both}, f"{decisions.HEAD} tolerate maintenance }}")


@pytest.mark.parametrize("stated, ruled", _rows("profiles-and-plugins"))
def test_profiles(stated: str, ruled: str) -> None:
    """Each row decides as the imported configuration does, and not as the default profile."""
    imported = deciding.convert(_configuration(yaml.safe_load(f"{{{stated}}}")))
    assert deciding.warnings(imported) == []
    changed = 0
    for cluster in decisions.CLUSTERS:
        used = page_clusters.with_spec(cluster, _make_spec_with_all_scores())
        before = _by_profile(used, imported.policy)
        assert before == _by_profile(used, f"profile default-scheduler {{ {ruled} }}")
        changed += before != _by_profile(used, "profile default-scheduler { }")
    assert changed


def _make_spec_with_all_scores() -> dict[str, Any]:
    """Return fields that node affinity, pod affinity and spread score, each in its own way."""
    redis = {"labelSelector": {"matchLabels": {"app": "redis"}}}
    apart = {"weight": 20, "podAffinityTerm": redis | {"topologyKey": HOST}}
    near = redis | {"topologyKey": page_clusters.ZONE}
    affinity = pairs.PAIRS["preferred-node-affinity"].spec["affinity"] | {
        "podAffinity": {decisions.REQUIRED: [near]},
        "podAntiAffinity": {decisions.PREFERRED: [apart]},
    }
    return {"affinity": affinity} | pairs.PAIRS["topology-spread-as-a-preference"].spec


def _by_profile(cluster: decisions.Cluster, policy: str) -> list[dict[str, float]]:
    return [decisions.totals(verdict) for verdict in decisions.explain(cluster, policy).values()]


def _configuration(profile: dict[str, Any]) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [profile],
        }
    )


def test_a_configuration_is_imported_as_the_page_shows() -> None:
    """The profile after it is that of `import`, without comments."""
    number = next(n for n, each in enumerate(_BLOCKS) if each.info == "yaml configuration")
    shown = [line.strip() for line in _BLOCKS[number + 1].body.splitlines()]
    assert deciding.body(deciding.convert(_BLOCKS[number].body)) == shown


def test_default_weights() -> None:
    """Of all plugins that score."""
    table = kubernetes_page.read_table("profiles-and-plugins", 1)
    shown = {name: int(weight) for names, weight in table for name in names.split(", ")}
    cluster = page_clusters.with_spec(
        decisions.CLUSTERS[0], pairs.PAIRS["preferred-node-affinity"].spec
    )
    scoring = {
        name
        for verdict in decisions.explain(cluster).values()
        for points in verdict["scores"].values()
        for name in points
    }
    assert {name: defaults.DEFAULT_WEIGHTS[name] for name in shown} == shown
    assert scoring - {"total"} <= set(shown)
    assert not {name for name, weight in defaults.DEFAULT_WEIGHTS.items() if weight > 1} - set(
        shown
    )


def test_fields_that_import_leaves_in_the_pod_are_on_the_page() -> None:
    """Each field of its notes is in one of the two tables at the end."""
    listed = {
        re.sub(r"\W.*", "", code)
        for section in ("fields-that-stay-in-the-pod", "not-supported")
        for row in kubernetes_page.read_table(section)
        for code in kubernetes_page.read_codes(row[0])
    }
    spec: dict[str, Any] = {
        "nodeSelector": {"a": "b"},
        "priorityClassName": "high",
        "preemptionPolicy": "Never",
        "runtimeClassName": "gvisor",
        "schedulingGates": [{"name": "a"}],
        "resourceClaims": [{"name": "gpu"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}],
        "containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": spec}
    notes = deciding.told(deciding.convert(deciding.as_yaml(pod)))
    fields = {re.findall(r"`spec\.(?:.*\.)?(\w+)", note)[0] for note in notes}
    assert len(notes) == len(spec) - 1
    assert fields <= listed


def test_pods_that_are_not_placed() -> None:
    """They wait, with a reason."""
    pod = deciding.pod("new", schedulingGroup={"podGroupName": "g"})
    verdict = decisions.explain([deciding.node("n1"), pod])["default/new"]
    assert decisions.feasible(verdict) == set()
    assert "which policysched does not" in verdict["message"]
    assert "`schedulingGroup`" in {
        row[0].split(" ")[0] for row in kubernetes_page.read_table("not-supported")
    }


@pytest.mark.parametrize(
    "statement, code",
    [
        pytest.param("tolerate a:NoExecute", "PS207", id="NoExecute"),
        pytest.param("tolerate *", "PS207", id="every-taint"),
        pytest.param("reject when free(storage) < 1Gi", "PS108", id="storage-of-nodes"),
    ],
)
def test_statements_that_are_refused(statement: str, code: str) -> None:
    """With the code on the page."""
    result = checker.check([source.SourceText("a.policy", f"{decisions.HEAD} {statement} }}")])
    assert [each.code for each in result.diagnostics] == [code]
    table = kubernetes_page.read_table("not-supported")
    assert code in {row[1] for row in table}


def test_every_policy_of_the_page_is_free_of_errors() -> None:
    """Warnings included."""
    policies = [each for each in _BLOCKS if each.info.startswith("policy")]
    assert len(policies) > len(pairs.PAIRS)
    for each in policies:
        result = checker.check([source.SourceText("page.policy", each.body)])
        assert result.diagnostics == (), each.body


def test_commands_print_what_the_page_shows(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in order, beside the files of the page."""
    monkeypatch.chdir(tmp_path)
    for each in _BLOCKS:
        if each.is_file:
            pathlib.Path(each.file).write_text(each.body, encoding="utf-8")
    consoles = [each.body for each in _BLOCKS if each.info == "console"]
    assert len(consoles) > 3
    for body in consoles:
        commands = re.findall(r"^\$ .*$", body, re.MULTILINE)
        assert "".join(f"{line}\n{_run(line.removeprefix('$ '))}" for line in commands) == body


def test_the_dry_run_starts_with_the_options_of_the_page(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They give a configuration."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("web.policy").write_text("policy web { for pods }", encoding="utf-8")
    (command,) = [each.body for each in _BLOCKS if each.info == "sh"]
    program, *words = shlex.split(command)
    assert (program, main.main([*words, "--print-config"])) == ("policysched", 0)
    assert "- web.policy" in capsys.readouterr().out


def _run(command: str) -> str:
    """Return the standard output of a command, and its exit code if it is not 0."""
    program, *words = shlex.split(command)
    if program == "cat":
        *read, _, written = words
        joined = "".join(pathlib.Path(name).read_text(encoding="utf-8") for name in read)
        pathlib.Path(written).write_text(joined, encoding="utf-8")
        return ""
    assert program == "policysched"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = main.main(words)
    text = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
    return text if code == 0 else f"{text}(exit {code})\n"
