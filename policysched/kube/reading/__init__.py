"""List and watch: which resources are followed, how answers are decoded, and the reflector."""
