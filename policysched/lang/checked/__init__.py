"""The meaning of policies: the checker's result and the compiler's input."""
