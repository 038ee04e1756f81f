"""The command line: `main` finds and starts a command; `commands` has one module for each.

A command module has two functions: `configure(parser)` adds its options to an argparse parser, and
`run(args)` does the work and returns the exit code. Its name and one line of help are in `main`.
"""
