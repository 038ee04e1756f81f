"""Analyses of policies: rules in force, requirements on nodes, and scopes."""
