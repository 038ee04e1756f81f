"""The built-in plugins, with Karmada's names and reasons, one file each, and their registry."""
