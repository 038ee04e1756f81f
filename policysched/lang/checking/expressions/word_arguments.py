"""Read the argument of a function that takes one name: `free(cpu)`, `freeDevices("gpu")`."""

from __future__ import annotations

from policysched.lang.checking import diagnostic_collector
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary


def make_example_call(function: str) -> str:
    """Return a call of a function that takes a name, for messages."""
    if function in vocabulary.DEVICE_COUNT_FUNCTIONS:
        return f"{function}(gpu)"
    if function in vocabulary.DEVICE_VALUE_FUNCTIONS:
        return f'{function}("gpu.example.com/memory")'
    return f"{function}(cpu)"


def read_word_argument(
    found: diagnostic_collector.DiagnosticCollector, call: syntax_expr.Call, example: str
) -> syntax_expr.Value | None:
    """Return the only argument, which must be a name or string; None if an error was reported."""
    if len(call.arguments) == 1 and call.arguments[0].key is None:
        value = call.arguments[0].value
        if isinstance(value, syntax_expr.Ref):
            return value.name
        if isinstance(value, syntax_expr.Text):
            return value.value
        if isinstance(value, syntax_expr.Binary):
            written = found.get_text_on_one_line(value.span)
            found.add_error(
                "PS108",
                f"`{written}` is arithmetic, not a name",
                value.span,
                help=f'write `"{written}"`',
            )
            return None
    found.add_error("PS108", f"`{call.function.text}` takes one name, as in `{example}`", call.span)
    return None
