"""Plans of harm for `faulty_proxy`: what a bad day of an API server looks like.

Each is a plan for a share of the requests, chosen by a seeded generator. Watches are many requests
less than others, so the plans that are about them harm each one.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.realcluster import faulty_proxy

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

    Make = Callable[[random.Random], faulty_proxy.Plan]

_Fault, _Harm = faulty_proxy.Fault, faulty_proxy.Harm
_UNHARMED = _Fault()
_SHARE = 0.3


def busy(rng: random.Random) -> faulty_proxy.Plan:
    """429 in bursts, with and without Retry-After, as of priority and fairness."""
    bursts = itertools.cycle((True,) * 10 + (False,) * 50)

    def plan(_: faulty_proxy.Call) -> faulty_proxy.Fault:
        if next(bursts):
            return _Fault(_Harm.REFUSE, 429, retry_after=rng.choice((None, 1)))
        return _UNHARMED

    return plan


def failing(rng: random.Random) -> faulty_proxy.Plan:
    """5xx, before or after the server has done what it was asked for."""
    faults = [
        _Fault(harm, status)
        for harm in (_Harm.REFUSE, _Harm.FAIL_AFTER)
        for status in (500, 502, 503, 504)
    ]
    return lambda call: rng.choice(faults) if _is_hit(rng, call) else _UNHARMED


def lost(rng: random.Random) -> faulty_proxy.Plan:
    """Answers that never come, though what was asked for is done."""
    fault = _Fault(_Harm.LOSE)
    return lambda call: fault if _is_hit(rng, call) else _UNHARMED


def torn(rng: random.Random) -> faulty_proxy.Plan:
    """Connections that end in the middle of an answer, also of lists and watches."""
    fault = _Fault(_Harm.TEAR)
    return lambda call: fault if call.is_watch or _is_hit(rng, call) else _UNHARMED


def slow(rng: random.Random) -> faulty_proxy.Plan:
    """Answers that take up to two seconds."""
    return lambda call: (
        _Fault(delay_seconds=rng.uniform(0.1, 2.0)) if _is_hit(rng, call) else _UNHARMED
    )


def gone(rng: random.Random) -> faulty_proxy.Plan:
    """410 for watches: at their begin, or as an event after which they end."""
    faults = (_Fault(_Harm.REFUSE, 410), _Fault(_Harm.FAIL_AFTER, 410), _UNHARMED)
    return lambda call: rng.choice(faults) if call.is_watch else _UNHARMED


def everything(rng: random.Random) -> faulty_proxy.Plan:
    """All of it in turns, a few requests each."""
    plans = [make(rng) for make in (busy, failing, lost, torn, slow, gone)]
    turns = itertools.cycle([plan for plan in plans for _ in range(20)])

    def plan(call: faulty_proxy.Call) -> faulty_proxy.Fault:
        return next(turns)(call)

    return plan


PLANS: Mapping[str, Make] = {
    make.__name__: make for make in (busy, failing, lost, torn, slow, gone, everything)
}


def _is_hit(rng: random.Random, call: faulty_proxy.Call) -> bool:
    return not call.is_watch and rng.random() < _SHARE
