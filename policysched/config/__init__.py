"""The configuration file and the flags that override it: reading, validation and printing."""
