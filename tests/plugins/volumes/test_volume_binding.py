"""What VolumeBinding says of pods and nodes, branch by branch."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import objects, storage_objects
from policysched.framework import handles
from policysched.plugins import arguments, registry
from policysched.plugins.volume_binding import volume_binding
from policysched.plugins.volume_binding.volume_findings import VolumeProblem
from tests.builders import PodBuilder, expression, node_term
from tests.plugins.volumes.volume_worlds import (
    OUT_OF_SCOPE,
    NoBinder,
    World,
    azure,
    bound,
    ebs,
    in_tree,
    pod,
    said,
    world,
)
from tests.reference.single_node import NEVER, Answer
from tests.storage_builders import (
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
DRIVER = "example.com/disks"
OUT_OF_REACH, NO_VOLUME, NO_SPACE, GONE = (
    (NEVER, (volume_binding.REASONS[verdict],))
    for verdict in (
        VolumeProblem.OUT_OF_REACH,
        VolumeProblem.NO_VOLUME,
        VolumeProblem.NO_SPACE,
        VolumeProblem.VOLUME_GONE,
    )
)
IMMEDIATE = (NEVER, ("pod has unbound immediate PersistentVolumeClaims",))
FITS: list[Answer] = [None, None]
MANUAL = make_class("manual", provisioner=storage_objects.NO_PROVISIONER)
MADE = make_class("made")
GOING = {"deletion_timestamp": "2026-01-05T11:59:00Z"}
ZONES = ({ZONE: "a"}, {ZONE: "b"})


def plugin(args: arguments.Arguments | None = None) -> volume_binding.VolumeBinding:
    """Return the plugin as a profile makes it."""
    made = registry.create_built_in_registry().create_plugin(
        "VolumeBinding", args, handles.Handle(NoBinder())
    )
    assert isinstance(made, volume_binding.VolumeBinding)
    return made


def on(*values: str, key: str = HOSTNAME) -> objects.NodeSelectorTerm:
    """Return a term for nodes by a label."""
    return node_term(expression(key, "In", *values))


def reference(name: str, uid: str = "") -> storage_objects.ClaimReference:
    """Return a claimRef."""
    return storage_objects.ClaimReference(namespace="default", name=name, uid=uid)


# --- before any node -----------------------------------------------------------------------------

BEFORE = [
    pytest.param(world(), pod, OUT_OF_SCOPE, id="no claims"),
    pytest.param(
        world(),
        pod.claim("c"),
        (NEVER, ('persistentvolumeclaim "c" not found',)),
        id="claim missing",
    ),
    pytest.param(
        world(),
        pod.ephemeral("v"),
        (
            NEVER,
            ('waiting for ephemeral volume controller to create the persistentvolumeclaim "a-v"',),
        ),
        id="ephemeral claim missing",
    ),
    pytest.param(
        world(make_claim("a-v", owner_uid="uid-of-another")),
        pod.ephemeral("v"),
        (NEVER, ("PVC default/a-v was not created for pod default/a (pod is not owner)",)),
        id="ephemeral claim of another pod",
    ),
    pytest.param(
        world(make_claim("a-v")),
        pod.ephemeral("v"),
        (NEVER, ("PVC default/a-v was not created for pod default/a (pod is not owner)",)),
        id="ephemeral claim of nobody",
    ),
    pytest.param(
        world(make_claim("a-v", class_name="made", owner_uid="uid-default-a"), MADE),
        pod.ephemeral("v"),
        FITS,
        id="ephemeral claim of its own",
    ),
    pytest.param(
        world(make_claim("c", meta=GOING)),
        pod.claim("c"),
        (NEVER, ('persistentvolumeclaim "c" is being deleted',)),
        id="claim going",
    ),
    pytest.param(
        world(make_claim("c"), make_claim("d", meta=GOING)),
        pod.claim("c").claim("d"),
        (NEVER, ('persistentvolumeclaim "d" is being deleted',)),
        id="what is wrong with a claim comes before unbound ones",
    ),
    pytest.param(world(make_claim("c")), pod.claim("c"), IMMEDIATE, id="no class"),
    pytest.param(
        world(make_claim("c", class_name="gone")), pod.claim("c"), IMMEDIATE, id="class missing"
    ),
    pytest.param(
        world(make_claim("c", class_name="k"), make_class("k", mode="Immediate")),
        pod.claim("c"),
        IMMEDIATE,
        id="class that binds at once",
    ),
    pytest.param(
        world(make_claim("c", class_name="made", volume="v"), MADE),
        pod.claim("c"),
        IMMEDIATE,
        id="claim that names its volume",
    ),
    pytest.param(
        world(make_claim("c", class_name="made"), make_claim("d"), MADE),
        pod.claim("c").claim("d"),
        IMMEDIATE,
        id="one of two claims",
    ),
    pytest.param(
        world(make_claim("c", class_name="k"), make_class("k", mode=None)),
        pod.claim("c"),
        ("Error", ('VolumeBindingMode not set for StorageClass "k"',)),
        id="class without a mode",
    ),
    pytest.param(
        world(
            make_claim(
                "c",
                class_name="other",
                annotations={storage_objects.BETA_STORAGE_CLASS: "made"},
            ),
            MADE,
        ),
        pod.claim("c"),
        FITS,
        id="class by annotation",
    ),
]


@pytest.mark.parametrize("here, waiting, wanted", BEFORE)
def test_before_any_node(here: World, waiting: PodBuilder, wanted: object) -> None:
    """Claims that are missing, lost, going or others' to bind keep the pod off all nodes."""
    assert said(plugin(), waiting, here.build()) == wanted


