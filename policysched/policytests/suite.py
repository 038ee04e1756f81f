"""Parses policy test files, validates them against their schema, and locates each value."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import jsonschema
import orjson

from policysched import _resources, errors
from policysched import clock as clocks
from policysched.config import config_schema
from policysched.inputs import object_lists, plain_yaml
from policysched.policytests import number_tolerance

SUFFIXES = ("_test.yaml", "_test.yml")
"""The suffixes that identify test files in a folder."""

_OF_CLUSTERS = {"expectations": ("division", "group", "error"), "fields": ("resource",)}
"""Expectations and fields that only tests of a clusterPolicy can contain."""
_OF_PODS = ("pod", "schedulerName")
"""Fields that only tests of pods can contain."""
_OF_BOTH = ("feasible", "rejected", "scores", "rules")
"""Expectations that tests of pods and of a clusterPolicy can contain."""


class SuiteError(errors.InputError):
    """A test file is invalid; the message contains every fault with its line.

    Attributes:
        path: the test file.
        faults: (line, problem), ordered by line.
    """

    def __init__(self, path: str, faults: Iterable[tuple[int, str]]) -> None:
        self.path = path
        self.faults = sorted(set(faults))
        line, problem = self.faults[0]
        further = "".join(f"\n{path}:{at}: {said}" for at, said in self.faults[1:])
        super().__init__(f"{path}:{line}", problem + further)


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyTestSuite:
    """A parsed test file with the line of each value.

    Attributes:
        path: the path as the user gave it.
        text: the content.
        document: the parsed content, with lines.
        is_to_be_filled: whether tests can lack expectations, because `--update` adds them.
    """

    path: str
    text: str
    document: plain_yaml.YamlDocument
    is_to_be_filled: bool = False

    @property
    def folder(self) -> pathlib.Path:
        """The folder of the file; paths in the file are relative to it."""
        return pathlib.Path(self.path).parent

    def get_file_field(self, field: str, default: object = None) -> Any:  # noqa: ANN401 - the schema ensures the type
        """Return a top-level field of the file."""
        return self.document.value.get(field, default)

    def find_line(self, *path: str | int) -> int:
        """Return the line of the value at a path."""
        return self.document.line(path)

    @property
    def cases(self) -> list[PolicyTestCase]:
        """The tests, in the order of the file."""
        return [
            PolicyTestCase(self, number, each)
            for number, each in enumerate(self.get_file_field("tests"))
        ]

    @property
    def lint_case(self) -> LintCase | None:
        """The expected findings of `lint`, if the file contains any."""
        said = self.get_file_field("lint")
        return None if said is None else LintCase(self, -1, {"name": "lint", **said})


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyTestCase:
    """One test in a file.

    Attributes:
        number: the 0-based index in the file.
        value: the fields of the test.
    """

    suite: PolicyTestSuite
    number: int
    value: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the test."""
        name: str = self.value["name"]
        return name

    @property
    def expect(self) -> Mapping[str, Any]:
        """The expectations of the test."""
        found: Mapping[str, Any] = self.value.get("expect") or {}
        return found

    def find_line(self, *path: str | int) -> int:
        """Return the line of the value at a path in the test."""
        return self.suite.find_line(*self.get_path_in_file(*path))

    def get_path_in_file(self, *path: str | int) -> plain_yaml.Path:
        """Return the path in the file that corresponds to a path in the test."""
        return ("tests", self.number, *path)

    def get_field(self, name: str) -> Any:  # noqa: ANN401 - the schema ensures the type
        """Return a field of the test, or by default of the file."""
        return self.value.get(name, self.suite.get_file_field(name))


class LintCase(PolicyTestCase):
    """The expected findings of `lint`, in the form of a test."""

    @property
    def expect(self) -> Mapping[str, Any]:
        """Return no expectations: a `LintCase` has expected findings in `value` instead."""
        return {}

    def get_path_in_file(self, *path: str | int) -> plain_yaml.Path:
        """Return the path in the file that corresponds to a path in the lint case."""
        return ("lint", *path)


def discover_test_files(paths: Iterable[str]) -> list[str]:
    """Return the test files at `paths`: files as given, and all test files in folders.

    In folders, the names of test files end in one of `SUFFIXES`.

    Raises:
        InputError: a path does not exist, or a folder cannot be read.
    """
    found: list[str] = []
    for path in paths:
        try:
            found += _list_files(pathlib.Path(path))
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            raise errors.InputError(str(error.filename or path), problem) from error
    return list(dict.fromkeys(found))


def _list_files(place: pathlib.Path) -> list[str]:
    if place.is_dir():
        return sorted(_walk_files(place))
    if place.is_file():
        return [str(place)]
    raise errors.InputError(str(place), "does not exist")


def _walk_files(folder: pathlib.Path) -> Iterator[str]:
    """Yield the test files in a folder and its subfolders, except hidden ones.

    Raises:
        OSError: a folder cannot be read; `rglob` would skip it silently.
    """
    for place, folders, files in os.walk(folder, onerror=_raise_error):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield str(pathlib.Path(place) / name)


