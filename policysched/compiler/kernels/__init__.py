"""Pure NumPy functions that policy rules are made of: columns in, new columns out."""