def test_lost_claim() -> None:
    """A claim whose volume is lost for good names it."""
    lost = make_claim("c", volume="v", is_bound=True)
    cluster = world(lost).build()
    stored = storage_objects.PersistentVolumeClaim(
        metadata=lost.metadata, spec=lost.spec, status=storage_objects.VolumeStatus(phase="Lost")
    )
    cluster.cache.storage.claims.set(stored)
    text = 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'
    assert said(plugin(), pod.claim("c"), cluster) == (NEVER, (text,))


# --- bound claims --------------------------------------------------------------------------------

BOUND = [
    pytest.param(world(*bound("c")), FITS, id="reachable from everywhere"),
    pytest.param(
        world(make_claim("c", volume="gone", is_bound=True)), [GONE, GONE], id="volume missing"
    ),
    pytest.param(
        world(*bound("c", terms=[on("n2")])), [OUT_OF_REACH, None], id="on one of the nodes"
    ),
    pytest.param(
        world(*bound("c", terms=[on("n2"), on("n1")])), FITS, id="one of several terms is enough"
    ),
    pytest.param(
        world(*bound("c", terms=[node_term()])),
        [OUT_OF_REACH, OUT_OF_REACH],
        id="an empty term selects nothing",
    ),
    pytest.param(
        world(
            *bound(
                "c",
                terms=[
                    objects.NodeSelectorTerm(
                        match_fields=(expression("metadata.name", "In", "n2"),)
                    )
                ],
            )
        ),
        FITS,
        id="fields of nodes are not shown to volumes",
    ),
    pytest.param(
        world(
            *in_tree("c", terms=[on("a", key=ZONE)], **ebs("vol-1")),
            make_csi_node("n2", migrated=["kubernetes.io/aws-ebs"]),
            labels=({ZONE: "a"}, {ZONE: "x", "topology.ebs.csi.aws.com/zone": "a"}),
        ),
        FITS,
        id="an in-tree volume where a CSI driver stands in",
    ),
    pytest.param(
        world(
            *in_tree(
                "c",
                terms=[
                    node_term(expression(OLD_ZONE, "In", "a"), expression(OLD_REGION, "Exists"))
                ],
                **ebs("vol-1"),
            ),
            make_csi_node("n1", migrated=["kubernetes.io/aws-ebs"]),
            make_csi_node("n2", migrated=["kubernetes.io/aws-ebs"]),
            labels=(
                {"topology.ebs.csi.aws.com/zone": "a", OLD_REGION: "r"},
                {"topology.ebs.csi.aws.com/zone": "a", "topology.kubernetes.io/region": "r"},
            ),
        ),
        [OUT_OF_REACH, None],
        id="labels from before become those of today",
    ),
    pytest.param(
        world(
            *in_tree("c", terms=[on("a", key=ZONE)], **ebs("vol-1")),
            make_csi_node("n1", migrated=["kubernetes.io/gce-pd"]),
            make_csi_node("n2", migrated=["kubernetes.io/aws-ebs"]),
            labels=({ZONE: "a"}, {ZONE: "a"}),
        ),
        [None, OUT_OF_REACH],
        id="a node without the label of the CSI driver",
    ),
]


