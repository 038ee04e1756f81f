"""Rollouts of policy versions without I/O: settings, choice of pods, guards, and the next step."""
