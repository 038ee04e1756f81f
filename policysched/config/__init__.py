"""The configuration file and the flags that override it: reading, checking, printing."""
