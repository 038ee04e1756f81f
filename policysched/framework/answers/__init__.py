"""Answers of plugins about nodes, kept for equal pods."""
