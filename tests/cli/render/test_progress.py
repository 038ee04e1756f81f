from __future__ import annotations

import codecs
import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from policysched.cli import main
from policysched.cli.render import progress

LIMIT_SECONDS = 60.0
_INTERRUPT_SECONDS = 10.0
_INTERRUPTS = 12
_MORE_THAN_A_PIPE_HOLDS = 1 << 20
PROGRAM = """\
import sys
from policysched.cli import main
from policysched.cli.render import progress
progress.DELAY_SECONDS = 0
sys.exit(main.main(sys.argv[1:]))
"""
POLICY = "policy p {\n  nodeAffinity required zone In (a) as near\n}\n"
ERASED = "\033[2K"


class Terminal:
    """A command whose stderr is a terminal, read as it comes: a full one would stop the command."""

    def __init__(
        self, code: str, *arguments: str, environment: dict[str, str] | None = None
    ) -> None:
        self._main, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=terminal,
            env={"PATH": os.environ["PATH"], "TERM": "xterm", **(environment or {})},
        )
        os.close(terminal)
        self.said = ""
        self._is_over = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def wait_for(self, text: str) -> None:
        """Wait until stderr has `text` in it."""
        with self._news:
            self._news.wait_for(lambda: text in self.said or self._is_over, LIMIT_SECONDS)
            assert text in self.said, f"ended, or silent, after {self.said[-500:]!r}"

    def feed_until_read(self) -> None:
        """Write more spaces to stdin than a pipe holds, so the command reads when this returns."""
        assert self.process.stdin is not None
        self.process.stdin.write(b" " * _MORE_THAN_A_PIPE_HOLDS)
        self.process.stdin.flush()

    def interrupt(self) -> None:
        """Press Ctrl-C until the command ends: Python loses one that comes while it imports."""
        for _ in range(_INTERRUPTS):
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_INTERRUPT_SECONDS)
                return
        pytest.fail("deaf to Ctrl-C")

    def end(self, stdin: str = "") -> tuple[int, str]:
        """Give stdin; return the exit code and what stdout got, all of stderr read."""
        out, _ = self.process.communicate(stdin.encode())
        self._reader.join(LIMIT_SECONDS)
        return self.process.returncode, out.decode()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()
        self._reader.join(LIMIT_SECONDS)
        os.close(self._main)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        with contextlib.suppress(OSError):  # the command has closed the other end
            while more := os.read(self._main, 65536):
                self._add(decoder.decode(more))
        self._add("", is_over=True)

    def _add(self, text: str, *, is_over: bool = False) -> None:
        with self._news:
            self.said += text
            self._is_over = is_over
            self._news.notify_all()


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    """Start commands on terminals, and end them."""
    with contextlib.ExitStack() as stack:

        def started(*arguments: str, **environment: str) -> Terminal:
            terminal = Terminal(PROGRAM, *arguments, environment=environment)
            stack.callback(terminal.close)
            return terminal

        yield started


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, what, given",
    [
        pytest.param(["simulate", "--cluster", "-"], "reading the input", "{}", id="simulate"),
        pytest.param(
            ["explain", "--cluster", "-", "--all"], "reading the input", "{}", id="explain"
        ),
        pytest.param(["fmt", "-"], "reading policies", POLICY, id="fmt"),
        pytest.param(["check", "-"], "reading policies", POLICY, id="check"),
        pytest.param(["import", "-"], "importing", "{}", id="import"),
        pytest.param(["lint", "-"], "reading policies", POLICY, id="lint"),
        pytest.param(["ast", "-"], "reading policies", POLICY, id="ast"),
        pytest.param(["ast", "--from-json", "-"], "reading the tree", "{}", id="from-json"),
        pytest.param(
            ["plan", "--cluster", "-", "--to", "none", "--from", "none"], "reading", "{}", id="plan"
        ),
    ],
)
def test_commands_show_progress_on_stderr_alone_and_erase_it(
    start: Callable[..., Terminal], arguments: list[str], what: str, given: str
) -> None:
    """A terminal shows what is going on, stdout nothing of it; the line is gone at the end."""
    terminal = start(*arguments)
    terminal.wait_for(what)
    _, out = terminal.end(given)
    assert what not in out
    assert ERASED in terminal.said[terminal.said.rindex(what) :]


