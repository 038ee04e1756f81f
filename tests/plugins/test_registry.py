"""Plugins by name: built-in ones, third-party ones, and every way in which that can fail."""

from __future__ import annotations

import sys
import types
from importlib import metadata
from typing import Any

import pytest

from policysched.framework import handles
from policysched.plugins import defaults, names, registry
from tests.plugins.volumes.volume_worlds import NoBinder

HANDLE = handles.Handle(NoBinder())
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
ZONE = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
EMPTY_TERM: dict[str, Any] = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}
}
REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def required(*expressions: dict[str, Any], **term: Any) -> dict[str, Any]:
    """Return arguments of NodeAffinity with a required term."""
    terms = [{"matchExpressions": expressions, **term}]
    selector = {"nodeSelectorTerms": terms}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def strategy(**given: Any) -> dict[str, Any]:
    """Return arguments of NodeResourcesFit with a scoring strategy."""
    return {"scoringStrategy": given}


def test_the_default_profile_can_be_made() -> None:
    """Every default plugin exists, carries its name and takes no arguments."""
    known = registry.create_built_in_registry()
    made = [known.create_plugin(p.name, None, HANDLE) for p in defaults.DEFAULT_PLUGINS]
    assert [getattr(p, "name", p) for p in made] == [p.name for p in defaults.DEFAULT_PLUGINS]
    assert {p.name for p in defaults.DEFAULT_PLUGINS} == set(known.list_plugin_names())


def test_default_weights_are_those_of_kube_scheduler() -> None:
    """Taints weigh 3; affinity, spread and resource claims 2; the rest 1."""
    heavier = {name: w for name, w in defaults.DEFAULT_WEIGHTS.items() if w != 1}
    assert heavier == {
        names.TAINT_TOLERATION: 3,
        names.NODE_AFFINITY: 2,
        names.POD_TOPOLOGY_SPREAD: 2,
        names.INTER_POD_AFFINITY: 2,
        names.DYNAMIC_RESOURCES: 2,
    }


GOOD = [
    pytest.param(names.NODE_AFFINITY, {"addedAffinity": EMPTY_TERM}, id="added affinity"),
    pytest.param(names.INTER_POD_AFFINITY, {"hardPodAffinityWeight": 100}, id="hard weight"),
    pytest.param(
        names.INTER_POD_AFFINITY, {"ignorePreferredTermsOfExistingPods": True}, id="ignore"
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [ZONE]},
        id="list of constraints",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(type="MostAllocated", resources=[{"name": "example.com/gpu", "weight": 5}]),
        id="most allocated",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio=SHAPE),
        id="ratio",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        {"kind": "NodeResourcesFitArgs", "ignoredResourceGroups": ["example.com"]},
        id="kind is not an argument",
    ),
    pytest.param(
        names.NODE_RESOURCES_BALANCED_ALLOCATION,
        {"resources": ({"name": "cpu", "weight": 1}, {"name": "example.com/gpu"})},
        id="balanced resources, as tuples",
    ),
]


@pytest.mark.parametrize("name, args", GOOD)
def test_arguments_that_fit(name: str, args: dict[str, Any]) -> None:
    """Arguments have the shape of kube-scheduler's configuration."""
    assert (
        getattr(registry.create_built_in_registry().create_plugin(name, args, HANDLE), "name", None)
        == name
    )