@pytest.mark.parametrize("here, wanted", BOUND)
def test_bound_claims(here: World, wanted: object) -> None:
    """A pod goes where the volumes of its bound claims can be reached."""
    assert said(plugin(), pod.claim("c"), here.build()) == wanted


def test_an_in_tree_volume_that_its_driver_cannot_know() -> None:
    """Where a CSI driver stands in for a disk that it does not have, the answer is an error."""
    here = world(
        *in_tree("c", **azure("Dedicated")),
        make_csi_node("n2", migrated=["kubernetes.io/azure-disk"]),
    )
    text = "could not translate pv: kind(Dedicated) is not supported in csi migration"
    assert said(plugin(), pod.claim("c"), here.build()) == [None, ("Error", (text,))]


def test_the_first_bound_claim_that_does_not_fit_decides() -> None:
    """A volume that is missing is told of where the claims before are satisfied."""
    here = world(*bound("c", terms=[on("n2")]), make_claim("d", volume="gone", is_bound=True))
    assert said(plugin(), pod.claim("c").claim("d"), here.build()) == [OUT_OF_REACH, GONE]
    assert said(plugin(), pod.claim("d").claim("c"), here.build()) == [GONE, GONE]


# --- claims that find a volume -------------------------------------------------------------------


def manual(*volumes: Any, claim: Any = None) -> World:
    """Return a world where nothing can be made; the claim `c` wants 5Gi."""
    wanted = claim or make_claim("c", class_name="manual", request="5Gi")
    return world(MANUAL, wanted, *volumes)


def disk(name: str = "v", **fields: Any) -> storage_objects.PersistentVolume:
    """Return a volume of 10Gi."""
    return make_volume(name, **{"class_name": "manual", "capacity": "10Gi", **fields})


def wanting(**fields: Any) -> storage_objects.PersistentVolumeClaim:
    """Return the claim `c`, otherwise than usual."""
    return make_claim("c", **{"class_name": "manual", "request": "5Gi", **fields})