def _raise_error(error: OSError) -> NoReturn:
    raise error


def read_test_suite(path: str, *, is_to_be_filled: bool = False) -> PolicyTestSuite:
    """Return the tests in a file.

    Raises:
        SuiteError: the file violates the schema, or a rule that the schema cannot express.
        InputError: the file cannot be read, or is not YAML.
    """
    try:
        text = object_lists.read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InputError(path, "is not UTF-8 text") from error
    return parse_test_suite(text, path, is_to_be_filled=is_to_be_filled)


def parse_test_suite(text: str, path: str, *, is_to_be_filled: bool = False) -> PolicyTestSuite:
    """Return the tests in a text; see `read_test_suite`."""
    document = plain_yaml.load_yaml_document(text, path)
    violations = list(
        jsonschema.Draft202012Validator(load_policytest_schema()).iter_errors(document.value)
    )
    faults = [
        fault[:2]
        for violation in violations
        for fault in config_schema.describe_violation(violation, document, "the file")
    ]
    if not faults:
        suite = PolicyTestSuite(path, text, document, is_to_be_filled)
        faults = list(_find_semantic_faults(suite))
        if not faults:
            return suite
    raise SuiteError(path, faults)


@functools.cache
def load_policytest_schema() -> dict[str, Any]:
    """Return schemas/policytest.schema.json."""
    found: dict[str, Any] = orjson.loads(
        _resources.read_resource_text("schemas", "policytest.schema.json")
    )
    return found


def _find_semantic_faults(suite: PolicyTestSuite) -> Iterator[tuple[int, str]]:
    """Yield faults that the schema cannot express."""
    yield from _find_time_faults(suite.get_file_field("now"), suite.find_line("now"))
    names = Counter(case.name for case in suite.cases)
    for case in suite.cases:
        if names[case.name] > 1:
            yield case.find_line("name"), f"several tests are named `{case.name}`"
        yield from _find_case_faults(case)


def _find_case_faults(case: PolicyTestCase) -> Iterator[tuple[int, str]]:
    """Yield the faults of one test that the schema cannot express."""
    yield from _find_test_kind_faults(case)
    yield from _find_time_faults(case.value.get("now"), case.find_line("now"))
    if not case.expect and not ("expect" in case.value and case.suite.is_to_be_filled):
        advice = "; write `expect: {}`" if case.suite.is_to_be_filled else ""
        yield case.find_line(), f"the test `{case.name}` expects nothing{advice}"
    yield from _find_number_faults(case)
    metrics = case.value.get("metrics")
    if isinstance(metrics, str) and metrics != "outage":
        yield (
            case.find_line("metrics"),
            "`metrics` is a mapping from metric to node to value, or outage",
        )
    for field in ("placed", "maxSkew"):
        if field in case.expect and "replicas" not in case.value:
            yield case.find_line("expect", field), f"`{field}` needs `replicas`"
    if case.expect.get("exact") and "rejected" not in case.expect:
        yield case.find_line("expect", "exact"), "`exact` needs `rejected`"


def _find_test_kind_faults(case: PolicyTestCase) -> Iterator[tuple[int, str]]:
    """Yield fields and expectations that only the other kind of test can contain."""
    is_cluster = "clusterPolicy" in case.value
    if not is_cluster and "pod" not in case.value:
        yield case.find_line(), f"the test `{case.name}` lacks `pod`"
    said = "a test of a clusterPolicy" if is_cluster else "a test of a pod"
    fields = _OF_PODS if is_cluster else _OF_CLUSTERS["fields"]
    for field in fields:
        if field in case.value:
            yield case.find_line(field), f"`{field}` is not allowed in {said}"
    for field in case.expect:
        is_of_clusters = field in _OF_CLUSTERS["expectations"]
        if is_of_clusters != is_cluster and field not in _OF_BOTH:
            yield case.find_line("expect", field), f"`{field}` is not allowed in {said}"


def _find_number_faults(case: PolicyTestCase) -> Iterator[tuple[int, str]]:
    """Yield the expected scores and points that are not numbers."""
    scores = case.expect.get("scores", {})
    written: list[tuple[plain_yaml.Path, Any]] = [(("scores", n), scores[n]) for n in scores]
    for rule, nodes in case.expect.get("rules", {}).items():
        for node, said in nodes.items():
            points = said.get("points") if isinstance(said, dict) else said
            if points is not None:
                written.append((("rules", rule, node), points))
    for path, said in written:
        if number_tolerance.parse_expected_number(said) is None:
            problem = f"`{said}` is not a number: write 7150 or 7150 ± 50"
            yield case.find_line("expect", *path), problem


def _find_time_faults(written: str | None, line: int) -> Iterator[tuple[int, str]]:
    if written is not None and clocks.parse_time(written) is None:
        yield line, f"`{written}` is not a time such as 2026-03-02T10:00:00+01:00"
