"""Cases of the allocator: texts of errors, limits, and cases that comparisons leave out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from policysched.cluster.devices import cluster_devices
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects
from policysched.plugins.dynamic_resources.allocation import (
    allocation_errors,
    allocator,
    device_order,
)
from policysched.plugins.shared import selector_cache
from tests.builders import make_node
from tests.device_builders import (
    DRIVER,
    consume_counters,
    make_claim,
    make_class,
    make_counters,
    make_device,
    make_request,
    make_result,
    make_slice,
)
from tests.reference import resource_pools

NODE = make_node("n1").build()
CLASSES = (make_class("any"), make_class("model", f'device.attributes["{DRIVER}"].model == "a"'))


def _allocate(
    claims: list[device_objects.ResourceClaim],
    *items: device_objects.ResourceSlice,
    allocated: tuple[device_objects.ResourceClaim, ...] = (),
    has_expired: bool = False,
) -> list[list[str]] | None:
    """Return for each claim its devices, each as `request=pool/device`."""
    known = cluster_devices.ClusterDevices()
    for item in items:
        known.slices.set(item)
    for each in CLASSES:
        known.classes.set(each)
    for claim in allocated:
        known.allocated.set(claim.metadata.uid, claim.status.allocation)
    own = allocator.Allocator(known, selector_cache.SelectorCache(), lambda: has_expired)
    allocations = own.allocate(NODE, resource_pools.gather_pools(known.slices, NODE), claims)
    if allocations is None:
        return None
    return [
        [f"{each.request}={each.pool}/{each.device}" for each in allocation.devices.results]
        for allocation in allocations
    ]


def test_the_first_devices_win() -> None:
    """In the order of pools and slices; a request continues after its own devices only."""
    claims = [make_claim("c", [make_request("r", count=2), make_request("s")])]
    assert _allocate(claims, make_slice("s", "a", "b", "c")) == [
        ["r=pool/a", "r=pool/b", "s=pool/c"]
    ]
    assert _allocate(claims, make_slice("s", "a", "b")) is None


def test_a_later_claim_changes_an_earlier_one() -> None:
    """An alternative is final only when everything fits."""
    alternatives = [
        {"name": name, "deviceClassName": "any", "count": count}
        for name, count in (("big", 2), ("small", 1))
    ]
    claims = [
        make_claim("c", [{"name": "r", "firstAvailable": alternatives}]),
        make_claim("d", [make_request("s")]),
    ]
    assert _allocate(claims, make_slice("s", "a", "b")) == [["r/small=pool/a"], ["s=pool/b"]]


def test_a_claim_without_requests_gets_nothing() -> None:
    """Which is an allocation, too."""
    assert _allocate([make_claim("c")]) == [[]]


@pytest.mark.parametrize(
    "request_fields, text",
    [
        ({"selectors": [{}]}, ", selector #0: CEL expression empty (unsupported selector type?)"),
        ({"deviceClassName": ""}, ": missing device class name (unsupported request type?)"),
        (
            {"deviceClassName": "no"},
            ': could not retrieve device class no: deviceclass.resource.k8s.io "no" not found',
        ),
        ({"allocationMode": "Most"}, ": unsupported count mode Most"),
        ({"capacity": {"requests": {"memory": "x"}}}, ": `x` is not a quantity"),
    ],
)
def test_requests_that_nothing_can_fulfil(request_fields: dict[str, Any], text: str) -> None:
    """Each ends the attempt, and the text names the claim and the request."""
    claim = make_claim("c", [make_request("r", **{"deviceClassName": "any", **request_fields})])
    with pytest.raises(allocation_errors.AllocationError) as error:
        _allocate([claim])
    assert str(error.value).startswith(f"claim default/c, request r{text}")


def test_a_request_of_unknown_kind() -> None:
    """It names no class."""
    with pytest.raises(allocation_errors.AllocationError, match="missing device class name"):
        _allocate([make_claim("c", [{"name": "r"}])])


def test_a_constraint_of_unknown_kind() -> None:
    """Its text names the claim."""
    claim = make_claim("c", constraints=[{}])
    with pytest.raises(
        allocation_errors.AllocationError,
        match=r"^claim default/c, constraint #0: empty constraint \(unsupported constraint type",
    ):
        _allocate([claim])


@pytest.mark.parametrize(
    "expression, text",
    [
        ("device.driver +", "claim default/c: selector #1: CEL compile error: "),
        (
            "device.attributes['x'].y",
            "claim default/c: selector #1: CEL runtime error: no such key: y",
        ),
    ],
)
def test_a_failing_selector_ends_the_attempt(expression: str, text: str) -> None:
    """Its text has the position of the selector."""
    selectors = [{"cel": {"expression": each}} for each in ("true", expression)]
    claim = make_claim("c", [make_request("r", selectors=selectors)])
    with pytest.raises(allocation_errors.AllocationError) as error:
        _allocate([claim], make_slice("s", "a"))
    assert str(error.value).startswith(text)


def test_a_failing_selector_of_a_class() -> None:
    """Its text names the class."""
    claim = make_claim("c", [make_request("r", "model")])
    with pytest.raises(
        allocation_errors.AllocationError,
        match=r"^class model: selector #0: CEL runtime error: no such key: model$",
    ):
        _allocate([claim], make_slice("s", "a"))


@pytest.mark.parametrize(
    "attributes, text",
    [
        ({"v": {"version": "1.x"}}, "attribute v: parse semantic version"),
        ({"v": {}}, "attribute v: unsupported attribute value"),
    ],
)
def test_an_attribute_without_a_value(attributes: dict[str, Any], text: str) -> None:
    """It is an error of each selector."""
    claim = make_claim("c", [make_request("r", "model")])
    with pytest.raises(allocation_errors.AllocationError, match=text):
        _allocate([claim], make_slice("s", make_device("a", attributes=attributes)))


def test_all_devices_need_whole_pools() -> None:
    """Any pool of the node can have more devices, or wrong ones."""
    claim = make_claim("c", [make_request("r", allocationMode="All")])
    good, partial = make_slice("s", "a"), make_slice("t", "b", pool="x", count=2)
    with pytest.raises(allocation_errors.AllocationError) as error:
        _allocate([claim], good, partial)
    assert str(error.value) == (
        "claim default/c, request r: asks for all devices,"
        f" but resource pool {DRIVER}/x is currently being updated"
    )
    with pytest.raises(allocation_errors.AllocationError, match=r"pool .*/x is currently invalid"):
        _allocate([claim], good, make_slice("t", "b", "b", pool="x"))


def test_all_devices_and_a_constraint() -> None:
    """A claim that refuses its own devices is an error."""
    claim = make_claim(
        "c",
        [make_request("r", allocationMode="All")],
        constraints=[{"matchAttribute": f"{DRIVER}/model"}],
    )
    with pytest.raises(allocation_errors.AllocationError) as error:
        _allocate([claim], make_slice("s", "a"))
    assert str(error.value) == (
        f"claim default/c, request r: cannot add device {DRIVER}/pool/a"
        " because a claim constraint would not be satisfied"
    )


def test_invalid_pools_are_named_only_without_a_solution() -> None:
    """Other pools are used."""
    claim = make_claim("c", [make_request("r")])
    invalid = make_slice("s", "a", "a")
    with pytest.raises(allocation_errors.InvalidPoolsError, match=r"^invalid resource pools were"):
        _allocate([claim], invalid)
    assert _allocate([claim], invalid, make_slice("t", "b", pool="x")) == [["r=x/b"]]


def test_a_claim_has_at_most_32_devices() -> None:
    """More are an error if no alternative has fewer, else another alternative is taken."""
    devices = make_slice("s", *(f"d{i:02}" for i in range(40)))
    claim = make_claim("c", [make_request("r", count=33)])
    with pytest.raises(
        allocation_errors.AllocationError,
        match=r"^claim default/c: number of requested devices 33 exceeds the claim limit of 32$",
    ):
        _allocate([claim], devices)
    alternatives = [
        {"name": name, "deviceClassName": "any", "count": count}
        for name, count in (("big", 30), ("small", 2))
    ]
    requests = [
        {"name": "r", "firstAvailable": alternatives},
        make_request("s"),
        {"name": "t", "firstAvailable": alternatives},
    ]
    results = _allocate([make_claim("c", requests)], devices)
    assert results is not None
    names = [each.partition("=")[0] for each in results[0]]
    assert names == ["r/small", "r/small", "s", "t/small", "t/small"]


def test_a_search_ends_in_time() -> None:
    """The text is that of kube-scheduler's deadline."""
    with pytest.raises(
        allocation_errors.AllocationTimeoutError,
        match=r"^filter operation aborted: context deadline exceeded$",
    ):
        _allocate([make_claim("c", [make_request("r")])], has_expired=True)


