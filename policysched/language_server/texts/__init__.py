"""Documents and the policies in them: embedding, positions and edits."""
