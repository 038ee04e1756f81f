"""List and watch: the watched resources, the decoding of answers, and the reflector."""
