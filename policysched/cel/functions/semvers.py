"""Semantic versions. Source: `github.com/blang/semver/v4`, `k8s.io/apiserver/pkg/cel/semver.go`."""

from __future__ import annotations

import functools
import re
from typing import Final

from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, INT, SEMVER, STRING
from policysched.cel.values import MAX_UINT, StrictValue, Value, register_type

_VERSION = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_MAX_LENGTH: Final = 4096
_MAX_DIGITS: Final = 20


class Semver(StrictValue):
    """A version; `order` compares as versions do, without build metadata."""

    __slots__ = ("numbers", "order")

    def __init__(self, numbers: tuple[int, int, int], pre_release: str) -> None:
        self.numbers = numbers
        self.order = (numbers, not pre_release, tuple(map(_make_sort_key, pre_release.split("."))))

    def equals(self, other: Value) -> bool:
        """Return whether the versions are equal, apart from build metadata."""
        if type(other) is not Semver:
            raise make_overload_error()
        return self.order == other.order


register_type(Semver, SEMVER.name, is_hashable=False)


def _make_sort_key(identifier: str) -> tuple[bool, int, str]:
    """Return the sort key of an identifier of a pre-release: numbers come before words."""
    is_number = identifier.isdigit()
    return not is_number, int(identifier) if is_number else 0, identifier


@define("semver", (STRING,), SEMVER)
@functools.lru_cache(maxsize=4096)
def parse_semver(text: str) -> Semver:
    """Return the version of a text such as `1.2.3-rc.1+build`.

    Raises:
        EvaluationError: it is not a version.
    """
    match = _VERSION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise EvaluationError("No Major.Minor.Patch elements found")
    numbers = tuple(_read_number(digits) for digits in match.group(1, 2, 3))
    for identifier in (match[4] or "").split("."):
        if identifier.isdigit():
            _read_number(identifier)
            if len(identifier) > 1 and identifier.startswith("0"):
                raise EvaluationError(
                    f'Numeric PreRelease version must not contain leading zeroes "{identifier}"'
                )
    return Semver((numbers[0], numbers[1], numbers[2]), match[4] or "")


def _read_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS or int(digits) > MAX_UINT:
        raise EvaluationError(f'parsing "{digits[:_MAX_DIGITS]}": value out of range')
    return int(digits)


@define("semver", (STRING, BOOL), SEMVER)
def parse_maybe_normalized(text: str, normalize: bool) -> Semver:  # noqa: FBT001 - CEL has no keyword arguments
    """Return the version of a text, which may have a `v`, zeros in front, and fewer numbers."""
    return parse_semver(_normalize(text) if normalize else text)


def _normalize(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            starts_with_digit = stripped[:1].isascii() and stripped[:1].isdigit()
            parts[i] = stripped if starts_with_digit else "0" + stripped
    missing = 3 - len(parts)
    if missing and any(sign in parts[-1] for sign in "+-"):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * missing)


@define("isSemver", (STRING,), BOOL)
def is_semver(text: str) -> bool:
    """Return whether a text is a version."""
    return is_maybe_normalized_semver(text, False)


@define("isSemver", (STRING, BOOL), BOOL)
def is_maybe_normalized_semver(text: str, normalize: bool) -> bool:  # noqa: FBT001 - as above
    """Return whether `semver` has a result."""
    try:
        parse_maybe_normalized(text, normalize)
    except EvaluationError:
        return False
    return True


@define_method("isGreaterThan", (SEMVER, SEMVER), BOOL)
def is_greater(left: Semver, right: Semver) -> bool:
    """Return whether the left version is greater."""
    return left.order > right.order


@define_method("isLessThan", (SEMVER, SEMVER), BOOL)
def is_less(left: Semver, right: Semver) -> bool:
    """Return whether the left version is less."""
    return left.order < right.order


@define_method("compareTo", (SEMVER, SEMVER), INT)
def compare(left: Semver, right: Semver) -> int:
    """Return -1, 0 or 1."""
    return (left.order > right.order) - (left.order < right.order)


@define_method("major", (SEMVER,), INT)
def get_major(version: Semver) -> int:
    """Return the first number."""
    return version.numbers[0]


@define_method("minor", (SEMVER,), INT)
def get_minor(version: Semver) -> int:
    """Return the second number."""
    return version.numbers[1]


@define_method("patch", (SEMVER,), INT)
def get_patch(version: Semver) -> int:
    """Return the third number."""
    return version.numbers[2]
