"""Keywords, names, numbers and characters of the language."""
