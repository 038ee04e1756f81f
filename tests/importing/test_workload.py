"""Affinity, tolerations and spread of pods and their owners."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest
import yaml

from policysched import errors
from tests.conformance.generate import families
from tests.importing import deciding

LABELS = {"matchLabels": {"app": "web"}}
HOST = "kubernetes.io/hostname"
SCORES_ONLY = (
    (
        "`ScheduleAnyway` gives different points than in a pod, in the same order "
        "except for nodes without the topologyKey"
    ),
    "several preferred terms weigh more in a policy",
)
"""Warnings about what rejects no node."""
PLACEMENT = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")


def _deployment(spec: dict[str, Any], kind: str = "Deployment") -> str:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {
            "selector": LABELS,
            "template": {"metadata": {"labels": {"app": "web", "extra": "x"}}, "spec": spec},
        },
    }
    return deciding.as_yaml(manifest)


def _node_affinity(**terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": terms}}


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return _node_affinity(requiredDuringSchedulingIgnoredDuringExecution=selector)


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _pod_affinity(kind: str, strength: str, *terms: dict[str, Any]) -> dict[str, Any]:
    field = f"{strength}DuringSchedulingIgnoredDuringExecution"
    return {"affinity": {kind: {field: list(terms)}}}


@pytest.mark.parametrize(
    "spec, lines",
    [
        pytest.param(
            {"nodeSelector": {"disk": "ssd", "zone": "a"}},
            ["nodeAffinity required disk = ssd and zone = a"],
            id="nodeSelector",
        ),
        pytest.param(
            _required(
                {
                    "matchExpressions": [
                        _expression("a", "In", "x", "y"),
                        _expression("b", "NotIn", "z"),
                        _expression("c", "Exists"),
                        _expression("d", "DoesNotExist"),
                        _expression("e", "Gt", "-5"),
                        _expression("f", "Lt", "7"),
                    ]
                },
                {"matchFields": [_expression("metadata.name", "In", "n1")]},
            ),
            [
                (
                    "nodeAffinity required (a In (x, y) and b != z and c Exists and d DoesNotExist "
                    "and e Gt -5 and f Lt 7)"
                ),
                "or nodeName = n1",
            ],
            id="required",
        ),
        pytest.param(
            {"nodeSelector": {"priority": "", "not": "in", "a": "1.5"}},
            ['nodeAffinity required "priority" = "" and "not" = in and a = 1.5'],
            id="words-of-the-language",
        ),
        pytest.param(
            _node_affinity(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    {"weight": 80, "preference": {"matchExpressions": [_expression("a", "Exists")]}}
                ]
            ),
            ["nodeAffinity preferred a Exists weight 2"],
            id="preferred",
        ),
        pytest.param(
            _pod_affinity(
                "podAntiAffinity",
                "required",
                {
                    "labelSelector": LABELS,
                    "topologyKey": HOST,
                    "namespaces": ["a", "b"],
                    "matchLabelKeys": ["pod-template-hash"],
                },
                {"labelSelector": {}, "topologyKey": "zone", "namespaceSelector": {}},
                {
                    "labelSelector": {
                        "matchExpressions": [{"key": "tenant", "operator": "Exists"}]
                    },
                    "topologyKey": "zone",
                    "namespaceSelector": {"matchLabels": {"team": "x"}},
                    "mismatchLabelKeys": ["tenant"],
                },
            ),
            [
                (
                    f"podAntiAffinity required pods where app = web topologyKey {HOST} "
                    "namespaces (a, b)"
                ),
                "matchLabelKeys (pod-template-hash)",
                "podAntiAffinity required pods topologyKey zone namespaces all",
                (
                    "podAntiAffinity required pods where tenant Exists topologyKey zone "
                    "namespaceSelector team = x"
                ),
                "mismatchLabelKeys (tenant)",
            ],
            id="podAntiAffinity",
        ),
        pytest.param(
            _pod_affinity(
                "podAffinity",
                "preferred",
                {"weight": 7, "podAffinityTerm": {"labelSelector": LABELS, "topologyKey": "zone"}},
            ),
            ["podAffinity preferred pods where app = web topologyKey zone weight 2"],
            id="podAffinity",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 2,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": LABELS,
                        "minDomains": 3,
                        "nodeTaintsPolicy": "Honor",
                        "matchLabelKeys": ["v"],
                    },
                    {
                        "maxSkew": 1,
                        "topologyKey": HOST,
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": LABELS,
                    },
                ]
            },
            [
                (
                    "topologySpread pods where app = web topologyKey zone maxSkew 2 "
                    "whenUnsatisfiable DoNotSchedule"
                ),
                "minDomains 3 nodeTaintsPolicy Honor matchLabelKeys (v)",
                f"topologySpread pods where app = web topologyKey {HOST} maxSkew 1",
                "whenUnsatisfiable ScheduleAnyway weight 2",
            ],
            id="topologySpread",
        ),
        pytest.param(
            {
                "tolerations": [
                    {"key": "a", "value": "b", "effect": "NoSchedule"},
                    {"key": "c", "operator": "Exists", "effect": "PreferNoSchedule"},
                    {"key": "d", "operator": "Gt", "value": "5", "effect": "NoSchedule"},
                ]
            },
            [
                "tolerate a=b:NoSchedule",
                "tolerate c:PreferNoSchedule",
                "tolerate d Gt 5:NoSchedule",
            ],
            id="tolerations",
        ),
    ],
)
def test_rules(spec: dict[str, Any], lines: list[str]) -> None:
    """Each block of a manifest is a rule; nothing is left to tell."""
    imported = deciding.convert(_deployment(spec))
    head = ["policy web {", "for pods in namespace (prod) where app = web"]
    assert deciding.body(imported) == [*head, *lines, "}"]
    assert [text for text in deciding.told(imported) if "ScheduleAnyway" not in text] == []
    deciding.require_accepted(imported)


@pytest.mark.parametrize(
    "spec, warned",
    [
        pytest.param(
            _pod_affinity(
                "podAntiAffinity",
                "required",
                {"labelSelector": LABELS, "topologyKey": "a", "mismatchLabelKeys": ["tenant"]},
            ),
            ["`mismatchLabelKeys` of a pod also counts pods without the label"],
            id="mismatch",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]},
            ["a policy cannot tolerate every taint"],
            id="every-taint",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}]},
            ["a policy cannot make a pod tolerate `a:NoExecute`"],
            id="noexecute",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            ["a policy cannot make a pod tolerate `a:NoExecute`"],
            id="every-effect",
        ),
        pytest.param(
            _required({}, {"matchExpressions": [_expression("a", "Exists")]}),
            ["a term that matches no node is left out; kube-scheduler would leave the pod Pending"],
            id="empty-term",
        ),
        pytest.param(
            _pod_affinity("podAffinity", "required", {"topologyKey": "zone"}),
            ["a term without labelSelector matches no pod; it is left out"],
            id="no-selector",
        ),
        pytest.param(
            _pod_affinity(
                "podAffinity",
                "required",
                {"topologyKey": "zone", "labelSelector": LABELS},
                {"topologyKey": HOST, "labelSelector": {}},
            ),
            ["each term of podAffinity is a rule of its own here"],
            id="two-terms",
        ),
        pytest.param(
            {"affinity": {"nodeFoo": {}}},
            ["`spec.template.spec.affinity.nodeFoo` is not known"],
            id="unknown",
        ),
    ],
)
def test_what_cannot_be_said_is_told(spec: dict[str, Any], warned: list[str]) -> None:
    """One warning each; the selector of the nodes is written all the same."""
    imported = deciding.convert(_deployment({"nodeSelector": {"disk": "ssd"}} | spec))
    assert "nodeAffinity required disk = ssd" in deciding.body(imported)
    assert [text.partition(": ")[2] for text in deciding.warnings(imported)] == warned
    deciding.require_accepted(imported)


_CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "d"}}
_PORTS = [{"containerPort": 80, "hostPort": 80}]
_STAYING: dict[str, tuple[dict[str, Any], str, str]] = {
    "class": ({"priorityClassName": "high"}, "priorityClassName", "the priority of a pod"),
    "preemption": (
        {"preemptionPolicy": "Never"},
        "preemptionPolicy",
        "the preemption policy of a pod",
    ),
    "runtime": (
        {"runtimeClassName": "gvisor"},
        "runtimeClassName",
        "the nodes and the overhead of a RuntimeClass",
    ),
    "gates": ({"schedulingGates": [{"name": "a"}]}, "schedulingGates", "scheduling gates"),
    "devices": ({"resourceClaims": [{"name": "gpu"}]}, "resourceClaims", "device claims"),
    "gang": ({"workloadRef": {"name": "gang"}}, "workloadRef", "gangs of pods"),
    "group": ({"schedulingGroup": {"podGroupName": "a"}}, "schedulingGroup", "gangs of pods"),
    "claim": ({"volumes": [{"name": "tmp", "emptyDir": {}}, _CLAIM]}, "volumes[1]", "storage"),
    "port": (
        {"containers": [{"name": "c", "ports": _PORTS}]},
        "containers[0].ports[0].hostPort",
        "host ports",
    ),
    "sidecar": (
        {"initContainers": [{"name": "c", "ports": _PORTS}]},
        "initContainers[0].ports[0].hostPort",
        "host ports",
    ),
}


@pytest.mark.parametrize("case", list(_STAYING))
def test_what_stays_in_the_pod_is_noted(case: str) -> None:
    """A field that bears on placement and that no policy can express."""
    spec, name, what = _STAYING[case]
    imported = deciding.convert(_deployment({"nodeSelector": {"disk": "ssd"}} | spec))
    (note,) = deciding.told(imported)
    assert note.startswith("note ")
    problem = note.partition(": ")[2]
    assert problem == f"`spec.template.spec.{name}`: no policy can express {what}"


def test_claims_of_a_stateful_set_are_noted() -> None:
    """They bind its pods to nodes that reach the volumes."""
    owner = yaml.safe_load(_deployment({"nodeSelector": {"disk": "ssd"}}, "StatefulSet"))
    owner["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    (note,) = deciding.told(deciding.convert(deciding.as_yaml(owner)))
    assert note.endswith("`spec.volumeClaimTemplates`: no policy can express storage")


@pytest.mark.parametrize(
    "spec, problem",
    [
        pytest.param(
            {"nodeName": "n1"},
            "`spec.template.spec.nodeName` puts the pods on `n1` without a scheduler",
            id="node",
        ),
        pytest.param(
            {"schedulerName": "mine"},
            "`spec.template.spec.schedulerName` leaves the pods to the scheduler `mine`",
            id="scheduler",
        ),
        pytest.param(
            {"nodeselector": {"a": "b"}},
            "`spec.template.spec.nodeselector` is not known",
            id="typo",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "effect": "NoSchedule", "valueFrom": "b"}]},
            "`spec.template.spec.tolerations[0].valueFrom` is not known",
            id="toleration",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "minDomain": 3,
                        "topologyKey": HOST,
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": LABELS,
                    }
                ]
            },
            "`spec.template.spec.topologySpreadConstraints[0].minDomain` is not known",
            id="spread",
        ),
    ],
)
def test_what_keeps_a_policy_from_acting_is_a_warning(spec: dict[str, Any], problem: str) -> None:
    """Pods that no profile would schedule, and fields that no pod has."""
    imported = deciding.convert(_deployment({"nodeSelector": {"disk": "ssd"}} | spec))
    (warning,) = deciding.warnings(imported)
    assert warning.partition(": ")[2] == problem


def test_what_the_cluster_adds_to_a_pod_is_no_finding() -> None:
    """Defaults, what admission sets, and the node of a pod that runs."""
    running = deciding.pod("web", {"app": "web"}, nodeName="n1", nodeSelector={"disk": "ssd"})
    running["metadata"]["uid"] = "4711"
    running["spec"] |= {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "overhead": {"cpu": "1"},
        "serviceAccountName": "default",
        "volumes": [{"name": "token", "projected": {"sources": []}}],
    }
    imported = deciding.convert(deciding.as_yaml(running))
    assert deciding.told(imported) == []
    assert "nodeAffinity required disk = ssd" in deciding.body(imported)


def test_a_scheduler_that_is_imported_too_is_no_finding() -> None:
    """Its profile decides the pods."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    pods = _deployment({"nodeSelector": {"disk": "ssd"}, "schedulerName": "mine"})
    imported = deciding.convert(f"{deciding.as_yaml(config)}---\n{pods}")
    assert [text for text in deciding.warnings(imported) if "schedulerName" in text] == []


