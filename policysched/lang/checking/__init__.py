"""Check syntax trees: resolve names, types and units, and report all errors at once."""
