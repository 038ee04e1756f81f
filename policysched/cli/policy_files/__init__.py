"""Reads, checks and rewrites the policy files named on the command line."""
