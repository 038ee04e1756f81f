"""Search for devices for all requests of some claims: depth first, the first solution wins.

Source: `k8s.io/dynamic-resource-allocation/structured`, allocateOne and allocateDevice. The search
keeps its choices in a list, because a pod can ask for more devices than Python can nest calls.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from policysched.cel import meter
from policysched.cluster.devices import amounts
from policysched.cluster.devices.slice_devices import DeviceId, SliceDevice
from policysched.plugins.dynamic_resources.allocation import device_taints
from policysched.plugins.dynamic_resources.allocation.attribute_constraints import (
    AttributeConstraint,
)
from policysched.plugins.dynamic_resources.allocation.device_requests import (
    MAX_RESULTS,
    Alternative,
    PreparedClaim,
)
from policysched.plugins.dynamic_resources.allocation.devices_in_use import DevicesInUse


@dataclasses.dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A device of a claim.

    Attributes:
        device: the device.
        alternative: the alternative that got it.
        needs: the amount of each capacity that it provides.
        consumes_counters: whether this choice consumes the counters of the device.
        constraints: the constraints to which it was added.
    """

    device: SliceDevice
    alternative: Alternative
    needs: Mapping[str, amounts.Amount]
    consumes_counters: bool
    constraints: tuple[AttributeConstraint, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Position:
    """The next choice: a device, or an alternative of a prioritized request.

    Attributes:
        claim: index of the claim.
        request: index of the request.
        alternative: the chosen alternative, or None.
        device: index of the device among those of the request.
        start: index of the first candidate to try, so that each combination of devices is tried
            once and not in every order.
    """

    claim: int
    request: int = 0
    alternative: Alternative | None = None
    device: int = 0
    start: int = 0


class _DeadEnd(enum.Enum):
    """Why nothing can be chosen."""

    NO_DEVICE = enum.auto()
    TOO_MANY_DEVICES = enum.auto()
    """The claim would have too many. Other devices do not help; an alternative with fewer does.

    One of its own prioritized requests has such an alternative, because `prepare_claim` adds up the
    smallest ones. So the search never goes back to another claim for this reason.
    """


@dataclasses.dataclass(slots=True)
class _AlternativeChoice:
    """A choice among the alternatives of a request.

    Attributes:
        position: its position.
        rest: the alternatives that have not been tried.
        failure: the reason if no alternative fits: too many devices only if each one had too many.
    """

    position: _Position
    rest: Iterator[Alternative]
    failure: _DeadEnd = _DeadEnd.TOO_MANY_DEVICES


@dataclasses.dataclass(slots=True)
class _DeviceChoice:
    """A choice among devices.

    Attributes:
        position: its position.
        alternative: the alternative that needs the device.
        devices: the devices with the candidates.
        rest: the indices of the candidates that have not been tried.
    """

    position: _Position
    alternative: Alternative
    devices: Sequence[SliceDevice]
    rest: Iterator[int]


_Step: TypeAlias = _Position | _DeadEnd | None
"""The next position of the search, or a reason to backtrack; None if the search is complete."""


class DeviceSearch:
    """A search for the devices of some claims on one node.

    Attributes:
        devices: for each claim, its chosen devices.
        alternatives: for each claim, the chosen alternatives of its requests.
    """

    def __init__(
        self,
        claims: Sequence[PreparedClaim],
        candidates: Sequence[SliceDevice],
        in_use: DevicesInUse,
        check_time: meter.CheckTime,
    ) -> None:
        """Start with nothing chosen; `candidates` are tried in their order.

        `check_time` raises an error if the time is over.
        """
        self.devices: list[list[ChosenDevice]] = [[] for _ in claims]
        self.alternatives: list[dict[int, Alternative]] = [{} for _ in claims]
        self._claims = claims
        self._candidates = candidates
        self._in_use = in_use
        self._check_time = check_time
        self._choices: list[_AlternativeChoice | _DeviceChoice] = []

    def run(self) -> bool:
        """Return whether there is a solution.

        Raises:
            AllocationError: a selector fails, the time is over, or a constraint of a claim refuses
                a device of a request for all devices.
        """
        step: _Step = _Position(0)
        while step is not None:
            if isinstance(step, _Position):
                step = self._choose(step)
            elif self._choices:
                step = self._backtrack(self._choices[-1], step)
            else:
                return False
        return True

    def _choose(self, position: _Position) -> _Step:
        self._check_time()
        if position.claim == len(self._claims):
            return None
        requests = self._claims[position.claim].requests
        if position.request == len(requests):
            return _Position(position.claim + 1)
        request = requests[position.request]
        alternative = position.alternative
        if alternative is None:
            if request.is_prioritized:
                choice = _AlternativeChoice(position, iter(request.alternatives))
                self._choices.append(choice)
                return self._choose_alternative(choice)
            (alternative,) = request.alternatives
        return self._start_device_choice(position, alternative)

    def _start_device_choice(self, position: _Position, alternative: Alternative) -> _Step:
        self.alternatives[position.claim][position.request] = alternative
        if alternative.devices is not None and not alternative.devices:
            return _DeadEnd.NO_DEVICE
        if position.device >= alternative.count:
            return _Position(position.claim, position.request + 1)
        missing = alternative.count - position.device
        if len(self.devices[position.claim]) + missing > MAX_RESULTS:
            return _DeadEnd.TOO_MANY_DEVICES
        if alternative.devices is None:
            rest = range(position.start, len(self._candidates))
            choice = _DeviceChoice(position, alternative, self._candidates, iter(rest))
        else:
            choice = _DeviceChoice(
                position, alternative, alternative.devices, iter((position.device,))
            )
        self._choices.append(choice)
        return self._choose_device(choice)

    def _backtrack(self, choice: _AlternativeChoice | _DeviceChoice, dead_end: _DeadEnd) -> _Step:
        """Continue with the next candidate of the latest choice."""
        if isinstance(choice, _AlternativeChoice):
            if dead_end is _DeadEnd.NO_DEVICE:
                choice.failure = dead_end
            return self._choose_alternative(choice)
        self._give_back(choice.position.claim)
        if dead_end is _DeadEnd.TOO_MANY_DEVICES:
            self._choices.pop()
            return dead_end
        return self._choose_device(choice)

    def _choose_alternative(self, choice: _AlternativeChoice) -> _Step:
        position = choice.position
        alternative = next(choice.rest, None)
        if alternative is None:
            self._choices.pop()
            return choice.failure
        return _Position(position.claim, position.request, alternative)

    def _choose_device(self, choice: _DeviceChoice) -> _Step:
        position = choice.position
        owned = frozenset[DeviceId]() if choice.alternative.is_admin else self._in_use.owned
        for i in choice.rest:
            if choice.devices[i].id in owned:  # true for most devices, so it is tested first
                continue
            self._check_time()
            if self._take(choice.alternative, choice.devices[i], position.claim):
                return _Position(
                    position.claim, position.request, choice.alternative, position.device + 1, i + 1
                )
        self._choices.pop()
        return _DeadEnd.NO_DEVICE

    def _take(self, alternative: Alternative, device: SliceDevice, claim: int) -> bool:
        """Choose a device if nothing prevents it."""
        if not self._is_available(alternative, device, claim):
            return False
        constraints = self._find_constraints(alternative, claim)
        if not all(each.accepts(device) for each in constraints):
            if alternative.devices is not None:
                raise alternative.make_error(
                    f": cannot add device {device.id}"
                    " because a claim constraint would not be satisfied"
                )
            return False
        needs = alternative.get_needs(device)
        if needs is None or not self._in_use.has_capacity(device, needs):
            return False
        for each in constraints:
            each.add(device)
        consumes_counters = self._in_use.take(device, claim, needs)
        self.devices[claim].append(
            ChosenDevice(device, alternative, needs, consumes_counters, constraints)
        )
        return True

    def _is_available(self, alternative: Alternative, device: SliceDevice, claim: int) -> bool:
        if alternative.is_admin:
            if self._in_use.is_chosen_for(device.id, claim):
                return False
        elif self._in_use.is_in_use(device.id):
            return False
        if alternative.devices is None and not alternative.selects(device):
            return False
        return self._in_use.has_counters(device) and device_taints.tolerates_taints(
            device.device.taints, alternative.spec.tolerations
        )

    def _find_constraints(
        self, alternative: Alternative, claim: int
    ) -> tuple[AttributeConstraint, ...]:
        return tuple(
            each
            for each in self._claims[claim].constraints
            if each.applies_to(alternative.request, alternative.name)
        )

    def _give_back(self, claim: int) -> None:
        """Undo the latest choice of a device."""
        chosen = self.devices[claim].pop()
        for each in chosen.constraints:
            each.remove_last()
        self._in_use.give_back(
            chosen.device, chosen.needs, consumes_counters=chosen.consumes_counters
        )
