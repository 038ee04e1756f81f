"""Messages and edits for places where the parser cannot continue."""
