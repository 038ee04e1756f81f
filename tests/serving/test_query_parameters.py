from __future__ import annotations

import pytest

from policysched.serving import http_server, query_parameters


@pytest.mark.parametrize(
    "values, problem",
    [
        pytest.param({"pod": ("a", "b")}, "`pod` is given more than once", id="two values"),
        pytest.param({"pod": ("a", "a")}, "`pod` is given more than once", id="the same value"),
        pytest.param({"node": ("a",)}, "`node` is unknown", id="unknown"),
        pytest.param({"x" * 1000: ("a", "b")}, f"`{'x' * 64}` is unknown", id="long"),
    ],
)
def test_a_name_must_be_known_and_given_once(
    values: dict[str, tuple[str, ...]], problem: str
) -> None:
    """Which of two values is meant would be a guess."""
    with pytest.raises(query_parameters.ParameterError, match=f"^the parameter {problem}$"):
        query_parameters.check_names(http_server.QueryParameters(values), ("pod",))
    query_parameters.check_names(http_server.QueryParameters({"pod": ("a",)}), ("pod",))
