"""`--scheduler-name` limits warnings, notes and plans to the profile that it names."""

from __future__ import annotations

import pathlib

import pytest

from policysched.cli import main
from tests.cli import clusters

_TEXT = """version 1
metric cpu_busy: ratio = `x` node instance
metric gpu_busy: ratio = `y` node instance
policy web {{
  for pods where app = web
  reject when cpu_busy > {0}% missing allow as hot
  tolerate old expires "2025-01-01" as old
}}
policy train {{
  for pods where app = train
  reject when gpu_busy > {0}% missing allow as hot
  tolerate old expires "2025-02-01" as old
}}
policy idle {{ for pods where app = idle  tolerate y as y }}
profile edge {{ policies web }}
profile batch {{ policies train }}
"""


@pytest.mark.parametrize("command", ["simulate", "explain", "plan"])
@pytest.mark.parametrize(
    "name, expected, unexpected",
    [
        pytest.param(None, ["n:7:", "n:12:", "PS806", "cpu_busy", "gpu_busy"], [], id="all"),
        pytest.param(
            "edge", ["n:7:", "cpu_busy"], ["n:12:", "PS806", "gpu_busy", "train"], id="edge"
        ),
        pytest.param(
            "batch", ["n:12:", "gpu_busy"], ["n:7:", "PS806", "cpu_busy", "web"], id="batch"
        ),
    ],
)
def test_notes_of_other_profiles_are_left_out(
    command: str,
    name: str | None,
    expected: list[str],
    unexpected: list[str],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Expired rules, unused policies, metrics without samples and edits of others are not shown."""
    cluster = clusters.write(tmp_path, clusters.node("a"), clusters.pod("p", schedulerName="edge"))
    texts = []
    for number in (80, 70):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "n.policy"
        path.write_text(_TEXT.format(number), encoding="utf-8")
        texts.append(str(path))
    argv = {
        "simulate": ["simulate", "--policies", texts[1]],
        "explain": ["explain", "--all", "--policies", texts[1]],
        "plan": ["plan", "--from", texts[0], "--to", texts[1]],
    }[command]
    given = [] if name is None else ["--scheduler-name", name]
    assert main.main([*argv, "--cluster", cluster, "--now", "2026-03-02T10:00:00Z", *given]) == 0
    out, err = capsys.readouterr()
    shown = (out + err).replace(f"{tmp_path}/70/n.policy", "n")
    if command == "explain":
        expected = [each for each in expected if not each.endswith("_busy")]
    assert [each for each in expected if each not in shown] == []
    assert [each for each in unexpected if each in shown] == []


def test_a_name_of_the_implied_profile_leaves_nothing_out(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without profiles in the text, the named profile has all policies."""
    text = tmp_path / "a.policy"
    body = _TEXT.format(80).partition("profile")[0]
    text.write_text(body, encoding="utf-8")
    cluster = clusters.write(tmp_path, clusters.node("a"))
    argv = ["simulate", "--cluster", cluster, "--policies", str(text), "--scheduler-name", "edge"]
    assert main.main([*argv, "--now", "2026-03-02T10:00:00Z"]) == 0
    shown = capsys.readouterr().err
    assert shown.count("PS804") == 2
    assert "`cpu_busy`, `gpu_busy`" in shown
