"""Subcommands, and options that make a command do something else: `karmada run`, `plan --sweep`."""
