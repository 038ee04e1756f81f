"""The scheduling loop, which reaches the outside only through `ports`."""
