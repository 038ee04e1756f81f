from __future__ import annotations

import pathlib
from typing import Any

import pytest

from policysched import errors
from tests.cli import clusters
from tests.planning import plans

_SSD = "nodeAffinity required disktype = ssd as ssd"
_HDD = "nodeAffinity required disktype = hdd as hdd"
_HOT = "reject when busy > 80% missing allow as too-hot"
_LOW = "score busy prefer low normalize linear(0%, 100%) missing score 0 weight {} as low"
_ROOM = "score free(cpu) prefer high normalize linear(0, 8) missing score 0 weight {} as room"


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> plans.Folder:
    """Return a folder to plan in."""
    return plans.Folder(tmp_path, capsys)


def _tainted(name: str, **labels: str) -> clusters.Object:
    node = clusters.node(name, **labels)
    node["spec"]["taints"] = [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}]
    return node


_A, _B = clusters.node("a", disktype="ssd"), clusters.node("b", disktype="hdd")
_ONE = "version 1\nparam hot: ratio = {}\n" + plans.METRIC
_PARAM = "reject when busy > hot missing allow as too-hot"
_TOLERATE = "tolerate dedicated=web:NoSchedule as own"
_OFF = "policy calm {{ for pods where app = web\n  {} }}"


def _own(name: str, on: str, owner: str) -> clusters.Object:
    pod = clusters.pod(name, on=on)
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner}
    pod["metadata"]["ownerReferences"] = [{**job, "controller": True}]
    return pod


