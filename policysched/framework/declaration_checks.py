"""Checks of what third-party plugins declare, before a profile uses them.

`answer_checks` checks what their methods return afterwards.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any, Final

from policysched.framework import events, interface

PROTOCOLS: Final = (
    interface.PreEnqueuePlugin,
    interface.QueueSortPlugin,
    interface.PreFilterPlugin,
    interface.FilterPlugin,
    interface.PostFilterPlugin,
    interface.PreScorePlugin,
    interface.ScorePlugin,
    interface.NormalizeScorePlugin,
    interface.ReservePlugin,
    interface.PermitPlugin,
    interface.PreBindPreFlightPlugin,
    interface.AssumingPlugin,
    interface.PreBindPlugin,
    interface.BindPlugin,
    interface.PostBindPlugin,
    interface.EventsPlugin,
    interface.EvidencePlugin,
    interface.NodeEvidencePlugin,
)
"""The protocols that third-party plugins can implement."""
_METHODS: Final = {
    name: method
    for protocol in PROTOCOLS
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and not name.startswith("_")
}
"""The methods of all extension points."""
_NEAR: Final = 0.85
"""Similarity (`difflib`) from which a name is taken for a misspelt method: `filters` has 0.92."""
_EVENTS: Final = "`events_to_register` must return a list of api.ClusterEventWithHint"


def find_declaration_problem(plugin: interface.Plugin) -> str:
    """Return the first problem of a plugin's `reads`, methods and events, "" for none.

    This runs `events_to_register`, which is third-party code and may raise.
    """
    problems = (
        _find_reads_problem(plugin),
        *(_find_method_problem(plugin, name) for name in _METHODS if hasattr(plugin, name)),
        _find_misspelt_method(plugin),
    )
    return next(filter(None, problems), "") or _find_events_problem(plugin)


def _find_reads_problem(plugin: interface.Plugin) -> str:
    reads = getattr(plugin, "reads", interface.Reads.ANYTHING)
    if not isinstance(reads, interface.Reads):
        return f"`reads` must be api.Reads, such as api.Reads.NODE, not {_describe(reads)}"
    if interface.Reads.PODS in reads:
        return "`reads` has PODS, which only rules of policies can use; declare ANYTHING"
    return ""


def _find_method_problem(plugin: interface.Plugin, name: str) -> str:
    method = getattr(plugin, name)
    if not callable(method):
        return f"`{name}` must be a method, not {_describe(method)}"
    expected = _METHODS[name]
    if inspect.iscoroutinefunction(method) and not inspect.iscoroutinefunction(expected):
        return f"`{name}` must be a `def`, not an `async def`"
    parameters = list(inspect.signature(expected).parameters)[1:]
    if not _accepts(method, parameters):
        return f"`{name}` must have the parameters ({', '.join(parameters)})"
    return ""


def _find_misspelt_method(plugin: interface.Plugin) -> str:
    """Return the problem of a method that is never called because of its name."""
    known = _METHODS.keys() | {"from_args"}
    for name in dir(plugin):
        if name.startswith("_") or name in known or not callable(getattr(plugin, name)):
            continue
        near = difflib.get_close_matches(name, _METHODS, 1, _NEAR)
        if near and not hasattr(plugin, near[0]):
            return (
                f"nothing calls the method `{name}`; did you mean `{near[0]}`? "
                f"If not, call it `_{name}`"
            )
    return ""


def _accepts(method: Any, parameters: Sequence[str]) -> bool:  # noqa: ANN401 - any callable
    try:
        inspect.signature(method).bind(*parameters)
    except TypeError:
        return False
    except ValueError:  # some callables of C have no signature
        return True
    return True


def _find_events_problem(plugin: interface.Plugin) -> str:
    if not hasattr(plugin, "events_to_register"):
        return ""
    registered = plugin.events_to_register()
    if not isinstance(registered, Sequence):
        return f"{_EVENTS}, not {_describe(registered)}"
    wrong = [each for each in registered if not _is_registration(each)]
    return f"{_EVENTS}, but {_describe(wrong[0])} in it is not valid" if wrong else ""


def _is_registration(value: Any) -> bool:  # noqa: ANN401 - any value of a plugin
    if not isinstance(value, events.ClusterEventWithHint):
        return False
    event: Any = value.event
    if not isinstance(event, events.ClusterEvent):
        return False
    resource: Any = event.resource
    action: Any = event.action
    return isinstance(resource, events.EventResource) and isinstance(action, events.ActionType)


def _describe(value: object) -> str:
    return "None" if value is None else type(value).__name__