BAD = [
    pytest.param(
        names.NODE_PORTS, {"port": 1}, "object contains unknown field `port`", id="no arguments"
    ),
    pytest.param(
        names.INTER_POD_AFFINITY,
        {"hardPodAffinityWeight": 101},
        "`hardPodAffinityWeight` is 101, but must be from 0 to 100",
        id="weight",
    ),
    pytest.param(
        names.INTER_POD_AFFINITY,
        {"hardPodAffinityWeight": "many"},
        "expected `int`, got `str`, at `hardPodAffinityWeight`",
        id="type",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a", "operator": "Like"}),
        f'{REQUIRED}[0].matchExpressions[0].operator: Unsupported value: "Like": supported values: '
        '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        id="operator",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a", "operator": "In"}),
        f"{REQUIRED}[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' "
        "operators, values set can't be empty",
        id="no values",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a", "operator": "Exists", "values": ["b"]}),
        f'{REQUIRED}[0].matchExpressions[0].values: Invalid value: ["b"]: values set must be empty '
        "for exists and does not exist",
        id="values of Exists",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a", "operator": "Gt", "values": ["b"]}),
        f"{REQUIRED}[0].matchExpressions[0].values[0]: Invalid value: \"b\": for 'Gt', 'Lt' "
        "operators, the value must be an integer",
        id="Gt of a word",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a b", "operator": "Exists"}),
        f"{REQUIRED}[0].matchExpressions[0].key: `a b` must consist of letters, digits, `-`, "
        "`_` and `.`, and begin and end with a letter or digit",
        id="key",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required({"key": "a", "operator": "In", "values": ["c", "-"]}),
        f'{REQUIRED}[0].matchExpressions[0].values[1][a]: Invalid value: "-": a valid label must '
        "be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
        "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        id="value",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required(matchFields=[{"key": "metadata.name", "operator": "Exists"}]),
        f'{REQUIRED}[0].matchFields[0].operator: Unsupported value: "Exists": supported values: '
        '"In", "NotIn"',
        id="operator of fields",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]),
        f'{REQUIRED}[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
        id="values of fields",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        {
            "addedAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchFields": [{"key": "a", "operator": "Gt"}]}}
                ]
            }
        },
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
        '.matchFields[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn"',
        id="preferred",
    ),
    pytest.param(
        names.NODE_AFFINITY,
        required(matchExpression=[]),
        f"object contains unknown field `matchExpression`, at `{REQUIRED}[0]`",
        id="unknown field within",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(type="Random"),
        "`scoringStrategy.type` is `Random`, but must be LeastAllocated, MostAllocated or "
        "RequestedToCapacityRatio",
        id="strategy",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(type="RequestedToCapacityRatio"),
        "`scoringStrategy.requestedToCapacityRatio.shape` is missing",
        id="no shape",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(requestedToCapacityRatio=SHAPE),
        "`scoringStrategy.requestedToCapacityRatio` is only allowed with the type of that name",
        id="shape without its type",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(
            type="RequestedToCapacityRatio",
            requestedToCapacityRatio={"shape": [*SHAPE["shape"], {"utilization": 5, "score": 1}]},
        ),
        "`scoringStrategy.requestedToCapacityRatio.shape` must have increasing utilizations",
        id="shape order",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(
            type="RequestedToCapacityRatio",
            requestedToCapacityRatio={"shape": [{"utilization": 5, "score": 11}]},
        ),
        "`scoringStrategy.requestedToCapacityRatio.shape: score` is 11, but must be from 0 to 10",
        id="shape score",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": []}),
        "`scoringStrategy.requestedToCapacityRatio.shape` needs at least one point",
        id="empty shape",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(resources=[{"name": "cpu", "weight": 101}]),
        "`scoringStrategy.resources: cpu` is 101, but must be from 1 to 100",
        id="resource weight",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        strategy(resources=[{"weight": 1}]),
        "object missing required field `name`, at `scoringStrategy.resources[0]`",
        id="resource without name",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        {"ignoredResourceGroups": ["example.com/gpu"]},
        "`ignoredResourceGroups` names a group, without a slash, not `example.com/gpu`",
        id="group",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        {"ignoredResources": ["Example.com/gpu"]},
        "`ignoredResources` has `Example.com/gpu`, which has a prefix that is not a lowercase DNS "
        "name",
        id="ignored resource",
    ),
    pytest.param(
        names.NODE_RESOURCES_FIT,
        {"ignoredResourceGroups": ["a b"]},
        "`ignoredResourceGroups` has `a b`, which must consist of letters, digits, `-`, `_` and "
        "`.`, and begin and end with a letter or digit",
        id="ignored group",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "maxSkews": 1}]},
        "object contains unknown field `maxSkews`, at `defaultConstraints[0]`",
        id="unknown field of a constraint",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "topologyKey": "a b"}]},
        "`defaultConstraints` for `a b` has a topologyKey that must consist of letters, digits, "
        "`-`, `_` and `.`, and begin and end with a letter or digit",
        id="key of a constraint",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{"topologyKey": "zone", "maxSkew": 1}]},
        "`defaultConstraints` for `zone` must have a whenUnsatisfiable of DoNotSchedule or "
        "ScheduleAnyway",
        id="nothing about unsatisfiable",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {
            "defaultingType": "List",
            "defaultConstraints": [{"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
        },
        "`defaultConstraints` for `a` must have a maxSkew of 1 or more",
        id="no skew",
    ),
    pytest.param(
        names.NODE_RESOURCES_BALANCED_ALLOCATION,
        {"resources": [{"name": "cpu", "weight": 2}]},
        "`resources: cpu` is 2, but must be from 1 to 1",
        id="balanced weight",
    ),
    pytest.param(
        names.NODE_RESOURCES_BALANCED_ALLOCATION,
        {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
        "`resources` names a resource twice",
        id="balanced twice",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "Some"},
        "`defaultingType` is `Some`, but must be System or List",
        id="defaulting type",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultConstraints": [ZONE]},
        "`defaultConstraints` are used with `defaultingType: List` only",
        id="system with constraints",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [ZONE, ZONE]},
        "`defaultConstraints` repeats a topologyKey with the same whenUnsatisfiable",
        id="constraint twice",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "maxSkew": 0}]},
        "`defaultConstraints` for `zone` must have a maxSkew of 1 or more",
        id="skew",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "topologyKey": ""}]},
        "`defaultConstraints` must have a topologyKey",
        id="no key",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "whenUnsatisfiable": "No"}]},
        "`defaultConstraints` for `zone` must have a whenUnsatisfiable of DoNotSchedule or "
        "ScheduleAnyway",
        id="when unsatisfiable",
    ),
    pytest.param(
        names.POD_TOPOLOGY_SPREAD,
        {"defaultingType": "List", "defaultConstraints": [{**ZONE, "labelSelector": {}}]},
        "`defaultConstraints` for `zone` must not have a labelSelector: each pod's owners supply "
        "it",
        id="selector",
    ),
]


