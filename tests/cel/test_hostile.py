"""Expressions by an author who wants to stop the scheduler."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest

from policysched.cel.device import DeviceVariable
from policysched.cel.failures import CompilationError, EvaluationError
from policysched.cel.selector import compile_selector

_LIMIT = "operation cancelled: actual cost limit exceeded"
_MAX_BYTES = 200 * 2**20
_RANGE = "lists.range(1000)"


def _double(start: str, step: str, test: str, times: int) -> str:
    """Return an expression that applies a step to its own result again and again."""
    names = [f"v{i}" for i in range(times + 1)]
    expression = test.format(names[-1])
    for previous, name in reversed(list(itertools.pairwise(names))):
        expression = f"cel.bind({name}, {step.format(previous)}, {expression})"
    return f"cel.bind({names[0]}, {start}, {expression})"


_ENDLESS = {
    "string": _double('"x"', "{0} + {0}", "size({}) == 0", 60),
    "bytes": _double('b"x"', "{0} + {0}", "size({}) == 0", 60),
    "list": _double("[1]", "{0} + {0}", "size({}) == 0", 60),
    "equality of nested lists": _double("[[1]]", "[dyn({0}), dyn({0})]", "{0} == {0}", 60),
    "format of nested lists": _double(
        "[[1]]", "[dyn({0}), dyn({0})]", '"%s".format([{}]) == ""', 60
    ),
    "flat nested lists": _double("[[1]]", "[dyn({0}), dyn({0})]", "dyn({}).flatten(99) == []", 60),
    "replace": _double('"xxxx"', '{0}.replace("x", {0})', "size({}) == 0", 20),
    "join": _double('"xxxx"', '{0}.split("").join({0})', "size({}) == 0", 20),
    "range": "size(lists.range(9223372036854775807)) == 0",
    "loops in loops": f"{_RANGE}.all(a, {_RANGE}.all(b, {_RANGE}.all(c, a + b + c >= 0)))",
    "failing loops": f"{_RANGE}.all(a, {_RANGE}.all(b, {_RANGE}.all(c, 1 / (a - a) == 0))) || true",
    "loops of calls": f'{_RANGE}.all(a, {_RANGE}.all(b, device.driver.replace("a", "b") != ""))',
    "distinct": "lists.range(100000).distinct() == []",
    "sets": "sets.equivalent(lists.range(100000), lists.range(100000))",
    "find all": _double('"aaaaaaaa"', "{0} + {0}", 'size({}.findAll("a*$|b")) == 0', 20),
}


@pytest.mark.parametrize("expression", _ENDLESS.values(), ids=_ENDLESS)
def test_evaluation_ends_at_its_limit(expression: str) -> None:
    """A short expression with endless work or memory fails, and does not take much of either."""
    selector = compile_selector(expression)
    device = DeviceVariable("gpu.example.com").make_value()
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationError, match=f"^{_LIMIT}$"):
            selector.matches(device, max_units=50_000)
        assert tracemalloc.get_traced_memory()[1] < _MAX_BYTES
    finally:
        tracemalloc.stop()


class TimeIsOverError(Exception):
    """Ends an evaluation."""


@pytest.mark.parametrize("name", ["loops in loops", "failing loops", "loops of calls"])
def test_evaluation_ends_when_the_time_is_over(name: str) -> None:
    """Long before its limit; nothing in the expression absorbs the error."""
    looks = itertools.count(1)

    def check_time() -> None:
        if next(looks) == 3:
            raise TimeIsOverError

    selector = compile_selector(_ENDLESS[name])
    device = DeviceVariable("gpu.example.com").make_value()
    with pytest.raises(TimeIsOverError):
        selector.matches(device, check_time=check_time)


_TOO_LARGE = {
    "long": " " * 10241,
    "deep parentheses": "(" * 5000 + "true" + ")" * 5000,
    "deep lists": "[" * 4000 + "]" * 4000,
    "deep calls": "size(" * 2000 + '""' + ")" * 2000,
    "deep selections": "device" + ".a" * 4000,
    "deep sums": "+".join(["1"] * 4000),
    "a type that doubles": _double("{1: 1}", "{{{0}: {0}}}", "size({}) == 0", 60),
    "types that wait for others": _double("[{}]", "[{{}}, {{{0}: {0}}}]", "size({}) == 0", 60),
    "deep macros": "[1].all(x, " * 800 + "true" + ")" * 800,
    "deep conditionals": "true ? true : " * 700 + "true",
    "a long number": "9" * 9000 + " == 1",
    "a large pattern": '"a".matches("((a{100}){100}){100}")',
}


@pytest.mark.parametrize("expression", _TOO_LARGE.values(), ids=_TOO_LARGE)
def test_too_large_expression_is_refused(expression: str) -> None:
    """An expression beyond the limits gets a text, not a traceback."""
    with pytest.raises(CompilationError, match=r"\S"):
        compile_selector(expression)


def test_deepest_expression_needs_little_of_the_stack() -> None:
    """An expression at the limit of depth compiles and runs below a caller that is deep itself."""
    selector = "+".join(["1"] * 240) + " == 240"

    def run(depth: int) -> bool:
        if depth:
            return run(depth - 1)
        return compile_selector(selector).matches(DeviceVariable("d").make_value())

    assert run(200)


def test_parentheses_count_as_levels() -> None:
    """Parentheses leave nothing in the tree, and are limited as by cel-go's parser."""
    deepest = "(" * 249 + "true" + ")" * 249
    assert compile_selector(deepest).matches(DeviceVariable("d").make_value())
    with pytest.raises(CompilationError, match=r"^expression recursion limit exceeded: 250$"):
        compile_selector(f"({deepest})")
    bare = f"{'[' * 300!r} == {'[' * 300!r}"
    assert compile_selector(bare).matches(DeviceVariable("d").make_value())


def test_pattern_that_backtracks_elsewhere_is_harmless() -> None:
    """A pattern that takes Python's `re` for ever costs no more than others."""
    expression = f'"{"a" * 5000}".matches("(a*)*b")'
    assert not compile_selector(expression).matches(DeviceVariable("d").make_value())


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "().__class__", "device.__class__ == 1", "{}.__init__", "exec('1')"],
)
def test_python_is_out_of_reach(text: str) -> None:
    """Names of Python mean nothing: they are unknown functions, or keys that do not exist."""
    with pytest.raises((CompilationError, EvaluationError)):
        compile_selector(text).matches(DeviceVariable("d").make_value())
