"""Features of an editor: completion, hover, fixes, names, outline, colours."""
