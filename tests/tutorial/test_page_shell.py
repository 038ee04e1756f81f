from __future__ import annotations

import os
import pathlib
import select
import signal

import pytest

from tests.tutorial import page_shell

pytestmark = pytest.mark.slow
_TIME_LIMIT_SECONDS = 60.0


@pytest.mark.parametrize(
    "command, lines, code",
    [
        ("echo a; echo b >&2", ["a", "b"], 0),
        ("printf 'no end of line'", ["no end of line"], 0),
        ("printf 'a\\n\\n'", ["a", ""], 0),
        ("cat", [], 0),
        ("cat << END\na\nEND", ["a"], 0),
        ("(exit 3)", [], 3),
    ],
)
def test_a_command_gives_its_lines_and_its_exit_code(
    tmp_path: pathlib.Path, command: str, lines: list[str], code: int
) -> None:
    """Both outputs count; nothing waits for input."""
    with page_shell.Shell(tmp_path) as shell:
        assert shell.run(command) == (lines, code)


def test_commands_share_one_shell(tmp_path: pathlib.Path) -> None:
    """Folder, variables and jobs are those that the commands before have left."""
    with page_shell.Shell(tmp_path) as shell:
        for command in ("mkdir a && cd a", "X=1", "sleep 600 &"):
            assert shell.run(command) == ([], 0)
        assert shell.run("echo ${PWD##*/} $X") == (["a 1"], 0)
        assert shell.run("kill %sleep && wait %sleep") == ([], 128 + signal.SIGTERM)


def test_the_end_of_a_shell_ends_its_jobs(tmp_path: pathlib.Path) -> None:
    """A page that fails half-way leaves no process behind."""
    with page_shell.Shell(tmp_path) as shell:
        shell.run("sleep 600 &")
        (job,), _ = shell.run("echo $!")
        end_of_job = os.pidfd_open(int(job))
    try:
        assert select.select([end_of_job], [], [], _TIME_LIMIT_SECONDS)[0] == [end_of_job]
    finally:
        os.close(end_of_job)


def test_a_shell_that_ends_is_an_error(tmp_path: pathlib.Path) -> None:
    """The output so far is in the text."""
    with (
        page_shell.Shell(tmp_path) as shell,
        pytest.raises(page_shell.ShellError, match="last words"),
    ):
        shell.run("echo last words; exit 1")