@pytest.mark.parametrize(
    "environment, is_shown, is_coloured",
    [
        pytest.param({}, True, True, id="usual"),
        pytest.param({"NO_COLOR": "1"}, True, False, id="no-color"),
        pytest.param({"TERM": "dumb"}, False, False, id="dumb"),
        pytest.param({"TERM": "dumb", "FORCE_COLOR": "1"}, False, False, id="dumb-forced"),
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0"}, True, True, id="ascii"),
    ],
)
def test_terminals_get_what_they_can_show(
    environment: dict[str, str], is_shown: bool, is_coloured: bool
) -> None:
    """No colours with NO_COLOR, nothing at all where no line can be erased."""
    code = """\
import sys
from policysched.cli.render import progress
progress.DELAY_SECONDS = 0
with progress.show_progress("working", 7) as bar:
    bar.advance(3)
    sys.stdin.read()
"""
    terminal = Terminal(code, environment=environment)
    with contextlib.closing(terminal):
        if is_shown:
            terminal.wait_for("3/7")
        code_and_out = terminal.end()
    assert code_and_out == (0, "")
    assert ("working" in terminal.said) == is_shown
    assert bool(re.search(r"\033\[[\d;]*m", terminal.said)) == is_coloured
    assert "\033[?25l" not in terminal.said  # the cursor stays


def test_a_command_that_draws_more_than_a_terminal_holds_ends() -> None:
    """Its stderr is read while the test waits for its end, however slow the machine is."""
    code = "import sys; sys.stdin.read(); sys.stderr.write('x' * 200_000); print('over')"
    terminal = Terminal(code)
    with contextlib.closing(terminal):
        assert terminal.end() == (0, "over\n")
    assert terminal.said == "x" * 200_000


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_behind(start: Callable[..., Terminal]) -> None:
    """Ctrl-C ends the command with its usual exit code, and the bar is erased."""
    terminal = start("simulate", "--cluster", "-")
    terminal.wait_for("reading the input")
    terminal.feed_until_read()
    terminal.interrupt()
    exit_code, out = terminal.end()
    assert (exit_code, out) == (130, "")
    assert terminal.said.rindex(ERASED) > terminal.said.rindex("reading the input")
    assert "Traceback" not in terminal.said


def test_an_error_is_told_on_a_line_of_its_own(start: Callable[..., Terminal]) -> None:
    """The bar is gone when the error is printed."""
    terminal = start("fmt", "-")
    terminal.wait_for("reading policies")
    exit_code, _ = terminal.end("policy {")
    assert exit_code == 2
    assert terminal.said.rindex("is left unchanged") > terminal.said.rindex(ERASED)


def test_no_terminal_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pipes and logs there is nothing to show, whatever FORCE_COLOR says."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0)
    with progress.show_progress("working") as bar:
        assert threading.active_count() == 1 or "progress" not in {
            thread.name for thread in threading.enumerate()
        }
        assert list(bar.track_items("abc")) == ["a", "b", "c"]
    assert bar.done == 3


def test_what_is_short_starts_no_rich(tmp_path: pathlib.Path) -> None:
    """A command that ends within a second does not pay for drawing."""
    policy = tmp_path / "p.policy"
    policy.write_text(POLICY, encoding="utf-8")
    code = """\
import sys
from policysched.cli import main
from policysched.cli.render import progress
progress.DELAY_SECONDS = 3600
main.main(["fmt", sys.argv[1]])
print("rich" in sys.modules)
"""
    terminal = Terminal(code, str(policy))
    with contextlib.closing(terminal):
        assert terminal.end()[1] == POLICY + "False\n"


def test_each_shows_progress_while_an_item_is_awaited_only() -> None:
    """The consumer of the items may print."""
    assert list(progress.iterate_with_progress(iter([1, 2]), "reading")) == [1, 2]


FORBIDDEN = {"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}, FORBIDDEN], ids=str)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", "wrong.policy"], id="check"),
        pytest.param(["lint", "p.policy"], id="lint"),
        pytest.param(["fmt", "--diff", "p.policy"], id="fmt"),
        pytest.param(["simulate", "--cluster", "cluster.json"], id="simulate"),
        pytest.param(["explain", "--cluster", "cluster.json", "--all"], id="explain"),
        pytest.param(["test", "none_test.yaml"], id="test"),
        pytest.param(["explain", "rule", "PS203"], id="rule"),
        pytest.param(["--help"], id="help"),
    ],
)
def test_output_in_pipes_has_no_escapes(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environment: dict[str, str],
) -> None:
    """No command colours its output unasked, or while NO_COLOR forbids it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.policy").write_text(
        "policy p {nodeAffinity required zone In (a)  as near\n}\n", "utf-8"
    )
    (tmp_path / "wrong.policy").write_text("policy p { require }\n", "utf-8")
    (tmp_path / "cluster.json").write_text('{"kind": "List", "items": []}', "utf-8")
    (tmp_path / "none_test.yaml").write_text("tests: []\n", "utf-8")
    main.main(arguments)
    captured = capsys.readouterr()
    assert captured.out + captured.err
    assert "\033" not in captured.out + captured.err
