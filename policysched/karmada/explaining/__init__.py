"""Explain a decision about a binding, and report its steps."""
