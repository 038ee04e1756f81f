"""How an expression fails: it does not compile, it fails for one device, or it is aborted."""

from __future__ import annotations


class CompilationError(Exception):
    """The expression is not a valid selector; the text is the reason."""


class EvaluationError(Exception):
    """The expression has no value for this device; the text is the reason, in CEL's words."""


class AbortedError(Exception):
    """The whole evaluation has ended without a value: `||` and `all` do not absorb this error."""


def make_overload_error(signature: str = "") -> EvaluationError:
    """Return the error of a function that does not take values of these types."""
    return EvaluationError(f"no such overload: {signature}" if signature else "no such overload")
