"""`format.dns1123Label().validate(text)` and the like: Kubernetes' rules for names.

The verdict is exact; the reasons are shorter than Kubernetes' own. Source:
`k8s.io/apiserver/pkg/cel/library/format.go`, `k8s.io/apimachinery/pkg/util/validation`.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Callable
from typing import Final

from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.functions import urls
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import NAMED_FORMAT, STRING, list_of, optional_of
from policysched.cel.values import NO_VALUE, Optional, StrictValue, Value, register_type

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_LABEL, _MAX_SUBDOMAIN, _MAX_PARTS = 63, 253, 2
_LAST_HOUR, _LAST_MINUTE = 23, 59


@dataclasses.dataclass(frozen=True, slots=True)
class NamedFormat(StrictValue):
    """A rule for texts."""

    name: str
    is_valid: Callable[[str], bool]

    def equals(self, other: Value) -> bool:
        """Return whether both are the same rule."""
        if type(other) is not NamedFormat:
            raise make_overload_error()
        return self.name == other.name


register_type(NamedFormat, NAMED_FORMAT.name, is_hashable=False)


def _is_label(text: str) -> bool:
    return len(text) <= _MAX_LABEL and _LABEL.fullmatch(text) is not None


def _is_label_1035(text: str) -> bool:
    return len(text) <= _MAX_LABEL and _LABEL_1035.fullmatch(text) is not None


def _is_subdomain(text: str) -> bool:
    return len(text) <= _MAX_SUBDOMAIN and all(map(_LABEL.fullmatch, text.split(".")))


def _is_label_value(text: str) -> bool:
    return not text or (len(text) <= _MAX_LABEL and _NAME.fullmatch(text) is not None)


def _is_qualified_name(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not _is_subdomain(prefix):
        return False
    return bool(name) and _is_label_value(name)


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _is_datetime(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    match = _TIME.fullmatch(time)
    if len(text) < len("2006-01-02") or match is None or not _is_date(date):
        return False
    return int(match[1]) <= _LAST_HOUR and max(int(match[2]), int(match[3])) <= _LAST_MINUTE


def _accept_trailing_dash(is_valid: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return the rule for a prefix of a name, which may end with a dash."""

    def is_valid_prefix(text: str) -> bool:
        # Kubernetes replaces the last two characters, not only the dash.
        masked = f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text
        return is_valid(masked)

    return is_valid_prefix


_FORMATS: Final = {
    "dns1123Label": _is_label,
    "dns1123Subdomain": _is_subdomain,
    "dns1035Label": _is_label_1035,
    "qualifiedName": _is_qualified_name,
    "dns1123LabelPrefix": _accept_trailing_dash(_is_label),
    "dns1123SubdomainPrefix": _accept_trailing_dash(_is_subdomain),
    "dns1035LabelPrefix": _accept_trailing_dash(_is_label_1035),
    "labelValue": _is_label_value,
    "uri": urls.is_url,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "date": _is_date,
    "datetime": _is_datetime,
}


def _define_format(name: str, format_: NamedFormat) -> None:
    define(f"format.{name}", (), NAMED_FORMAT)(lambda: format_)


_NAMED: Final = {name: NamedFormat(name, is_valid) for name, is_valid in _FORMATS.items()}
for _name, _format in _NAMED.items():
    _define_format(_name, _format)


@define("format.named", (STRING,), optional_of(NAMED_FORMAT))
def find_format(name: str) -> Optional:
    """Return the rule of this name, if there is one."""
    return Optional(_NAMED[name]) if name in _NAMED else NO_VALUE


@define_method("validate", (NAMED_FORMAT, STRING), optional_of(list_of(STRING)), is_metered=True)
def validate(meter: Meter, format_: NamedFormat, text: str) -> Optional:
    """Return why a text is not valid; no value if it is."""
    meter.charge_text(len(text))
    try:
        is_valid = format_.is_valid(text)
    except EvaluationError:
        is_valid = False
    return NO_VALUE if is_valid else Optional([f"does not match the format {format_.name}"])