def _claim(name: str, size: str) -> clusters.Object:
    """Return a claim of the class of the same name."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "prod", "annotations": bound},
        "spec": {
            "storageClassName": name,
            "volumeName": name,
            "resources": {"requests": {"storage": size}},
        },
    }


def _use(claim: str) -> list[clusters.Object]:
    return [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]


_CLAIMS = (
    *(_claim("fast", "100Gi"), _claim("slow", "1Gi")),
    *(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {}}
        for name in ("fast", "slow")
    ),
)

_CASES: dict[str, dict[str, Any]] = {
    "a reject moves a pod": {
        "old": plans.policy(),
        "new": plans.policy(_HOT),
        "items": (_A, _B, clusters.pod("p", on="a")),
        "busy": {"a": "90%", "b": "10%"},
        "changed": {"p": ("moved", "a", "b")},
        "causes": {"p": ("edit", ["web/too-hot"])},
    },
    "an affinity leaves no node": {
        "old": plans.policy(),
        "new": plans.policy("nodeAffinity required disktype = nvme as fast"),
        "items": (_A, _B, clusters.pod("p", on="a"), clusters.pod("q")),
        "changed": {"p": ("unschedulable", "a", None), "q": ("unschedulable", "b", None)},
        "causes": {"p": ("edit", ["web/fast"]), "q": ("edit", ["web/fast"])},
    },
    "a rule that goes lets a pod fit": {
        "old": plans.policy("nodeAffinity required disktype = nvme as fast"),
        "new": plans.policy(),
        "items": (_A, clusters.pod("p")),
        "changed": {"p": ("schedulable", None, "a")},
        "causes": {"p": ("edit", ["web/fast"])},
    },
    "a pod is not in its own way": {
        "old": plans.policy("nodeAffinity required disktype = nvme as fast"),
        "new": plans.policy(_ROOM.format(50)),
        "items": (_A, clusters.pod("p", cpu="3")),
        "changed": {"p": ("schedulable", None, "a")},
        "causes": {"p": ("edit", ["web/fast"])},
    },
    "a toleration that goes is the cause of a taint": {
        "old": plans.policy(_TOLERATE),
        "new": plans.policy(),
        "items": (_tainted("a"), clusters.pod("p", on="a")),
        "changed": {"p": ("unschedulable", "a", None)},
        "causes": {"p": ("edit", ["web/own"])},
    },
    "a weight outweighs another": {
        "old": plans.policy(_LOW.format(1), _ROOM.format(50)),
        "new": plans.policy(_LOW.format(50), _ROOM.format(50)),
        "items": (
            clusters.node("big", cpu="8"),
            clusters.node("calm", cpu="4"),
            clusters.pod("p", on="big"),
        ),
        "busy": {"big": "95%", "calm": "5%"},
        "changed": {"p": ("moved", "big", "calm")},
        "causes": {"p": ("edit", ["web/low"])},
    },
    "a disabled rule rejects no more": {
        "old": plans.policy(_HOT),
        "new": plans.policy(_HOT) + _OFF.format("disable web.too-hot"),
        "items": (_A, clusters.pod("p")),
        "busy": {"a": "90%"},
        "changed": {"p": ("schedulable", None, "a")},
        "causes": {"p": ("edit", ["calm: disable web.too-hot"])},
    },
    "a param": {
        "old": plans.policy(_PARAM, head=_ONE.format("95%").removeprefix("version 1\n")),
        "new": plans.policy(_PARAM, head=_ONE.format("50%").removeprefix("version 1\n")),
        "items": (_A, _B, clusters.pod("p", on="a")),
        "busy": {"a": "90%", "b": "10%"},
        "changed": {"p": ("moved", "a", "b")},
        "causes": {"p": ("edit", ["web/too-hot"])},
    },
    "a scope": {
        "old": plans.policy(_SSD, scope="for pods where app = other"),
        "new": plans.policy(_SSD),
        "items": (_A, _B, clusters.pod("p", on="b")),
        "changed": {"p": ("moved", "b", "a")},
        "causes": {"p": ("edit", ["web"])},
    },
    "another equally good node moves no pod": {
        "old": plans.policy(_SSD),
        "new": plans.policy(),
        "items": (_A, _B, clusters.pod("p", on="b")),
        "changed": {"p": ("nodes", "a", "a")},
        "causes": {},
    },
    "a shadow policy that is enforced": {
        "old": plans.policy("mode shadow", _SSD),
        "new": plans.policy("mode enforce", _SSD),
        "items": (_A, _B, clusters.pod("p", on="b")),
        "changed": {"p": ("moved", "b", "a")},
        "causes": {"p": ("edit", ["web/ssd"])},
    },
    "a built-in plugin of a profile": {
        "old": plans.policy() + "profile policysched { policies web }",
        "new": plans.policy() + "profile policysched { policies web\n  disable TaintToleration }",
        "items": (_tainted("a"), clusters.pod("p")),
        "changed": {"p": ("schedulable", None, "a")},
        "causes": {"p": ("edit", ["TaintToleration"])},
    },
    "two rules, each enough": {
        "old": plans.policy(),
        "new": plans.policy(_HOT, _SSD),
        "items": (_A, _B, clusters.pod("p", on="b")),
        "busy": {"a": "10%", "b": "90%"},
        "changed": {"p": ("moved", "b", "a")},
        "causes": {"p": ("several", ["web/ssd", "web/too-hot"])},
    },
    "two rules, both needed": {
        "old": plans.policy(),
        "new": plans.policy(_HOT, _SSD),
        "items": (_A, _B, clusters.pod("p", on="b")),
        "busy": {"a": "90%", "b": "10%"},
        "changed": {"p": ("unschedulable", "b", None)},
        "causes": {"p": ("together", ["web/ssd", "web/too-hot"])},
    },
    "a rule without a name": {
        "old": plans.policy("reject when busy > 95% missing allow"),
        "new": plans.policy("reject when busy > 80% missing allow"),
        "items": (_A, _B, clusters.pod("p", on="a")),
        "busy": {"a": "90%", "b": "10%"},
        "changed": {"p": ("moved", "a", "b")},
        "causes": None,
    },
    "a class of claims moves a pod": {
        "old": plans.policy(scope="for pods where storageClass = fast"),
        "new": plans.policy(_HDD, scope="for pods where storageClass = fast"),
        "items": (
            *(_A, _B, *_CLAIMS),
            clusters.pod("p", on="a", volumes=_use("fast")),
            clusters.pod("q", on="b", volumes=_use("slow")),
        ),
        "changed": {"p": ("moved", "a", "b")},
        "causes": {"p": ("edit", ["web/hdd"])},
    },
    "a size of claims moves a pod": {
        "old": plans.policy(
            "reject when requests(storage) > 200Gi and node(disktype = ssd) as big"
        ),
        "new": plans.policy("reject when requests(storage) > 10Gi and node(disktype = ssd) as big"),
        "items": (
            *(_A, _B, *_CLAIMS),
            clusters.pod("p", on="a", volumes=_use("fast")),
            clusters.pod("q", on="b", volumes=_use("slow")),
        ),
        "changed": {"p": ("moved", "a", "b")},
        "causes": {"p": ("edit", ["web/big"])},
    },
    "an owner moves a pod": {
        "old": plans.policy(),
        "new": plans.policy(_HDD, scope="for pods where owner(name) = ingest-1"),
        "items": (_A, _B, _own("p", on="a", owner="ingest-1"), _own("q", on="b", owner="ingest-2")),
        "changed": {"p": ("moved", "a", "b")},
        "causes": {"p": ("edit", ["web/hdd"])},
    },
    "a node of all owners lets a pod fit": {
        "old": plans.policy("nodeAffinity required disktype = pod(owner(name)) missing allow as o"),
        "new": plans.policy(
            "nodeAffinity required disktype In (ssd, pod(owner(name))) missing allow as o"
        ),
        "items": (_A, _B, _own("p", on="a", owner="ssd"), _own("q", on="b", owner="nvme")),
        "changed": {"q": ("schedulable", None, "a")},
        "causes": {"q": ("edit", ["web/o"])},
    },
    "a pod that is not in scope stays": {
        "old": "",
        "new": plans.policy(_SSD, scope="for pods where app = other"),
        "items": (_A, _B, clusters.pod("p", on="b"), clusters.pod("q")),
        "changed": {},
        "causes": {},
    },
}


@pytest.mark.parametrize("case", list(_CASES))
def test_a_change_has_its_cause(folder: plans.Folder, case: str) -> None:
    """Which pods differ, and the edit without which they would not."""
    given = dict(_CASES[case])
    report = folder.plan(given["old"], given["new"], *given["items"], busy=given.get("busy"))
    assert plans.changed(report) == given["changed"]
    if given["causes"] is not None:
        assert plans.causes(report) == given["causes"]


_PREEMPTION: dict[str, dict[str, Any]] = {
    "a reject prevents it": {
        "new": plans.policy("reject when free(cpu) - requests(cpu) < 2 as room"),
        "pods": (6, 7),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("web/room", "after the evictions a: node(s) rejected by policy web/room"),
    },
    "an affinity prevents it": {
        "new": plans.policy("nodeAffinity required disk Exists as d"),
        "pods": (6, 7),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("web/d", "after the evictions a: node(s) didn't match policy web/d"),
    },
    "the plugin is disabled": {
        "new": plans.policy() + "profile policysched { policies web\n disable DefaultPreemption }",
        "pods": (6, 7),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("DefaultPreemption", ""),
    },
    "a rule that goes permits it": {
        "old": plans.policy("reject when free(cpu) - requests(cpu) < 2 as room"),
        "new": plans.policy(),
        "pods": (6, 7),
        "outcome": "schedulable",
        "evicts": ([], ["prod/low"]),
        "cause": ("web/room", ""),
    },
    "a reject makes it necessary": {
        "new": plans.policy("reject when free(cpu) - requests(cpu) < 2 as room"),
        "pods": (1, 6),
        "outcome": "victims",
        "evicts": ([], ["prod/low"]),
        "cause": ("web/room", "a: node(s) rejected by policy web/room"),
    },
    "a rule that goes makes it needless": {
        "old": plans.policy("reject when free(cpu) - requests(cpu) < 2 as room"),
        "new": plans.policy(),
        "pods": (1, 6),
        "outcome": "victims",
        "evicts": (["prod/low"], []),
        "cause": ("web/room", "a accepts it, so no pod is evicted"),
    },
    "more pods have to go": {
        "new": plans.policy("reject when free(cpu) - requests(cpu) < 2 as room"),
        "pods": (1, 6, 4),
        "outcome": "victims",
        "evicts": (["prod/other"], ["prod/other", "prod/low"]),
        "cause": ("web/room", "after the evictions a: node(s) rejected by policy web/room"),
    },
    "no pod may be evicted": {
        "new": plans.policy("preempt never as patient"),
        "pods": (6, 7),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("web/patient", ""),
    },
    "a pod is protected": {
        "new": plans.policy("protect from preemption as keep"),
        "pods": (6, 7),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("web/keep", ""),
    },
    "a pod is protected no longer": {
        "old": plans.policy("protect from preemption as keep"),
        "new": plans.policy(),
        "pods": (6, 7),
        "outcome": "schedulable",
        "evicts": ([], ["prod/low"]),
        "cause": ("web/keep", ""),
    },
    "no eviction resolves the rejection": {
        "old": plans.policy("reject when count(self) >= 1 as one"),
        "new": plans.policy("reject when count(self) >= 1 preemption never as one"),
        "pods": (6, 2),
        "outcome": "unschedulable",
        "evicts": (["prod/low"], []),
        "cause": ("web/one", ""),
    },
    "a rule leads elsewhere": {
        "new": plans.policy("nodeAffinity required disk = ssd as d"),
        "pods": (6, 7),
        "more": (
            clusters.node("b", cpu="8", disk="ssd"),
            clusters.pod("late", cpu="6", on="b", priority=500),
        ),
        "outcome": "moved",
        "evicts": (["prod/low"], ["prod/late"]),
        "cause": ("web/d", "after the evictions a: node(s) didn't match policy web/d"),
    },
}


@pytest.mark.parametrize("case", list(_PREEMPTION))
def test_preemption_that_differs_has_its_cause(folder: plans.Folder, case: str) -> None:
    """The edit by which a pod evicts others, evicts none, or evicts other ones."""
    given = _PREEMPTION[case]
    low, high, *other = (str(cpu) for cpu in given["pods"])
    items = [
        clusters.node("a", cpu="8"),
        clusters.pod("low", cpu=low, on="a", priority=0),
        *(clusters.pod("other", cpu=cpu, on="a", priority=1) for cpu in other),
        clusters.pod("high", cpu=high, priority=1000),
        *given.get("more", ()),
    ]
    report = folder.plan(given.get("old", plans.policy()), given["new"], *items)
    change = next(each for each in report["changes"] if each["pod"] == "prod/high")
    assert change["outcome"] == given["outcome"]
    assert (change["from"]["victims"], change["to"]["victims"]) == given["evicts"]
    name, how = given["cause"]
    assert change["cause"] == {"kind": "edit", "edits": [name], "how": how}
    assert sum(each["pods"][given["outcome"]] for each in report["edits"]) >= 1


def test_a_pod_that_came_before_takes_the_node(folder: plans.Folder) -> None:
    """Pods that both sides decide alike move too, and are told from those that an edit moves."""
    nodes = clusters.node("a", cpu="4"), clusters.node("b", cpu="4", disktype="ssd")
    first, second = clusters.pod("first", cpu="3"), clusters.pod("second", cpu="3")
    first["metadata"]["labels"] = {"tier": "first"}
    new = plans.policy(_SSD, scope="for pods where tier = first")
    report = folder.plan("", new, *nodes, first, second)
    assert plans.changed(report) == {"first": ("moved", "a", "b"), "second": ("moved", "b", "a")}
    assert plans.causes(report) == {"first": ("edit", ["web/ssd"]), "second": ("earlierPods", [])}


def test_anti_affinity_of_another_profile_repels(folder: plans.Folder) -> None:
    """A required anti-affinity keeps pods of every profile away, so it may be their cause."""
    apart = "podAntiAffinity required self topologyKey kubernetes.io/hostname as apart"
    profiles = "profile edge { policies web }\nprofile batch { policies other }\n"
    other = "policy other { for pods where app = batch }\n"
    scope = "for pods where app = web or app = batch"
    old = plans.policy(scope=scope) + other + profiles
    new = plans.policy(apart, scope=scope) + other + profiles
    node = clusters.node("a", **{"kubernetes.io/hostname": "a"})
    edge = clusters.pod("edge", on="a", schedulerName="edge")
    batch = clusters.pod("batch", schedulerName="batch")
    batch["metadata"]["labels"] = {"app": "batch"}
    report = folder.plan(old, new, node, edge, batch)
    assert plans.changed(report) == {"batch": ("unschedulable", "a", None)}
    assert plans.causes(report) == {"batch": ("edit", ["web/apart"])}


def test_a_pod_that_no_node_took_is_no_longer_kept_off(folder: plans.Folder) -> None:
    """The full node of the old side may have room on the new side; it never was the pod's."""
    nodes = clusters.node("small", cpu="2"), clusters.node("large", cpu="9", disktype="ssd")
    rule = 'reject when node(disktype = ssd) expires "{}" as s'
    old, new = (plans.policy(rule.format(date)) for date in ("2027-01-01", "2026-01-01"))
    argv = ("--cluster", folder.cluster(*nodes, *(clusters.pod(n, cpu="2") for n in "pq")))
    sides = folder.write("old.policy", old), folder.write("new.policy", new)
    exit_code, out, _ = folder.run(*argv, "--from", sides[0], "--to", sides[1], "-o", "json")
    assert exit_code == 0
    report = plans.checked(out)
    assert plans.changed(report) == {
        "p": ("moved", "small", "large"),
        "q": ("schedulable", None, "large"),
    }
    assert [each["cause"]["how"] for each in report["changes"]] == [
        "small still accepts it, but large has more points",
        "large no longer rejects it",
    ]


