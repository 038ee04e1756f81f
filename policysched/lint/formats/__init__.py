"""Forms in which findings are written, one module each."""
