"""What third-party plugins declare, and the problem with it."""

from __future__ import annotations

from typing import Any

import pytest

from policysched import api
from policysched.framework import declaration_checks


class Plugin:
    """Has what it is given."""

    def __init__(self, **attributes: Any) -> None:
        self.name = "Odd"
        vars(self).update(attributes)


async def _late(state: Any, pod: Any, nodes: Any) -> None:
    """Answer later."""


NODE_ADD = api.ClusterEvent(api.EventResource.NODE, api.ActionType.ADD)
ANY: Any = api
"""Makes values that type checkers refuse, as plugins without type checkers do."""
NOT_EVENTS = "`events_to_register` must return a list of api.ClusterEventWithHint"


@pytest.mark.parametrize(
    "attributes, problem",
    [
        ({}, ""),
        ({"reads": api.Reads.NODE | api.Reads.USAGE}, ""),
        ({"reads": "NODE"}, "`reads` must be api.Reads, such as api.Reads.NODE, not str"),
        ({"reads": None}, "`reads` must be api.Reads, such as api.Reads.NODE, not None"),
        (
            {"reads": (api.Reads.NODE, api.Reads.USAGE)},
            "`reads` must be api.Reads, such as api.Reads.NODE, not tuple",
        ),
        (
            {"reads": api.Reads.NODE | api.Reads.PODS},
            "`reads` has PODS, which only rules of policies can use; declare ANYTHING",
        ),
        ({"evidence_on": ("a", "b")}, "`evidence_on` must be a method, not tuple"),
        ({"filter": lambda state, pod, nodes: None}, ""),
        ({"filter": lambda *given: None}, ""),
        (
            {"filter": lambda pod, nodes: None},
            "`filter` must have the parameters (state, pod, nodes)",
        ),
        ({"filter": _late}, "`filter` must be a `def`, not an `async def`"),
        ({"pre_bind": _late}, ""),
        (
            {"filters": lambda state, pod, nodes: None},
            "nothing calls the method `filters`; did you mean `filter`? If not, call it `_filters`",
        ),
        (
            {"normalise_score": lambda state, pod, scores: scores},
            (
                "nothing calls the method `normalise_score`; did you mean `normalize_score`? "
                "If not, call it `_normalise_score`"
            ),
        ),
        ({"read_rack_load": lambda nodes: None}, ""),
        ({"filters": ("a", "b")}, ""),
        ({"sort_key": dict.fromkeys}, ""),
        ({"events_to_register": lambda: [api.ClusterEventWithHint(NODE_ADD)]}, ""),
        ({"events_to_register": list}, ""),
        ({"events_to_register": lambda: None}, f"{NOT_EVENTS}, not None"),
        (
            {"events_to_register": lambda: [NODE_ADD]},
            f"{NOT_EVENTS}, but ClusterEvent in it is not valid",
        ),
        (
            {"events_to_register": lambda: [ANY.ClusterEventWithHint(api.EventResource.NODE)]},
            f"{NOT_EVENTS}, but ClusterEventWithHint in it is not valid",
        ),
    ],
)
def test_declarations(attributes: dict[str, Any], problem: str) -> None:
    """Only what could not work is a problem."""
    assert declaration_checks.find_declaration_problem(Plugin(**attributes)) == problem


def test_every_public_protocol_is_checked() -> None:
    """A new extension point is checked too."""
    public = {name for name in api.__all__ if name.endswith("Plugin")} - {"Plugin"}
    assert {protocol.__name__ for protocol in declaration_checks.PROTOCOLS} == public