@pytest.mark.parametrize(
    "old, new, profiles",
    [
        pytest.param("x: web y: other", "x: other y: web", [["x"], ["x"], ["y"], ["y"]], id="swap"),
        pytest.param("x: web", "x: web y: web", [["y"]], id="second"),
        pytest.param("x: web y: web", "x: web", [["y"]], id="one-goes"),
        pytest.param("x: other y: other", "x: web y: web", [[], []], id="everywhere"),
    ],
)
def test_edits_of_some_profiles_name_them(
    folder: plans.Folder, old: str, new: str, profiles: list[list[str]]
) -> None:
    """An edit that was made in all profiles is about the policy, and names none."""
    head = plans.policy(_SSD) + "policy other {\n  for pods\n  reject when node(a = b) as o\n}\n"
    texts = [
        head
        + "".join(
            f"profile {name.strip(':')} {{ policies {policy} }}\n"
            for name, policy in zip(*[iter(side.split())] * 2, strict=True)
        )
        for side in (old, new)
    ]
    paths = folder.write("old.policy", texts[0]), folder.write("new.policy", texts[1])
    argv = ("--cluster", folder.cluster(_A), "--from", paths[0], "--to", paths[1])
    found = plans.checked(folder.run(*argv, "-o", "json")[1])["edits"]
    assert sorted(each["profiles"] for each in found) == profiles
    said = folder.run(*argv)[1]
    assert [said.count(f"(profile `{name}`)") for name in "xy"] == [
        profiles.count([name]) for name in "xy"
    ]


