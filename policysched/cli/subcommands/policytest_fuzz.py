"""`test --fuzz`: run policies on generated clusters."""

from __future__ import annotations

import argparse

from policysched import errors
from policysched.cli.options import seeds
from policysched.cli.render import output, progress

_OF_TESTS = ("update", "watch", "coverage", "lcov", "cobertura", "run")
"""Options that do not apply to generated clusters."""


def run(args: argparse.Namespace) -> int:
    """Test the policies of every file; print the first counterexample of each.

    Raises:
        UsageError: an option does not apply to generated clusters.
        InputError: a file or its policies are invalid.
    """
    from policysched.policytests import fuzzing, suite  # noqa: PLC0415 - `--help` does not need NumPy

    if args.format != "text":
        raise errors.UsageError("--fuzz prints counterexamples as text only; remove --format")
    if any(getattr(args, each) for each in _OF_TESTS) or args.threshold is not None:
        raise errors.UsageError("--fuzz runs no tests; only --seed can be combined with it")
    seed = seeds.draw_random_seed() if args.seed is None else args.seed
    paths = suite.discover_test_files(args.paths)
    found = []
    with progress.show_progress("generated clusters", len(paths) * args.fuzz) as bar:
        for path in paths:
            example = fuzzing.fuzz_policies(path, args.fuzz, seed, bar.advance)
            found += [example] if example is not None else []
    for example in found:
        output.write_text(f"FAIL {example.path}: {example.problem}")
        if example.test:
            output.write_text(f"# seed {seed}: {example.problem}\n{example.test}")
    files, clusters = (
        output.format_count(len(paths), "file"),
        output.format_count(args.fuzz, "cluster"),
    )
    tried = f"{files}, {clusters} each"
    output.write_text(f"{tried}, seed {seed}: {output.format_count(len(found), 'counterexample')}")
    return errors.EXIT_FINDINGS if found or not paths else errors.EXIT_OK