NONE = [NO_VOLUME, NO_VOLUME]
FREE = [
    pytest.param(manual(), NONE, id="none"),
    pytest.param(manual(disk()), FITS, id="large enough"),
    pytest.param(manual(disk(capacity="5368709120")), FITS, id="just large enough"),
    pytest.param(manual(disk(capacity="5G")), NONE, id="just too small"),
    pytest.param(manual(disk(terms=[on("n1")])), [None, NO_VOLUME], id="local"),
    pytest.param(manual(disk(class_name="other")), NONE, id="another class"),
    pytest.param(manual(disk(phase="Released")), NONE, id="released"),
    pytest.param(manual(disk(phase="Pending")), NONE, id="not available yet"),
    pytest.param(manual(disk(meta=GOING)), NONE, id="going"),
    pytest.param(manual(disk(modes=["ReadOnlyMany"])), NONE, id="another access mode"),
    pytest.param(
        manual(disk(modes=["ReadOnlyMany", "ReadWriteOnce"])), FITS, id="more access modes"
    ),
    pytest.param(manual(disk(), claim=wanting(modes=[])), FITS, id="no access mode asked for"),
    pytest.param(manual(disk(), claim=wanting(request=None)), FITS, id="no size asked for"),
    pytest.param(manual(disk(volume_mode="Block")), NONE, id="another volume mode"),
    pytest.param(manual(disk(volume_mode="Filesystem")), FITS, id="the default volume mode"),
    pytest.param(
        manual(disk(volume_mode="Block"), claim=wanting(volume_mode="Block")), FITS, id="block"
    ),
    pytest.param(
        manual(disk(volume_attributes_class_name="gold")),
        NONE,
        id="an attributes class unasked for",
    ),
    pytest.param(
        manual(disk(), claim=wanting(volume_attributes_class_name="gold")),
        NONE,
        id="an attributes class asked for",
    ),
    pytest.param(
        manual(
            disk(volume_attributes_class_name="gold"),
            claim=wanting(volume_attributes_class_name="gold"),
        ),
        FITS,
        id="the attributes class",
    ),
    pytest.param(
        manual(
            disk(meta={"labels": {"tier": "slow"}}),
            claim=wanting(selector=objects.LabelSelector(match_labels={"tier": "fast"})),
        ),
        NONE,
        id="selector",
    ),
    pytest.param(
        manual(
            disk(meta={"labels": {"tier": "fast"}}),
            claim=wanting(selector=objects.LabelSelector(match_labels={"tier": "fast"})),
        ),
        FITS,
        id="selected",
    ),
    pytest.param(manual(disk(claim=reference("other"))), NONE, id="promised to another claim"),
    pytest.param(
        manual(disk(claim=reference("c", "uid-of-another"))),
        NONE,
        id="promised to a claim of that name before",
    ),
    pytest.param(
        manual(disk(claim=reference("c"), phase="Released", modes=["ReadOnlyMany"])),
        FITS,
        id="promised, whatever else it is",
    ),
    pytest.param(
        manual(disk(claim=reference("c"), terms=[on("n2")]), disk("free")),
        [NO_VOLUME, None],
        id="promised: no other one will do",
    ),
    pytest.param(
        manual(disk(claim=reference("c"), capacity="1Gi"), disk("free")),
        FITS,
        id="promised but too small: another one will do",
    ),
]


@pytest.mark.parametrize("here, wanted", FREE)
def test_volumes_that_exist(here: World, wanted: object) -> None:
    """A claim finds a volume where one suits it and can be reached."""
    assert said(plugin(), pod.claim("c"), here.build()) == wanted


def test_a_selector_that_cannot_be_read() -> None:
    """It is an error wherever a volume would be looked for, told before other reasons."""
    selector = objects.LabelSelector(match_expressions=(expression("tier", "Near"),))
    selected = make_claim(
        "d", class_name="manual", annotations={storage_objects.SELECTED_NODE: "n2"}
    )
    here = manual(*bound("b", terms=[on("n1")]), selected, claim=wanting(selector=selector))
    text = 'default/c: "Near" is not a valid label selector operator'
    error = ("Error", (f"error creating internal label selector for claim: {text}",))
    assert said(plugin(), pod.claim("b").claim("c"), here.build()) == [error, error]
    assert said(plugin(), pod.claim("c").claim("d"), here.build()) == [NO_VOLUME, error]


def test_every_claim_needs_a_volume_of_its_own() -> None:
    """Two claims need two volumes; the small claim does not take the large volume."""
    claims = wanting(), make_claim("small", class_name="manual", request="1Gi")
    both = pod.claim("c").claim("small")
    assert said(plugin(), both, world(MANUAL, *claims, disk()).build()) == NONE
    two = world(MANUAL, *claims, disk(), disk("little", capacity="2Gi"))
    assert said(plugin(), both, two.build()) == FITS