@pytest.mark.parametrize("name", ["policysched", "web"])
def test_an_implied_profile_is_as_one_written_out(folder: plans.Folder, name: str) -> None:
    """The first adoption of profiles leaves the pods of `policysched` pending, as `run` would."""
    implied, declared = plans.policy(_SSD), _profiles("policysched")
    pod = clusters.pod("p", on="a", schedulerName=name)
    for is_adopted in (True, False):
        reports = []
        for old in (implied, declared):
            sides = (old, _profiles("web")) if is_adopted else (_profiles("web"), old)
            reports.append(folder.plan(*sides, _A, pod))
        first, second = (plans.changed(each) for each in reports)
        outcome = "profileRemoved" if is_adopted == (name == "policysched") else "profileAdded"
        assert first["p"][0] == second["p"][0] == outcome


def test_a_profile_of_one_side_only_is_named_with_the_side(folder: plans.Folder) -> None:
    """--scheduler-name needs the profile on both sides."""
    old, new = folder.write("o.policy", _profiles("x")), folder.write("n.policy", _profiles("web"))
    argv = ("--cluster", folder.cluster(_A), "--scheduler-name", "web", "--from")
    for sides, option in (((old, new), "from"), ((new, old), "to")):
        exit_code, _, err = folder.run(*argv, sides[0], "--to", sides[1])
        assert exit_code == errors.EXIT_WRONG_INPUT
        assert f"there is no profile `web` in the policies of --{option} (" in err


