"""How the parts ended, kept in a file, so that a run goes on where the last one stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Result:
    """How one part ended.

    Attributes:
        version: the checkout that it ran on.
        exit_code: 0 if the part passed.
        duration_seconds: from its start to its end.
    """

    version: str
    exit_code: int
    duration_seconds: float


class ResultFile:
    """Results by the name of the part, as JSON."""

    def __init__(self, path: pathlib.Path) -> None:
        """Read the results that `path` has; there may be no such file yet."""
        self._path = path
        self._results: dict[str, Result] = {}
        if path.exists():
            parsed = json.loads(path.read_text("utf-8"))
            self._results = {name: Result(**fields) for name, fields in parsed.items()}

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

    def add(self, name: str, result: Result) -> None:
        """Keep how a part ended, in place of how it ended before."""
        self._results[name] = result
        fields = {part: dataclasses.asdict(one) for part, one in self._results.items()}
        self._path.parent.mkdir(exist_ok=True, parents=True)
        self._path.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")


def read_version(root: pathlib.Path) -> str:
    """Return the commit of a checkout, and a digest of the changes that are not committed.

    Files that git does not follow do not count.

    Raises:
        subprocess.CalledProcessError: `root` is no checkout.
    """
    commit = _run_git(root, "rev-parse", "--short=12", "HEAD").decode().strip()
    changes = _run_git(root, "diff", "HEAD")
    return f"{commit}+{hashlib.sha256(changes).hexdigest()[:8]}" if changes else commit


def _run_git(root: pathlib.Path, *words: str) -> bytes:
    return subprocess.run(("git", *words), cwd=root, check=True, capture_output=True).stdout
