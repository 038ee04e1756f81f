"""All nodes as a struct of arrays, one row for each node."""
