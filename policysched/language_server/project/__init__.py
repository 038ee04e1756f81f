"""The open documents as programs, the editor's settings, and what is known of the cluster."""
