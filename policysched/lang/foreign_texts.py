"""Comments and operators of other languages, where the parser cannot go on."""

from __future__ import annotations

import re

from policysched.lang import diagnostics, fault_place

_COMMENT = re.compile(r"//|/\*|--|;")
_BLOCK_END = "*/"
_OR_EQUAL = {
    **dict.fromkeys(("Ge", "ge", "GE", "Gte", "gte", "GTE", "gteq"), ("Gt", -1, ">=")),
    **dict.fromkeys(("Le", "le", "LE", "Lte", "lte", "LTE", "lteq"), ("Lt", 1, "<=")),
}
"""Operator -> ours, what it adds to the number, and our sign with the same meaning."""


def comment_stretch(place: fault_place.FaultPlace) -> tuple[int, int] | None:
    """Return where a comment of another language begins and ends, if the fault is in one.

    The sign may be a part of an expression: `2 // x` begins as a division, `2 -- x y` is a double
    minus up to the `y`. So it may be before the fault, on the same line.
    """
    found, text = place.found, place.scan.source
    if found is None:
        return None
    line_start = text.line_start(text.position(found.start)[0])
    for lexeme in place.scan.between(max(line_start, place.chunk.start), found.end):
        sign = _COMMENT.match(text.text, lexeme.start) if lexeme.kind == "sign" else None
        if sign is not None and (sign[0] != ";" or place.scan.is_first_on_line(lexeme.start)):
            return lexeme.start, _end(text.text, lexeme.start, sign[0])
    return None


def _end(text: str, start: int, sign: str) -> int:
    closing = text.find(_BLOCK_END, start) if sign == "/*" else -1
    newline = text.find("\n", start)
    if closing >= 0:
        return closing + len(_BLOCK_END)
    return newline if newline >= 0 else len(text)


def comment(place: fault_place.FaultPlace) -> diagnostics.Diagnostic | None:
    """Return what to say of `// comment` and the like."""
    stretch = comment_stretch(place)
    if stretch is None:
        return None
    text = place.scan.source
    start, end = stretch
    sign = _COMMENT.match(text.text, start)
    written = sign[0] if sign else ""
    behind = text.text[start + len(written) : end]
    if written == ";" and not behind.strip():
        return None
    span = text.span(start, start + len(written))
    is_line = "\n" not in behind and written != "/*"
    edit = diagnostics.Edit(span, "#")
    return diagnostics.Diagnostic(
        "PS003",
        f"`{written}` does not begin a comment",
        span,
        help="comments begin with `#` and end with the line",
        fix=diagnostics.Fix((edit,), safe=False) if is_line else None,
    )


def or_equal(place: fault_place.FaultPlace) -> diagnostics.Diagnostic | None:
    """Return what to say of `cores Ge 5`: Kubernetes has Gt and Lt alone."""
    found = place.found
    if found is None or "GT" not in place.accepts or found.text not in _OR_EQUAL:
        return None
    ours, step, sign = _OR_EQUAL[found.text]
    number = place.scan.at(found.end)
    if number is None or not number.text.isdecimal():
        helps, fix = f"write `{sign}`", None
    else:
        written = f"{ours} {int(number.text) + step}"
        helps = f"write `{written}`: of whole numbers it is the same as `{sign} {number.text}`"
        edit = diagnostics.Edit(place.scan.source.span(found.start, number.end), written)
        fix = diagnostics.Fix((edit,), safe=False)
    return diagnostics.Diagnostic(
        "PS001",
        f"there is no operator `{found.text}`",
        place.span,
        help=helps,
        fix=fix,
    )
