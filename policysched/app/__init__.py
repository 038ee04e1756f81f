"""Compose and run the scheduler processes: read files and options, and connect the packages."""
