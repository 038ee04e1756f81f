"""How commands print: streams, styles, tables, folding, findings, progress."""