def test_a_profile_that_goes_leaves_its_pods_pending(folder: plans.Folder) -> None:
    """Its pods are a category of their own; pods of other schedulers are left out."""
    old = plans.policy() + "profile one { policies web }\nprofile two { policies web }\n"
    new = plans.policy() + "profile one { policies web }\nprofile six { policies web }\n"
    pod = clusters.pod("p", on="a", schedulerName="two")
    stranger = clusters.pod("s", on="a", schedulerName="theirs")
    report = folder.plan(old, new, _A, pod, stranger)
    assert plans.changed(report) == {"p": ("profileRemoved", "a", None)}
    assert report["changes"][0]["to"]["message"] == "no profile serves the schedulerName two"
    assert report["changes"][0]["cause"]["how"] == "profile `two` is removed"
    assert report["summary"]["running"]["unschedulable"] == 0
    assert report["summary"]["unserved"] == 1
    assert report["rejects"] == []


def _profiles(*names: str) -> str:
    return plans.policy(_SSD) + "".join(f"profile {name} {{ policies web }}\n" for name in names)


_STRANGERS = (
    clusters.pod("sys", on="b"),
    clusters.pod("big", cpu="4", priority=9),
    clusters.pod("edge", on="b", schedulerName="edge"),
    clusters.pod("late", cpu="4", schedulerName="edge"),
)
"""Pods of kube-scheduler, one of which would take the room of a pod of ours, and two of ours."""


def test_a_first_adoption_is_about_pods_of_the_profiles(folder: plans.Folder) -> None:
    """With several profiles, pods of kube-scheduler neither change nor take room on one side."""
    report = folder.plan("", _profiles("edge", "batch"), _A, clusters.node("b"), *_STRANGERS)
    assert plans.changed(report) == {"edge": ("nodes", "a", "a")}
    assert report["summary"]["unserved"] == 2
    assert report["summary"]["pending"]["pods"] == 1


