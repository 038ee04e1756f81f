"""What `karmada simulate` prints, and what it says of wrong input."""

from __future__ import annotations

import json
import pathlib
from importlib import metadata
from typing import Any

import pytest

from policysched.cli import main
from tests import page_examples, report_schemas
from tests.karmada import cases, twins

_PAGE = page_examples.DOCS / "karmada.md"


def test_the_page_shows_what_is_printed() -> None:
    """The commands of docs/karmada.md, run beside its files, print the output of the page."""
    blocks = page_examples.read_blocks(_PAGE)
    consoles = [each for each in blocks if each.body.startswith("$ policysched ")]
    with page_examples.workspace(_PAGE):
        assert [page_examples.run(each) for each in consoles] == [each.body for each in consoles]
    assert consoles


def test_json_follows_the_schema(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever becomes of bindings."""
    kinds = set()
    for seed in range(20):
        (tmp_path / "plane.json").write_text(json.dumps(cases.control_plane(str(seed))))
        argv = ["karmada", "simulate", "--cluster", str(tmp_path / "plane.json"), "-o", "json"]
        assert main.main(argv) == 0
        report = json.loads(capsys.readouterr().out)
        report_schemas.check_report(report, "karmada-simulate")
        kinds |= {each["errorKind"] for each in report}
    assert kinds == {"", "fit", "unschedulable", "other"}


_CLUSTER = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
_BINDING = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"}


@pytest.mark.parametrize(
    "items, problem",
    [
        ([{"apiVersion": "v1", "kind": "Pod"}], "has no Cluster and no binding, only Pod"),
        ([_CLUSTER], "a Cluster without metadata.name"),
        ([_CLUSTER | {"metadata": {"name": "a"}}] * 2, "has the same name as another Cluster: `a`"),
        (
            [_BINDING | {"metadata": {"name": "b"}, "spec": {"replicas": "many"}}],
            "items[0] (ResourceBinding b): spec.replicas: expected `int`, got `str`",
        ),
        (
            [
                _BINDING
                | {
                    "metadata": {"name": "b"},
                    "spec": {
                        "replicas": 1,
                        "replicaRequirements": {"resourceRequest": {"cpu": "?"}},
                    },
                }
            ],
            "items[0] (ResourceBinding default/b): `?` is not a quantity",
        ),
        (
            [
                _CLUSTER
                | {
                    "metadata": {"name": "c"},
                    "status": {"resourceSummary": {"allocatable": {"pods": "lots"}}},
                }
            ],
            "items[0] (Cluster c): `lots` is not a quantity",
        ),
        (
            [_BINDING | {"metadata": {"name": "b"}, "spec": {"rescheduleTriggeredAt": "soon"}}],
            "items[0] (ResourceBinding default/b): `soon` is not a time",
        ),
        (
            [_BINDING | {"metadata": {"name": "b"}, "spec": {"replicas": 2**31}}],
            "items[0] (ResourceBinding default/b): `2147483648` replicas are outside the int32",
        ),
        (
            [_BINDING | {"metadata": {"name": "b"}, "apiVersion": "work.karmada.io/v1alpha1"}],
            "items[0]: is a ResourceBinding of `work.karmada.io/v1alpha1`; only v1alpha2",
        ),
    ],
    ids=[
        "other kinds",
        "no name",
        "twice",
        "type",
        "request",
        "capacity",
        "time",
        "replicas",
        "version",
    ],
)
def test_wrong_input_is_one_error(
    items: list[dict[str, Any]],
    problem: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What and where, and exit code 2."""
    plane = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "plane.json").write_text(json.dumps(plane))
    assert main.main(["karmada", "simulate", "--cluster", str(tmp_path / "plane.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert problem in said.err


@pytest.mark.parametrize(
    "options, code",
    [
        (["--cluster", "-", "--feature-gates=Nonsense=true"], 3),
        (["--cluster", "-", "--feature-gates=WorkloadAffinity=maybe"], 3),
        (["--cluster", "-", "--cluster", "/nowhere"], 3),
        (["--cluster", "/nowhere"], 2),
    ],
)
def test_wrong_options_are_told(
    options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, nothing on stdout."""
    assert main.main(["karmada", "simulate", *options]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_a_misspelt_plugin_is_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It changes nothing, as in Karmada, and that is said beside the answer."""
    (tmp_path / "plane.json").write_text(json.dumps(_PLANE))
    dump = ["--cluster", str(tmp_path / "plane.json")]
    assert main.main(["karmada", "simulate", *dump, "--plugins=*,-ClusterAfinity"]) == 0
    said = capsys.readouterr()
    assert "2 of 2 bindings placed" in said.out
    assert said.err == (
        "policysched: note: --plugins: there is no plugin `ClusterAfinity`, so `-ClusterAfinity` "
        "changes nothing\n"
    )


def _raises(request: object, clusters: object) -> list[str]:
    raise ValueError("boom")


class FailingFilter:
    """A plugin of another package; a test says what its filter does."""

    name = "Failing"
    filter = staticmethod(_raises)


class FailingScore:
    """A plugin of another package; a test says what its score does."""

    name = "Failing"
    score = staticmethod(_raises)


@pytest.mark.parametrize(
    "plugin, answer, problem",
    [
        (FailingFilter, _raises, "plugin `Failing` failed at Filter: ValueError: boom"),
        (FailingFilter, lambda *_: [], "plugin `Failing` failed at Filter: ValueError: "),
        (FailingScore, _raises, "plugin `Failing` failed at Score: ValueError: boom"),
        (FailingScore, lambda *_: ["x"], "plugin `Failing` failed at Score: TypeError: "),
    ],
    ids=["filter raises", "filter says too little", "score raises", "score is no number"],
)
def test_a_plugin_that_fails_is_told(
    plugin: type[Any],
    answer: Any,
    problem: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`karmada simulate` says it of each binding, `explain` in one error."""
    point = metadata.EntryPoint("Failing", f"{__name__}:{plugin.__name__}", "any")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [point])
    method = "filter" if hasattr(plugin, "filter") else "score"
    monkeypatch.setattr(plugin, method, staticmethod(answer))
    (tmp_path / "plane.json").write_text(json.dumps(_PLANE))
    dump = ["--cluster", str(tmp_path / "plane.json")]
    assert main.main(["karmada", "simulate", *dump, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["errorKind"] for each in told] == ["other", "other"]
    assert all(each["error"].startswith(problem) for each in told)
    assert main.main(["explain", "binding", "--all", *dump]) == 2
    assert problem in capsys.readouterr().err


_PLANE = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [twins.cluster("member1"), *(twins.binding(name, {}, 2) for name in ("a", "b"))],
}


def test_the_table_says_by_which_affinity_term(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column that is there if any binding has several terms, as `observedAffinity` in JSON."""
    (tmp_path / "plane.json").write_text(json.dumps(cases.control_plane("3")))
    argv = ["karmada", "simulate", "--cluster", str(tmp_path / "plane.json")]
    assert main.main([*argv, "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    terms = {each["observedAffinity"] for each in report} - {""}
    assert terms
    assert main.main(argv) == 0
    header, *lines = capsys.readouterr().out.split("\n")
    column = header.index("AFFINITY")
    shown = [line[column:].split("  ")[0] for line in lines[: len(report)]]
    assert shown == [each["observedAffinity"] or "-" for each in report]


@pytest.mark.parametrize(
    "kind, fields, message",
    [
        pytest.param(
            "Cluster",
            {"spec": {"taints": [{"key": "a", "effect": "NoExecut"}]}},
            "spec.taints[0].effect: `NoExecut` is not a known taint effect "
            "(did you mean `NoExecute`?)",
            id="taint",
        ),
        pytest.param(
            "Cluster",
            {"status": {"resourceSummary": {"allocatable": {"cpu": "-10"}}}},
            "status.resourceSummary.allocatable.cpu: `-10` is negative (write 0 or more)",
            id="allocatable",
        ),
        pytest.param(
            "ResourceBinding",
            {"spec": {"replicas": -3}},
            "spec.replicas: `-3` is negative (write 0 or more)",
            id="replicas",
        ),
        pytest.param(
            "ResourceBinding",
            {"spec": {"clusters": [{"name": "m1", "replicas": -1}]}},
            "spec.clusters[0].replicas: `-1` is negative (write 0 or more)",
            id="replicas-of-a-cluster",
        ),
        pytest.param(
            "ResourceBinding",
            {"spec": {"components": [{"replicas": 1}, {"replicas": -1}]}},
            "spec.components[1].replicas: `-1` is negative (write 0 or more)",
            id="replicas-of-a-component",
        ),
        pytest.param(
            "ResourceBinding",
            {"spec": {"replicaRequirements": {"resourceRequest": {"cpu": "-1"}}}},
            "spec.replicaRequirements.resourceRequest.cpu: `-1` is negative (write 0 or more)",
            id="request",
        ),
        pytest.param(
            "ResourceBinding",
            {"spec": {"placement": {"clusterTolerations": [{"operator": "Foo"}]}}},
            "spec.placement.clusterTolerations[0].operator: `Foo` is not a known operator of a "
            "toleration (write `Equal`, `Exists`, `Gt` or `Lt`)",
            id="toleration",
        ),
    ],
)
def test_a_value_that_karmada_refuses_is_refused(
    kind: str,
    fields: dict[str, Any],
    message: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the object and the path of the field."""
    api = {"Cluster": "cluster.karmada.io/v1alpha1"}.get(kind, "work.karmada.io/v1alpha2")
    found = {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, **fields}
    file = tmp_path / "plane.json"
    file.write_text(json.dumps(found))
    assert main.main(["karmada", "simulate", "--cluster", str(file)]) == 2
    told = capsys.readouterr()
    name = "default/x" if kind == "ResourceBinding" else "x"
    assert (told.out, told.err) == ("", f"policysched: {file} ({kind} {name}): {message}\n")


def test_it_says_by_which_policies_it_decided(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those in force, their files and the hash of `check`, as `simulate` does."""
    (tmp_path / "plane.json").write_text(json.dumps(cases.control_plane("3")))
    policy = tmp_path / "p.policy"
    policy.write_text("clusterPolicy b { for resources }\nclusterPolicy a { for resources }\n")
    argv = ["karmada", "simulate", "--cluster", str(tmp_path / "plane.json")]
    assert main.main(argv) == 0
    assert capsys.readouterr().out.endswith("placed\n\ndecided without policies\n")
    assert main.main([*argv, "--policies", str(policy)]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert main.main(["check", str(policy)]) == 0
    content_hash = capsys.readouterr().out.split()[-1]
    assert said == f"decided by a, b of {policy} (hash {content_hash})"
