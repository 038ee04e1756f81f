from __future__ import annotations

import pathlib
import random
import sys
import time
import types
from collections.abc import Callable

import pytest

from tests.fuzzing import __main__ as program
from tests.fuzzing import cases, commands, full_objects, mutation, running, shrinking

_FOUND = sorted((pathlib.Path(__file__).parent / "found").glob("*.json"))
_SEED = 18
_INPUTS = 120
_BATCHES = 4
CASE = cases.Case(("check", "a.policy"), {"a.policy": b"version 1\n"})


@pytest.mark.parametrize("path", _FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: pathlib.Path) -> None:
    """Each input that once ended in a traceback or a hang ends with an exit code and one error."""
    ending = running.run(cases.from_json(path.read_text("utf-8")))
    assert ending.problem == "", ending.stderr


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_damaged_input_ends_with_an_exit_code_and_one_error(batch: int) -> None:
    """A small fixed part of what `make fuzz-commands` runs."""
    rng = random.Random(f"{_SEED}/{batch}")
    for _ in range(_INPUTS // _BATCHES):
        case = commands.draw(rng)
        ending = running.run(case)
        assert ending.problem == "", f"{case.as_json()}\n{ending.stderr}"


@pytest.mark.parametrize("path", _FOUND[:3], ids=lambda path: path.stem)
def test_a_process_ends_as_its_commands_do(path: pathlib.Path) -> None:
    """The same input as a process of its own has the same exit code and the same error."""
    case = cases.from_json(path.read_text("utf-8"))
    assert running.run_as_process(case) == running.run(case)


def test_the_readers_take_the_objects_with_every_field() -> None:
    """Before they are damaged, all objects are what the readers read."""
    full_objects.require_read()
    case = cases.Case(("lint", "-", "--cluster", "c.json"))
    assert case.command == "lint"


def test_a_seed_repeats_its_cases() -> None:
    """What one run reports another one draws again."""
    first, second = random.Random(3), random.Random(3)
    assert [commands.draw(first) for _ in range(50)] == [commands.draw(second) for _ in range(50)]


def test_a_case_is_read_back() -> None:
    """Also with bytes that are no text."""
    case = cases.Case(("check", "é"), {"a/b.policy": b"\xff\x00", "c": "é".encode()}, b"\xfe")
    assert cases.from_json(case.as_json()) == case


def _fail(argv: tuple[str, ...]) -> int:
    raise KeyError(argv[0])


def _hang(_argv: tuple[str, ...]) -> int:
    time.sleep(60)
    return 0


def _let_commands_end(
    monkeypatch: pytest.MonkeyPatch, ending: Callable[[tuple[str, ...]], int]
) -> None:
    """Replace the commands that are run; those that print the seeds of inputs stay."""
    monkeypatch.setattr(running, "main", types.SimpleNamespace(main=ending))


def _report_twice(_argv: tuple[str, ...]) -> int:
    sys.stderr.write("policysched: one\npolicysched: two\n")
    return 3


@pytest.mark.parametrize(
    "ending, problem",
    [
        pytest.param(_fail, "traceback: KeyError at", id="traceback"),
        pytest.param(_hang, "hang", id="hang"),
        pytest.param(_report_twice, "exit code 3 with 2 errors", id="two-errors"),
        pytest.param(lambda _: 2, "", id="findings-elsewhere"),
        pytest.param(lambda _: 3, "exit code 3 with 0 errors", id="silent"),
        pytest.param(lambda _: 134, "exit code 134", id="crash"),
        pytest.param(lambda _: 1, "", id="fine"),
    ],
)
def test_a_bad_ending_is_noticed(
    ending: Callable[[tuple[str, ...]], int], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tracebacks, hangs, other exit codes, and none or several errors."""
    _let_commands_end(monkeypatch, ending)
    monkeypatch.setattr(running, "LIMIT_SECONDS", 0.05)
    found = running.run(CASE).problem
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_failing_case_is_made_small() -> None:
    """What has no part in the failure is left out, in values and in text."""
    case = cases.Case(
        ("simulate", "--cluster", "c.json", "--seed", "5"),
        {"c.json": b'{"items": [{"a": {"bad": 1}}, {"c": [2, 3]}]}', "other": b"x"},
    )
    small = shrinking.shrink(case, lambda each: b"bad" in each.files.get("c.json", b""))
    assert small.argv == ("simulate",)
    assert list(small.files) == ["c.json"]
    assert len(small.files["c.json"]) <= len(b"bad") + 1


def test_texts_that_json_cannot_say_get_into_the_file() -> None:
    """Numbers without end and the like stand in the damaged text as they are."""
    damage = mutation.Damage(random.Random(1))
    texts = [damage.as_json({"a": [damage.odd() for _ in range(50)]}) for _ in range(20)]
    assert any("1e400" in text for text in texts)
    assert not any("@raw" in text for text in texts)


def test_the_program_counts_and_tells_its_seed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Exit code 0 without defects; 1 with one, which is kept and can be replayed."""
    monkeypatch.setattr(program, "FAILURES", tmp_path / "failures")
    _let_commands_end(monkeypatch, lambda _: 0)
    assert program.main(["--inputs", "20", "--seed", "4"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("seed 4\n")
    assert "20 runs" in told
    _let_commands_end(monkeypatch, _fail)
    assert program.main(["--inputs", "3", "--seed", "4"]) == 1
    (kept,) = (tmp_path / "failures").iterdir()
    assert "traceback: KeyError" in capsys.readouterr().out
    assert program.main(["--replay", str(kept)]) == 1
