"""Subcommands, and options that change the task of a command: `karmada run`, `plan --sweep`."""