@pytest.mark.parametrize(
    "request_fields, order",
    [
        pytest.param({}, device_order.DeviceOrder.PUBLISHED, id="one of the devices"),
        pytest.param({"allocationMode": "All"}, device_order.DeviceOrder.PUBLISHED, id="all"),
        pytest.param({}, device_order.DeviceOrder.PACKED, id="packed"),
    ],
)
def test_the_time_is_checked_before_each_device(
    request_fields: dict[str, Any], order: device_order.DeviceOrder
) -> None:
    """Selectors of many devices cannot take longer than the search may."""
    evaluated: list[object] = []

    class Cache(selector_cache.SelectorCache):
        """Evaluates nothing."""

        def matches(self, expression: str, device: SliceDevice, *_: Any) -> bool:
            """Return False, as selectors that take long do in the end."""
            evaluated.append((expression, device))
            return False

    known = cluster_devices.ClusterDevices()
    known.slices.set(make_slice("s", *(f"d{number}" for number in range(100))))
    known.classes.set(make_class("any", "device.driver == ''"))
    looks = itertools.count()
    own = allocator.Allocator(known, Cache(), lambda: next(looks) > 9, order)
    claim = make_claim("c", [make_request("r", **request_fields)])
    with pytest.raises(allocation_errors.AllocationTimeoutError):
        own.allocate(NODE, resource_pools.gather_pools(known.slices, NODE), [claim])
    assert len(evaluated) <= 10


