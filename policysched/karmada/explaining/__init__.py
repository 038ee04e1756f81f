"""The explanation of a decision, and the report of its steps."""
