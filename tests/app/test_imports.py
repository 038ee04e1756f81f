"""What a process imports before its first decision, because imports are most of its start."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_LATER = (
    "jsonschema",
    "lark",
    "policysched.compiler",
    "policysched.extenders.http_calls",
    "policysched.lang.checking",
    "policysched.lang.parsing",
    "policysched.lint",
    "rich",
)
"""Only processes with policies or a configuration need these."""

_PROGRAM = """\
import sys
from policysched.cli import main
code = main.main(["run", "--kubeconfig", "/nonexistent/config"])
print(code, *sorted(sys.modules))
"""


def test_a_process_without_policies_imports_no_more_than_it_needs() -> None:
    """Everything up to the connection to the API server is imported, and none of the rest."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    code, *imported = done.stdout.split()
    assert "/nonexistent/config: no such file" in done.stderr
    assert code == "2"
    assert {"policysched.app.scheduler_process", "numpy"} <= set(imported)
    assert [name for name in imported if name.startswith(_LATER)] == []