def test_the_time_is_checked_before_each_selector() -> None:
    """Also if the device is the only one; an evaluation that was ended is not cached."""
    evaluations = 20
    slow = [{"cel": {"expression": f"device.driver != '{n}'"}} for n in range(evaluations)]
    known = cluster_devices.ClusterDevices()
    known.slices.set(make_slice("s", "a"))
    known.classes.set(make_class("any"))
    selectors, looks = selector_cache.SelectorCache(), itertools.count()
    claim = make_claim("c", [make_request("r", selectors=slow)])
    pools = resource_pools.gather_pools(known.slices, NODE)
    own = allocator.Allocator(known, selectors, lambda: next(looks) > 9)
    with pytest.raises(allocation_errors.AllocationTimeoutError):
        own.allocate(NODE, pools, [claim])
    assert allocator.Allocator(known, selectors, lambda: False).allocate(NODE, pools, [claim])


def test_many_devices_do_not_nest() -> None:
    """A pod can have more devices than Python can nest calls."""
    devices = [make_slice(f"s{i}", *(f"d{k}" for k in range(128)), pool=f"p{i}") for i in range(8)]
    claims = [make_claim(f"c{i}", [make_request("r", count=32)]) for i in range(32)]
    results = _allocate(claims, *devices)
    assert results is not None
    assert len(set(itertools.chain.from_iterable(results))) == 32 * 32


def test_distinct_devices_of_one_request() -> None:
    """kube-scheduler 1.36.3 compares only with the last device of a request."""
    models = [
        make_device(name, attributes={"model": {"string": model}})
        for name, model in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "z"))
    ]
    claim = make_claim(
        "c",
        [make_request("r", count=3)],
        constraints=[{"distinctAttribute": f"{DRIVER}/model"}],
    )
    assert _allocate([claim], make_slice("s", *models)) == [["r=pool/a", "r=pool/b", "r=pool/d"]]
    assert _allocate([claim], make_slice("s", *models[:3])) is None


@pytest.mark.parametrize("constraint", ["matchAttribute", "distinctAttribute"])
def test_values_of_unknown_types_equal_none(constraint: str) -> None:
    """The first device of a constraint may have one, no other."""
    known, unknown = {"string": "x"}, dict[str, str]()
    claim = make_claim(
        "c", [make_request("r", count=2)], constraints=[{constraint: f"{DRIVER}/model"}]
    )
    for values, fits in (
        ([unknown, unknown], False),
        ([known, unknown], False),
        ([unknown, known], constraint == "distinctAttribute"),
        ([known, known], constraint == "matchAttribute"),
    ):
        devices = [
            make_device(f"d{i}", attributes={"model": each}) for i, each in enumerate(values)
        ]
        assert (_allocate([claim], make_slice("s", *devices)) is not None) == fits


def test_counters_belong_to_a_driver() -> None:
    """kube-scheduler 1.36.3 confuses the counters of two drivers whose pools have one name."""
    device = make_device("a", consumesCounters=consume_counters(memory="3"))
    items = [
        made
        for driver in (DRIVER, "net.example.com")
        for made in (
            make_slice(
                f"c-{driver}",
                driver=driver,
                sharedCounters=[make_counters(memory="4")],
                count=2,
            ),
            make_slice(f"d-{driver}", device, driver=driver, count=2),
        )
    ]
    claim = make_claim("c", [make_request("r", count=2)])
    assert _allocate([claim], *items) == [["r=pool/a", "r=pool/a"]]
    taken = make_claim("old", results=[make_result("a")])
    assert _allocate([claim], *items, allocated=(taken,)) is None


def test_admin_access_blocks_only_what_comes_later() -> None:
    """A device that an administrator's claim gets is in use for the claims after it."""
    admin = make_claim("a", [make_request("r", adminAccess=True)])
    usual = make_claim("u", [make_request("r")])
    devices = make_slice("s", "a")
    assert _allocate([usual, admin], devices) == [["r=pool/a"], ["r=pool/a"]]
    assert _allocate([admin, usual], devices) is None
    taken = make_claim("old", results=[make_result("a")])
    assert _allocate([admin], devices, allocated=(taken,)) == [["r=pool/a"]]


def test_a_node_selector_of_several_terms() -> None:
    """Kubernetes refuses such slices."""
    selector = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}] * 2
    }
    with pytest.raises(
        allocation_errors.AllocationError,
        match=r"^create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 t",
    ):
        _allocate(
            [make_claim("c", [make_request("r")])], make_slice("s", "a", nodeSelector=selector)
        )


def test_shares_have_random_identities() -> None:
    """Each a new one."""
    assert allocator.make_share_id() != allocator.make_share_id()
