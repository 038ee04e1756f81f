"""Policies that change while the scheduler runs: from where, checked, put to use, told, kept."""