@pytest.mark.parametrize(
    "old, new, expected",
    [
        pytest.param(("edge",), ("edge", "batch"), {}, id="pods-of-other-schedulers"),
        pytest.param(
            ("batch",),
            ("batch", "edge"),
            {"edge": ("profileAdded", None, "a"), "late": ("profileAdded", None, "a")},
            id="a-profile-is-added-beside-the-only-one",
        ),
        pytest.param(
            ("batch", "edge"),
            ("batch",),
            {"edge": ("profileRemoved", "a", None), "late": ("profileRemoved", "a", None)},
            id="only-one-profile-remains",
        ),
        pytest.param(
            ("edge",),
            ("rim",),
            {"edge": ("profileRemoved", "a", None), "late": ("profileRemoved", "a", None)},
            id="a-profile-is-renamed",
        ),
    ],
)
def test_profiles_that_come_and_go(
    folder: plans.Folder,
    old: tuple[str, ...],
    new: tuple[str, ...],
    expected: dict[str, tuple[str, str | None, str | None]],
) -> None:
    """A declared profile is told apart from the fallback that `simulate` would take for it."""
    ours = _STRANGERS[2:]
    report = folder.plan(_profiles(*old), _profiles(*new), _A, clusters.node("b"), *ours)
    assert plans.changed(report) == expected
    assert report["rejects"] == report["admits"] == []


@pytest.mark.parametrize(
    "old, new, fail_on, exit_code",
    [
        (("a", "b"), ("a", "c"), "unschedulable", 1),
        (("a", "b"), ("a", "c"), "never", 0),
        (("a", "c"), ("a", "b"), "moved", 0),
        (("a", "c"), ("a", "b"), "any", 1),
    ],
)
def test_exit_codes_of_profiles_that_come_and_go(
    folder: plans.Folder,
    old: tuple[str, ...],
    new: tuple[str, ...],
    fail_on: str,
    exit_code: int,
) -> None:
    """A pod that loses its profile stays pending, so it is a finding by default."""
    cluster = folder.cluster(_A, clusters.pod("p", on="a", schedulerName="b"))
    sides = folder.write("o.policy", _profiles(*old)), folder.write("n.policy", _profiles(*new))
    argv = ("--cluster", cluster, "--from", sides[0], "--to", sides[1], "--fail-on", fail_on)
    assert folder.run(*argv)[0] == exit_code
    for form in ("text", "markdown"):
        out = folder.run(*argv, "-o", form)[1]
        outcome = "1 pod loses its profile" if "c" in new else "1 pod gets a profile"
        assert out.count(outcome) == 2
        assert "profile `b` is " in out


def test_a_scope_is_told_as_it_is_written(folder: plans.Folder) -> None:
    """Both sides of the edit are the words of the policies."""
    old = plans.policy(_SSD, scope="for pods where app = other")
    new = plans.policy(_SSD, scope="for pods where app = web  # those of the shop")
    (edit,) = folder.plan(old, new, _A)["edits"]
    assert (edit["old"], edit["new"]) == ("for pods where app = other", "for pods where app = web")


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param("for pods\n  where app = {}", id="two lines"),
        pytest.param('description "for pods of x"\n  for pods where app = {}', id="description"),
    ],
)
def test_a_scope_is_told_however_it_is_laid_out(folder: plans.Folder, scope: str) -> None:
    """Neither line ends nor the words of a description are taken for it."""
    old, new = (plans.policy(_SSD, scope=scope.format(app)) for app in ("web", "batch"))
    (edit,) = folder.plan(old, new, _A)["edits"]
    assert (edit["old"], edit["new"]) == ("for pods where app = web", "for pods where app = batch")


@pytest.mark.parametrize(
    "old, new, note",
    [
        pytest.param("let hot = 80%", "let hot = 30%", "let hot: 80% → 30%", id="let"),
        pytest.param(
            "let hot = base\nlet base = 80%",
            "let hot = base\nlet base = 30%",
            "let base: 80% → 30%",
            id="let of a let",
        ),
        pytest.param(
            "let hot = 80%\nparam least: number = 1",
            "let hot = 30%\nparam least: number = 5",
            "let hot: 80% → 30%",
            id="beside a param of another rule",
        ),
    ],
)
def test_what_a_rule_names_is_told_where_it_is_another(
    folder: plans.Folder, old: str, new: str, note: str
) -> None:
    """A rule of the same words says by which let it means something else, and by nothing else."""
    rule = "reject when busy > hot missing allow as too-hot"
    before, after = (plans.policy(rule, head=f"{plans.METRIC}{each}\n") for each in (old, new))
    (edit,) = folder.plan(before, after, _A, busy={"a": "90%"})["edits"]
    assert (edit["name"], edit["note"]) == ("web/too-hot", note)