@pytest.mark.parametrize("name, args, problem", BAD)
def test_arguments_that_do_not_fit(name: str, args: dict[str, Any], problem: str) -> None:
    """A wrong argument is a value that says which and why."""
    found = registry.create_built_in_registry().create_plugin(name, args, HANDLE)
    assert found == registry.PluginCreationError(name, problem)


def test_unknown_names_come_with_those_to_choose_from() -> None:
    """A name that nobody registered is an error with all names."""
    known = registry.create_built_in_registry()
    found = known.create_plugin("NodeResourceFit", None, HANDLE)
    assert found == registry.PluginCreationError(
        "NodeResourceFit", "there is no plugin `NodeResourceFit`", known.list_plugin_names()
    )


# --- third-party plugins -------------------------------------------------------------------------


class Budget:
    """A third-party plugin."""

    name = "Budget"

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @classmethod
    def from_args(cls, args: dict[str, Any], handle: handles.Handle) -> Budget:
        """Refuse a negative limit."""
        if args["limit"] < 0:
            raise ValueError("`limit` must not be negative")
        return cls(args["limit"])


class Impostor:
    """A plugin under a name that is not its own."""

    name = "Budget"

    def __init__(self, *given: object) -> None:
        """Take anything."""


class Confused:
    """A plugin that declares something else than what its answers depend on."""

    name = "Confused"
    reads = "NODE"

    def __init__(self, *given: object) -> None:
        """Take anything."""


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> list[metadata.EntryPoint]:
    """Entry points of an installed package, one of which does not import."""
    module = types.ModuleType("acme_plugins")
    vars(module).update(Budget=Budget, Impostor=Impostor, Confused=Confused)
    monkeypatch.setitem(sys.modules, "acme_plugins", module)
    values = {
        "Budget": "acme_plugins:Budget.from_args",
        "Broken": "acme_missing:Plugin",
        "Other": "acme_plugins:Impostor",
        "Confused": "acme_plugins:Confused",
        names.NODE_PORTS: "acme_plugins:Impostor",
    }
    return [
        metadata.EntryPoint(name, value, registry.ENTRY_POINT_GROUP)
        for name, value in values.items()
    ]


def test_third_party_plugins_take_arguments(third_party: list[metadata.EntryPoint]) -> None:
    """An entry point makes a plugin of its name from arguments and the handle."""
    known = registry.create_installed_registry(third_party)
    made = known.create_plugin("Budget", {"limit": 3}, HANDLE)
    assert isinstance(made, Budget)
    assert made.limit == 3
    assert {"Budget", "Broken"} < set(known.list_plugin_names())


@pytest.mark.parametrize(
    "name, args, problem",
    [
        pytest.param("Budget", {"limit": -1}, "`limit` must not be negative", id="refused"),
        pytest.param(
            "Budget", {}, "plugin `Budget` does not load: KeyError: 'limit'", id="crashes"
        ),
        pytest.param(
            "Broken",
            {},
            "plugin `Broken` does not load: ModuleNotFoundError: No module named 'acme_missing'",
            id="does not import",
        ),
        pytest.param("Other", {}, "`Other` does not create a plugin of that name", id="name"),
        pytest.param(
            "Confused",
            {},
            "`reads` must be api.Reads, such as api.Reads.NODE, not str",
            id="declaration",
        ),
    ],
)
def test_third_party_plugins_that_fail(
    third_party: list[metadata.EntryPoint], name: str, args: dict[str, Any], problem: str
) -> None:
    """Whatever goes wrong in third-party code is an error of that plugin alone."""
    known = registry.create_installed_registry(third_party)
    assert known.create_plugin(name, args, HANDLE) == registry.PluginCreationError(name, problem)
    assert not isinstance(
        known.create_plugin(names.NODE_NAME, None, HANDLE), registry.PluginCreationError
    )


def test_built_in_names_cannot_be_taken_over(third_party: list[metadata.EntryPoint]) -> None:
    """An entry point called like a built-in plugin does not replace it."""
    made = registry.create_installed_registry(third_party).create_plugin(
        names.NODE_PORTS, None, HANDLE
    )
    assert not isinstance(made, Impostor)
    assert not isinstance(made, registry.PluginCreationError)


def test_installed_entry_points_are_found() -> None:
    """Without a list, the installed packages are asked; the built-in plugins are there anyway."""
    assert set(registry.create_built_in_registry().list_plugin_names()) <= set(
        registry.create_installed_registry().list_plugin_names()
    )
