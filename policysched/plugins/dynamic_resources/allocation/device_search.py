"""Search devices for all requests of some claims: depth first, the first solution wins.

Source: `k8s.io/dynamic-resource-allocation/structured`, allocateOne and allocateDevice. The search
keeps its choices in a list, because a pod can ask for more devices than Python can nest calls.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from policysched.cluster.devices import amounts
from policysched.cluster.devices.slice_devices import DeviceId, SliceDevice
from policysched.plugins.dynamic_resources.allocation import device_taints
from policysched.plugins.dynamic_resources.allocation.allocation_errors import (
    AllocationTimeoutError,
)
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
        alternative: what asked for it.
        needs: what it provides of each capacity.
        consumes_counters: whether it was the choice that consumes the counters of the device.
        constraints: the constraints that know it.
    """

    device: SliceDevice
    alternative: Alternative
    needs: Mapping[str, amounts.Amount]
    consumes_counters: bool
    constraints: tuple[AttributeConstraint, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """What to choose next: a device, or an alternative of a prioritized request.

    Attributes:
        claim: index of the claim.
        request: index of the request.
        alternative: the chosen alternative, or None.
        device: index of the device among those of the request.
        start: from which device of the node on candidates are tried, so that combinations of
            devices are tried once and not in each order.
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
    """The claim would have too many. Other devices do not help, but an alternative with fewer does.

    One of its own prioritized requests has such an alternative, because `prepare_claim` adds up the
    smallest ones. Other claims are never looked at again for this.
    """


@dataclasses.dataclass(slots=True)
class _AlternativeChoice:
    """A choice among the alternatives of a request.

    Attributes:
        place: where it was made.
        rest: the alternatives that have not been tried.
        failure: why none of those so far fits: too many devices only if each one has too many.
    """

    place: _Place
    rest: Iterator[Alternative]
    failure: _DeadEnd = _DeadEnd.TOO_MANY_DEVICES


@dataclasses.dataclass(slots=True)
class _DeviceChoice:
    """A choice among devices.

    Attributes:
        place: where it was made.
        alternative: what asks for the device.
        devices: the devices among which candidates are.
        rest: the indices of candidates that have not been tried.
    """

    place: _Place
    alternative: Alternative
    devices: Sequence[SliceDevice]
    rest: Iterator[int]


_Step: TypeAlias = _Place | _DeadEnd | None
"""Where the search goes on; None if everything has been chosen."""


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
        has_expired: Callable[[], bool],
    ) -> None:
        """Start with nothing chosen; `candidates` are tried in their order."""
        self.devices: list[list[ChosenDevice]] = [[] for _ in claims]
        self.alternatives: list[dict[int, Alternative]] = [{} for _ in claims]
        self._claims = claims
        self._candidates = candidates
        self._in_use = in_use
        self._has_expired = has_expired
        self._choices: list[_AlternativeChoice | _DeviceChoice] = []

    def run(self) -> bool:
        """Return whether there is a solution.

        Raises:
            AllocationError: a selector fails, the time is over, or a claim asks for all devices,
                and a constraint of its own refuses one of them.
        """
        step: _Step = _Place(0)
        while step is not None:
            if isinstance(step, _Place):
                step = self._choose(step)
            elif self._choices:
                step = self._choose_otherwise(self._choices[-1], step)
            else:
                return False
        return True

    def _choose(self, place: _Place) -> _Step:
        if self._has_expired():
            raise AllocationTimeoutError("filter operation aborted: context deadline exceeded")
        if place.claim == len(self._claims):
            return None
        requests = self._claims[place.claim].requests
        if place.request == len(requests):
            return _Place(place.claim + 1)
        request = requests[place.request]
        alternative = place.alternative
        if alternative is None:
            if request.is_prioritized:
                choice = _AlternativeChoice(place, iter(request.alternatives))
                self._choices.append(choice)
                return self._choose_alternative(choice)
            (alternative,) = request.alternatives
        return self._start_device_choice(place, alternative)

    def _start_device_choice(self, place: _Place, alternative: Alternative) -> _Step:
        self.alternatives[place.claim][place.request] = alternative
        if alternative.devices is not None and not alternative.devices:
            return _DeadEnd.NO_DEVICE
        if place.device >= alternative.count:
            return _Place(place.claim, place.request + 1)
        missing = alternative.count - place.device
        if len(self.devices[place.claim]) + missing > MAX_RESULTS:
            return _DeadEnd.TOO_MANY_DEVICES
        if alternative.devices is None:
            rest = range(place.start, len(self._candidates))
            choice = _DeviceChoice(place, alternative, self._candidates, iter(rest))
        else:
            choice = _DeviceChoice(place, alternative, alternative.devices, iter((place.device,)))
        self._choices.append(choice)
        return self._choose_device(choice)

    def _choose_otherwise(
        self, choice: _AlternativeChoice | _DeviceChoice, dead_end: _DeadEnd
    ) -> _Step:
        """Go on from the latest choice."""
        if isinstance(choice, _AlternativeChoice):
            if dead_end is _DeadEnd.NO_DEVICE:
                choice.failure = dead_end
            return self._choose_alternative(choice)
        self._give_back(choice.place.claim)
        if dead_end is _DeadEnd.TOO_MANY_DEVICES:
            self._choices.pop()
            return dead_end
        return self._choose_device(choice)

    def _choose_alternative(self, choice: _AlternativeChoice) -> _Step:
        place = choice.place
        alternative = next(choice.rest, None)
        if alternative is None:
            self._choices.pop()
            return choice.failure
        return _Place(place.claim, place.request, alternative)

    def _choose_device(self, choice: _DeviceChoice) -> _Step:
        place = choice.place
        owned = frozenset[DeviceId]() if choice.alternative.is_admin else self._in_use.owned
        for i in choice.rest:
            if choice.devices[i].id in owned:  # most devices, so this comes first
                continue
            if self._take(choice.alternative, choice.devices[i], place.claim):
                return _Place(
                    place.claim, place.request, choice.alternative, place.device + 1, i + 1
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
            device.device.taints, alternative.ask.tolerations
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