@pytest.mark.parametrize("is_enforced", [True, False], ids=["enforced", "in the shadow"])
def test_a_mode_that_changes_is_told(folder: plans.Folder, is_enforced: bool) -> None:
    """Rules that come or go by the mode of their policy say so."""
    shadow, enforced = (
        plans.policy(_SSD, scope=f"mode {mode}\n  for pods") for mode in ("shadow", "enforce")
    )
    sides = (shadow, enforced) if is_enforced else (enforced, shadow)
    (edit,) = folder.plan(sides[0], sides[1], _A)["edits"]
    change, note = ("added", "shadow → enforce") if is_enforced else ("removed", "enforce → shadow")
    assert (edit["change"], edit["note"]) == (change, f"mode {note}")


def test_what_is_in_force_anyway_is_no_edit(folder: plans.Folder) -> None:
    """A plugin with its usual weight, spelled out, changes nothing; another weight does."""
    usual = (
        "version 1\nprofile policysched {\n  plugin NodeAffinity weight 2\n  plugin NodeName\n}\n"
    )
    assert folder.plan("", usual, _A)["edits"] == []
    heavier = usual.replace("weight 2", "weight 3")
    (edit,) = folder.plan("", heavier, _A)["edits"]
    assert (edit["name"], edit["new"]) == ("NodeAffinity", "in use, weight 3")
    off = usual.replace("plugin NodeName", "disable all scores")
    edits = {each["name"]: each["new"] for each in folder.plan("", off, _A)["edits"]}
    assert edits == {"scores of plugins": "disabled"}
    heavier = off.replace("weight 2", "weight 3")
    edits = {each["name"]: each["new"] for each in folder.plan("", heavier, _A)["edits"]}
    assert edits == {"NodeAffinity": "in use, weight 3", "scores of plugins": "disabled"}


_TERSE = """version 1
policy web {
  for pods where app = web
  nodeAffinity preferred disktype = ssd
  topologySpread self topologyKey zone whenUnsatisfiable DoNotSchedule as even
  reject when free(cpu) < 1 as full
  score LeastAllocated(cpu: 1)
  score LeastAllocated(memory: 1)
}
profile policysched { policies web }
"""
_SPELLED_OUT = """version 1
policy web {
  mode enforce
  for pods where app = web
  score LeastAllocated(memory: 1) weight 1
  nodeAffinity preferred disktype In (ssd) weight 1
  topologySpread self topologyKey zone maxSkew 1 whenUnsatisfiable DoNotSchedule
    minDomains 1 nodeAffinityPolicy Honor nodeTaintsPolicy Ignore as even
  reject when free(cpu) < 1000m as full
  score LeastAllocated(cpu: 1) weight 1
}
profile policysched {
  policies web
  onOutage skip
  builtin weight 1
  plugin TaintToleration weight 3
  plugin NodeName
  plugin InterPodAffinity args { hardPodAffinityWeight: 1 }
  plugin NodeResourcesBalancedAllocation args {
    resources: [{ name: cpu, weight: 1 }, { name: memory, weight: 1 }]
  }
  plugin NodeResourcesFit weight 1 args { scoringStrategy: {
    type: LeastAllocated, resources: [{ name: cpu, weight: 1 }, { name: memory, weight: 1 }]
  } }
  plugin PodTopologySpread args { defaultingType: System }
}
"""


def test_a_default_that_is_spelled_out_is_no_edit(folder: plans.Folder) -> None:
    """Rules and plugins are compared by meaning, also rules without a name in another order."""
    for old, new in ((_TERSE, _SPELLED_OUT), (_SPELLED_OUT, _TERSE)):
        assert folder.plan(old, new, _A)["edits"] == []
    heavier = _SPELLED_OUT.replace("(cpu: 1) weight 1", "(cpu: 1) weight 2")
    (edit,) = folder.plan(_TERSE, heavier, _A)["edits"]
    assert (edit["old"], edit["new"]) == (
        "score LeastAllocated(cpu: 1)",
        "score LeastAllocated(cpu: 1) weight 2",
    )
    other = _SPELLED_OUT.replace("hardPodAffinityWeight: 1", "hardPodAffinityWeight: 2")
    (edit,) = folder.plan(_TERSE, other, _A)["edits"]
    assert edit["name"] == "InterPodAffinity"


