"""The syntax tree as written, and its canonical text line by line."""
