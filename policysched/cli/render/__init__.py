"""The output of commands: streams, styles, tables, folding, findings and progress."""
