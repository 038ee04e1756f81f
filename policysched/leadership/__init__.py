"""The configuration of leader election, and the terms of a leader."""
