"""Options and arguments that commands share, or that fill a module: what they add and how they are read."""