@pytest.mark.parametrize("kind", ["DoNotSchedule", "Maybe", "Do Not", ""])
def test_faults_of_a_spread_are_told_each_at_its_field(kind: str) -> None:
    """Also if both are about the same value."""
    spread = {
        "maxSkew": 0,
        "minDomains": 0,
        "topologyKey": "zone",
        "labelSelector": LABELS,
        "whenUnsatisfiable": kind,
    }
    imported = deciding.convert(
        _deployment({"nodeSelector": {"disk": "ssd"}, "topologySpreadConstraints": [spread]})
    )
    told = [text.partition("[0].")[2].partition("`")[0] for text in deciding.warnings(imported)]
    assert told == [
        "maxSkew",
        "minDomains",
        *([] if kind == "DoNotSchedule" else ["whenUnsatisfiable"]),
    ]


def test_faults_of_a_toleration_are_told_each_at_its_field() -> None:
    """The other tolerations are written."""
    wrong = {"key": "a", "operator": "Equals", "value": "b", "effect": "No Schedule"}
    right = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
    imported = deciding.convert(_deployment({"tolerations": [wrong, right]}))
    assert [text.partition(": ")[2] for text in deciding.warnings(imported)] == [
        "`Equals` is not a valid operator of tolerations",
        "`No Schedule` is not a valid effect of tolerations",
    ]
    assert deciding.body(imported)[2:-1] == ["tolerate a:NoSchedule"]


