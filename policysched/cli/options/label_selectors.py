"""Label selectors in options, as kubectl writes them: `a=b,c!=d,e in (f, g),h,!i`."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.cluster.objects import selectors

_KEY = r"(?P<key>[A-Za-z0-9](?:[-\w./]*[A-Za-z0-9])?)"
_PART = re.compile(r",(?![^()]*\))")
_FORMS = (
    (re.compile(rf"{_KEY}\s*==?\s*(?P<values>[^\s=!(),]*)"), "In"),
    (re.compile(rf"{_KEY}\s*!=\s*(?P<values>[^\s=!(),]*)"), "NotIn"),
    (re.compile(rf"{_KEY}\s+in\s*\((?P<values>[^()]*)\)"), "In"),
    (re.compile(rf"{_KEY}\s+notin\s*\((?P<values>[^()]*)\)"), "NotIn"),
    (re.compile(rf"!\s*{_KEY}"), "DoesNotExist"),
    (re.compile(rf"{_KEY}"), "Exists"),
)


def parse_label_selector(text: str) -> selectors.Selector:
    """Return the selector that an option describes.

    Raises:
        ArgumentTypeError: the text is not a label selector.
    """
    from policysched.cluster.objects import objects, selectors  # noqa: PLC0415 - not needed for `--help`

    requirements = [_parse_requirement(part.strip()) for part in _PART.split(text)]
    found = selectors.from_label_selector(
        objects.LabelSelector(
            match_expressions=tuple(
                objects.SelectorRequirement(key=key, operator=operator, values=values)
                for key, operator, values in requirements
            )
        )
    )
    if found.matches_nothing:
        raise argparse.ArgumentTypeError(f"`{text}` has an invalid key or value of a label")
    return found


def _parse_requirement(part: str) -> tuple[str, str, tuple[str, ...]]:
    """Return key, operator and values of one requirement."""
    for form, operator in _FORMS:
        match = form.fullmatch(part)
        if match is not None:
            values = match.groupdict().get("values")
            listed = () if values is None else tuple(each.strip() for each in values.split(","))
            return match["key"], operator, listed
    raise argparse.ArgumentTypeError(
        f"`{part}` is not a requirement such as app=web, app!=web, app in (a, b), app or !app"
    )
