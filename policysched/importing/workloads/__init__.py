"""Pods and their owners: placement fields as rules."""
