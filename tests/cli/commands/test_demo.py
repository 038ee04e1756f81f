from __future__ import annotations

import asyncio
import fcntl
import io
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import Self

import pytest
from rich import console

from policysched import _resources, errors
from policysched.cli import main
from policysched.cli.demo import decision_facts, embedded_cluster, screen_view, story, text_view
from policysched.sim import demo_cluster

_ALTERNATE_SCREEN = "\x1b[?1049h"
_COLOUR = re.compile("\x1b\\[[0-9;]*3[0-7]m")
_STYLE = re.compile("\x1b\\[[0-9;]*m")


def _stage(folder: pathlib.Path) -> embedded_cluster.DemoCluster:
    """Return the cluster of the demo with a copy of the shipped policies."""
    for file in _resources.find_resource_folder("policies").glob("*.policy"):
        shutil.copy(file, folder)
    return embedded_cluster.DemoCluster(folder)


@pytest.fixture
def stage(tmp_path: pathlib.Path) -> embedded_cluster.DemoCluster:
    """Return a fresh stage."""
    return _stage(tmp_path)


@pytest.fixture(scope="module")
def printed() -> str:
    """Return what the demo prints without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "policysched", "demo"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


class Recorder(text_view.TextView):
    """Keeps what the story shows, and how long it would pause."""

    def __init__(self, stage: embedded_cluster.DemoCluster) -> None:
        super().__init__()
        self.stage = stage
        self.found: list[decision_facts.DecisionFacts] = []
        self.diffs: dict[str, Sequence[str]] = {}
        self.paused_seconds = 0.0

    def show_decision(self, found: decision_facts.DecisionFacts) -> None:
        """Note a decision."""
        super().show_decision(found)
        self.found.append(found)

    def show_edit(self, file: str, diff: Sequence[str]) -> None:
        """Note an edit."""
        super().show_edit(file, diff)
        self.diffs[file] = diff

    async def pause(self, seconds: float) -> None:
        """Note a pause."""
        self.paused_seconds += seconds

    def latest(self, pod: str) -> decision_facts.DecisionFacts:
        """Return the latest decision about a pod."""
        return next(found for found in reversed(self.found) if found.pod == pod)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """Return everything that the story shows, and the stage as it left it."""
    recorder = Recorder(_stage(tmp_path_factory.mktemp("policies")))
    asyncio.run(story.play_demo_story(recorder.stage, recorder))
    return recorder


# --- without a terminal --------------------------------------------------------------------------


@pytest.mark.slow
def test_it_prints_every_chapter_as_plain_text(printed: str) -> None:
    """Without a terminal the demo is text without escape codes, and ends by itself."""
    titles = re.findall(r"^(\d)\. (.*?):", printed, flags=re.MULTILINE)
    assert titles == [(str(n), chapter.title) for n, chapter in enumerate(story.CHAPTERS, start=1)]
    assert "\x1b" not in printed


@pytest.mark.slow
def test_it_prints_the_same_every_time(printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in it depends on chance or on the time of the day."""
    assert main.main(["demo"]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.slow
def test_its_suggestions_name_the_program_as_it_was_called() -> None:
    """A reader who called `.venv/bin/policysched` has no such program on the PATH."""
    called = str(pathlib.Path(sys.executable).with_name("policysched"))
    environment = {**os.environ, "PATH": os.defpath}
    done = subprocess.run(
        [called, "demo", "--fast"], capture_output=True, text=True, check=True, env=environment
    )
    assert f"\n  {called} check policies\n" in done.stdout


@pytest.mark.slow
def test_its_last_line_opens_the_page(printed: str) -> None:
    """The shortest way from the story to the reasons behind it."""
    assert printed.splitlines()[-1].endswith(" ui --open")


@pytest.mark.slow
def test_points_of_rules_add_up_to_the_total(printed: str) -> None:
    """Every table of points is a sum that a reader can check."""
    tables = re.findall(r"^    POINTS .*\n((?:    .* \d+\n)+)", printed, flags=re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        *rules, total = [
            [float(n) for n in line.rsplit(maxsplit=2)[1:]] for line in table.splitlines()
        ]
        assert [sum(column) for column in zip(*rules, strict=True)] == total


# --- the story -----------------------------------------------------------------------------------


def test_a_pod_that_fits_nowhere_gets_every_reason_with_its_nodes(played: Recorder) -> None:
    """All eight nodes are accounted for, by plugins and by a policy's rule."""
    found = next(f for f in played.found if f.node is None)
    assert found.pod == "prod/report"
    assert found.message.startswith("0/8 nodes are available: ")
    counts = re.findall(r"(?:: |, )(\d+) ", found.message)
    assert sum(map(int, counts)) == 8
    assert {e.rule: len(e.nodes) for e in found.excluded} == {
        "NodeResourcesFit": 4,
        "TaintToleration": 2,
        "NodeUnschedulable": 1,
        "load-aware/too-hot": 1,
    }


def test_an_edit_helps_the_pod_that_waits(played: Recorder) -> None:
    """Raising the limit binds it to the node that the rule had excluded."""
    found = played.latest("prod/report")
    assert (found.node, found.before_edit) == (demo_cluster.HOT_NODE, "")
    assert found.edit_effect == "before the edit: nowhere"
    changed = [line for line in played.diffs["load-aware.policy"] if line[0] in "+-"]
    assert [line[0] for line in changed] == ["-", "+"]


def test_an_edit_changes_the_next_decision(played: Recorder) -> None:
    """An equal pod goes to another node than it would have gone to before."""
    found = played.latest("batch/job-3")
    assert found.node is not None
    assert found.before_edit not in (None, "", found.node)
    assert played.diffs["spread-vs-pack.policy"]


def test_every_shipped_scenario_decides_something(played: Recorder) -> None:
    """The web tier is even over zones, GPU pods fill one node, others keep out."""
    zones = [played.latest(f"prod/web-{n}").node or "" for n in range(1, 7)]
    assert sorted(zone[4] for zone in zones) == ["a", "a", "b", "b", "c", "c"]
    assert {played.latest(f"ml/train-{n}").node for n in (1, 2)} == {"gpu-a"}
    debug = played.latest("ml/debug")
    assert "2 no-gpu-pods/keep-out" in decision_facts.format_exclusions(debug)
    assert {f.profile for f in played.found} == {
        "policysched",
        "web",
        "gpu",
        "load-aware",
        "spread",
    }


def test_all_pods_are_bound_in_the_end(played: Recorder) -> None:
    """The story ends well, and the API server has an event for each pod."""
    assert played.stage.list_pending_pods() == []
    bound = [event.pod for event in played.stage.events if event.reason == "Scheduled"]
    assert len(bound) == len(set(bound)) == len({found.pod for found in played.found})


def test_people_get_between_15_and_25_seconds(played: Recorder) -> None:
    """At the usual speed the demo pauses long enough to read and ends before it bores."""
    assert 15 <= played.paused_seconds <= 25


def test_an_edit_of_what_is_not_there_says_so(stage: embedded_cluster.DemoCluster) -> None:
    """Shipped policies that were changed on disk end the demo with one clear sentence."""
    edit = embedded_cluster.PolicyLineEdit("web-tier.policy", "no such line", "another")
    with pytest.raises(errors.InputError, match="does not contain `no such line`"):
        asyncio.run(stage.edit_policy(edit))


# --- tables --------------------------------------------------------------------------------------


def _decided(rules: int) -> decision_facts.DecisionFacts:
    points = tuple(
        decision_facts.RulePointsComparison(f"rule-{n}", 10 * (rules - n), 0) for n in range(rules)
    )
    total = decision_facts.RulePointsComparison("total", sum(p.chosen for p in points) + 5, 5)
    return decision_facts.DecisionFacts(
        "ns/pod", "web", "n1", "", 2, 2, "n2", points, same_points=5, total=total, excluded=()
    )


@pytest.mark.parametrize("lines", [3, 4, 6, 9])
def test_a_table_of_points_fits_and_still_adds_up(lines: int) -> None:
    """What does not fit is summed up in one line."""
    found = _decided(6)
    *rows, total = decision_facts.select_rule_points_rows(found, lines)
    assert len(rows) + 1 <= lines
    assert sum(row.chosen for row in rows) == total.chosen


def test_a_tie_is_called_one() -> None:
    """A reader is told why the first of two equal nodes was taken."""
    report = {
        "pod": "ns/pod",
        "message": "",
        "feasible": 2,
        "nodes": {},
        "scores": {"n1": {"A": 1, "total": 1}, "n2": {"A": 1, "total": 1}},
    }
    found = decision_facts.extract_decision_facts(report, "web", "n1")
    assert (
        decision_facts.select_rule_points_rows(found, 5)[-1].rule
        == "total: a tie; the demo takes the first name"
    )


# --- on a terminal -------------------------------------------------------------------------------


def _screen(
    width: int = 80, height: int = 24, environment: Mapping[str, str] | None = None
) -> console.Console:
    return console.Console(
        file=io.StringIO(),
        force_terminal=True,
        width=width,
        height=height,
        _environ={"TERM": "xterm-256color", **(environment or {})},
    )


class Filmed(screen_view.ScreenView):
    """Keeps the picture after every decision, as text."""

    def __init__(self, screen: console.Console) -> None:
        super().__init__(screen, None)
        self.frames: list[list[str]] = []

    def show_cluster(self, nodes: Sequence[object], pending: Sequence[str]) -> None:
        """Take a picture."""
        super().show_cluster(nodes, pending)  # type: ignore[arg-type]  # handed through
        lines = self._console.render_lines(self._render_screen())
        self.frames.append(["".join(segment.text for segment in line).rstrip() for line in lines])


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (160, 45)], ids=lambda size: f"{size[0]}")
def test_everything_that_matters_fits_on_the_screen(
    stage: embedded_cluster.DemoCluster, size: tuple[int, int]
) -> None:
    """At 80 x 24 and above no reason, rule or node is cut off."""
    view = Filmed(_screen(*size))
    asyncio.run(story.play_demo_story(stage, view))
    assert {len(frame) for frame in view.frames} == {size[1]}
    (waiting,) = (f for f in view.frames if "4." in f[0] and "WHY NOT" in " ".join(f))
    assert any(line.startswith("pending") and line.endswith("report") for line in waiting)
    seen = "\n".join(waiting)
    for words in ("Insufficient cpu", "node(s) had untolerated taint(s)", "load-aware/too-hot"):
        assert words in seen
    for state in stage.list_nodes():
        assert any(line.startswith(state.name) for line in view.frames[-1])
    assert any("total" in line for line in view.frames[-1])


