"""What short commands do without, so that they are over at once."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "asyncio", "jsonschema", "kubernetes", "numpy", "requests", "rich", "yaml")
"""Each takes longer to import than a small file to lint."""
SCRIPT = """
import sys
from policysched.cli import main
main.main(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), sep="\\n", file=sys.stderr)
"""
POLICY = 'policy a {\n  description "a"\n  owner "b"\n  for pods where app = a\n}\n'


@pytest.mark.parametrize(
    "command",
    ["lint", "lint --format sarif", "lint --fix", "check", "fmt", "migrate --check"],
)
def test_a_short_command_imports_nothing_heavy(command: str, tmp_path: pathlib.Path) -> None:
    """Nothing that only clusters, servers, manifests or tables on a terminal need."""
    file = tmp_path / "a.policy"
    file.write_text(POLICY)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command.split(), str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stderr.split()) & set(HEAVY) == set()
    assert "policysched" in done.stderr.split()
