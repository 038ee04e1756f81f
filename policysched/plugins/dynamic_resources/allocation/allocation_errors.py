"""Errors of allocation, with kube-scheduler's texts."""

from __future__ import annotations


class AllocationError(Exception):
    """A claim, a class or a slice cannot be processed on any node; the attempt ends."""


class AllocationTimeoutError(AllocationError):
    """The time for the search is over."""


class InvalidPoolsError(Exception):
    """The node has no solution, and devices of its invalid pools could not be considered."""