@pytest.mark.parametrize("size", [(80, 24), (180, 50)], ids=lambda size: f"{size[0]}")
def test_the_picture_before_the_first_decision_has_no_boxes(
    stage: embedded_cluster.DemoCluster, size: tuple[int, int]
) -> None:
    """An empty log and an empty decision are blank, not the placeholders of the library."""
    view = Filmed(_screen(*size))
    view.show_cluster(stage.list_nodes(), stage.list_pending_pods())
    (frame,) = view.frames
    below = frame[3 + len(stage.list_nodes()) + 2 :]
    assert len(below) > 4
    assert set(below) == {""}


@pytest.mark.slow
def test_it_leaves_the_last_picture_and_what_to_try_next(
    stage: embedded_cluster.DemoCluster,
) -> None:
    """When the terminal is given back, the result stays readable."""
    screen = _screen()
    with screen_view.ScreenView(screen, None) as view:
        asyncio.run(story.play_demo_story(stage, view))
    assert isinstance(screen.file, io.StringIO)
    _, _, left = screen.file.getvalue().rpartition("\x1b[?1049l")
    left = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", left)
    assert "prod/report fits nowhere" in left
    assert "policysched run --kubeconfig ~/.kube/config" in left


@pytest.mark.parametrize(
    "environment, has_colour",
    [pytest.param({}, True, id="usual"), pytest.param({"NO_COLOR": "1"}, False, id="no-color")],
)
def test_no_color_is_respected(
    stage: embedded_cluster.DemoCluster, environment: dict[str, str], has_colour: bool
) -> None:
    """With NO_COLOR set nothing is coloured."""
    screen = _screen(environment=environment)
    with screen_view.ScreenView(screen, None) as view:
        asyncio.run(story.play_demo_story(stage, view))
    assert isinstance(screen.file, io.StringIO)
    assert bool(_COLOUR.search(screen.file.getvalue())) == has_colour


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminal:
    """The demo on a pseudo terminal of some size."""

    def __init__(self, columns: int, lines: int, *options: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        ignored = ("COLUMNS", "LINES", "NO_COLOR")
        environment = {k: v for k, v in os.environ.items() if k not in ignored}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "policysched", "demo", *options],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
            # Whoever runs tests in the background may ignore interrupts; a terminal does not.
            preexec_fn=_take_interrupts,  # noqa: PLW1509 - no other thread runs here
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        """Return the running terminal."""
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

    def read_until(self, words: str) -> None:
        """Read until the demo has said `words`."""
        said = ""
        while words not in said:
            said += os.read(self._ours, 65536).decode(errors="replace")

    def read_all(self) -> str:
        """Return all that is still to be said."""
        said = b""
        while True:
            try:
                said += os.read(self._ours, 65536)
            except OSError:  # the other side was closed: the process has ended
                return said.decode(errors="replace")


