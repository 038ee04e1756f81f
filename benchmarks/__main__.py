"""Compares policysched with kube-scheduler on one real API server, or runs another benchmark.

python -m benchmarks            what `make bench` runs
python -m benchmarks --help     what else there is
"""

from __future__ import annotations

import errno
import importlib
import os
import sys

from benchmarks import compare, options

COMMANDS = {
    "algorithm": ("algorithm", "the scheduling cycle alone, without a server"),
    "calls": ("calls", "what a call to the API server costs, by both HTTP clients"),
    "explain": ("explaining", "how long `explain pod` takes on a dump"),
    "karmada": ("karmada", "bindings a second beside karmada-scheduler"),
    "lint": ("linting", "how long `lint` takes from a cold start"),
    "metrics": ("metrics", "queries to Prometheus, cost of metric scores"),
    "plan": ("planning", "how long `plan` takes on a dump"),
    "plot": ("plot", "draws a file of results as SVG"),
    "policies": ("policy_costs", "what 10 and 100 rules and metrics cost a cycle"),
    "reloads": ("reloads", "how long reloads of policies do"),
    "shadow": ("shadow", "what a shadow policy costs a cycle"),
    "stalls": ("stalls", "how long big answers hold up the event loop"),
}
"""The module and what it measures, by the first word of the command line."""


_CANNOT_WRITE = (errno.EIO, errno.ENOSPC)
_EXIT_INTERRUPTED = 130
_EXIT_BROKEN_PIPE = 141
"""As a shell shows a program that SIGPIPE ended."""


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark that the command line asks for; readers may go whenever they like."""
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
    """Let what is still buffered go nowhere, so that the end of Python does not complain of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        # Only what is asked for is imported: the comparison never loads the engine.
        module = importlib.import_module(f"benchmarks.{COMMANDS[words[0]][0]}")
        code: int = module.main(words[1:])
        return code
    lines = [f"  {word:<11}{text}" for word, (_, text) in COMMANDS.items()]
    return compare.main(words, "\n".join(["other benchmarks, as the first word:", *lines]))


if __name__ == "__main__":
    sys.exit(main())
