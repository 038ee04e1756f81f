"""Which taints a toleration tolerates, numbers among them."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.plugins.kernels import tolerations

LIMIT = 2**63 - 1
NUMBERS = [
    pytest.param("Gt", "950", "960", True, id="above"),
    pytest.param("Gt", "950", "950", False, id="equal is not above"),
    pytest.param("Gt", "950", "940", False, id="below is not above"),
    pytest.param("Lt", "950", "940", True, id="below"),
    pytest.param("Lt", "-3", "-4", True, id="negative"),
    pytest.param("Lt", "-3", "-3", False, id="equal is not below"),
    pytest.param("Gt", "-1", "0", True, id="zero"),
    pytest.param("Gt", "950", "many", False, id="a taint without a number"),
    pytest.param("Gt", "few", "960", False, id="a toleration without a number"),
    pytest.param("Gt", "950", "", False, id="a taint without a value"),
    pytest.param("Gt", "950", "0960", False, id="leading zero"),
    pytest.param("Gt", "950", "+960", False, id="plus sign"),
    pytest.param("Lt", "0", "-0", False, id="minus zero"),
    pytest.param("Gt", "1", "\u0665", False, id="digits of another script"),
    pytest.param("Gt", str(LIMIT - 1), str(LIMIT), True, id="largest"),
    pytest.param("Gt", "1", str(LIMIT + 1), False, id="too large"),
    pytest.param("Between", "1", "1", False, id="unknown operator"),
]


@pytest.mark.parametrize("operator, wanted, actual, expected", NUMBERS)
def test_numbers(operator: str, wanted: str, actual: str, expected: bool) -> None:
    """Gt and Lt compare the taint's value with the toleration's, as people write whole numbers."""
    toleration = objects.Toleration(key="sla", operator=operator, value=wanted)
    taint = objects.Taint(key="sla", effect="NoSchedule", value=actual)
    assert tolerations.tolerates((toleration,), taint) == expected
    other = objects.Taint(key="sla", effect="NoExecute", value=actual)
    narrow = objects.Toleration(key="sla", operator=operator, value=wanted, effect="NoSchedule")
    assert not tolerations.tolerates((narrow,), other)


@pytest.mark.parametrize(
    "effect, repels", [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)]
)
def test_effects_that_repel(effect: str, repels: bool) -> None:
    """A pod would be evicted at once from a node with an effect NoExecute."""
    taint = objects.Taint(key="sla", effect=effect)
    assert tolerations.repels((taint,), ()) == repels
    assert not tolerations.repels((taint,), (objects.Toleration(operator="Exists"),))
