"""Store all nodes as a struct of arrays, with one row for each node."""
