"""The command line: `main` finds and starts a command; `commands` has one module for each command.

A command module has two functions: `configure(parser)` adds its options to an argparse parser, and
`run(args)` does the work and returns the exit code. The name of the command and its one-line help
are in `main`.
"""
