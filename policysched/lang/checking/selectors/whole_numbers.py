"""Check the whole numbers in comparisons of selectors."""

from __future__ import annotations

import math
import re

from policysched import int64
from policysched.lang.checking import number_reading
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import numerals

_WHOLE = re.compile(r"-?[0-9]+\Z")


def check_whole_number(
    env: number_reading.NameEnvironment, value: syntax_expr.Value, operator: str, advice: str = ""
) -> int | None:
    """Return the int64 on the right of Gt, Lt, `<` and similar; None if an error was reported.

    `advice` is the help for a number that is not whole and cannot be rounded.
    """
    if _WHOLE.match(value.text) and (number := int64.parse_int64(value.text)) is not None:
        return number
    literal = numerals.parse_numeral(value.text)
    natural = literal.get_unambiguous_value() if literal is not None else None
    fix, near = None, 0
    if natural is not None and abs(natural[0]) < 2**53:  # larger floats are not exact
        near = math.ceil(natural[0]) if operator in (">=", "<", "Lt") else math.floor(natural[0])
        fix = fixes.make_replacement_fix(value.span, str(near))
    env.found.add_error(
        "PS101",
        f"`{operator}` compares whole numbers; `{value.text}` is not one",
        value.span,
        notes=("Kubernetes reads label and taint values as int64 here",),
        help=f"write `{near}`" if fix is not None else advice,
        fix=fix,
    )
    return None
