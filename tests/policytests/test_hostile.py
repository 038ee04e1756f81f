from __future__ import annotations

import copy
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policysched.policytests import running, updating
from tests import examples
from tests.policytests import files

DOCUMENT = {
    **yaml.safe_load(files.HEAD),
    "now": "2026-03-02T10:00:00+01:00",
    "tests": [
        {
            "name": "one",
            "pod": "web",
            "expect": {
                "node": "n2",
                "feasible": ["n2"],
                "rejected": {"n1": "any"},
                "scores": {"n2": 5},
                "rules": {"quiet": {"n2": {"raw": 1, "points": "3 ± 1"}}},
                "message": "",
                "policies": ["web"],
                "skipped": [],
                "pending": False,
            },
        },
        {
            "name": "two",
            "pod": {"from": "web", "tolerations": ["a"]},
            "replicas": 2,
            "metrics": {"busy": {"n1": "_"}},
            "expect": {"placed": {"n2": 2}, "maxSkew": {"zone": 1}, "pending": 1},
        },
    ],
}
VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, "", "x", "web", "n1", "outage", "1e400", "±", "a/b", "*", "\x07"),
    *([], ["n1"], [[1]], {}, {"a": "b"}, {"from": "web"}, "9" * 30),
]
Path = tuple[str | int, ...]


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every value within a document."""
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, inner in entries:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


PATHS = list(_paths(DOCUMENT))


def _changed(path: Path, value: Any) -> Any:
    """Return the document with one value replaced."""
    document = copy.deepcopy(DOCUMENT)
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return document


@settings(max_examples=examples.scale(80), deadline=None)
@given(
    path=st.sampled_from(PATHS),
    value=st.sampled_from(VALUES),
    style=st.sampled_from([None, True, False]),
)
def test_any_value_anywhere_is_taken_or_refused_and_updates_pass(
    path: Path, value: Any, style: bool | None
) -> None:
    """A file ends in results or in a fault with its place, and what `--update` writes holds."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "web.policy").write_text(files.POLICY, "utf-8")
        file = pathlib.Path(folder, "web_test.yaml")
        changed = _changed(path, value)
        text = yaml.safe_dump(
            changed, sort_keys=False, default_flow_style=style, allow_unicode=True
        )
        file.write_text(text, "utf-8")
        done = running.run_test_suites([str(file)], is_update=True)
        told = done.problems.get(str(file), "")
        assert done.results or folder in told or changed["tests"] == []
        failing = [result for result in done.results if result.mismatches]
        if failing:
            file.write_text(
                updating.update_expectations_text(failing[0].case.suite, failing), "utf-8"
            )
            again = running.run_test_suites([str(file)])
            assert [result.mismatches for result in again.results if result.mismatches] == []
            assert again.problems == {}
