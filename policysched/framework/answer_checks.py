"""Checks of the answers of third-party plugins: what an answer must be, and what it is instead.

Every function takes an answer of any type and returns the problem, "" for none. Answers about n
nodes are checked with their number; `PROBLEM_FINDERS` has the checks of all others.
"""

from __future__ import annotations

import math
import numbers
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from policysched.cluster.pods import pod_shape
from policysched.framework import interface, status

ProblemFinder: TypeAlias = Callable[[Any], str]

_STATUS: Final = "Status, such as api.SUCCESS"
_PRE_FILTER_RESULT: Final = "PreFilterResult, such as api.ALL_NODES or api.SKIP_FILTER"
_PERMIT_ANSWER: Final = "(Status, seconds), such as (api.SUCCESS, 0)"
_PAIR: Final = 2
_DTYPES: Final = {"i": "int64", "f": "float64"}


def find_status_problem(answer: Any) -> str:  # noqa: ANN401 - any answer of a plugin
    """Check a Status and the types of its fields."""
    if not isinstance(answer, status.Status):
        return _expect(_STATUS, answer)
    if not isinstance(answer.code, status.Code):
        return f"the code of its Status must be api.Code, not {_describe(answer.code)}"
    if not _is_tuple_of(str, answer.reasons):
        return "the reasons of its Status must be a tuple of texts"
    if not (_is_a(str, answer.plugin) and _is_a(status.RuleRef | None, answer.rule)):
        return "the plugin of its Status must be a text, and its rule None"
    return ""


def find_node_statuses_problem(answer: Any, count: int) -> str:  # noqa: ANN401 - as above
    """Check the answer of Filter about `count` nodes."""
    if not isinstance(answer, status.NodeStatuses):
        return _expect("NodeStatuses", answer)
    statuses: Any = answer.statuses
    if not (isinstance(statuses, list | tuple) and statuses):
        return f"its statuses must be a list, not {_describe(statuses)}"
    problem = next(filter(None, map(find_status_problem, statuses)), "")
    if problem:
        return problem
    if not statuses[0].is_success:
        return f"its statuses must begin with api.SUCCESS, not {_describe(statuses[0])}"
    problem = find_array_problem(answer.ids, count, "i")
    if problem:
        return problem
    if count and not (answer.ids.min() >= 0 and answer.ids.max() < len(statuses)):
        return f"its ids must be in the range of its {len(statuses)} statuses"
    return ""


def find_array_problem(array: Any, count: int, kinds: str) -> str:  # noqa: ANN401 - as above
    """Check an array of `count` numbers; `kinds` are NumPy's letters of the allowed dtypes."""
    if not isinstance(array, np.ndarray):
        return _expect("an array", array)
    if array.shape != (count,):
        return f"it must answer an array of shape ({count},), not {array.shape}"
    if array.dtype.kind not in kinds:
        words = " or ".join(_DTYPES[kind] for kind in kinds)
        return f"its array must be of {words}, not {array.dtype}"
    return ""


def _find_pre_filter_problem(answer: Any) -> str:  # noqa: ANN401 - as above
    if not isinstance(answer, interface.PreFilterResult):
        return _expect(_PRE_FILTER_RESULT, answer)
    names: Any = answer.node_names
    if names is not None and not (isinstance(names, frozenset | set) and _are_all(str, names)):
        return f"its node_names must be None or a frozenset of names, not {_describe(names)}"
    return find_status_problem(answer.status)


def _find_post_filter_problem(answer: Any) -> str:  # noqa: ANN401 - as above
    if not isinstance(answer, interface.PostFilterResult):
        return _expect("PostFilterResult", answer)
    if not isinstance(answer.nominated_node_name, str | None):
        described = _describe(answer.nominated_node_name)
        return f"its nominated_node_name must be a name or None, not {described}"
    if not _is_tuple_of(pod_shape.PodInfo, answer.victims):
        return f"its victims must be a tuple of PodInfo, not {_describe(answer.victims)}"
    return find_status_problem(answer.status)


def _find_permit_problem(answer: Any) -> str:  # noqa: ANN401 - as above
    if not (isinstance(answer, tuple) and len(answer) == _PAIR):
        return _expect(_PERMIT_ANSWER, answer)
    answered, seconds = answer
    if not isinstance(seconds, numbers.Real) or math.isnan(seconds):
        return f"its seconds must be a number, not {_describe(seconds)}"
    return find_status_problem(answered)


def _find_sort_key_problem(answer: Any) -> str:  # noqa: ANN401 - as above
    if not isinstance(answer, tuple):
        return _expect("a tuple of numbers and texts", answer)
    wrong = [part for part in answer if not isinstance(part, numbers.Real | str)]
    if wrong:
        return f"its tuple must have numbers and texts, not {_describe(wrong[0])}"
    return ""


def _find_text_problem(answer: Any) -> str:  # noqa: ANN401 - as above
    return "" if isinstance(answer, str) else _expect("a text", answer)


PROBLEM_FINDERS: Final[Mapping[str, ProblemFinder]] = {
    "PreEnqueue": find_status_problem,
    "QueueSort": _find_sort_key_problem,
    "PreFilter": _find_pre_filter_problem,
    "PostFilter": _find_post_filter_problem,
    "PreScore": find_status_problem,
    "Reserve": find_status_problem,
    "Permit": _find_permit_problem,
    "PreBindPreFlight": find_status_problem,
    "PreBind": find_status_problem,
    "Bind": find_status_problem,
    "evidence": _find_text_problem,
}


def _expect(wanted: str, answer: object) -> str:
    return f"it must answer {wanted}, not {_describe(answer)}"


def _describe(value: object) -> str:
    """Return the type of a value, and the value itself if it is short and says more."""
    if value is None:
        return "None"
    if isinstance(value, status.Status) and isinstance(value.code, status.Code):
        return f"Status of the code {value.code.value}"
    if isinstance(value, str | int | float):
        return f"{value!r:.40}"
    if isinstance(value, list | tuple) and not value:
        return f"an empty {type(value).__name__}"
    return type(value).__name__


def _is_a(kind: type | types.UnionType, value: object) -> bool:
    """Return the same as `isinstance`, about a field whose annotation plugins may violate."""
    return isinstance(value, kind)


def _is_tuple_of(kind: type, value: object) -> bool:
    return isinstance(value, tuple) and _are_all(kind, value)


def _are_all(kind: type, values: Iterable[object]) -> bool:
    return all(isinstance(value, kind) for value in values)
