"""Compares policysched with kube-scheduler on one real API server, or runs another benchmark.

python -m benchmarks            run the comparison, as `make bench` does
python -m benchmarks --help     list the options and the other benchmarks
"""

from __future__ import annotations

import errno
import importlib
import os
import sys

from benchmarks import options
from benchmarks.comparison import compare

COMMANDS = {
    "algorithm": ("cycle.algorithm", "the scheduling cycle alone, without a server"),
    "audit": ("commands.auditing", "duration of `audit` on a dump"),
    "calls": ("running.calls", "CPU time of a call to the API server, for both HTTP clients"),
    "explain": ("commands.explaining", "duration of `explain pod` on a dump"),
    "karmada": ("karmada.throughput", "bindings per second, compared with karmada-scheduler"),
    "lint": ("commands.linting", "duration of `lint` from a cold start"),
    "mass-deletions": (
        "comparison.mass_deletions",
        "attempts and waits while pods of a full cluster are deleted",
    ),
    "metrics": ("running.metrics", "queries to Prometheus, and the cost of metric scores"),
    "page": ("page.measuring", "costs of the page in a browser"),
    "page-readers": ("page.readers", "CPU time of `run` with and without open pages"),
    "page-stream": ("page.stream", "memory of a browser that follows `run`"),
    "partitions": (
        "partitions.packing",
        "shares of partitionable GPUs that pods get, under several profiles",
    ),
    "plan": ("commands.planning", "duration of `plan` on a dump"),
    "plot": ("records.plot", "plot of a results file, as SVG"),
    "policies": (
        "cycle.policy_costs",
        "CPU time of a cycle with 10 and 100 rules, and with metrics",
    ),
    "reloads": ("running.reloads", "duration of policy reloads, and their stalls"),
    "rollout": ("cycle.rollout", "CPU time of a cycle in the share stage of a rollout"),
    "rollouts": ("running.rollouts", "CPU time of `run` in the share stage of a rollout"),
    "shadow": ("cycle.shadow", "CPU time of a shadow policy in a cycle"),
    "stalls": ("running.stalls", "stalls of the event loop caused by large Prometheus answers"),
    "start": ("comparison.starting", "time from the start of a process to the first binding"),
}
"""Module and help text, by the first word of the command line."""


_CANNOT_WRITE = (errno.EIO, errno.ENOSPC)
_EXIT_INTERRUPTED = 130
_EXIT_BROKEN_PIPE = 141
"""The exit code that a shell reports for a program killed by SIGPIPE."""


def main(argv: list[str] | None = None) -> int:
    """Run the selected benchmark, and return its exit code; readers may close the output early."""
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return _EXIT_BROKEN_PIPE
    except OSError as error:
        if error.filename is not None or error.errno not in _CANNOT_WRITE:
            raise
        _drop_output()
        print(f"cannot write the output: {error.strerror}", file=sys.stderr)
        return options.EXIT_WRONG_INPUT
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    return code


def _drop_output() -> None:
    """Redirect stdout to /dev/null, so that Python can flush its buffer at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        # Only the selected benchmark is imported: the comparison never loads the engine.
        module = importlib.import_module(f"benchmarks.{COMMANDS[words[0]][0]}")
        code: int = module.main(words[1:])
        return code
    lines = [f"  {word:<16}{text}" for word, (_, text) in COMMANDS.items()]
    return compare.main(words, "\n".join(["other benchmarks, as the first word:", *lines]))


if __name__ == "__main__":
    sys.exit(main())
