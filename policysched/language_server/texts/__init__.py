"""Documents and the policies in them: parts, positions, differences."""