def test_the_present_node_and_lost_nodes_are_told(folder: plans.Folder) -> None:
    """Which nodes a rule newly keeps which pods off, whether or not these move."""
    report = folder.plan(
        plans.policy(),
        plans.policy(_HOT),
        _A,
        _B,
        clusters.pod("p", on="a"),
        clusters.pod("q", on="b"),
        busy={"a": "90%", "b": "10%"},
    )
    assert [(each["rule"], each["nodes"], each["pods"]) for each in report["rejects"]] == [
        ("too-hot", ["a"], 2)
    ]
    assert [(each["pod"], each["nodeLost"], each["lost"]) for each in report["changes"]] == [
        ("prod/p", True, 1),
        ("prod/q", False, 1),
    ]
    assert report["changes"][1]["outcome"] == "nodes"
    back = folder.plan(
        plans.policy(_HOT), plans.policy(), _A, _B, clusters.pod("q", on="b"), busy={"a": "90%"}
    )
    assert [(each["rule"], each["nodes"]) for each in back["admits"]] == [("too-hot", ["a"])]


def test_a_metric_that_means_something_else_is_told(folder: plans.Folder) -> None:
    """A rule of the same words over another query is an edit, and each side has its samples."""
    other = plans.METRIC.replace("instance", "instance  between 0% and 50%")
    report = folder.plan(
        plans.policy(_HOT),
        plans.policy(_HOT, head=other),
        _A,
        _B,
        clusters.pod("p", on="b"),
        busy={"a": "90%", "b": "10%"},
    )
    assert [(each["name"], each["note"]) for each in report["edits"]] == [
        ("web/too-hot", "metric busy")
    ]
    assert [each["nodes"] for each in report["admits"]] == [["a"]]


def test_pods_that_no_scheduler_places_are_left_out(folder: plans.Folder) -> None:
    """Static pods, pods that end and pods that have ended are not asked about."""
    static, ending, ended = (clusters.pod(name, on="b") for name in ("s", "t", "u"))
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    ending["metadata"]["deletionTimestamp"] = "2026-03-02T09:00:00Z"
    ended["status"]["phase"] = "Succeeded"
    report = folder.plan("", plans.policy(_SSD), _A, _B, static, ending, ended)
    assert report["changes"] == []
    assert report["summary"]["running"]["pods"] == 0


def test_a_pod_may_keep_what_it_uses_itself(folder: plans.Folder) -> None:
    """A running pod is taken off its node first, so its own requests do not stand in its way."""
    report = folder.plan(
        "",
        plans.policy(_SSD),
        clusters.node("a", cpu="4", disktype="ssd"),
        clusters.pod("p", cpu="4", on="a"),
        clusters.pod("q", cpu="1"),
    )
    assert plans.changed(report) == {}


def test_order_of_files_does_not_matter(folder: plans.Folder) -> None:
    """The same policies in other files, in another order, make the same plan."""
    rules = {"a": plans.policy(_HOT, name="one"), "b": plans.policy(_SSD, name="two", head="")}
    items = _A, _B, clusters.pod("p", on="b"), clusters.pod("q", on="a"), clusters.pod("r")
    cluster = folder.cluster(*items)
    metrics = folder.write("metrics.json", '{"busy": {"a": "90%", "b": "10%"}}')
    found = []
    for names in (("x", "y"), ("y", "x")):
        for name, text in zip(names, rules.values(), strict=True):
            folder.write(f"{names[0]}/{name}.policy", text)
        given = ("--cluster", cluster, "--metrics", metrics, "--from", "none")
        _, out, _ = folder.run(*given, "--to", str(folder.path / names[0]), "-o", "json")
        report = plans.checked(out)
        for each in report["edits"]:
            del each["where"]
        del report["to"]
        found.append(report)
    assert found[0] == found[1]
    assert found[0]["changes"]


def test_a_node_that_victims_leave_is_not_gained(folder: plans.Folder) -> None:
    """What each side says of nodes is told as of the moment before anybody made room."""
    full = [clusters.pod(f"full-{n}", "4", on=f"n{n}", priority=1000) for n in range(40)]
    nodes = [clusters.node(f"n{n}", disktype="ssd") for n in range(40)]
    room = clusters.pod("low", "3", on="a", priority=1)
    waiting = clusters.pod("high", "3", priority=100)
    report = folder.plan("", plans.policy(_SSD), _A, *nodes, *full, room, waiting)
    assert report["changes"] == []
