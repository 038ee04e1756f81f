"""Small files that would become huge, deep or endless if they were believed."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import pathlib
import sys
import zlib

import pytest

from policysched.cli import main
from policysched.kube import config_maps
from policysched.reload import history
from tests.security import confined

_LAUGHS = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
_LAUGHS += [f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in itertools.pairwise("abcdefghi")]
BOMBS = {
    "billion-laughs": "\n".join(_LAUGHS),
    "merge-keys": "a: &a {k: 1}\nb: {<<: *a}",
    "deep-list": "[" * 100_000,
    "deep-mapping": "{a: " * 100_000,
    "deep-block": "\n".join(" " * n + "a:" for n in range(2_000)),
    "python-object": "!!python/object/apply:os.system ['touch harmed']",
    "unknown-tag": "a: !secret b",
    "endless-number": "a: " + "9" * 1_000_000,
    "many-documents": "---\n" * 200_000,
    "nul": "a: \x00",
    "not-utf-8": "a: \udcff",
}
READERS = {
    "configuration": ("run", "--kubeconfig", "none", "--config", "bomb.yaml"),
    "policies": ("check", "bomb.yaml"),
    "cluster": ("explain", "--cluster", "bomb.yaml", "--all"),
    "metrics": ("run", "--kubeconfig", "none", "--metrics-file", "bomb.yaml"),
    "import": ("import", "bomb.yaml"),
    "kubeconfig": ("run", "--kubeconfig", "bomb.yaml"),
}


_PROGRAM = "from tests.security import test_bombs as t; import sys; t.read_all(sys.argv[1:])"


def read_all(arguments: list[str]) -> None:
    """Let a subcommand read each bomb, and print what it was, the exit code and what was said."""
    for name, text in BOMBS.items():
        pathlib.Path("bomb.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = main.main(arguments)
        sys.stdout.write(json.dumps([name, code, said.getvalue()]) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", READERS.values(), ids=READERS)
def test_a_bomb_is_one_error(arguments: tuple[str, ...], tmp_path: pathlib.Path) -> None:
    """Whatever reads it ends with a short error, soon, and has carried out nothing."""
    done = confined.python("-c", _PROGRAM, *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in outcomes] == list(BOMBS)
    for name, code, said in outcomes:
        assert code in (1, 2), (name, said)
        assert 0 < len(said) < 2_000, name
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.yaml"]


@pytest.mark.slow
def test_a_kept_version_does_not_unpack_without_end() -> None:
    """A value of the history that somebody has made of a gigabyte of zeros is passed over."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    megabyte = bytes(1024 * 1024)
    bomb = b"".join(packer.compress(megabyte) for _ in range(1024)) + packer.flush()
    assert len(bomb) < config_maps.MAX_BYTES
    assert history.decode_version(bomb) is None
