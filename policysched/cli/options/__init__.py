"""Options and arguments that commands share, or that fill a module of their own."""
