"""The explanation of a decision about a binding, and the report of its steps."""
