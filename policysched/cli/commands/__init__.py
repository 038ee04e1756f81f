"""The commands; each module is named after its command."""
