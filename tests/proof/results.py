"""How the parts ended, kept in a file, so that a run goes on where the last one stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator, Mapping


class ProofError(Exception):
    """The parts cannot run; the text says why, and what to do."""


@dataclasses.dataclass(frozen=True)
class Result:
    """How one part ended.

    Attributes:
        version: the files that it ran on, as `read_version` names them.
        exit_code: 0 if the part passed.
        duration_seconds: from its start to its end.
    """

    version: str
    exit_code: int
    duration_seconds: float


class ResultFile:
    """Results by the name of the part, as JSON."""

    def __init__(self, path: pathlib.Path) -> None:
        """Read the results that `path` has; there may be no such file yet.

        Raises:
            ProofError: the file has something else.
        """
        self._path = path
        self._results: dict[str, Result] = {}
        with contextlib.suppress(FileNotFoundError):
            self._results = _parse(path)

    def find(self, name: str, version: str) -> Result | None:
        """Return how a part ended on this version; None if it has not run there."""
        result = self._results.get(name)
        return result if result and result.version == version else None

    def is_passed(self, name: str, version: str) -> bool:
        """Return whether a part passed on this version."""
        result = self.find(name, version)
        return result is not None and result.exit_code == 0

    def forget(self, names: Iterable[str]) -> None:
        """Drop the results of some parts."""
        for name in names:
            self._results.pop(name, None)
        self._write()

    def add(self, name: str, result: Result) -> None:
        """Keep how a part ended, in place of how it ended before."""
        self._results[name] = result
        self._write()

    def _write(self) -> None:
        """Replace the file at once: an interruption leaves the old one or the new one."""
        fields = {part: dataclasses.asdict(one) for part, one in self._results.items()}
        self._path.parent.mkdir(exist_ok=True, parents=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")
        new.replace(self._path)


def _parse(path: pathlib.Path) -> dict[str, Result]:
    try:
        return {
            name: Result(
                str(fields["version"]),
                int(fields["exit_code"]),
                float(fields["duration_seconds"]),
            )
            for name, fields in json.loads(path.read_bytes()).items()
        }
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProofError(f"`{path}` is damaged; delete it, and every part runs again") from error


@contextlib.contextmanager
def hold_lock(path: pathlib.Path) -> Iterator[None]:
    """Hold the only permission to write results.

    Raises:
        ProofError: another process holds it.
    """
    path.parent.mkdir(exist_ok=True, parents=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ProofError(
                "another `make proof` runs in this checkout; wait for its end, or end it"
            ) from error
        yield


def read_version(root: pathlib.Path) -> str:
    """Return the git tree of the files of a checkout, committed or not, that git does not ignore.

    It is made beside git's own index and objects, which stay as they are.

    Raises:
        ProofError: `root` is no checkout, or there is no git.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "GIT_CEILING_DIRECTORIES": str(root.resolve().parent),
            "GIT_INDEX_FILE": f"{folder}/index",
            "GIT_OBJECT_DIRECTORY": folder,
        }
        _run_git(root, environment, "add", "--all")
        return _run_git(root, environment, "write-tree").strip()


def _run_git(root: pathlib.Path, environment: Mapping[str, str], *words: str) -> str:
    try:
        return subprocess.run(
            ("git", *words), cwd=root, env=environment, check=True, capture_output=True, text=True
        ).stdout
    except FileNotFoundError as error:
        raise ProofError("git is missing; install it: results belong to its files") from error
    except subprocess.CalledProcessError as error:
        raise ProofError(
            f"git cannot read `{root}`, to whose files results belong: {error.stderr.strip()}"
        ) from error