CHANGED = [
    pytest.param([disk(capacity="1Gi")], [disk()], FITS, id="grows"),
    pytest.param([disk()], [disk(capacity="1Gi")], NONE, id="shrinks"),
    pytest.param([disk(phase="Pending")], [disk()], FITS, id="becomes available"),
    pytest.param([disk()], [disk(terms=[on("n2")])], [NO_VOLUME, None], id="becomes local"),
    pytest.param([disk()], [disk(claim=reference("other"))], NONE, id="is promised"),
    pytest.param([disk(claim=reference("other"))], [disk()], FITS, id="is free again"),
    pytest.param(
        [disk(claim=reference("other"))], [disk(claim=reference("c"))], FITS, id="changes hands"
    ),
    pytest.param([disk(claim=reference("c"))], [], NONE, id="promised and gone"),
    pytest.param([disk()], [], NONE, id="gone"),
    pytest.param([], [disk()], FITS, id="comes"),
    pytest.param([], [disk(claim=reference("c"))], FITS, id="comes promised"),
    pytest.param([disk()], [disk(modes=["ReadOnlyMany"])], NONE, id="changes access modes"),
    pytest.param([disk()], [disk(class_name="other")], NONE, id="changes its class"),
]


@pytest.mark.parametrize("before, after, wanted", CHANGED)
def test_changes_of_volumes_are_seen(before: list[Any], after: list[Any], wanted: object) -> None:
    """What is remembered of volumes follows every change of one, beside others that stay."""
    others = [disk("small", capacity="1Gi"), disk("promised", claim=reference("another"))]
    cluster = manual(*before, *others).build()
    ours = plugin()
    said(ours, pod.claim("c"), cluster)
    for item in after:
        cluster.cache.storage.volumes.set(item)
    if not after:
        cluster.cache.storage.volumes.remove("v")
    assert said(ours, pod.claim("c"), cluster) == wanted


# --- claims whose volume is to be made -----------------------------------------------------------


def made(*things: Any, claim: Any = None, labels: Any = ZONES, **fields: Any) -> World:
    """Return a world where volumes can be made; the claim `c` wants 5Gi."""
    wanted = claim or make_claim("c", class_name="made", request="5Gi")
    return world(make_class("made", **fields), wanted, *things, labels=labels)


def zone(name: str) -> objects.LabelSelector:
    """Return a selector of the nodes of a zone."""
    return objects.LabelSelector(match_labels={ZONE: name})


TRACKED = make_driver(DRIVER, has_capacity=True)
UNTRACKED = make_driver(DRIVER, has_capacity=False)
ANYWHERE = objects.LabelSelector()
SPACE = [NO_SPACE, NO_SPACE]
PROVISIONED = [
    pytest.param(made(), FITS, id="anywhere"),
    pytest.param(made(provisioner=""), NONE, id="no provisioner"),
    pytest.param(made(topologies=[{ZONE: ["b"]}]), [NO_VOLUME, None], id="in a zone"),
    pytest.param(made(topologies=[{ZONE: ["b"]}, {ZONE: ["a"]}]), FITS, id="in either zone"),
    pytest.param(made(topologies=[{ZONE: ["b"], "rack": ["1"]}]), NONE, id="all keys of a term"),
    pytest.param(made(topologies=[{}]), NONE, id="an empty term allows nothing"),
    pytest.param(made(UNTRACKED), FITS, id="capacity is not tracked"),
    pytest.param(made(TRACKED), SPACE, id="no capacity told"),
    pytest.param(
        made(TRACKED, make_capacity("k", "made", "5Gi", topology=zone("b"))),
        [NO_SPACE, None],
        id="enough in one zone",
    ),
    pytest.param(
        made(TRACKED, make_capacity("k", "made", "5G", topology=ANYWHERE)), SPACE, id="not enough"
    ),
    pytest.param(
        made(TRACKED, make_capacity("k", "made", "9Gi", maximum="1Gi", topology=ANYWHERE)),
        SPACE,
        id="enough, but not in one piece",
    ),
    pytest.param(
        made(TRACKED, make_capacity("k", "made", None, topology=ANYWHERE)), SPACE, id="no number"
    ),
    pytest.param(
        made(TRACKED, make_capacity("k", "made", "9Gi")), SPACE, id="for nodes that nobody names"
    ),
    pytest.param(
        made(TRACKED, make_capacity("k", "other", "9Gi", topology=ANYWHERE)),
        SPACE,
        id="of another class",
    ),
    pytest.param(
        made(
            TRACKED,
            make_capacity("k", "made", "1Gi", topology=ANYWHERE),
            make_capacity("l", "made", "9Gi", topology=zone("a")),
        ),
        [None, NO_SPACE],
        id="the largest counts",
    ),
    pytest.param(
        made(TRACKED, claim=make_claim("c", class_name="made", request=None)),
        FITS,
        id="no size asked for",
    ),
    pytest.param(
        made(TRACKED, disk(class_name="made", terms=[on("n2")])),
        [NO_SPACE, None],
        id="a volume that exists needs no space",
    ),
    pytest.param(
        made(
            claim=make_claim(
                "c", class_name="made", annotations={storage_objects.SELECTED_NODE: "n2"}
            )
        ),
        [NO_VOLUME, None],
        id="being made for a node",
    ),
    pytest.param(
        made(
            disk(class_name="made"),
            claim=make_claim(
                "c", class_name="made", annotations={storage_objects.SELECTED_NODE: "gone"}
            ),
        ),
        NONE,
        id="being made for a node that is gone",
    ),
]


