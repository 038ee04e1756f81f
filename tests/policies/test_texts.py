from __future__ import annotations

import pathlib
import re

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.formatting import formatter
from policysched.plugins import registry
from tests.policies import shipped

NAMES = [
    "across-clusters",
    "default",
    "gpu-packing",
    "gpu-pool",
    "load-aware",
    "node-load",
    "spread-vs-pack",
    "web-tier",
]
each_file = pytest.mark.parametrize("file", shipped.FILES, ids=lambda file: file.stem)


def _text(file: pathlib.Path) -> source.SourceText:
    return source.SourceText(file.name, file.read_text(encoding="utf-8"))


def _check(files: list[pathlib.Path]) -> checker.CheckResult:
    return checker.check(
        [_text(file) for file in files],
        plugins=registry.create_built_in_registry().list_plugin_names(),
    )


def test_the_scenarios_of_the_field_are_there() -> None:
    """A scenario that goes missing is noticed."""
    assert [file.stem for file in shipped.FILES] == NAMES


@each_file
def test_a_file_is_sound_by_itself(file: pathlib.Path) -> None:
    """Each file can be taken alone: it defines all that it uses, and nothing is found in it."""
    result = _check([file])
    assert result.program is not None
    assert result.diagnostics == ()


def test_all_files_together_are_one_sound_set() -> None:
    """The folder can be given to `run` as it is: no name is defined twice."""
    result = _check(shipped.FILES)
    assert result.diagnostics == ()
    assert result.program is not None
    profiles = [profile.name for profile in result.program.profiles]
    assert sorted(name or "" for name in profiles) == [
        "across-clusters",
        "gpu",
        "gpu-packing",
        "load-aware",
        "node-load",
        "pack",
        "policysched",
        "spread",
        "web",
    ]


def test_every_policy_is_in_a_profile() -> None:
    """No shipped policy is inert."""
    result = _check(shipped.FILES)
    assert result.program is not None
    program = result.program
    profiles = program.profiles
    used = {p.name for each in profiles for p in (*each.policies, *each.cluster_policies)}
    assert used == {p.name for p in (*program.policies, *program.cluster_policies)}


@each_file
def test_a_file_is_in_canonical_form(file: pathlib.Path) -> None:
    """`policysched fmt` would leave it alone."""
    assert formatter.format_text(_text(file)).text == file.read_text(encoding="utf-8")


@each_file
def test_a_file_begins_with_a_page_for_operators(file: pathlib.Path) -> None:
    """The page says what the file does, when not to use it, and names each of its rules."""
    text = file.read_text(encoding="utf-8")
    page = re.match(r"(#.*\n)+", text)
    assert page is not None
    assert page.group().count("\n") >= 25
    assert re.search(r"^# For ", page.group(), re.MULTILINE)
    assert "# Effect." in page.group()
    assert "When not to use it." in page.group()
    for rule in re.findall(r"\bas ([a-z][\w-]*)$", text, flags=re.MULTILINE):
        assert re.search(rf"(?<![\w-]){rule}(?![\w-])", page.group()), rule


@each_file
def test_every_rule_that_can_be_met_is_named(file: pathlib.Path) -> None:
    """Explanations speak of rules by names that people gave them, not by hashes."""
    program = _check([file]).program
    assert program is not None
    policies = (*program.policies, *program.cluster_policies)
    unnamed = [r.head.name for p in policies for r in p.rules if not r.head.given_name]
    assert unnamed == []


@each_file
def test_lines_fit_on_a_screen(file: pathlib.Path) -> None:
    """Comments keep to 100 columns; only a query may be longer."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 100 and "`" not in line] == []


@pytest.mark.parametrize(
    "given", [{}, {"rate_window": "5m", "settle": "6m"}], ids=["shipped", "longer"]
)
def test_node_load_counts_placed_pods_until_samples_show_them(given: dict[str, str]) -> None:
    """A pod counts for a scrape interval, the range of the rate and a refresh, at least."""
    (file,) = (file for file in shipped.FILES if file.stem == "node-load")
    result = checker.check(
        [_text(file)], given=given, plugins=registry.create_built_in_registry().list_plugin_names()
    )
    assert result.program is not None
    protected = {m.name: m for m in result.program.metrics if m.placed is not None}
    assert protected.keys() == {"node_cpu", "node_memory"}
    minutes = re.search(r"\[(\d+)m\]", protected["node_cpu"].promql)
    assert minutes is not None
    rate_seconds = 60.0 * int(minutes[1])
    for metric in protected.values():
        assert metric.placed is not None
        assert metric.placed.seconds >= 30.0 + rate_seconds + 1.1 * metric.refresh_seconds
