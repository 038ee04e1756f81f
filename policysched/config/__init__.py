"""The configuration file and the flags over it: reading, checking, printing."""
