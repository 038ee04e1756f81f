"""Compute how much of each capacity of a device a request gets.

Source: `k8s.io/dynamic-resource-allocation/structured`, consumable_capacity.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from policysched import quantity
from policysched.cluster.devices import amounts
from policysched.cluster.devices.slice_devices import Capacity, RequestPolicy


def compute_amounts(
    requested: Mapping[str, amounts.Amount], capacities: Mapping[str, Capacity]
) -> dict[str, amounts.Amount] | None:
    """Return the amount of every capacity of a device.

    None means that the device lacks a requested capacity, or that its policy does not permit the
    amount.
    """
    if any(name not in capacities for name in requested):
        return None
    result = {}
    for name, capacity in capacities.items():
        amount = _compute_amount(requested.get(name), capacity)
        if capacity.policy is not None and not _permits(capacity.policy, amount.number):
            return None
        result[name] = amount
    return result


def _compute_amount(requested: amounts.Amount | None, capacity: Capacity) -> amounts.Amount:
    policy = capacity.policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.minimum is not None:
        return _round_up_in_range(requested, policy.minimum, policy.step)
    permitted = (each for each in policy.valid_values if requested.number <= each.number)
    return next(permitted, requested)


def _round_up_in_range(
    requested: amounts.Amount, minimum: amounts.Amount, step: amounts.Amount | None
) -> amounts.Amount:
    """Return the minimum plus the fewest steps that reach the requested amount."""
    if requested.number < minimum.number:
        return minimum
    if step is None:
        return requested
    start, width = _round_up(minimum.number), _round_up(step.number)
    steps = -(-(_round_up(requested.number) - start) // width)
    number = start + steps * width
    return amounts.Amount(number, quantity.format_binary(number))


def _permits(policy: RequestPolicy, number: amounts.Number) -> bool:
    if policy.default is not None and number == policy.default.number:
        return True
    if policy.maximum is not None and number > policy.maximum.number:
        return False
    if policy.step is not None and policy.minimum is not None:
        beyond = _round_up(number) - _round_up(policy.minimum.number)
        return beyond % _round_up(policy.step.number) == 0
    if policy.minimum is None and policy.maximum is None and policy.valid_values:
        return any(number == each.number for each in policy.valid_values)
    return True


def _round_up(number: amounts.Number) -> int:
    """Return a positive amount in whole units, as steps are counted."""
    return -(-number.numerator // number.denominator)
