"""CPU time of a policysched process, by purpose, library and function."""

from __future__ import annotations

import collections
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

_PURPOSES = (
    ("/policysched/kube/writing/binding.py", "binding requests"),
    ("/policysched/kube/events/event_recorder.py", "event requests"),
    ("/policysched/kube/writing/pod_status.py", "status requests"),
    ("/policysched/kube/reading/reflector.py", "watches: decoding, cache, queue"),
    ("/policysched/plugins/", "scheduling cycle: plugins"),
    ("/policysched/compiler/", "scheduling cycle: policies"),
    ("/policysched/framework/", "scheduling cycle: framework"),
    ("/policysched/scheduler/", "scheduling cycle: queue, cache, decisions"),
    ("/asyncio/sslproto.py", "event loop: TLS and HTTP answers"),
    ("/asyncio/", "event loop: sockets and tasks"),
)
"""Purpose by part of a path; the first part that is found anywhere in a stack counts."""

_START = "start and imports"
_INSTALLED = re.compile(r"site-packages/([^/]+?)(\.py)?/")
_STANDARD = re.compile(r"lib/python3\.\d+/([^/]+?)(\.py)?(/|$)")
_OWN = re.compile(r"/policysched/([^/]+?)(\.py)?(/|$)")
_OWN_PATH = re.compile(r"/policysched/(.+)")
_SHARE_SHOWN = 0.005
_FUNCTIONS_SHOWN = 25


def command(file: pathlib.Path, words: Sequence[str]) -> list[str]:
    """Return the command that runs policysched and writes samples of its stacks to `file`."""
    return [sys.executable, "-m", "benchmarks.process.profiled_run", str(file), *words]


def tables(file: pathlib.Path, pods: int, cpu_seconds: float) -> str:
    """Return tables of shares of `cpu_seconds` and of microseconds per pod.

    They are by purpose, by library, and by the innermost function of policysched, including the
    code of other packages that it calls.
    """
    purposes: collections.Counter[str] = collections.Counter()
    libraries: collections.Counter[str] = collections.Counter()
    functions: collections.Counter[str] = collections.Counter()
    for count, stack in _read_samples(file):
        purposes[_find_purpose(stack)] += count
        libraries[_find_library(stack[-1])] += count
        functions[_find_own_function(stack)] += count
    total, microseconds = sum(purposes.values()), 1e6 * cpu_seconds / pods
    counted = (purposes, libraries, dict(functions.most_common(_FUNCTIONS_SHOWN)))
    return "\n\n".join(_format_table(counts, total, microseconds) for counts in counted)


def _format_table(counts: Mapping[str, int], total: int, microseconds: float) -> str:
    lines = [f"{'':<64}{'share':>7}{'µs/pod':>8}"]
    for part, count in sorted(counts.items(), key=lambda item: -item[1]):
        share = count / total
        if share >= _SHARE_SHOWN:
            lines.append(f"{part:<64}{share:>7.1%}{share * microseconds:>8.0f}")
    return "\n".join(lines)


def _read_samples(file: pathlib.Path) -> Iterator[tuple[int, list[str]]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        count, _, stack = line.partition(" ")
        yield int(count), stack.split(";")


def _find_purpose(stack: Sequence[str]) -> str:
    if not any("run_forever" in function for function in stack):
        return _START
    for part, purpose in _PURPOSES:
        if any(part in function for function in stack):
            return purpose
    return "other"


def _find_own_function(stack: Sequence[str]) -> str:
    for function in reversed(stack):
        found = _OWN_PATH.search(function)
        if found is not None and "site-packages" not in function:
            return found[1]
    return "outside policysched"


def _find_library(function: str) -> str:
    path = function.rpartition(":")[0]
    for pattern, prefix in ((_INSTALLED, ""), (_STANDARD, ""), (_OWN, "policysched.")):
        found = pattern.search(path)
        if found is not None:
            return prefix + found[1]
    return "built-in"
