"""Output formats of findings, one module each."""
