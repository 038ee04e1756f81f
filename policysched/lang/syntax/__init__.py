"""The syntax tree of a text as written, and its printing as canonical text."""
