"""Checks of whole statements, policies and profiles."""
