"""The open documents as programs, the settings of the editor, and the known cluster."""
