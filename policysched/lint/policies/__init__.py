"""Analyses of policies: rules in force, requirements of nodes, and scopes."""
