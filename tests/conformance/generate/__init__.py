"""Generated clusters: a plain one (`cluster`), shaped by one module for each family of plugins."""
