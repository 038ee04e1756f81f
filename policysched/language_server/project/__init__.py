"""The project state: programs of open documents, editor settings, and the known cluster."""
