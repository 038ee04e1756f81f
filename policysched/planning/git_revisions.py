"""Reads policies in a revision of a git repository by running git.

The module runs only plumbing commands with argument lists. It resolves the names of branches,
folders and files to hashes first, and passes only hashes to the other commands. These names are
never interpreted as a command, an option or a pattern. Filters, attributes and hooks that the
repository configures are not run.
"""

from __future__ import annotations

import os
import subprocess

from policysched import errors
from policysched.inputs import policy_sources
from policysched.lang import text_limits

_SECONDS = 60
_ENVIRONMENT = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_FILE_MODES = (b"100644", b"100755")
_FATAL = "fatal: "
_MAX_BYTES = 8 * text_limits.MAX_TEXT_BYTES


def read_policies_at_revision(revision: str, path: str) -> list[policy_sources.PolicySourceFile]:
    """Return the files with policies at `path`, relative to the current folder, in `revision`.

    Raises:
        InputError: git is not installed, the revision or path does not exist, or the path contains
            no policy.
    """
    where = f"git:{revision}:{path}"
    commit = _find_git_object(
        f"{revision}^{{commit}}", f"git:{revision}", "is not a revision known to git"
    )
    found = _find_git_object(
        f"{commit}:{_make_git_path(path, where)}", where, "is not in this revision"
    )
    kind = _run_git(["cat-file", "-t", found], where).decode().strip()
    if kind == "tree":
        return _read_git_folder(found, where)
    if kind != "blob":
        raise errors.InputError(where, "is neither a file nor a folder")
    return [policy_sources.parse_policy_content(_read_git_content(found, where), where)]


def is_git_revision(name: str) -> bool:
    """Return whether the name is a git revision in the current folder; False without git."""
    try:
        _find_git_object(f"{name}^{{commit}}", name, "")
    except errors.InputError:
        return False
    return True


def _read_git_folder(tree: str, where: str) -> list[policy_sources.PolicySourceFile]:
    """Return the policy files in a tree object, without its subfolders."""
    files: list[policy_sources.PolicySourceFile] = []
    for entry in _run_git(["ls-tree", "-z", "--full-tree", tree], where).split(b"\0"):
        head, _, name = entry.partition(b"\t")
        shown = name.decode(errors="replace")
        if not shown.endswith(policy_sources.SUFFIX) or shown.startswith("."):
            continue
        mode, _, found = head.split(b" ", 2)
        place = f"{where.rstrip('/')}/{shown}"
        if mode not in _FILE_MODES:
            raise errors.InputError(place, "is a link or a folder, not a file")
        content = _read_git_content(found.decode(), place)
        files.append(policy_sources.parse_policy_content(content, place))
    if not files:
        raise errors.InputError(where, f"has no file that ends in `{policy_sources.SUFFIX}`")
    return files


def _read_git_content(blob: str, where: str) -> bytes:
    """Return the content of a blob; refuse blobs that exceed the size limit."""
    size = int(_run_git(["cat-file", "-s", blob], where))
    if size > _MAX_BYTES:
        raise errors.InputError(where, f"has {size:,} bytes, more than the limit for policies")
    return _run_git(["cat-file", "blob", blob], where)


def _find_git_object(name: str, where: str, problem: str) -> str:
    """Return the hash of the object with this name."""
    found = _run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", name], where, problem)
    return found.decode().strip()


def _make_git_path(path: str, where: str) -> str:
    """Return a path relative to the current folder in the syntax of `REVISION:PATH`."""
    try:
        relative = os.path.relpath(path or os.curdir)
    except ValueError as error:
        raise errors.InputError(where, "is not a path") from error
    if relative != os.curdir:
        return f"./{relative}"
    prefix = _run_git(["rev-parse", "--show-prefix"], where)
    return os.fsdecode(prefix.removesuffix(b"\n").removesuffix(b"/"))


def _run_git(arguments: list[str], where: str, problem: str = "") -> bytes:
    """Return the standard output of git.

    Raises:
        InputError: git is not installed, fails or does not finish in time.
    """
    if any("\0" in argument for argument in arguments):
        raise errors.InputError(where, "contains a NUL character")
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands; names follow --end-of-options
            ["git", *arguments],  # noqa: S607 - git of the user, from the PATH
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={**os.environ, **_ENVIRONMENT},
        )
    except FileNotFoundError as error:
        raise errors.InputError(where, "git is not installed") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise errors.InputError(where, f"git could not be run: {error}") from error
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace").strip().split("\n")[0]
    if problem and not said.startswith(_FATAL):
        said = problem
    raise errors.InputError(where, said.removeprefix(_FATAL) or "git failed")
