"""Taint patterns as sets of taints."""

from __future__ import annotations

from policysched.lang.checked import checked_selector


def covers_taint_pattern(
    wide: checked_selector.TaintPattern, narrow: checked_selector.TaintPattern
) -> bool:
    """Return whether `wide` matches every taint that `narrow` matches."""
    if wide.key != narrow.key or not set(narrow.effects) <= set(wide.effects):
        return False
    match wide.operator, narrow.operator:
        case "Exists", _:
            return True
        case "Equal", "Equal":
            return wide.value == narrow.value
        case "Gt", "Gt":
            return int(narrow.value) >= int(wide.value)
        case "Lt", "Lt":
            return int(narrow.value) <= int(wide.value)
        case "Gt" | "Lt", "Equal":
            number = _parse_taint_integer(narrow.value)
            if number is None:
                return False
            bound = int(wide.value)
            return number > bound if wide.operator == "Gt" else number < bound
        case _:
            return False


def _parse_taint_integer(text: str) -> int | None:
    """Return the value of a taint as an integer, or None; like Kubernetes, reject leading zeros."""
    digits = text.removeprefix("-")
    is_plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
    return int(text) if is_plain else None
