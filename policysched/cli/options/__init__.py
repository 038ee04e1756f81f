"""Options and arguments that several commands share or that need a module of their own."""
