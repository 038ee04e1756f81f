"""Messages and edits for syntax errors."""