def test_the_line_of_a_warning_is_that_of_the_block() -> None:
    """Counted in the file."""
    text = _deployment({"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]})
    (warning,) = deciding.warnings(deciding.convert(text))
    line = int(warning.partition(":")[0])
    assert text.splitlines()[line - 1].strip() == "- operator: Exists"


@pytest.mark.parametrize(
    "term, problem",
    [
        pytest.param(
            {"matchExpressions": [_expression("a", "Near", "b")]},
            "`Near` is not an op",
            id="operator",
        ),
        pytest.param(
            {"matchFields": [_expression("spec.podCIDR", "In", "b")]},
            "`spec.podCIDR` is not a field",
            id="field",
        ),
    ],
)
def test_what_no_api_server_takes_is_one_error(term: dict[str, Any], problem: str) -> None:
    """With its line."""
    with pytest.raises(errors.InputError, match=rf"input.yaml:\d+: {problem}"):
        deciding.convert(_deployment(_required(term)))


def test_equal_rules_are_written_once() -> None:
    """A policy cannot have two of them."""
    toleration = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
    imported = deciding.convert(_deployment({"tolerations": [toleration, toleration]}))
    assert deciding.body(imported)[2:-1] == ["tolerate a:NoSchedule"]


def test_a_manifest_of_which_nothing_can_be_said_is_a_policy_of_comments() -> None:
    """With the warning in it."""
    imported = deciding.convert(_deployment({"tolerations": [{"operator": "Exists"}]}))
    assert deciding.body(imported) == []
    assert "a policy cannot tolerate every taint" in imported.policy


def test_a_spread_that_only_scores_orders_domains_alike(tmp_path: pathlib.Path) -> None:
    """By other points, which is told."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": LABELS,
    }
    nodes = [deciding.node(f"n{zone}", {"zone": zone}) for zone in "abc"]
    placed = [
        deciding.pod(f"p{number}", {"app": "web"}, nodeName=node, requests={})
        for number, node in enumerate(("na", "na", "nb", "na"))
    ]
    new = deciding.pod("new", {"mine": "yes"}, topologySpreadConstraints=[spread])
    imported = deciding.convert(deciding.as_yaml(new))
    assert [text.partition(": ")[2] for text in deciding.warnings(imported)] == [SCORES_ONLY[0]]
    bare = deciding.pod("new", {"mine": "yes"})
    before = deciding.verdicts(tmp_path, deciding.listed(*nodes, *placed, new))
    after = deciding.verdicts(tmp_path, deciding.listed(*nodes, *placed, bare), imported.policy)
    orders = [sorted(_leads(each), key=_leads(each).__getitem__) for each in (*before, *after)]
    assert orders == [["nc", "nb", "na"]] * 2


@pytest.mark.parametrize(
    "weights, written",
    [
        pytest.param((100, 25), (4, 1), id="a-multiple"),
        pytest.param((3, 2), (3, 2), id="small"),
        pytest.param((99, 100, 50), (99, 100, 50), id="nearly"),
        pytest.param((100, 1), (100, 1), id="far-apart"),
        pytest.param((80, 1), (80, 1), id="no-common-divisor"),
        pytest.param((90, 60, 30), (3, 2, 1), id="three"),
    ],
)
def test_several_preferred_terms_keep_their_proportion(
    weights: tuple[int, ...], written: tuple[int, ...]
) -> None:
    """Exactly; they are told to weigh more than in the pod."""
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [_expression(key, "Exists")]}}
        for key, weight in zip("abc", weights, strict=False)
    ]
    imported = deciding.convert(
        _deployment(_node_affinity(preferredDuringSchedulingIgnoredDuringExecution=terms))
    )
    assert deciding.body(imported)[2:-1] == [
        f"nodeAffinity preferred {key} Exists weight {weight}"
        for key, weight in zip("abc", written, strict=False)
    ]
    assert len(deciding.warnings(imported)) == 1


@pytest.mark.parametrize(
    "kind, where",
    [
        pytest.param("StatefulSet", "app = web", id="StatefulSet"),
        pytest.param("DaemonSet", "app = web", id="DaemonSet"),
        pytest.param("Job", "batch.kubernetes.io/job-name = web", id="Job"),
    ],
)
def test_kinds_of_owners(kind: str, where: str) -> None:
    """The pods of the owner are chosen by its selector; those of a Job by the Job's name."""
    imported = deciding.convert(_deployment({"nodeSelector": {"a": "b"}}, kind))
    assert deciding.body(imported)[1] == f"for pods in namespace (prod) where {where}"
    assert ("the DaemonSet controller reads them" in imported.text) == (kind == "DaemonSet")


def test_a_cron_job_and_a_pod_without_labels() -> None:
    """The template's labels are taken; without any there is nothing to choose the pods by."""
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {
            "jobTemplate": {
                "spec": {
                    "template": {
                        "metadata": {"labels": {"job": "nightly"}},
                        "spec": {"nodeSelector": {"a": "b"}},
                    }
                }
            }
        },
    }
    bare = deciding.pod("bare", nodeSelector={"a": "b"})
    imported = deciding.convert(deciding.as_yaml(deciding.listed(cron, bare)))
    assert deciding.body(imported)[:2] == [
        "policy nightly {",
        "for pods in namespace (default) where job = nightly",
    ]
    assert [text.partition(": ")[2] for text in deciding.warnings(imported)] == [
        "the pods of Pod default/bare have no labels, so no policy can select them"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["nodeaffinity", "taints", "podaffinity", "spread"])
def test_a_policy_rejects_the_nodes_that_the_manifest_rejects(
    family: str, tmp_path: pathlib.Path
) -> None:
    """Of generated pods: moved from the manifest into a policy, the same nodes are left."""
    compared = 0
    for number in range(12):
        cluster = families.case(family, 5, number)["cluster"]
        for index, item in enumerate(cluster["items"]):
            if item["kind"] == "Pod" and not item["spec"].get("nodeName"):
                compared += _compare(tmp_path, cluster, index)
    assert compared > 5


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            _node_affinity(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    {
                        "weight": 7,
                        "preference": {"matchExpressions": [_expression("zone", "In", "a")]},
                    }
                ]
            ),
            id="nodeAffinity",
        ),
        *(
            pytest.param(
                _pod_affinity(
                    kind,
                    "preferred",
                    {
                        "weight": 30,
                        "podAffinityTerm": {"labelSelector": LABELS, "topologyKey": "zone"},
                    },
                ),
                id=kind,
            )
            for kind in ("podAffinity", "podAntiAffinity")
        ),
    ],
)
def test_one_preferred_term_weighs_what_it_does_in_the_pod(
    spec: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    """The same nodes are best, by the same lead; kube-scheduler rounds each point down."""
    nodes = [deciding.node(f"n{zone}", {"zone": zone}) for zone in "abc"]
    placed = [
        deciding.pod(f"p{number}", {"app": "web"}, nodeName=node)
        for number, node in enumerate(("na", "na", "nb", "na"))
    ]
    stated = deciding.pod("new", {"mine": "yes"}, **spec)
    imported = deciding.convert(deciding.as_yaml(stated))
    bare = deciding.pod("new", {"mine": "yes"})
    (before,) = deciding.verdicts(tmp_path, deciding.listed(*nodes, *placed, stated))
    (after,) = deciding.verdicts(tmp_path, deciding.listed(*nodes, *placed, bare), imported.policy)
    assert before["best"] == after["best"]
    assert _leads(after) == pytest.approx(_leads(before), abs=2)


def _leads(verdict: dict[str, Any]) -> dict[str, float]:
    """Return by how much the best node is ahead of each."""
    totals = {name: scores["total"] for name, scores in verdict["scores"].items()}
    return {name: max(totals.values()) - total for name, total in totals.items()}


def _compare(folder: pathlib.Path, cluster: dict[str, Any], index: int) -> bool:
    """Compare one pending pod, alone; say whether its manifest can be expressed."""
    stated = copy.deepcopy(cluster)
    pod = stated["items"][index]
    pod["metadata"].setdefault("labels", {})["imported"] = "yes"
    pod["spec"].pop("schedulerName", None)
    pod["spec"].pop("schedulingGates", None)
    if not any(pod["spec"].get(field) for field in PLACEMENT):
        return False
    others = [
        item
        for number, item in enumerate(stated["items"])
        if number == index or item["kind"] != "Pod" or item["spec"].get("nodeName")
    ]
    stated["items"] = others
    owner = {**copy.deepcopy(pod), "metadata": {**pod["metadata"], "labels": {"imported": "yes"}}}
    try:
        imported = deciding.convert(deciding.as_yaml(owner))
    except errors.InputError as error:
        if "has no placement rules" not in error.problem:  # such as an empty `affinity`
            raise
        return False
    if any(not text.endswith(SCORES_ONLY) for text in deciding.warnings(imported)):
        return False
    deciding.require_accepted(imported)
    moved = copy.deepcopy(stated)
    (bare,) = [
        item for item in moved["items"] if item["metadata"].get("labels", {}).get("imported")
    ]
    for field in PLACEMENT:
        bare["spec"].pop(field, None)
    (before,) = deciding.verdicts(folder, stated)
    (after,) = deciding.verdicts(folder, moved, imported.policy)
    ok = [{name: node["ok"] for name, node in each["nodes"].items()} for each in (before, after)]
    assert ok[0] == ok[1], imported.policy
    return True
