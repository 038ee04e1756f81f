from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest

import policysched
from policysched import errors
from policysched.cli import main
from policysched.kernels import resources

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def _command(run: Callable[[argparse.Namespace], int]) -> types.SimpleNamespace:
    """Return a command module that takes one option `--size`."""
    return types.SimpleNamespace(
        configure=lambda parser: parser.add_argument("--size", type=int), run=run
    )


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., int]], None]:
    """Put a function in the place of the command `check`."""

    def put(run: Callable[..., int]) -> None:
        monkeypatch.setattr(main, "_HELP", {"check": "report errors", "explain": "say why"})
        monkeypatch.setattr("importlib.import_module", lambda _name: _command(run))

    return put


def _raise(error: BaseException) -> Callable[..., int]:
    def run(_args: argparse.Namespace) -> int:
        raise error

    return run


def test_the_exit_code_is_that_of_the_command(install: Callable[..., None]) -> None:
    """A command gets its parsed options, and what it returns is the exit code."""
    install(lambda args: args.size + 1)
    assert main.main(["check", "--size", "0"]) == errors.EXIT_FINDINGS


@pytest.mark.parametrize(
    "argv, message",
    [
        pytest.param([], "no command is given; see `policysched --help`", id="no-command"),
        pytest.param(
            ["checks"], "`checks` is not a command; did you mean `check`?", id="misspelt-command"
        ),
        pytest.param(
            ["zzz"], "`zzz` is not a command; see `policysched --help`", id="unknown-command"
        ),
        pytest.param(
            ["--bogus"],
            "unrecognized arguments: --bogus; see `policysched --help`",
            id="unknown-option-no-command",
        ),
        pytest.param(
            ["check", "--bogus"],
            "unrecognized arguments: --bogus; see `policysched check --help`",
            id="unknown-option",
        ),
        pytest.param(
            ["check", "--siz", "1"],
            "unrecognized arguments: --siz 1; see `policysched check --help`",
            id="abbreviation",
        ),
        pytest.param(
            ["check", "--size", "many"],
            "argument --size: invalid int value: 'many'; see `policysched check --help`",
            id="wrong-value",
        ),
    ],
)
def test_a_usage_error_is_one_line_and_exit_3(
    argv: list[str],
    message: str,
    install: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Wrong usage says what is wrong and where to read on, on stderr, and nothing else."""
    install(lambda _args: 0)
    assert main.main(argv) == errors.EXIT_USAGE
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"policysched: {message}\n")


@pytest.mark.parametrize(
    "error, exit_code, message",
    [
        pytest.param(
            errors.InputError("pods.json:3", "not JSON", help="use kubectl get -o json"),
            2,
            "policysched: pods.json:3: not JSON (use kubectl get -o json)\n",
            id="input",
        ),
        pytest.param(
            errors.ConfigurationError("profile `a`", "unknown plugin `X`"),
            2,
            "policysched: profile `a`: unknown plugin `X`\n",
            id="configuration",
        ),
        pytest.param(
            errors.UsageError("--all and --node are mutually exclusive"),
            3,
            "policysched: --all and --node are mutually exclusive\n",
            id="usage",
        ),
        pytest.param(KeyboardInterrupt(), 130, "", id="interrupt"),
    ],
)
def test_an_error_of_a_command_is_one_line_and_its_exit_code(
    error: BaseException,
    exit_code: int,
    message: str,
    install: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What a command raises on purpose shows no traceback."""
    install(_raise(error))
    assert main.main(["check"]) == exit_code
    assert capsys.readouterr().err == message


def test_a_bug_keeps_its_traceback(install: Callable[..., None]) -> None:
    """An error that nobody raised on purpose is not dressed up as wrong input."""
    install(_raise(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main.main(["check"])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the version of the package."""
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"policysched {policysched.__version__}\n"


def test_help_names_every_command(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--help` lists each command with its line of help."""
    install(lambda _args: 0)
    assert main.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "check     report errors" in said
    assert "explain   say why" in said


def test_the_readme_names_every_command() -> None:
    """Its last table has each by its task, and none that does not exist."""
    readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = readme.partition("| task | commands | pages |")[2].splitlines()[2:]
    named = [name for row in rows for name in re.findall("`([a-z]+)`", row.split("|")[2])]
    assert sorted(named) == sorted(main.build_command_parsers())


def test_help_imports_no_heavy_library() -> None:
    """The start is fast: only the chosen command's module and what it needs are imported."""
    code = (
        "import sys; from policysched.cli import main; main.main(['--help']); "
        "print(sorted({'numpy', 'lark', 'msgspec', 'kubernetes', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_ends_the_program_quietly() -> None:
    """With stdout closed by the reader, the program ends like one that SIGPIPE ended."""
    code = (
        "import sys; from policysched.cli import main; "
        "main._run_command_line = lambda _argv: print('a line') or 0; sys.exit(main.main([]))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=stdout, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, redirection, message",
    [
        pytest.param("--help", ">/dev/full", "output: No space left on device", id="full-help"),
        pytest.param("check F", ">/dev/full", "output: No space left on device", id="full"),
        pytest.param("check F", ">&-", "output: Bad file descriptor", id="stdout-closed"),
        pytest.param("check -", "<&-", "<stdin>: cannot be read: Bad file", id="no-policies"),
        pytest.param(
            "simulate --cluster -", "<&-", "<stdin>: cannot be read: Bad file", id="no-cluster"
        ),
    ],
)
def test_a_stream_that_cannot_be_used_is_one_clear_error(
    arguments: str, redirection: str, message: str, tmp_path: pathlib.Path
) -> None:
    """Exit 2 and one line, no traceback."""
    (tmp_path / "F").write_text("policy a {\n  for pods\n  reject when free(cpu) < 2\n}\n")
    done = _in_shell(f"{arguments} {redirection}", tmp_path)
    assert done.returncode == errors.EXIT_WRONG_INPUT
    assert message in done.stderr
    assert done.stderr.startswith("policysched: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_is_utf_8_whatever_the_locale_says(encoding: str, tmp_path: pathlib.Path) -> None:
    """What a policy says comes out as it is, and signs that the locale lacks are no traceback."""
    policy = 'policy a {\n  description "ü → 世界"\n  for pods\n}\n'
    (tmp_path / "F").write_text(policy, "utf-8")
    done = _in_shell("fmt F", tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, policy, "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fmt --check", "ast", "ast -o json", "check -o json"])
def test_a_name_that_is_no_utf_8_can_be_told(command: str, tmp_path: pathlib.Path) -> None:
    """Whatever the form of the output, such a name of a file is no traceback."""
    (tmp_path / os.fsdecode(b"\xff.policy")).write_text("policy   a {\n  for pods\n}\n", "utf-8")
    done = _in_shell(f'{command} "$(printf "\\377").policy"', tmp_path)
    assert "Traceback" not in done.stderr
    assert done.returncode in (errors.EXIT_OK, errors.EXIT_FINDINGS, errors.EXIT_WRONG_INPUT)
    assert "json" not in command or json.loads(done.stdout)


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_an_error_that_cannot_be_told_keeps_its_exit_code(
    redirection: str, tmp_path: pathlib.Path
) -> None:
    """A script sees at least that something was wrong."""
    done = _in_shell(f"check missing.policy {redirection}", tmp_path)
    assert (done.returncode, done.stdout) == (errors.EXIT_WRONG_INPUT, "")


def _in_shell(
    command: str, folder: pathlib.Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    code = "import sys; from policysched.cli import main; sys.exit(main.main())"
    root = str(pathlib.Path(__file__).parents[2])
    return subprocess.run(
        ["/bin/sh", "-c", f'"$PYTHON" -c "{code}" {command}'],
        cwd=folder,
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "PYTHONPATH": root,
            "PYTHONUNBUFFERED": "",  # else argparse meets the error of --help, and ignores it
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )


def test_an_error_cannot_talk_to_the_terminal(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of input are written out where the input is quoted."""
    cluster = tmp_path / "c.json"
    item = {"kind": "Pod", "metadata": {"name": "\x1b[2J"}, "spec": {"overhead": {"cpu": "\x07"}}}
    cluster.write_text(json.dumps({"kind": "List", "items": [item]}), "utf-8")
    assert main.main(["simulate", "--cluster", str(cluster)]) == 2
    told = capsys.readouterr().err
    assert "\\u001b[2J): spec.overhead.cpu: `\\u0007` is not a quantity" in told
    assert told.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    "words", ["explain prod/a --cluster x", "simulate --cluster x", "karmada simulate --cluster x"]
)
def test_a_command_that_decides_refuses_a_changed_kernel(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `run` does: the decisions would be those of the former source."""
    monkeypatch.setattr(resources, "SOURCE_SHA256", "0" * 64, raising=False)
    assert main.main(words.split()) == errors.EXIT_WRONG_INPUT
    assert "resources.py was changed after it was compiled: run" in capsys.readouterr().err
