"""Runs the commands on damaged input: one error and an exit code, never a traceback or a hang."""