@pytest.mark.parametrize("here, wanted", PROVISIONED)
def test_volumes_to_be_made(here: World, wanted: object) -> None:
    """A claim without a volume fits where its class lets one be made, and there is space."""
    assert said(plugin(), pod.claim("c"), here.build()) == wanted


def test_changes_of_capacity_are_seen() -> None:
    """Space that is used up, comes back or turns up elsewhere counts at once."""
    cluster = made(TRACKED, make_capacity("k", "made", "9Gi", topology=zone("a"))).build()
    ours = plugin()
    for capacity, selector, wanted in (
        ("9Gi", zone("a"), [None, NO_SPACE]),
        ("1Gi", zone("a"), SPACE),
        ("8Gi", zone("a"), [None, NO_SPACE]),
        ("8Gi", zone("b"), [NO_SPACE, None]),
    ):
        cluster.cache.storage.capacities.set(
            make_capacity("k", "made", capacity, topology=selector)
        )
        assert said(ours, pod.claim("c"), cluster) == wanted


def test_reasons_are_told_together() -> None:
    """Bound and unbound claims are looked at both; the volume that is missing comes last."""
    here = made(
        TRACKED,
        *bound("near", terms=[on("n1")]),
        make_claim("lost", volume="gone", is_bound=True),
    )
    texts = {verdict: volume_binding.REASONS[verdict] for verdict in VolumeProblem if verdict}
    found = said(plugin(), pod.claim("near").claim("c"), here.build())
    both = (texts[VolumeProblem.OUT_OF_REACH], texts[VolumeProblem.NO_SPACE])
    assert found == [NO_SPACE, (NEVER, both)]
    found = said(plugin(), pod.claim("lost").claim("c"), here.build())
    missing = (texts[VolumeProblem.NO_SPACE], texts[VolumeProblem.VOLUME_GONE])
    assert found == [(NEVER, missing)] * 2


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, problem",
    [
        pytest.param(
            {"bindTimeoutSeconds": -1},
            "`bindTimeoutSeconds` is -1, but must not be negative",
            id="negative",
        ),
        pytest.param(
            {"shape": [{"utilization": 0, "score": 0}]},
            "`shape` is only for scoring by storage capacity, which kube-scheduler 1.36 disables "
            "by default",
            id="shape",
        ),
    ],
)
def test_arguments_are_checked(args: dict[str, object], problem: str) -> None:
    """What kube-scheduler refuses with default feature gates is refused here."""
    made = registry.create_built_in_registry().create_plugin(
        "VolumeBinding", args, handles.Handle(NoBinder())
    )
    assert isinstance(made, registry.PluginCreationError)
    assert made.problem == problem


def test_it_does_not_score() -> None:
    """Without the feature gate of kube-scheduler volumes give a node no points."""
    assert not hasattr(plugin({"bindTimeoutSeconds": 0}), "score")
