"""Define the syntax tree of a text as written, and print it as canonical text."""
