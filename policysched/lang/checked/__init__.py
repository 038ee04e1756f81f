"""The meaning of policies: the result of the checker and the input of the compiler."""
