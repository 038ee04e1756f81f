"""A reader of mappings that reports each field that no caller has read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from policysched import int64
from policysched.importing.result import findings
from policysched.inputs import plain_yaml

_T = TypeVar("_T")


class StrictFields:
    """The fields of a mapping, which callers read one by one.

    Attributes:
        place: the location of the mapping.
        report: the receiver of findings.
    """

    def __init__(
        self,
        value: plain_yaml.Value,
        place: findings.ValueLocation,
        report: findings.FindingCollector,
    ) -> None:
        """Prepare to read the fields of `value`.

        Raises:
            InputError: `value` is not a mapping.
        """
        self.place = place
        self.report = report
        if not isinstance(value, Mapping):
            raise self._make_type_error(place, "a mapping")
        self._value = value
        self._taken: set[str] = set()
        self._inner: list[StrictFields] = []

    def __contains__(self, key: str) -> bool:
        """Return whether the field exists and is not null."""
        return self._value.get(key) is not None

    def locate_field(self, key: str) -> findings.ValueLocation:
        """Return the location of a field, for findings."""
        return self.place.locate_child(key)

    # ------------------------------------------------------------------------ reading

    def read_value(self, key: str) -> plain_yaml.Value:
        """Return a field, or None if it does not exist, and mark it as read."""
        self._taken.add(key)
        return self._value.get(key)

    def skip_fields(self, *keys: str) -> None:
        """Mark fields that do not affect scheduling as read."""
        self._taken.update(keys)

    def read_text(self, key: str, default: str = "") -> str:
        """Return the text in a field.

        Raises:
            InputError: the field has another type.
        """
        return self._read_typed_value(key, str, "text", default)

    def read_boolean(self, key: str, *, default: bool) -> bool:
        """Return the boolean in a field; raises like `read_text`."""
        return self._read_typed_value(key, bool, "true or false", default)

    def read_integer(self, key: str) -> int | None:
        """Return the 64-bit integer in a field, or None without it; raises like `read_text`."""
        value = self.read_value(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._make_type_error(self.locate_field(key), "a whole number")
        if not int64.fits_int64(value):
            raise self._make_type_error(self.locate_field(key), "a number of at most 64 bits")
        return value

    def read_items(self, key: str) -> list[tuple[plain_yaml.Value, findings.ValueLocation]]:
        """Return the elements of a list with their locations; raises like `read_text`."""
        listed: list[plain_yaml.Value] = self._read_typed_value(key, list, "a list", [])
        return [
            (value, self.locate_field(key).locate_child(index))
            for index, value in enumerate(listed)
        ]

    def read_texts(self, key: str) -> list[str]:
        """Return a list of texts; raises like `read_text`."""
        found = self.read_items(key)
        for value, place in found:
            if not isinstance(value, str):
                raise self._make_type_error(place, "text")
        return [value for value, _ in found]

    def read_objects(self, key: str) -> list[StrictFields]:
        """Return a list of mappings; raises like `read_text`."""
        return [self._make_child(value, place) for value, place in self.read_items(key)]

    def read_object(self, key: str) -> StrictFields | None:
        """Return the mapping in a field, or None if it does not exist; raises like `read_text`."""
        value = self.read_value(key)
        return None if value is None else self._make_child(value, self.locate_field(key))

    def read_labels(self, key: str) -> dict[str, str]:
        """Return a mapping from text to text, such as labels; raises like `read_text`."""
        found = self.read_object(key)
        return {} if found is None else {name: found.read_text(name) for name in found.list_keys()}

    def list_keys(self) -> list[str]:
        """Return the names of all fields that are not null."""
        return [key for key, value in self._value.items() if value is not None]

    def read_all_values(self) -> Mapping[str, plain_yaml.Value]:
        """Return the whole mapping unchanged, and mark all fields as read."""
        self._taken.update(self._value)
        return self._value

    # ------------------------------------------------------------------------ unread fields

    def report_unread_fields(
        self, problem: str = "is not known", advice: str = "check its spelling"
    ) -> None:
        """Report every unread field, in this mapping and in the mappings read from it."""
        for key in self.list_keys():
            if key not in self._taken:
                self._taken.add(key)  # report it once
                self.report.warn(
                    self.locate_field(key),
                    f"`{self.locate_field(key).dotted_path}` {problem}",
                    advice,
                )
        for inner in self._inner:
            inner.report_unread_fields(problem, advice)

    def _make_child(self, value: plain_yaml.Value, place: findings.ValueLocation) -> StrictFields:
        inner = StrictFields(value, place, self.report)
        self._inner.append(inner)
        return inner

    def _read_typed_value(self, key: str, kind: type[_T], wanted: str, default: _T) -> _T:
        value = self.read_value(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self._make_type_error(self.locate_field(key), wanted)
        return value

    def _make_type_error(
        self, place: findings.ValueLocation, wanted: str
    ) -> findings.MalformedFieldError:
        name = f"`{place.dotted_path}`" if place.path else "it"
        return findings.MalformedFieldError(place, f"{name} must be {wanted}")
