"""The built-in plugins, with Karmada's names and reasons, and the plugin registry."""
