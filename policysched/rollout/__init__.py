"""Staged versions of the policies: settings, guards, the choice of pods, and the state. No I/O."""