@pytest.mark.slow
def test_it_takes_a_terminal_over_and_gives_it_back() -> None:
    """A terminal that is large enough shows the demo on its alternate screen."""
    with Terminal(80, 24, "--fast") as terminal:
        said = terminal.read_all()
        assert terminal.process.wait() == 0
    assert said.count(_ALTERNATE_SCREEN) == said.count("\x1b[?1049l") == 1
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns, lines, options",
    [
        pytest.param(79, 24, (), id="narrow"),
        pytest.param(80, 23, (), id="low"),
        pytest.param(80, 24, ("--plain",), id="plain"),
        pytest.param(80, 24, ("--plain", "--output", "human"), id="human"),
    ],
)
def test_it_prints_text_where_the_screen_is_too_small_or_not_wanted(
    columns: int, lines: int, options: tuple[str, ...], printed: str
) -> None:
    """A small terminal, or `--plain`, gets the text of a pipe, in colours and folded."""
    with Terminal(columns, lines, "--fast", *options) as terminal:
        said = terminal.read_all()
        assert terminal.process.wait() == 0
    plain = _STYLE.sub("", said).replace("\r\n", "\n")
    assert max(map(len, plain.split("\n"))) <= columns < max(map(len, printed.split("\n")))
    assert sorted("".join(plain.split())) == sorted("".join(printed.split()))


