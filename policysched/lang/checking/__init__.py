"""From syntax tree to checked program: names, types and units, with all errors at once."""
