"""What an editor can ask for: completion, hover, fixes, names, outline, colours."""