@pytest.mark.slow
def test_wide_text_is_that_of_a_pipe(printed: str) -> None:
    """With `-o wide` no line is folded."""
    with Terminal(79, 24, "--fast", "-o", "wide") as terminal:
        said = terminal.read_all()
        assert terminal.process.wait() == 0
    assert _STYLE.sub("", said).replace("\r\n", "\n") == printed


@pytest.mark.parametrize(
    "encoding, draws", [pytest.param("ascii", False, id="ascii"), ("utf-8", True)]
)
def test_the_screen_needs_utf_8(encoding: str, draws: bool) -> None:
    """Bars and lines are not in every character set; text is."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    screen = console.Console(file=file, force_terminal=True, width=80, height=24)
    assert screen_view.can_draw_on_screen(screen) == draws


def test_the_screen_needs_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dumb terminal has none."""
    screen = _screen()
    monkeypatch.setenv("TERM", "dumb")
    assert not screen_view.can_draw_on_screen(screen)
    monkeypatch.setenv("TERM", "xterm")
    assert screen_view.can_draw_on_screen(screen)


def test_forced_colours_do_not_move_the_cursor_of_a_pipe(
    printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """FORCE_COLOR adds colours to the text, and nothing else."""
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "120", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)
    assert main.main(["demo", "--fast"]) == 0
    said = capsys.readouterr().out
    assert _STYLE.sub("", said) == printed != said


@pytest.mark.slow
def test_ctrl_c_gives_the_terminal_back() -> None:
    """An impatient viewer gets the terminal back and the shell's exit code for an interrupt."""
    with Terminal(80, 24) as terminal:
        terminal.read_until("prod/cache-1")
        terminal.process.send_signal(signal.SIGINT)
        said = terminal.read_all()
        assert terminal.process.wait() == 130
    assert "\x1b[?1049l" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast"])
def test_speed_is_a_number_above_zero(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other values are a usage error of one line."""
    assert main.main(["demo", "--speed", speed]) == errors.EXIT_USAGE
    assert capsys.readouterr().err.count("\n") == 1
