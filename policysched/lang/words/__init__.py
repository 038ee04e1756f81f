"""Define the keywords, names, number literals and characters of the language."""
