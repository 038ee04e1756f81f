"""The command line: one module per command, and `main` that finds and starts it.

A command module has two functions: `configure(parser)` adds its options to an argparse parser, and
`run(args)` does the work and returns the exit code. Its name and one line of help stand in `main`.
"""
